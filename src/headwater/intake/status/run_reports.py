"""Derive reports about instances from the OpenLineage events of one run: which it started, produced and failed to produce. Pure.

Only declared entities get reports: those `stored_in` a dataset that the run writes, `produced_by` its job, or named by the run itself.
`intake.events.instances` finds the instances. If nothing identifies them, the run is listed as unplaced; there is no guess.
"""

import re
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from headwater.client.event import PRODUCER
from headwater.entities.declaration.entity import EntityDeclaration
from headwater.entities.declaration.producer_names import spellings
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.needs.graph import COMPLETED
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import NONE
from headwater.intake.events.correlation import ITEM
from headwater.intake.events.facets import decode_or_none
from headwater.intake.events.instances import NO_PERIOD, PERIOD, MatchedInstances, Period, instances, parts, period_of
from headwater.intake.status.request import ReadInstances, Reported, What
from headwater.intake.status.run_summary import RunSummary
from headwater.model import facets as known
from headwater.model import names, version
from headwater.model.checks import Result
from headwater.model.event import DatasetReport, Facets
from headwater.model.identity import Identity
from headwater.model.names import DatasetName, JobName, bounded

NO_STATE = "no_state"
# The check that doubts the instances of a run that reported both failure and completion.
BOTH = "run said failed and completed"
_NOT_MADE = frozenset({"DROP", "TRUNCATE", "RENAME", "ALTER"})
_FINGERPRINT = "xxh3-128"
_VERSIONS = {"delta": "delta_version", "iceberg": "iceberg_snapshot"}
_OURS = PRODUCER.rpartition("/")[0] + "/"
_NUMBER = re.compile("[0-9]{1,19}")


class Unplaced(NamedTuple):
    """A run of a job made unknown instances of an entity. `why`: a reason of `intake.events.instances`, or `no_state`: the entity declares states
    without `completed`.
    """

    job: JobName
    entity: str
    why: str


class Reports(NamedTuple):
    """`reports`: the starts, then the ends. `doubts`: reports to send for instances whose current version is this run's; the run is the first word
    of their `key`.

    None has a `seq`. Each has a key, so that equal events are recorded once.
    """

    reports: list[Reported]
    doubts: list[Reported]
    unplaced: list[Unplaced]


class Places:
    """The declared entities that a dataset stores or a job produces, under one set of identity rules."""

    def __init__(self, held: StoredDeclarations, identity: Identity) -> None:
        self.held, self.identity = held, identity
        self._stored: dict[DatasetName, list[str]] = defaultdict(list)
        self._by_job: dict[str, list[str]] = defaultdict(list)
        for declared in held.declared.values():
            for stored in declared.stored_in:
                names = self._stored[identity.place(DatasetName(*stored)).name]
                if declared.name not in names:
                    names.append(declared.name)
            for producer in declared.produced_by:
                self._by_job[producer.job].append(declared.name)

    def __bool__(self) -> bool:
        return bool(self.held.declared)

    def stored(self, report: DatasetReport) -> list[str]:
        """The entities stored in a dataset, by any name that the event has for it."""
        links = decode_or_none(known.symlinks, report.facets.get("symlinks")) or ()
        names = (report.name, *(link.name for link in links))
        return list(
            dict.fromkeys(each for name in names for each in self._stored.get(self.identity.place(name).name, ()))
        )

    def produced_by(self, job: JobName) -> list[str]:
        """The entities that declare the job as a producer, in any of its `spellings`."""
        return list(dict.fromkeys(name for text in spellings(job) for name in self._by_job.get(text, ())))


def reports(summary: RunSummary, places: Places, relatives: Sequence[Facets] = ()) -> Reports:
    """The reports about instances of one run. `relatives`: the run facets of its parent and root, as far as known."""
    found = Reports([], [], [])
    runs = (summary.facets, *relatives)
    for entity, outputs in _targets(summary, places, runs).items():
        declared, period_ = places.held.declared[entity], _period(entity, runs)
        if period_ is not None and period_.reported:
            continue
        state = period_.state if period_ is not None else None
        matched = _instances(declared, outputs, runs, places.identity)
        if state is None and declared.entity.states and COMPLETED not in declared.entity.states and summary.completes:
            matched = MatchedInstances(NONE, NO_STATE)
        if not matched.instances:
            if summary.starts or summary.completes or summary.failures:
                found.unplaced.append(Unplaced(summary.job, entity, matched.why))
            continue
        texts = ranges.written(declared.entity.instances, matched.instances)
        facts = _version_facts(summary, outputs) | ({"states": [state]} if state is not None else {})
        _add_reports(found, summary, entity, texts, facts, _reads(declared, summary, places))
        _add_checks(found, summary, entity, texts, outputs)
    return found


def _add_checks(
    found: Reports, summary: RunSummary, entity: str, texts: list[str], outputs: Sequence[DatasetReport]
) -> None:
    """Doubt the versions of the run that its own checks failed; trust them again if a later result is no failure."""
    names = {output.name for output in outputs}
    for (name, check, field), outcome in summary.checks.items():
        failed = outcome.result == Result.FAILED
        if name not in names or not summary.completes or not (failed or outcome.failed_once):
            continue
        what: What = "doubted" if failed else "trusted"
        ref = bounded(f"{check}({field})" if field else check, 200)
        key = f"{summary.run} {what} {outcome.digest.hex()} {version.content_id(f'{name} {ref} {texts}'.encode())}"
        found.doubts.append(Reported(entity=entity, what=what, instances=texts, ref=ref, at=outcome.at, key=key))


def _add_reports(
    found: Reports,
    summary: RunSummary,
    entity: str,
    texts: list[str],
    facts: Mapping[str, Any],
    reads: list[ReadInstances] | None,
) -> None:
    run = str(summary.run)
    by: tuple[tuple[What, Any, dict[str, Any]], ...] = (
        ("started", summary.starts, {}),
        ("produced", summary.completes, {**facts, "reads": reads}),
        ("failed", summary.failures, {}),
    )
    for what, events, more in by:
        for event in events:
            key = f"event {event.digest.hex()} {','.join(texts)}"
            found.reports.append(
                Reported(entity=entity, what=what, instances=texts, ref=run, at=event.at, key=key, future=True, **more)
            )
            if what == "failed" and summary.completes:
                found.doubts.append(
                    Reported(entity=entity, what="doubted", instances=texts, ref=BOTH, at=event.at, key=f"{run} {key}")
                )


def _targets(summary: RunSummary, places: Places, runs: Sequence[Facets]) -> dict[str, list[DatasetReport]]:
    """The entities that a run makes, each with the outputs that store it. Dropping, truncating or altering a table does not make it."""
    found: dict[str, list[DatasetReport]] = {}
    for report in summary.outputs.values():
        if decode_or_none(known.lifecycle, report.facets.get("lifecycleStateChange")) not in _NOT_MADE:
            for entity in places.stored(report):
                found.setdefault(entity, []).append(report)
    for entity in places.produced_by(summary.job):
        found.setdefault(entity, [])
    named = decode_or_none(period_of, runs[0].get(PERIOD))
    if named is not None and named.entity in places.held.declared:
        found.setdefault(named.entity, [])
    return found


def _period(entity: str, runs: Sequence[Facets]) -> Period | None:
    """The entity's `headwater_period` facet: of the run, else of the nearest run above it."""
    periods = (decode_or_none(period_of, facets.get(PERIOD)) for facets in runs)
    return next((period for period in periods if period is not None and period.entity in {None, entity}), None)


def _instances(
    declared: EntityDeclaration, outputs: Sequence[DatasetReport], runs: Sequence[Facets], identity: Identity
) -> MatchedInstances:
    """The union of the instances of all outputs; a single output may have none."""
    existing, union, why = declared.entity.instances, NONE, ""
    evidence = [(output.io_facets, parts(output.name, output.io_facets, identity)) for output in outputs]
    for io_facets, written in evidence or [({}, [])]:
        matched = instances(declared.name, existing, io_facets, written, runs)
        union |= matched.instances
        why = why or matched.why
    return MatchedInstances(union, "" if union else why or NO_PERIOD)


def _reads(declared: EntityDeclaration, summary: RunSummary, places: Places) -> list[ReadInstances] | None:
    """Return what the run read, if it is completely known: every declared need is among the inputs, and the instances
    of every input entity are identified. Otherwise None, because an incomplete record would count as complete."""
    found = dict[str, Any]()
    for name, report in summary.inputs.items():
        for entity in places.stored(report):
            existing = places.held.instances(entity)
            matched = instances(entity, existing, report.io_facets, parts(name, report.io_facets, places.identity))
            if not matched.instances:
                return None
            found[entity] = found.get(entity, NONE) | matched.instances
    if not found.keys() >= {link.upstream for link in places.held.graph.upstream(declared.name)}:
        return None
    return [
        ReadInstances(entity, ranges.written(places.held.instances(entity), some)) for entity, some in found.items()
    ]


def _version_facts(summary: RunSummary, outputs: Sequence[DatasetReport]) -> dict[str, Any]:
    """Fields of the version's report: its code; with exactly one output also its fingerprint, storage and counts."""
    found: dict[str, Any] = {"code": _code(summary)}
    if len(outputs) == 1:
        (output,) = outputs
        external = decode_or_none(known.external_version, output.facets.get("version")) or ""
        item = decode_or_none(_item.decode, output.io_facets.get(ITEM))
        found["fingerprint"] = (item.fingerprint if item is not None else None) or (
            external if external.startswith(_FINGERPRINT) else None
        )
        if external and not external.startswith(_FINGERPRINT):
            found["storage"] = _storage(output, external)
        counts = decode_or_none(known.statistics, output.io_facets.get("outputStatistics")) or (None, None, None)
        found["rows"], found["bytes"] = counts[:2]
    return found


def _storage(output: DatasetReport, external: str) -> dict[str, Any]:
    """The storage's version of an output. Only Headwater's own capture reports the version that a write left, to which a plan may go back; other
    producers report the version that was current when the query was planned.
    """
    key = _VERSIONS.get(decode_or_none(known.storage_layer, output.facets.get("storage")) or "")
    facet = decode_or_none(_facet_producer.decode, output.facets.get("version"))
    ours = facet is not None and facet.producer.startswith(_OURS)
    if key and ours and names.is_path(output.name.namespace) and _NUMBER.fullmatch(external):
        return {key: int(external), "table": names.location(output.name)}
    return {"namespace": output.name.namespace, "name": output.name.name, "version": external}


def _code(summary: RunSummary) -> str | None:
    """The commit that ran: from the job's `sourceCodeLocation` facet, else from the run's `headwater_code`."""
    for body in (summary.job_facets.get("sourceCodeLocation"), summary.facets.get("headwater_code")):
        location = decode_or_none(_version.decode, body)
        if location is not None and location.version:
            return known.clean(location.version)
    return None


class _Item(msgspec.Struct):
    fingerprint: str | None = None


class _Version(msgspec.Struct):
    version: str | None = None


class _FacetProducer(msgspec.Struct):
    producer: str = msgspec.field(default="", name="_producer")


_item = msgspec.json.Decoder(_Item)
_facet_producer = msgspec.json.Decoder(_FacetProducer)
_version = msgspec.json.Decoder(_Version)


def above(summary: RunSummary) -> list[uuid.UUID]:
    """The ids of its parent run and root run."""
    ancestors = decode_or_none(known.parent, summary.facets.get("parent")) or ()
    return list(dict.fromkeys(version.run_id(each.run_id)[0] for each in ancestors if each is not None))
