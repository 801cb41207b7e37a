"""Find lineage that has gone stale, and why: producers, syncs and jobs that no longer report.

| kind | stale because |
|---|---|
| producer | it has been silent for longer than its rhythm; a newer version of it that reports counts as the same one |
| sync | the reading of a warehouse's query log stopped |
| job, failing | its last runs failed, so its lineage is that of an earlier run |
| job, silent | it has not run for longer than the rhythm of what it writes |

Times are those at which events happened: what was delivered late, or imported at once, has the rhythm of its work and not that of its arrival.
Rhythms are learned (`model.cadence`). Without a rhythm nothing is stale: a producer that sent events twice may never come back.
"""

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Iterable

import msgspec

from headwater.answer.status.freshness import freshness
from headwater.model.cadence import Cadence, Lateness, judge, learn_seconds
from headwater.store.database import Database
from headwater.store.events import producers as store
from headwater.store.lineage import nodes as node_store
from headwater.store.status import open_incidents as incident_store
from headwater.store.usage import quality as quality_store

# Events of this long are looked at: a weekly producer has four gaps in it.
_WINDOW = dt.timedelta(days=35)
_MOST = 1000
_MOST_ROWS = 20_000
_VERSION = re.compile(r"[/@:-]?v?\d+(\.\d+)+[^/]*")
_LATE = frozenset({Lateness.LATE, Lateness.VERY_LATE})


class StaleSource(msgspec.Struct, frozen=True):
    """`kind`: producer, sync or job. `cause`: silent, stopped or failing. `since`: the time of its last event; of a failing job its first failure.

    `usual`: how often it did: hourly, daily, weekly, or about every so many seconds. `datasets`: node ids of what it writes, as far as known.
    `look`: the command that shows more.
    """

    kind: str
    id: str
    cause: str
    since: dt.datetime | None
    usual: str | None
    datasets: list[str]
    text: str
    look: str | None


class StaleLineage(msgspec.Struct, frozen=True):
    """Producers first, then syncs, then jobs; each the longest silent first. `cut`: there are more."""

    sources: list[StaleSource]
    cut: bool


async def stale_lineage(database: Database, now: dt.datetime | None = None) -> StaleLineage:
    """Find what has gone stale by a time (default: now)."""
    now = now or dt.datetime.now(dt.UTC)
    jobs, cut = await _jobs(database, now)
    async with database.snapshot() as connection:
        reported = await store.reported_hours(connection, now - _WINDOW, now)
        days = await quality_store.days(
            connection, namespace=None, dialect=None, since=(now - _WINDOW).date(), until=None, limit=_MOST_ROWS
        )
    read: dict[str, set[float]] = defaultdict(set)
    for row in days:
        read[f"{row.namespace} ({row.counts.dialect})"].add(row.at.timestamp())
    found = [*_silent(by_program(reported), now), *_stopped(read, now), *jobs]
    return StaleLineage(found, cut)


def by_program(reported: Iterable[tuple[str, int]]) -> dict[str, tuple[str, set[float]]]:
    """Group hours by the producer without its version: the full name that reported last, and the times of all versions."""
    found: dict[str, tuple[str, set[float]]] = {}
    for producer, at in sorted(reported, key=lambda hour: hour[1]):
        times = found.get(_VERSION.sub("", producer), ("", set[float]()))[1]
        found[_VERSION.sub("", producer)] = producer, times | {float(at)}
    return found


def _silent(programs: dict[str, tuple[str, set[float]]], now: dt.datetime) -> list[StaleSource]:
    found = [
        StaleSource(
            "producer", producer, "silent", cadence.last, usual(cadence), [],
            f"silent for {missing}; it usually reports {usual(cadence)}", None,
        )
        for producer, times in programs.values()
        for cadence, missing in _overdue(times, now)
    ]  # fmt: skip
    return sorted(found, key=_oldest)


def _stopped(syncs: dict[str, set[float]], now: dt.datetime) -> list[StaleSource]:
    found = [
        StaleSource(
            "sync", source, "stopped", cadence.last, usual(cadence), [],
            f"its query log has not been read for {missing}; it usually is {usual(cadence)}", "headwater sync query-log",
        )
        for source, times in syncs.items()
        for cadence, missing in _overdue(times, now)
    ]  # fmt: skip
    return sorted(found, key=_oldest)


def _overdue(times: set[float], now: dt.datetime) -> Iterable[tuple[Cadence, str]]:
    """The rhythm of these times and how long it has been broken, if it has."""
    cadence = learn_seconds(times)
    last = dt.datetime.fromtimestamp(max(times), dt.UTC)
    cadence = msgspec.structs.replace(cadence, last=last)
    if judge(cadence, now).state in _LATE:
        yield cadence, span((now - last).total_seconds())


async def _jobs(database: Database, now: dt.datetime) -> tuple[list[StaleSource], bool]:
    """Find jobs whose runs fail, and jobs that no longer run although what they write had a rhythm."""
    late = await freshness(database, state="late", namespace=None, limit=_MOST, offset=0)
    async with database.snapshot() as connection:
        failing, _ = await incident_store.failing(connection, now - _WINDOW, _MOST)
        names = await node_store.by_ids(connection, {one.job for one in failing})
    written: dict[str, list[str]] = defaultdict(list)
    for each in late.freshness:
        if each.last_run is not None and not each.streaming:
            written[each.last_run.job].append(each.id)
    found = []
    for one in failing:
        job = names[one.job].node_id
        runs = f"its last {one.failures:,} runs" if one.failures > 1 else "its last run"
        text = f"{runs} did not succeed: its lineage is that of the run before"
        look = f"headwater run show {one.run}"
        found.append(StaleSource("job", job, "failing", one.since, None, sorted(written.pop(job, [])), text, look))
    rhythm = {each.id: each for each in late.freshness}
    for job, datasets in written.items():
        first = max((rhythm[each] for each in datasets), key=lambda each: each.late_seconds or 0)
        last, often = first.last_update, first.cadence.name or "regularly"
        silent = span((now - last).total_seconds()) if last else "long"
        text = f"it has not run for {silent}; what it writes is usually updated {often}"
        found.append(
            StaleSource("job", job, "silent", last, often, sorted(datasets), text, f"headwater lineage '{job}'")
        )
    return sorted(found, key=_oldest), late.total > len(late.freshness) or len(failing) >= _MOST


def usual(cadence: Cadence) -> str:
    """Return in words how often something happens: the cadence's name, or "every" with the length of its gap."""
    return cadence.name or f"every {span(cadence.gap or 0)}"


def span(seconds: float) -> str:
    """A length of time to its largest unit: `3 days`."""
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            many = int(seconds // length)
            return f"{many:,} {unit}{'s' * (many != 1)}"
    return "less than a minute"


def _oldest(source: StaleSource) -> tuple[dt.datetime, str]:
    return source.since or dt.datetime.min.replace(tzinfo=dt.UTC), source.id
