"""Build OpenLineage datasets and facets, from which `telling.py` and `application.py` make events.

Contract: docs/explanation/capture-events.md. Takes values and does not access Spark.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from headwater.capture.spark import dependencies as deps
from headwater.capture.spark import source_fields
from headwater.capture.spark.analysis import Analysis
from headwater.capture.spark.commands import Write
from headwater.capture.spark.datasets import Dataset, Leaves
from headwater.capture.spark.dependencies import Dependencies
from headwater.capture.spark.expressions import WRITTEN
from headwater.capture.spark.statistics import Metrics, Scan, Statistics
from headwater.client import context, event
from headwater.model.lineage import UNSEEN_INSIDE

# The description of a transformation by a pandas function, a typed map or a script.
_CAUSE = re.compile(r"^Caused by: (.+)$", re.MULTILINE)
Facets = dict[str, Any]
Offset = dict[str, Any]
"""`{"partition", "offset"[, "topic"]}`: how far a stream is in one partition."""


class Emitter(Protocol):
    """The receiver of events: the client's, or a list in a test."""

    def emit(self, event: dict[str, Any], /) -> object: ...

    def flush(self, timeout: float) -> bool: ...


def moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def milliseconds(written: str) -> int:
    """Convert a time as Spark writes it (`2026-01-31T10:00:00.123Z`) to milliseconds."""
    return int(datetime.fromisoformat(written).timestamp() * 1000)


def parent_facets(owner: context.Parent, version: str) -> Facets:
    """Return the run facets of every child run."""
    return {"parent": event.parent(owner.run_id, owner.job, owner.root), **engine(version)}


def engine(version: str) -> Facets:
    return {"processing_engine": event.processing_engine("spark", version)}


def job_type(streaming: bool, kind: str = "SQL_JOB") -> Facets:
    return {"jobType": event.job_type("STREAMING" if streaming else "BATCH", "SPARK", kind)}


def sql(text: str) -> Facets:
    return {"sql": event.facet("SQLJobFacet", query=text, dialect="spark")} if text else {}


def spark(**values: Any) -> Facets:
    return {
        "headwater_spark": event.facet("headwater_spark", **{k: v for k, v in values.items() if v not in ("", None)})
    }


def heartbeat(seconds: float) -> Facets:
    """Announce that a run sends an event at least this often until it ends."""
    return {"headwater_heartbeat": event.facet("headwater_heartbeat", seconds=seconds)} if seconds else {}


def warnings(texts: list[str]) -> Facets:
    return {"headwater_warnings": event.facet("headwater_warnings", warnings=texts)} if texts else {}


def error(message: str, stack: str) -> Facets:
    """Return the facet of a failure: its first line, with that of its last cause where it lacks it, and the beginning of the stack."""
    first = message.strip().splitlines()[0] if message.strip() else "failed"
    causes = _CAUSE.findall(f"{message}\n{stack}")
    if causes and (causes[-1].partition(": ")[2] or causes[-1]) not in first:
        first = f"{first} Caused by: {causes[-1][:2000]}"
    return {"errorMessage": event.error_message(first, stack[: 16 * 1024], "JAVA")}


def inputs(
    found: Iterable[Dataset],
    leaves: Leaves,
    metrics: Metrics | None,
    offsets: Mapping[tuple[str, str], list[Offset]] | None = None,
) -> list[dict[str, Any]]:
    """Return the datasets read, with the statistics of their scans and a stream's offsets in them."""
    read = _by_dataset(leaves, metrics)
    result = []
    for dataset in found:
        scan = read.get(dataset.key)
        facets = {"inputStatistics": _input_statistics(scan.counts)} if scan and scan.counts.is_reported else {}
        if at := (offsets or {}).get(dataset.key):
            facets["headwater_offsets"] = event.facet("headwater_offsets", offsets=at)
        # The version that the scan names; otherwise the current one when the query was planned.
        seen = msgspec.structs.replace(dataset, version=scan.version) if scan and scan.version else dataset
        result.append(event.dataset(*dataset.key, facets=_facets(seen, dataset.fields), input_facets=facets or None))
    return result


def output(
    write: Write, analysis: Analysis | None, metrics: Metrics | None, largest: int, offsets: list[Offset] | None = None
) -> list[dict[str, Any]]:
    """Return the dataset written, with its columns' lineage and a stream's offsets in it."""
    if write.target is None:
        return []
    target = write.target
    of_query = analysis.fields if analysis is not None and not write.is_schema_open else []
    facets = _facets(target, target.fields or of_query)
    if write.lifecycle:
        change: dict[str, Any] = {"lifecycleStateChange": write.lifecycle}
        if write.previous:
            change["previousIdentifier"] = {"namespace": write.previous[0], "name": write.previous[1]}
        facets["lifecycleStateChange"] = event.facet("LifecycleStateChangeDatasetFacet", **change)
    facets |= write.facets
    if write.partitions:
        facets["headwater_partitioning"] = event.facet("headwater_partitioning", columns=write.partitions)
    if analysis is not None and (lineage := column_lineage(analysis, largest)):
        facets["columnLineage"] = lineage
    written: Facets = {}
    if metrics is not None and metrics.written.is_reported:
        counts = metrics.written
        written["outputStatistics"] = event.output_statistics(rows=counts.rows, size=counts.size, files=counts.files)
    if offsets:
        written["headwater_offsets"] = event.facet("headwater_offsets", offsets=offsets)
    return [event.dataset(*target.key, facets=facets, output_facets=written or None)]


def column_lineage(analysis: Analysis, largest: int) -> dict[str, Any] | None:
    """Return the facet, or None if nothing is known. Beyond `largest` entries it is omitted with a warning.

    A column without inputs is a literal or a count of rows. It is made once for all events of a query.
    """
    if analysis.lineage is msgspec.UNSET:
        analysis.lineage = _column_lineage(analysis, largest)
    return analysis.lineage


def _column_lineage(analysis: Analysis, largest: int) -> dict[str, Any] | None:
    fields: dict[str, Any] = {}
    entries = 0
    for column in analysis.columns:
        made = _input_fields(column.depends, analysis.leaves)
        entries += len(made)
        if made or not (column.depends or analysis.opaque):
            fields[column.name] = {"inputFields": made}
        for path, depends in _paths(column.name, column.fields):
            made = _input_fields(depends, analysis.leaves)
            entries += len(made)
            if made or not (depends or analysis.opaque):
                fields[path] = {"inputFields": made}
    decided = _input_fields(analysis.rows, analysis.leaves)
    if entries + len(decided) > largest:
        analysis.warnings.append(f"column lineage left out: {entries + len(decided)} entries, the limit is {largest}")
        return None
    if not entries and not decided:
        return None
    return event.facet("ColumnLineageDatasetFacet", fields=fields, **({"dataset": decided} if decided else {}))


_SHOWN = {source_fields.KEY: "key", source_fields.VALUE: "value"}


def _paths(above: str, fields: deps.Fields | None) -> Iterator[tuple[str, Dependencies]]:
    """Yield the fields inside a column as `who.segment`, and of a map `tags.key` and `tags.value`, at any depth."""
    for name, part in (fields or {}).items():
        if name == WRITTEN:
            continue
        path = f"{above}.{_SHOWN.get(name, name)}"
        yield path, part.depends
        yield from _paths(path, part.inner)


def driver_read(analysis: Analysis) -> tuple[list[dict[str, Any]], str]:
    """Return entries of the job facet `lineage`, which are what the parent itself read, and a text that only the same entries have."""
    if analysis.driver is None:
        entries = _driver_read(analysis)
        analysis.driver = entries, repr(entries)
    return analysis.driver


def _driver_read(analysis: Analysis) -> list[dict[str, Any]]:
    merged = deps.merged([*(column.depends for column in analysis.columns), analysis.rows])
    fed = [{"type": "DATASET", **entry} for entry in _input_fields(merged, analysis.leaves)]
    named = {(entry["namespace"], entry["name"]) for entry in fed}
    fed += [
        {"type": "DATASET", "namespace": item.namespace, "name": item.name}
        for item in analysis.inputs
        if item.key not in named
    ]
    return [{"type": "JOB", "inputs": fed}]


def lineage(entries: list[dict[str, Any]]) -> Facets:
    return {"lineage": event.facet("LineageJobFacet/1-0-0", entries=entries)}


def _input_fields(depends: Dependencies, leaves: Leaves) -> list[dict[str, Any]]:
    merged: dict[tuple[str, str, str], frozenset[deps.How]] = {}
    for source, hows in depends.items():
        for dataset in leaves.by_key.get(source.leaf, ()):
            key = (dataset.namespace, dataset.name, source.field)
            merged[key] = merged.get(key, frozenset()) | hows
    return [
        {"namespace": key[0], "name": key[1], "field": key[2], "transformations": [_transformation(how) for how in deps.settled(hows)]}
        for key, hows in sorted(merged.items())
    ]  # fmt: skip


def _transformation(how: deps.How) -> dict[str, Any]:
    said = {"description": UNSEEN_INSIDE} if how.unseen else {}
    return {"type": "DIRECT" if how.direct else "INDIRECT", "subtype": how.subtype, "masking": how.masking, **said}


def _facets(dataset: Dataset, fields: list[dict[str, Any]]) -> Facets:
    facets: Facets = {}
    if fields:
        facets["schema"] = event.schema(fields)
    if dataset.storage:
        facets["storage"] = event.facet(
            "StorageDatasetFacet",
            storageLayer=dataset.layer or dataset.namespace.split(":")[0],
            fileFormat=dataset.storage,
        )
    if dataset.symlink:
        identifier = {"namespace": dataset.symlink[0], "name": dataset.symlink[1], "type": "TABLE"}
        facets["symlinks"] = event.facet("SymlinksDatasetFacet", identifiers=[identifier])
    if dataset.kind:
        facets["datasetType"] = event.facet("DatasetTypeDatasetFacet/1-0-1", datasetType=dataset.kind)
    if dataset.version:
        facets["version"] = event.facet("DatasetVersionDatasetFacet", datasetVersion=dataset.version)
    return facets


def _input_statistics(counts: Statistics) -> dict[str, Any]:
    known = {"rowCount": counts.rows, "size": counts.size, "fileCount": counts.files}
    return event.facet("InputStatisticsInputDatasetFacet", **{k: v for k, v in known.items() if v is not None})


def _by_dataset(leaves: Leaves, metrics: Metrics | None) -> dict[tuple[str, str], Scan]:
    """Sum the scans of each dataset. The scan of a leaf with several datasets cannot be split and is skipped."""
    result: dict[tuple[str, str], Scan] = {}
    for scan in metrics.scans if metrics else ():
        key = next((leaf for leaf in leaves.by_key if scan.ids & leaves.ids.get(leaf, frozenset((leaf,)))), None)
        datasets = leaves.by_key.get(key, []) if key else []
        if len(datasets) == 1:
            known = result.get(datasets[0].key)
            result[datasets[0].key] = (
                scan if known is None else Scan(scan.ids, known.counts.plus(scan.counts), known.version)
            )
    return result
