"""The state of each producer: what it sends, how late, what is odd about it, and which runs it began and never ended.

Computed from a window of the log by time of arrival (an index serves it), never from the whole log.
"""

import datetime as dt

import msgspec

from headwater.model import facets as known
from headwater.store.database import Database
from headwater.store.events import producers as store
from headwater.store.history import facets as facet_store
from headwater.store.lineage import nodes as node_store

_WINDOW = dt.timedelta(days=7)
# A run may be long; after so long a silence it has no end to wait for.
_SILENT = dt.timedelta(days=1)


class DayCount(msgspec.Struct):
    day: dt.date
    count: int


class WarningCount(msgspec.Struct):
    code: str
    count: int
    example: str
    last_at: dt.datetime
    days: list[DayCount]


class Delay(msgspec.Struct):
    """Seconds from an event's time to its arrival. Negative: the producer's clock is ahead."""

    p50: float
    p90: float
    p99: float
    max: float


class NeverEnded(msgspec.Struct):
    """Runs of a job that were started in the window and have been silent for a day without an end. Streams are none of them."""

    job: str
    runs: int
    since: dt.datetime


class Producer(msgspec.Struct):
    """`kinds`: events by kind (run, job, dataset). `types`: run events by their type. `warned`: share of events with a warning, 0 to 1."""

    producer: str
    events: int
    last_seen: dt.datetime
    kinds: dict[str, int]
    types: dict[str, int]
    delay: Delay
    warned: float
    warnings: list[WarningCount]
    never_ended: list[NeverEnded]


class Producers(msgspec.Struct):
    """Producers of the events that arrived since `since`, the busiest first."""

    since: dt.datetime
    producers: list[Producer]


async def producers(database: Database, since: dt.datetime | None = None) -> Producers:
    """Return the producers of what arrived since a time (default: seven days ago)."""
    now = dt.datetime.now(dt.UTC)
    since = since or now - _WINDOW
    async with database.snapshot() as connection:
        activity = await store.activity(connection, since)
        delays = await store.delays(connection, since)
        odd = await store.warnings(connection, since)
        warned = await store.events_with_warnings(connection, since)
        open_runs = await store.never_ended(connection, since, now - _SILENT)
        jobs = {job for _, job, _, _ in open_runs}
        types = await facet_store.of_owners(connection, jobs, ["jobType"])
        names = await node_store.by_ids(connection, jobs)
    found: dict[str, Producer] = {}
    for name, kind, event_type, count, last in activity:
        delay = Delay(*(round(seconds, 3) for seconds in delays[name]))
        one = found.setdefault(name, Producer(name, 0, last, {}, {}, delay, 0.0, [], []))
        one.events += count
        one.last_seen = max(one.last_seen, last)
        one.kinds[kind] = one.kinds.get(kind, 0) + count
        if kind == "run":
            one.types[event_type or "OTHER"] = one.types.get(event_type or "OTHER", 0) + count
    for name, code, day, count, example, last in odd:
        counts = found[name].warnings
        if not counts or counts[-1].code != code:
            counts.append(WarningCount(code, 0, example, last, []))
        counts[-1].count += count
        counts[-1].last_at = max(counts[-1].last_at, last)
        counts[-1].days.append(DayCount(day.date(), count))
    for name, job, runs, first in open_runs:
        if job in names and not (job in types and known.streaming(types[job]["jobType"])):
            found[name].never_ended.append(NeverEnded(names[job].node_id, runs, first))
    for name, one in found.items():
        one.warned = round(warned.get(name, 0) / one.events, 4)
        one.warnings.sort(key=lambda each: (-each.count, each.code))
        one.never_ended.sort(key=lambda each: (-each.runs, each.job))
    return Producers(since, sorted(found.values(), key=lambda one: (-one.events, one.producer)))
