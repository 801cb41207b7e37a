"""The freshness of datasets: when each was updated, how often that is usual, whether it is late, and the results of checks.

The cadence is learned from what was (`model.cadence`); it need not be declared. Failed runs update nothing. A stream is fresh as long as it
speaks. A dataset without a rhythm is never late.
"""

import asyncio
import datetime as dt
import uuid
from collections.abc import Collection

import msgspec

from headwater.answer.lineage import node, run_log
from headwater.answer.lineage.find import node_row
from headwater.answer.lineage.runs import RunRef
from headwater.errors import InvalidQuestion
from headwater.model import facets as known
from headwater.model.cadence import Cadence, Judgement, Lateness, judge, learn_seconds
from headwater.model.checks import assertions_facet
from headwater.model.names import short
from headwater.store.database import Connection, Database
from headwater.store.history import facets as facet_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.nodes import NodeRow
from headwater.store.status import freshness as store

# A month of days: more would add little, and all datasets are asked at once.
_UPDATES = 30
_EPOCH, _MICROSECOND = dt.datetime(1970, 1, 1, tzinfo=dt.UTC), dt.timedelta(microseconds=1)
_MOST_DATASETS = 10_000
_CHECK_JOBS, _CHECK_RUNS = 40, 5
_STATES = ("on_time", "late", "very_late", "unknown")


class Usual(msgspec.Struct):
    """The usual rhythm of a dataset's updates.

    `rhythm`: regular, irregular or unknown (fewer than four updates). `quiet_days`: ISO weekdays without updates.
    """

    rhythm: str
    name: str | None
    gap_seconds: float | None
    spread_seconds: float | None
    updates: int
    quiet_days: list[int]


class Assertion(msgspec.Struct):
    """The latest result of one check."""

    assertion: str
    column: str | None
    success: bool
    run: RunRef
    at: dt.datetime


class Quality(msgspec.Struct):
    """`state`: passing, failing, or unknown without a check. `metrics`: the latest dataQualityMetrics facet as it came."""

    state: str
    passed: int
    failed: int
    assertions: list[Assertion]
    metrics: msgspec.Raw | None
    metrics_at: dt.datetime | None


class Freshness(msgspec.Struct, kw_only=True):
    """`available`: False after it was dropped, None without a recorded write. `late_seconds`: since `expected_next`."""

    id: str
    namespace: str
    name: str
    label: str
    available: bool | None
    state: str
    cadence: Usual
    streaming: bool
    last_update: dt.datetime | None
    last_run: RunRef | None
    expected_next: dt.datetime | None
    late_seconds: int | None
    missed: int


class Health(Freshness, kw_only=True):
    """One dataset, with the runs that failed to update it since, and the results of checks."""

    failures_since: int
    failing_since: dt.datetime | None
    quality: Quality


class FreshnessList(msgspec.Struct):
    """`examined` of the `datasets` that were ever written, those with the latest events; `total` of them are in the state that was asked for."""

    datasets: int
    examined: int
    total: int
    counts: dict[str, int]
    freshness: list[Freshness]


async def freshness(
    database: Database, *, state: str | None, namespace: str | None, limit: int, offset: int
) -> FreshnessList:
    """Return datasets in a state, the one that became late last first. `late` includes `very_late`. Raises InvalidQuestion for an unknown state."""
    if state is not None and state not in _STATES:
        raise InvalidQuestion(f"state {state!r} is not one of {', '.join(_STATES)}", parameter="state")
    now = dt.datetime.now(dt.UTC)
    async with database.snapshot() as connection:
        ids, known_datasets = await store.candidates(connection, namespace, _MOST_DATASETS)
        histories = await _histories(connection, ids, now)
        # Thousands of medians: the loop must go on meanwhile.
        judged = await asyncio.to_thread(lambda: {id_: _judged(one, now) for id_, one in histories.items()})
        counts = dict.fromkeys(_STATES, 0)
        for _, found in judged.values():
            counts[found.state.value] += 1
        wanted = {state, "very_late"} if state == "late" else {state} if state else set(_STATES)
        chosen = sorted(
            (id_ for id_, (_, found) in judged.items() if found.state.value in wanted),
            key=lambda id_: _order(judged[id_], id_),
        )
        page = chosen[offset : offset + limit]
        rows = await node_store.by_ids(connection, set(page) | _writers(histories, page))
    answers = [_answer(rows[id_], histories[id_], *judged[id_], rows) for id_ in page if id_ in rows]
    return FreshnessList(known_datasets, len(ids), len(chosen), counts, answers)


async def health(database: Database, namespace: str, name: str, as_of: dt.datetime | None = None) -> Health:
    """Return how available, fresh and good one dataset is. Raises NotFound."""
    now = as_of or dt.datetime.now(dt.UTC)
    async with database.snapshot() as connection:
        row = await node_row(connection, f"dataset:{namespace}:{name}")
        histories = await _histories(connection, [row.id], now)
        history = histories[row.id]
        count, first = await store.failures(connection, row.id, history.last or _EPOCH, now)
        rows = await node_store.by_ids(connection, _writers(histories, [row.id]))
        quality = await _quality(connection, row, now)
    return Health(
        **msgspec.structs.asdict(_answer(row, history, *_judged(history, now), rows)),
        failures_since=count,
        failing_since=first,
        quality=quality,
    )


class _History(msgspec.Struct):
    """Times of updates in seconds since 1970, the latest as a time, and its writer."""

    times: list[float]
    last: dt.datetime | None
    run: uuid.UUID | None
    job: uuid.UUID | None
    streaming: bool
    dropped: bool


async def _histories(connection: Connection, ids: Collection[uuid.UUID], now: dt.datetime) -> dict[uuid.UUID, _History]:
    """A fixed number of statements for any number of datasets."""
    told = await store.updates(connection, ids, now, _UPDATES)
    writers = {job for one in told.values() for job in (one.done.job, one.open.job) if job}
    types = await facet_store.of_owners(connection, writers, ["jobType"])
    streams = {job for job, facets in types.items() if known.streaming(facets["jobType"])}
    # A run that still runs has written nothing yet, unless it never ends.
    latest = {id_: one.open if one.open.job in streams else one.done for id_, one in told.items()}
    beats = await store.beats(
        connection, {one.run for one in latest.values() if one.run and one.job in streams}, now, _UPDATES
    )
    found = {}
    for id_ in ids:
        one, by = told.get(id_), latest.get(id_)
        if one is None or by is None:
            found[id_] = _History([], None, None, None, False, False)
            continue
        times = one.done.times + (one.open.times if by is one.open else [])
        spoke = beats.get(by.run, []) if by.run else []
        times += [(beat - _EPOCH) // _MICROSECOND for beat in spoke]
        last = _EPOCH + max(times) * _MICROSECOND if times else None
        found[id_] = _History([time / 1e6 for time in times], last, by.run, by.job, bool(spoke), one.dropped)
    return found


def _judged(history: _History, now: dt.datetime) -> tuple[Cadence, Judgement]:
    cadence = msgspec.structs.replace(learn_seconds(history.times), last=history.last)
    return cadence, Judgement(Lateness.UNKNOWN) if history.dropped else judge(cadence, now)


def _order(judged: tuple[Cadence, Judgement], id_: uuid.UUID) -> tuple[int, float, uuid.UUID]:
    _, found = judged
    return (0 if found.late_seconds is not None else 1, found.late_seconds or 0.0, id_)


def _writers(histories: dict[uuid.UUID, _History], ids: Collection[uuid.UUID]) -> set[uuid.UUID]:
    return {job for id_ in ids if (job := histories[id_].job)}


def _answer(
    row: NodeRow, history: _History, cadence: Cadence, judged: Judgement, rows: dict[uuid.UUID, NodeRow]
) -> Freshness:
    ref = RunRef(str(history.run), rows[history.job].node_id) if history.run and history.job in rows else None
    return Freshness(
        id=row.node_id, namespace=row.namespace, name=row.name, label=short(row.name),
        available=None if history.last is None and not history.dropped else not history.dropped,
        state=judged.state.value,
        cadence=Usual(
            cadence.rhythm.value, cadence.name, cadence.gap, cadence.spread,
            cadence.updates, list(cadence.quiet_days)),
        streaming=history.streaming, last_update=cadence.last,
        last_run=ref,
        expected_next=judged.expected, late_seconds=judged.late_seconds, missed=judged.missed,
    )  # fmt: skip


async def _quality(connection: Connection, row: NodeRow, now: dt.datetime) -> Quality:
    """Return the latest result of each check in the latest runs that mention the dataset; OpenLineage has it beside inputs, dbt with the dataset."""
    runs = await store.reporters(connection, row.id, now, jobs=_CHECK_JOBS, runs=_CHECK_RUNS)
    told = await run_log.load(connection, runs)
    jobs = await node_store.by_ids(connection, {run.job_id for run in runs})
    checks: dict[tuple[str, str | None], Assertion] = {}
    metrics: msgspec.Raw | None = None
    metrics_at: dt.datetime | None = None
    for run in runs:
        facets = told[run.run_id, run.job_id]
        ref = RunRef(str(run.run_id), jobs[run.job_id].node_id)
        for side in (facets.inputs, facets.outputs):
            mine = side.get(row.id)
            for given in (mine.here, mine.facets) if mine else ():
                for name, column, success in _assertions(assertions_facet(given)):
                    checks.setdefault((name, column), Assertion(name, column, success, ref, run.last_event_at))
                if metrics is None and "dataQualityMetrics" in given:
                    metrics, metrics_at = msgspec.Raw(given["dataQualityMetrics"]), run.last_event_at
    found = sorted(checks.values(), key=lambda one: (one.success, one.column or "", one.assertion))
    failed = sum(not one.success for one in found)
    state = "unknown" if not found else "failing" if failed else "passing"
    return Quality(state, len(found) - failed, failed, found, metrics, metrics_at)


def _assertions(body: bytes | None) -> list[tuple[str, str | None, bool]]:
    """Return name, column and success of a facet's checks, failures first: Great Expectations may report two checks of one kind and column."""
    items = node.plain(body).get("assertions")
    found = [
        (
            str(one.get("assertion") or one["expectationType"]),
            one["column"] if isinstance(one.get("column"), str) else None,
            one["success"],
        )
        for one in (items if isinstance(items, list) else [])
        if isinstance(one, dict)
        and one.keys() & {"assertion", "expectationType"}
        and isinstance(one.get("success"), bool)
    ]
    return sorted(found, key=lambda check: check[2])
