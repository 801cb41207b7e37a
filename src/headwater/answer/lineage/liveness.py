"""The liveness of runs that have not ended: alive, stalled or lost. Only batch runs stall: a stream ends when it is stopped.

A run is lost when it announced signs of life (`headwater_heartbeat`) and three were missed, be it a batch or a stream. A later event undoes that.

A batch run is stalled when it has run far longer than its job's runs do and has sent no event for as long; if the job has too few
runs to compare, when it has sent none for a day. A stream (`jobType.processingType` is STREAMING or SERVICE) is never stalled.
"""

import datetime as dt
import uuid
from collections.abc import Collection, Mapping, Sequence

import msgspec

from headwater.model import facets as known
from headwater.model.run import RunState
from headwater.store.database import Connection
from headwater.store.history import durations
from headwater.store.history import facets as facet_store
from headwater.store.lineage.runs import RunRow

_RUNS = 30
_ENOUGH = 3
_DAY = dt.timedelta(days=1)
_MISSED = 3
# Shorter silences are normal: a cluster may take its time to start.
_PATIENCE = dt.timedelta(minutes=10)


class Liveness(msgspec.Struct, frozen=True):
    """`stalled`: why the run is thought to be; None when it is not. `lost`: the same; a lost run is stalled, too."""

    streaming: bool
    stalled: str | None = None
    lost: str | None = None


async def load(
    connection: Connection,
    rows: Collection[RunRow],
    now: dt.datetime,
    job_types: Mapping[uuid.UUID, bytes] | None = None,
) -> dict[tuple[uuid.UUID, uuid.UUID], Liveness]:
    """Return each run's liveness, by (run, job). `job_types`: the jobs' `jobType` facets, if the caller has them; two statements at most."""
    if job_types is None:
        told = await facet_store.of_owners(connection, {row.job_id for row in rows}, ["jobType"])
        job_types = {job: facets["jobType"] for job, facets in told.items()}
    streams = {job for job, body in job_types.items() if known.streaming(body)}
    running = {row.job_id for row in rows if row.state == RunState.RUNNING and row.job_id not in streams}
    past = await durations.of_jobs(connection, running, _RUNS)
    found = {}
    for row in rows:
        gone = lost(row, now)
        silent = None
        if gone is None and row.heartbeat_ms is None and row.job_id in running and row.state == RunState.RUNNING:
            silent = stalled(row.began, row.last_event_at, now, past[row.job_id].took if row.job_id in past else ())
        found[row.run_id, row.job_id] = Liveness(row.job_id in streams, gone or silent, gone)
    return found


def lost(row: RunRow, now: dt.datetime) -> str | None:
    """Return why a run that has not ended is thought to be lost, or None. A run that announced no signs of life is never lost."""
    if row.state != RunState.RUNNING or row.heartbeat_ms is None:
        return None
    silent = now - row.last_event_at
    if silent <= dt.timedelta(milliseconds=_MISSED * row.heartbeat_ms):
        return None
    return f"lost: no event for {_words(silent)}; it announced one every {row.heartbeat_ms / 1000:g} s"


def stalled(began: dt.datetime, spoke: dt.datetime, now: dt.datetime, took: Sequence[float]) -> str | None:
    """Return why a batch run that has not ended is thought to be stalled, or None. `took`: durations of earlier runs in milliseconds."""
    silent, elapsed = now - spoke, now - began
    if len(took) < _ENOUGH:
        if silent <= _DAY:
            return None
        return f"no event for {_words(silent)}; how long its runs usually take is not known"
    ordered = sorted(took)
    usual = dt.timedelta(milliseconds=ordered[len(ordered) // 2])
    long = dt.timedelta(milliseconds=ordered[min(len(ordered) - 1, round(len(ordered) * 0.9))])
    if elapsed <= max(3 * usual, 2 * long) or silent <= max(usual, _PATIENCE):
        return None
    return f"running for {_words(elapsed)} and silent for {_words(silent)}; its runs usually take {_words(usual)}"


def _words(span: dt.timedelta) -> str:
    seconds = max(0, round(span.total_seconds()))
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min"
    hours, minutes = seconds // 3600, seconds % 3600 // 60
    return f"{hours} h {minutes:02} min" if hours < 48 else f"{hours // 24} days"


def _steady(span: dt.timedelta) -> dt.timedelta:
    """Return for how long a span that grows stays the same in words, less a second for the rounding."""
    seconds = max(0, round(span.total_seconds()))
    step = 1 if seconds < 60 else 60 if seconds < 48 * 3600 else 24 * 3600
    return dt.timedelta(seconds=step - seconds % step - 1)


def unchanged_until(row: RunRow, now: dt.datetime, *, streaming: bool, stalled: bool) -> dt.datetime | None:
    """Return a time up to which a run that sends nothing more stays as alive as it is now, in the same words; None: for ever.

    A time that is past says nothing: the run may change at any moment. `stalled`: it is thought to be, or lost; it stays so.
    """
    if row.state != RunState.RUNNING or (streaming and row.heartbeat_ms is None):
        return None
    if stalled:
        return now + min(_steady(now - row.last_event_at), _steady(now - row.began))
    if row.heartbeat_ms is not None:
        return row.last_event_at + dt.timedelta(milliseconds=_MISSED * row.heartbeat_ms)
    return row.last_event_at + _PATIENCE
