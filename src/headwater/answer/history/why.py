"""The cause of a failing or slower job: what changed with it, ranked, and what was checked and is equal. Design: docs/explanation/why.md."""

import datetime as dt
import math
from collections.abc import Sequence

import msgspec

from headwater.answer.history import run_aspects, run_difference
from headwater.answer.history.run_aspects import RunAspects
from headwater.answer.history.run_difference import ComparedRun, Difference, EqualAspect
from headwater.answer.lineage.find import node_row
from headwater.answer.lineage.runs import start
from headwater.errors import InvalidQuestion, NotFound
from headwater.model.causes import Cause, Ranking, rank
from headwater.model.levels import levels, rise
from headwater.model.observation import Observation
from headwater.model.run import RunState
from headwater.store.database import Connection, Database
from headwater.store.history import durations as duration_store
from headwater.store.history import why as store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage import runs as run_store
from headwater.store.lineage.nodes import NodeRow
from headwater.store.lineage.runs import RunRow

# Runs that are compared: before the last good one, and after it.
_BEFORE, _AFTER = 150, 50
_MOST_SUSPECTS, _MOST_EQUAL = 10, 200
_BAD = (RunState.FAILED, RunState.ABORTED)


class LikelyCause(Difference, kw_only=True):
    """A change, from `before` to `after`, that came with the run `run_id`.

    `bad_with`, `good_with`: bad and good runs that have it; `bad_without`, `good_without`: those that do not. `harmless`: how often such a change
    did no harm to this job before. `probability`: from 0 to 1, against all other causes, chance, and what no run reports.
    """

    run_id: str
    started_at: dt.datetime
    bad_with: int
    good_with: int
    bad_without: int
    good_without: int
    harmless: int
    probability: float


class Suspects(msgspec.Struct):
    """Causes that no history of runs tells apart: they came with one run, and are in the same runs. `probability`: that it is one of them."""

    probability: float
    causes: list[LikelyCause]


class Why(msgspec.Struct, kw_only=True):
    """The answer for one job. `question`: `failed`, `slower`, or `nothing` where the job does well. `goes_on`: its latest run is still bad.

    `named`: the first suspects are far likelier than everything else, and hardly a coincidence. `coinciding`: they would be named, but in the share
    `coincidence` of the earlier good runs a change as likely to do harm came, and did none: they changed at the same time, and may not be the cause.
    `by_chance`: the probability that the job fails now and then, whatever changes;
    `unreported`: that something changed which no run reports. `hidden`: suspects that are not listed. `equal`: at most 200 of the
    `equal_count` aspects in which the first bad run and the last good one before it are alike. `unknown`: kinds that no run reports.
    """

    job: str
    question: str
    goes_on: bool
    last_good: ComparedRun | None
    first_bad: ComparedRun | None
    runs: int
    bad: int
    named: bool
    coinciding: bool
    coincidence: float
    suspects: list[Suspects]
    hidden: int
    by_chance: float
    unreported: float
    equal: list[EqualAspect]
    equal_count: int
    unknown: list[str]
    notes: list[str]


async def why(database: Database, *, job: str | None, run: str | None) -> Why:
    """Say why a job fails or became slower, or why one run failed. Raises NotFound; InvalidQuestion for a run that ended well."""
    if (job is None) == (run is None):
        raise InvalidQuestion("name a job or a run, one of them", parameter="job")
    async with database.snapshot() as connection:
        if run is not None:
            row = (await start(connection, run))[0]
            if row.state not in _BAD:
                raise InvalidQuestion(
                    f"run {row.run_id} is {row.state.name}, not failed; compare it with another run: headwater diff RUN RUN",
                    run=str(row.run_id),
                )
            owner = (await node_store.by_ids(connection, {row.job_id}))[row.job_id]
            return await _failed(connection, owner, row)
        assert job is not None
        owner = await node_row(connection, job)
        if owner.type != "JOB":
            raise NotFound(f"{job!r} is no job; runs belong to jobs", node=job)
        return await _of_job(connection, owner)


async def _of_job(connection: Connection, owner: NodeRow) -> Why:
    latest = await store.last_of_state(connection, owner.id, (*_BAD, RunState.COMPLETED))
    if latest is None:
        return _nothing(owner, ["no run of this job has ended"])
    if latest.state in _BAD:
        return await _failed(connection, owner, latest)
    slower = await _slower(connection, owner)
    if slower is not None:
        return slower
    bad = await store.last_of_state(connection, owner.id, _BAD)
    if bad is not None:
        return await _failed(connection, owner, bad)
    return _nothing(owner, ["none of its runs failed, and it did not become slower"])


async def _failed(connection: Connection, owner: NodeRow, bad: RunRow) -> Why:
    good = await store.last_of_state(connection, owner.id, [RunState.COMPLETED], bad.first_event_at)
    rows = await store.ended_around(connection, owner.id, (good or bad).first_event_at, _BEFORE, _AFTER)
    found = await run_aspects.load(connection, rows)
    answer = _answer(owner, "failed", found, [row.state in _BAD for row in rows], good)
    latest = await store.last_of_state(connection, owner.id, (*_BAD, RunState.COMPLETED))
    answer.goes_on = latest is not None and latest.state in _BAD
    if good is None:
        answer.notes.append("no run before it ended well: there is nothing to compare with")
    return answer


async def _slower(connection: Connection, owner: NodeRow) -> Why | None:
    """Return the answer for a job that takes longer than before; None if it does not."""
    past = (await duration_store.of_jobs(connection, [owner.id], _BEFORE + _AFTER)).get(owner.id)
    risen = rise(levels(past.took)) if past else None
    if past is None or risen is None:
        return None
    between = math.sqrt(max(1.0, risen.before) * max(1.0, risen.after))
    slow = {
        run: place >= risen.first and took > between
        for place, (run, took) in enumerate(zip(past.runs, past.took, strict=True))
    }
    rows = [row for row in await run_store.by_run_ids(connection, list(slow)) if row.job_id == owner.id]
    rows.sort(key=lambda row: (row.first_event_at, row.run_id))
    found = await run_aspects.load(connection, rows)
    bad = [slow[row.run_id] for row in rows]
    first = bad.index(True) if True in bad else 0
    answer = _answer(owner, "slower", found, bad, rows[first - 1] if first else None)
    answer.goes_on = True
    answer.notes.append(
        f"a run takes {risen.after / 1000:,.1f} s since {past.began[risen.first]:%Y-%m-%d %H:%M} UTC, {risen.before / 1000:,.1f} s before"
    )
    return answer


def _nothing(owner: NodeRow, notes: list[str]) -> Why:
    return Why(
        job=owner.node_id, question="nothing", goes_on=False, last_good=None, first_bad=None, runs=0, bad=0, named=False, coinciding=False,
        coincidence=0.0, suspects=[], hidden=0, by_chance=0.0, unreported=0.0, equal=[], equal_count=0, unknown=[], notes=notes,
    )  # fmt: skip


def _answer(
    owner: NodeRow, question: str, found: Sequence[RunAspects], bad: Sequence[bool], good: RunRow | None
) -> Why:
    places = {one.row.run_id: place for place, one in enumerate(found)}
    last_good = places.get(good.run_id) if good is not None else None
    first_bad = next(
        (place for place in range((last_good if last_good is not None else -1) + 1, len(found)) if bad[place]), None
    )
    ranking = rank([Observation(wrong, one.values, one.numbers) for wrong, one in zip(bad, found, strict=True)])
    before = found[last_good] if last_good is not None else None
    after = found[first_bad] if first_bad is not None else None
    equal = run_difference.equal_aspects(before, after) if before and after else []
    suspects = _suspects(ranking, found)
    return Why(
        job=owner.node_id, question=question, goes_on=False,
        last_good=run_difference.compared(before, owner.node_id) if before else None,
        first_bad=run_difference.compared(after, owner.node_id) if after else None,
        runs=len(found), bad=sum(bad), named=ranking.named is not None,
        coinciding=ranking.coinciding is not None, coincidence=round(ranking.coincidence, 4),
        suspects=suspects[:_MOST_SUSPECTS], hidden=max(0, len(suspects) - _MOST_SUSPECTS),
        by_chance=round(ranking.by_chance, 4), unreported=round(ranking.unreported, 4), equal=equal[:_MOST_EQUAL], equal_count=len(equal),
        unknown=run_difference.unknown_kinds(list(found)), notes=[],
    )  # fmt: skip


def _suspects(ranking: Ranking, found: Sequence[RunAspects]) -> list[Suspects]:
    return [
        Suspects(round(group.probability, 4), [_cause(cause, found[cause.first]) for cause in group.causes])
        for group in ranking.suspects
    ]


def _cause(cause: Cause, came_with: RunAspects) -> LikelyCause:
    told = run_difference.difference(cause.aspect, cause.before, cause.after)
    counts = cause.counts
    return LikelyCause(
        told.kind, told.name, told.before, told.after, told.changes, run_id=str(came_with.row.run_id), started_at=came_with.row.began,
        bad_with=counts.bad_with, good_with=counts.good_with, bad_without=counts.bad_without, good_without=counts.good_without,
        harmless=cause.harmless, probability=round(cause.probability, 4),
    )  # fmt: skip
