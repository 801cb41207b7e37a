"""Builders of OpenLineage 2-0-2 events, as plain dicts ready to encode.

With them every Headwater producer writes events alike. They do not validate meaning: the caller decides what a facet says.
Contract: docs/explanation/capture-events.md. Field names: the OpenLineage specification, core 2-0-2 and its facet schemas.
"""

import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from headwater import __version__
from headwater.model.moments import aware

PRODUCER = f"https://headwater.dev/client/{__version__}"
_CORE = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs"

# The newest version of each written facet schema; a caller may name another one.
_VERSIONS = {
    "ColumnLineageDatasetFacet": "1-2-0",
    "DataQualityAssertionsDatasetFacet": "1-0-1",
    "DatasetVersionDatasetFacet": "1-0-1",
    "DatasourceDatasetFacet": "1-0-1",
    "DocumentationDatasetFacet": "1-1-0",
    "DocumentationJobFacet": "1-1-0",
    "ErrorMessageRunFacet": "1-0-1",
    "ExecutionParametersRunFacet": "1-0-0",
    "ExternalQueryRunFacet": "1-0-2",
    "InputStatisticsInputDatasetFacet": "1-0-0",
    "JobTypeJobFacet": "2-0-4",
    "LifecycleStateChangeDatasetFacet": "1-0-1",
    "NominalTimeRunFacet": "1-0-1",
    "OutputStatisticsOutputDatasetFacet": "1-0-2",
    "OwnershipDatasetFacet": "1-0-1",
    "OwnershipJobFacet": "1-0-1",
    "ParentRunFacet": "1-2-0",
    "ProcessingEngineRunFacet": "1-1-1",
    "SQLJobFacet": "1-1-0",
    "SchemaDatasetFacet": "1-2-0",
    "SourceCodeLocationJobFacet": "1-1-0",
    "StorageDatasetFacet": "1-0-1",
    "SymlinksDatasetFacet": "1-0-1",
    "TagsDatasetFacet": "1-0-0",
    "TagsJobFacet": "1-0-0",
    "TagsRunFacet": "1-0-0",
    "TestRunFacet": "1-0-1",
}

Facet = dict[str, Any]
Facets = Mapping[str, Facet]


class _Clock:
    """The last tick used, so that ids of one process never go backwards."""

    lock = threading.RLock()  # a signal handler may make an id while its thread is in here
    last = 0


def _new_lock() -> None:
    _Clock.lock = threading.RLock()  # another thread may have held it when this process was forked


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


def run_id() -> str:
    """Return a new UUIDv7 (RFC 9562, method 3): it sorts by time, strictly increasing within a process, unique across processes by 62 random bits."""
    tick = time.time_ns() * 4096 // 1_000_000  # milliseconds, with 12 bits of fraction
    with _Clock.lock:
        tick = _Clock.last = max(tick, _Clock.last + 1)
    random = int.from_bytes(os.urandom(8), "big") >> 2
    number = (tick >> 12) << 80 | 7 << 76 | (tick & 0xFFF) << 64 | 2 << 62 | random
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def timestamp(moment: datetime | str | None = None) -> str:
    """Format as ISO-8601 in UTC with microseconds and `Z`. None is now; text is unchanged; a naive datetime is UTC."""
    if isinstance(moment, str):
        return moment
    moment = moment or datetime.now(UTC)
    moment = aware(moment).astimezone(UTC)
    return moment.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def run(
    event_type: str,
    *,
    run_id: str,
    job: tuple[str, str],
    inputs: Iterable[dict[str, Any]] = (),
    outputs: Iterable[dict[str, Any]] = (),
    run_facets: Facets | None = None,
    job_facets: Facets | None = None,
    event_time: datetime | str | None = None,
) -> dict[str, Any]:
    """Build a RunEvent. `event_type`: START RUNNING COMPLETE FAIL ABORT OTHER; `job`: (namespace, name); `inputs`, `outputs`: from `dataset()`."""
    return {
        "eventType": event_type,
        "eventTime": timestamp(event_time),
        "run": {"runId": run_id, "facets": dict(run_facets or {})},
        "job": {"namespace": job[0], "name": job[1], "facets": dict(job_facets or {})},
        "inputs": list(inputs),
        "outputs": list(outputs),
        "producer": PRODUCER,
        "schemaURL": f"{_CORE}/RunEvent",
    }


def job(
    job: tuple[str, str],
    *,
    inputs: Iterable[dict[str, Any]] = (),
    outputs: Iterable[dict[str, Any]] = (),
    job_facets: Facets | None = None,
    event_time: datetime | str | None = None,
) -> dict[str, Any]:
    """Build a JobEvent, about a job without a run."""
    return {
        "eventTime": timestamp(event_time),
        "job": {"namespace": job[0], "name": job[1], "facets": dict(job_facets or {})},
        "inputs": list(inputs),
        "outputs": list(outputs),
        "producer": PRODUCER,
        "schemaURL": f"{_CORE}/JobEvent",
    }


def dataset_event(
    namespace: str, name: str, *, facets: Facets | None = None, event_time: datetime | str | None = None
) -> dict[str, Any]:
    """Build a DatasetEvent, about a dataset without a run."""
    return {
        "eventTime": timestamp(event_time),
        "dataset": {"namespace": namespace, "name": name, "facets": dict(facets or {})},
        "producer": PRODUCER,
        "schemaURL": f"{_CORE}/DatasetEvent",
    }


def dataset(
    namespace: str,
    name: str,
    *,
    facets: Facets | None = None,
    input_facets: Facets | None = None,
    output_facets: Facets | None = None,
) -> dict[str, Any]:
    """Build an entry of an event's `inputs` or `outputs`. Facet bags that are not passed are absent."""
    entry: dict[str, Any] = {"namespace": namespace, "name": name, "facets": dict(facets or {})}
    if input_facets is not None:
        entry["inputFacets"] = dict(input_facets)
    if output_facets is not None:
        entry["outputFacets"] = dict(output_facets)
    return entry


def facet(kind: str, version: str | None = None, /, **fields: Any) -> Facet:
    """Build a facet's body with `_producer` and `_schemaURL`.

    `kind` is the schema's name with its version (`"ParentRunFacet/1-1-0"`, or in two arguments), or the name alone for the newest known one.
    A `kind` that starts with `headwater_` is Headwater's. Raises ValueError for a standard facet whose version is unknown.
    """
    name, _, inline = kind.partition("/")
    if name.startswith("headwater_"):
        schema = f"https://headwater.dev/schema/{inline or version or '1-0-0'}/{name}.json"
    else:
        number = inline or version or _VERSIONS.get(name)
        if number is None:
            raise ValueError(f"facet {name!r} needs a version, as in {name}/1-0-0")
        schema = f"https://openlineage.io/spec/facets/{number}/{name}.json#/$defs/{name}"
    return {"_producer": PRODUCER, "_schemaURL": schema, **fields}


def parent(run_id: str, job: tuple[str, str], root: tuple[str, tuple[str, str]] | None = None) -> Facet:
    """Build run facet `parent`. `root`: (run id, job); without it the parent is its own root."""
    root_run, root_job = root or (run_id, job)
    return facet(
        "ParentRunFacet",
        run={"runId": run_id},
        job={"namespace": job[0], "name": job[1]},
        root={"run": {"runId": root_run}, "job": {"namespace": root_job[0], "name": root_job[1]}},
    )


def error_message(message: str, stack_trace: str | None = None, language: str = "python") -> Facet:
    """Run facet `errorMessage`."""
    trace = {"stackTrace": stack_trace} if stack_trace else {}
    return facet("ErrorMessageRunFacet", message=message, programmingLanguage=language, **trace)


def nominal_time(start: datetime | str, end: datetime | str | None = None) -> Facet:
    """Run facet `nominalTime`: the period that the run is about, not when it ran."""
    bound = {"nominalEndTime": timestamp(end)} if end is not None else {}
    return facet("NominalTimeRunFacet", nominalStartTime=timestamp(start), **bound)


def processing_engine(name: str, version: str) -> Facet:
    """Run facet `processing_engine`."""
    return facet("ProcessingEngineRunFacet", name=name, version=version, openlineageAdapterVersion=__version__)


def execution_parameters(parameters: Mapping[str, str]) -> Facet:
    """Run facet `executionParameters`."""
    return facet("ExecutionParametersRunFacet", parameters=[{"key": k, "value": v} for k, v in parameters.items()])


def job_type(processing: str, integration: str, kind: str) -> Facet:
    """Job facet `jobType`: `BATCH` or `STREAMING`, the integration (`SPARK`), and the kind of job in it (`QUERY`)."""
    return facet("JobTypeJobFacet", processingType=processing, integration=integration, jobType=kind)


def source_code_location(kind: str, url: str, **fields: str | None) -> Facet:
    """Job facet `sourceCodeLocation`. `fields`: repoUrl, path, version, tag, branch; those that are None are omitted."""
    known = {key: value for key, value in fields.items() if value is not None}
    return facet("SourceCodeLocationJobFacet", type=kind, url=url, **known)


def schema(fields: Iterable[Mapping[str, Any]]) -> Facet:
    """Dataset facet `schema`. `fields`: name, type, description, nested `fields`, in the order of the columns."""
    return facet("SchemaDatasetFacet", fields=[dict(field) for field in fields])


def documentation(description: str, *, of: str = "Dataset") -> Facet:
    """Facet `documentation`, `of` a `Dataset` or a `Job`."""
    return facet(f"Documentation{of}Facet", description=description)


def ownership(owners: Iterable[tuple[str, str | None]], *, of: str = "Job") -> Facet:
    """Facet `ownership`, `of` a `Job` or a `Dataset`: (name, type) pairs."""
    entries = [{"name": name, "type": kind} if kind else {"name": name} for name, kind in owners]
    return facet(f"Ownership{of}Facet", owners=entries)


def tags(pairs: Mapping[str, str] | Sequence[tuple[str, str]], source: str, *, of: str = "Dataset") -> Facet:
    """Facet `tags`, `of` a `Dataset`, a `Job` or a `Run`."""
    items = pairs.items() if isinstance(pairs, Mapping) else pairs
    return facet(f"Tags{of}Facet", tags=[{"key": k, "value": v, "source": source} for k, v in items])


def output_statistics(*, rows: int | None = None, size: int | None = None, files: int | None = None) -> Facet:
    """Output facet `outputStatistics`: rows, bytes, files; unknown ones are omitted."""
    known = {"rowCount": rows, "size": size, "fileCount": files}
    return facet("OutputStatisticsOutputDatasetFacet", **{k: v for k, v in known.items() if v is not None})
