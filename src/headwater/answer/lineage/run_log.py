"""Facets of runs, read from the log: a run has a few events, and they say it all.

A facet has the body of its latest event (OpenLineage: a facet is replaced whole); inputs and outputs accumulate.
"""

import uuid
from collections.abc import Collection

import msgspec

from headwater.errors import InvalidEvent
from headwater.model import dbt_jobs, version
from headwater.model.event import DatasetReport, Event, Facets, read
from headwater.model.identity import Identity
from headwater.model.names import JobName
from headwater.store.database import Connection
from headwater.store.events import events as event_store
from headwater.store.events import server_state
from headwater.store.lineage import names
from headwater.store.lineage.runs import RunRow

# A streaming run may have sent a million RUNNING events; the latest of them say what holds.
MOST_EVENTS = 200


class DatasetFacets(msgspec.Struct):
    """Facets of a dataset as the run reported them, and those that hold in this run only."""

    facets: dict[str, bytes]
    here: dict[str, bytes]


class RunFacets(msgspec.Struct):
    """The facets that the events of a run report. Datasets go by the ids of the names that stand for them."""

    run: dict[str, bytes]
    job: dict[str, bytes]
    inputs: dict[uuid.UUID, DatasetFacets]
    outputs: dict[uuid.UUID, DatasetFacets]
    events: int


def empty() -> RunFacets:
    return RunFacets({}, {}, {}, {}, 0)


async def load(connection: Connection, rows: Collection[RunRow]) -> dict[tuple[uuid.UUID, uuid.UUID], RunFacets]:
    """Return the facets of each run, by (run, job). Runs whose events are gone from the log have none."""
    found = {(row.run_id, row.job_id): empty() for row in rows}
    if not rows:
        return found
    told = await event_store.of_runs(
        connection,
        {row.run_id for row in rows},
        min(row.first_event_at for row in rows),
        max(row.last_event_at for row in rows),
        MOST_EVENTS,
    )
    identity = Identity((await server_state.read(connection)).rules)
    for one in told:
        try:
            event = read(one.body)
        except InvalidEvent:  # pragma: no cover - the log holds only what was read once
            continue
        if event.job is not None and (key := (one.run_id, version.job_id(event.job))) in found:
            _fold(found[key], event, identity)
    return await _settled(connection, found)


async def latest(
    connection: Connection, rows: Collection[RunRow], facet: str
) -> dict[tuple[uuid.UUID, uuid.UUID], bytes]:
    """Return the body of a run facet in its latest event, by (run, job). Nothing else of the events is read: they may be large."""
    if not rows:
        return {}
    told = await event_store.of_runs(
        connection,
        {row.run_id for row in rows},
        min(row.first_event_at for row in rows),
        max(row.last_event_at for row in rows),
        MOST_EVENTS,
    )
    wanted = {(row.run_id, row.job_id) for row in rows}
    named = facet.encode()
    found: dict[tuple[uuid.UUID, uuid.UUID], bytes] = {}
    for one in told:
        if named not in one.body:
            continue
        job, facets = _decode_facets(one.body)
        if job is not None and facet in facets and (key := (one.run_id, version.job_id(job))) in wanted:
            found[key] = bytes(facets[facet])
    return found


class _LeastJob(msgspec.Struct):
    namespace: str
    name: str


class _LeastRun(msgspec.Struct):
    facets: dict[str, msgspec.Raw] = {}


class _LeastEvent(msgspec.Struct):
    """The least of an event that is needed to know its run's facets."""

    run: _LeastRun
    job: _LeastJob


_least = msgspec.json.Decoder(_LeastEvent)


def _decode_facets(body: bytes) -> tuple[JobName | None, Facets]:
    """The job and the run facets of a run event; one with anything odd in it is read as it was when it came."""
    if dbt_jobs.FACET.encode() not in body and b"\\u0000" not in body and b"\\ud" not in body and b"\\uD" not in body:
        try:
            told = _least.decode(body)
            return JobName(told.job.namespace, told.job.name), told.run.facets
        except (ValueError, RecursionError):
            # The patient reader has to look.
            pass
    event = read(body)
    return event.job, event.run_facets


def _fold(into: RunFacets, event: Event, identity: Identity) -> None:
    into.events += 1
    _replace(into.run, event.run_facets)
    _replace(into.job, event.job_facets)
    for side, reports in ((into.inputs, event.inputs), (into.outputs, event.outputs)):
        for report in reports:
            _dataset(side, report, identity)


def _dataset(side: dict[uuid.UUID, DatasetFacets], report: DatasetReport, identity: Identity) -> None:
    mine = side.setdefault(version.dataset_id(identity.place(report.name).name), DatasetFacets({}, {}))
    _replace(mine.facets, report.facets)
    _replace(mine.here, report.io_facets)


def _replace(into: dict[str, bytes], facets: Facets) -> None:
    for name, raw in facets.items():
        into[name] = bytes(raw)


async def _settled(
    connection: Connection, found: dict[tuple[uuid.UUID, uuid.UUID], RunFacets]
) -> dict[tuple[uuid.UUID, uuid.UUID], RunFacets]:
    other = await names.canonical(connection, {id_ for one in found.values() for id_ in (*one.inputs, *one.outputs)})
    if other:
        for one in found.values():
            one.inputs = {other.get(id_, id_): facets for id_, facets in one.inputs.items()}
            one.outputs = {other.get(id_, id_): facets for id_, facets in one.outputs.items()}
    return found
