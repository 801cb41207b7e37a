"""The durations of runs, and the jobs that became slower: since when, and how sure that is (`model.levels`).

Completed batch runs only: a failed run's time says when it failed, a stream's when it was stopped.
"""

import asyncio
import datetime as dt
import math
from typing import Any

import msgspec

from headwater.answer.lineage.find import node_row
from headwater.errors import NotFound
from headwater.model import facets as known
from headwater.model.levels import Level, Rise, levels, percentile, rise
from headwater.store.database import Database
from headwater.store.history import durations as store
from headwater.store.history import facets as facet_store
from headwater.store.history.durations import Past
from headwater.store.lineage import nodes as node_store

_MOST_JOBS = 2_000
_RUNS = 100
_USUALLY_SINCE = dt.timedelta(days=30)


class Took(msgspec.Struct):
    run_id: str
    started_at: dt.datetime
    duration_ms: int


class Percentiles(msgspec.Struct):
    """Milliseconds."""

    p50: int
    p90: int
    p99: int
    min: int
    max: int


class DurationLevel(msgspec.Struct):
    """Runs in a row that took about as long. `confidence`: that the runs before it took another time; None for the first."""

    since: dt.datetime
    runs: int
    median_ms: int
    spread_ms: int
    confidence: float | None


class Slower(msgspec.Struct, kw_only=True):
    """`before_ms`, `after_ms`: medians. `factor`: after / before, None from zero. `spread_ms`: median absolute deviation before.

    `added_ms`: what the runs since then took beyond the median before, together.
    """

    since: dt.datetime
    first_run: str
    before_ms: int
    after_ms: int
    factor: float | None
    spread_ms: int
    confidence: float
    runs_before: int
    runs_after: int
    added_ms: int


class SlowerJob(Slower, kw_only=True):
    job: str


class Durations(msgspec.Struct):
    """Runs oldest first. `slower` is None if the job is not slower now than before."""

    id: str
    streaming: bool
    runs: list[Took]
    percentiles: Percentiles | None
    levels: list[DurationLevel]
    slower: Slower | None


class SlowerJobs(msgspec.Struct):
    """Jobs that became slower since then, those that cost the most first. `examined` of the `jobs` with a completed run since then, the busiest."""

    since: dt.datetime
    jobs: int
    examined: int
    total: int
    slower: list[SlowerJob]


async def durations(
    database: Database, namespace: str, name: str, limit: int, as_of: dt.datetime | None = None
) -> Durations:
    """Return the latest completed runs of a job. Raises NotFound."""
    async with database.snapshot() as connection:
        row = await node_row(connection, f"job:{namespace}:{name}")
        if row.type != "JOB":
            raise NotFound(f"job {name!r} is not known in namespace {namespace!r}")
        past = (await store.of_jobs(connection, [row.id], limit, as_of or "infinity")).get(row.id, Past([], [], []))
        types = (await facet_store.of_owners(connection, [row.id], ["jobType"])).get(row.id, {})
    streaming = "jobType" in types and known.streaming(types["jobType"])
    found = [] if streaming else levels(past.took)
    risen = rise(found)
    ordered = sorted(past.took)
    return Durations(
        row.node_id,
        streaming,
        [Took(str(run), at, round(took)) for run, at, took in zip(past.runs, past.began, past.took, strict=True)],
        Percentiles(*(round(percentile(ordered, share)) for share in (0.5, 0.9, 0.99, 0, 1))) if ordered else None,
        [
            DurationLevel(
                past.began[one.first], one.count, round(one.median), round(one.spread), one.confidence or None
            )
            for one in found
        ],
        Slower(**_slower(past, risen)) if risen else None,
    )


async def slower(database: Database, since: dt.datetime | None, *, limit: int, offset: int) -> SlowerJobs:
    """Return the slower ones of all jobs; `since` is 30 days ago by default."""
    since = since or dt.datetime.now(dt.UTC) - _USUALLY_SINCE
    async with database.snapshot() as connection:
        jobs, total = await store.active_jobs(connection, since, _MOST_JOBS)
        types = await facet_store.of_owners(connection, jobs, ["jobType"])
        batch = [job for job in jobs if not (job in types and known.streaming(types[job]["jobType"]))]
        past = await store.of_jobs(connection, batch, _RUNS)
        # Thousands of series: the loop must go on meanwhile.
        risen = await asyncio.to_thread(lambda: {job: rise(_since(one, since)) for job, one in past.items()})
        found = [(job, past[job], one) for job, one in risen.items() if one is not None]
        found = [each for each in found if each[1].began[each[2].first] >= since]
        names = await node_store.by_ids(connection, {job for job, _, _ in found})
    told = [SlowerJob(job=names[job].node_id, **_slower(one, up)) for job, one, up in found if job in names]
    told.sort(key=lambda one: (-one.added_ms, one.job))
    return SlowerJobs(since, total, len(jobs), len(told), told[offset : offset + limit])


def _since(past: Past, since: dt.datetime) -> list[Level]:
    """Return the levels of a series; none if it did not run since, or plainly is no slower than ever, a quick test that settles many jobs."""
    if max(past.took[-3:]) <= min(past.took):
        return []
    return levels(past.took) if past.began[-1] >= since else []


def _slower(past: Past, risen: Rise) -> dict[str, Any]:
    after = past.took[risen.first :]
    return {
        "since": past.began[risen.first],
        "first_run": str(past.runs[risen.first]),
        "before_ms": round(risen.before),
        "after_ms": round(risen.after),
        "factor": round(risen.factor, 2) if math.isfinite(risen.factor) else None,
        "spread_ms": round(risen.spread),
        "confidence": risen.confidence,
        "runs_before": risen.first,
        "runs_after": len(after),
        "added_ms": round(sum(took - risen.before for took in after)),
    }
