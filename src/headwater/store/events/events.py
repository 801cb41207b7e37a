"""The event log: append, read, and the month partitions it lives in."""

import datetime as dt
import hashlib
import uuid
from collections.abc import AsyncIterator, Collection, Sequence
from typing import Any

import msgspec
from psycopg import AsyncCursor

from headwater.store import sqlfile
from headwater.store.database import Connection, Database

# The warning of an event that the log has under its time of arrival: its own time was ahead of the clock.
EARLY = "future_time"
_EARLIEST, _LATEST = dt.datetime(2010, 1, 1, tzinfo=dt.UTC), dt.datetime(2050, 1, 1, tzinfo=dt.UTC)


class LogEntry(msgspec.Struct, frozen=True):
    """One raw event with what the log is searched by. `received_at`: when it arrived; None: now."""

    event_time: dt.datetime
    digest: bytes
    kind: str
    event_type: str | None
    run_id: uuid.UUID | None
    producer: str
    body: bytes
    received_at: dt.datetime | None = None


class Partitions:
    """Remembers which month partitions exist, so that a batch asks the database only for a month it has not met."""

    def __init__(self) -> None:
        self._known: set[tuple[int, int]] = set()

    async def ensure(self, database: Database, times: Sequence[dt.datetime]) -> None:
        """Make the partitions of these times. Years outside 2010-2049 have two partitions that always exist."""
        wanted = {(t.year, t.month) for t in times if _EARLIEST <= t < _LATEST} - self._known
        for year, month in sorted(wanted):
            first = dt.date(year, month, 1)
            following = dt.date(year + month // 12, month % 12 + 1, 1)
            # A transaction of its own, under a lock: two servers may meet the same new month at once.
            async with database.transaction() as connection:
                await connection.execute("select pg_advisory_xact_lock(%s, %s)", (0x68656164, year * 12 + month))
                await connection.execute(
                    f"create table if not exists events_{year}_{month:02} partition of events "
                    f"for values from ('{first} 00:00:00+00') to ('{following} 00:00:00+00')"
                )
            self._known.add((year, month))


async def append(connection: Connection, entries: Sequence[LogEntry]) -> AsyncCursor[Any]:
    """Append, inside a pipeline; the cursor's rows begin with the digests of the entries that were new."""
    rows = [msgspec.structs.astuple(entry) for entry in entries]
    return await sqlfile.load("events/events")["append"].send_columns(connection, LogEntry.__struct_fields__, rows)


async def append_warnings(connection: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    """Rows of (event_time, digest, position, producer, code, place, message)."""
    if rows:
        names = ("event_time", "digest", "position", "producer", "code", "place", "message")
        await sqlfile.load("events/events")["append_warnings"].send_columns(connection, names, rows)


async def lock_arrivals(connection: Connection) -> None:
    """Lock arrivals until the end of the transaction, before its other locks; every writer of events does."""
    await connection.execute("select pg_advisory_xact_lock_shared(1751474532, 7)")


async def lock_arrivals_alone(connection: Connection) -> None:
    """Lock arrivals alone until the end of the transaction, for a writer of events whose time in the log depends on
    when they arrive: of two that bring the same one, the second sees the first's, even if one of the two servers has a
    clock by which the event is not early."""
    await connection.execute("select pg_advisory_xact_lock(1751474532, 7)")


async def times_of(connection: Connection, digests: Sequence[bytes]) -> dict[bytes, dt.datetime]:
    """Return the event times of events that are already in the log."""
    return dict(await sqlfile.load("events/events")["time_of"].many(connection, digests=list(digests)))


async def send_early_times(connection: Connection, digests: Sequence[bytes]) -> AsyncCursor[Any]:
    """Ask, inside a pipeline, which of these events the log has with the warning `EARLY`; rows of (digest, event_time)."""
    return await sqlfile.load("events/events")["early_times"].send(connection, digests=list(digests), code=EARLY)


async def other_bodies(connection: Connection, entries: Sequence[LogEntry]) -> dict[bytes, bytes]:
    """The bodies, by digest, of those events that the log has in other words: with bytes that differ and mean the same."""
    rows = [(entry.event_time, entry.digest, hashlib.sha256(entry.body).digest()) for entry in entries]
    names = ("event_time", "digest", "sha256")
    cursor = await sqlfile.load("events/events")["other_bodies"].send_columns(connection, names, rows)
    return dict(await cursor.fetchall())


async def pages(connection: Connection, size: int) -> AsyncIterator[list[tuple[dt.datetime, bytes, bytes]]]:
    """The whole log as (event_time, digest, body), a page at a time."""
    query = sqlfile.load("events/events")["page_after"]
    at, digest = "-infinity", b""
    while rows := await query.many(connection, event_time=at, digest=digest, limit=size):
        yield rows
        at, digest = rows[-1][0], rows[-1][1]


async def lineage_events(
    connection: Connection,
    after: dt.datetime,
    before: dt.datetime,
    *,
    ascending: bool,
    limit: int,
    offset: int,
    namespace: str | None = None,
) -> tuple[list[bytes], int]:
    """Bodies of run events in a span of time, of jobs of a namespace if one is given, and how many there are in all."""
    queries = sqlfile.load("events/events")
    given = {"after": after, "before": before, "namespace": namespace}
    rows = await queries[f"lineage_events_{'asc' if ascending else 'desc'}"].many(
        connection, **given, limit=limit, offset=offset
    )
    (count,) = await queries["count_lineage_events"].one(connection, **given)
    return [row[0] for row in rows], count


async def totals(connection: Connection) -> tuple[int, dt.datetime | None]:
    count, last = await sqlfile.load("events/events")["totals"].one(connection)
    return count, last


class RunEvent(msgspec.Struct, frozen=True):
    """An event of a run, as it is in the log."""

    run_id: uuid.UUID
    event_time: dt.datetime
    digest: bytes
    event_type: str | None
    body: bytes


async def of_runs(
    connection: Connection, runs: Collection[uuid.UUID], first: dt.datetime, last: dt.datetime, limit: int
) -> list[RunEvent]:
    """The last events of each run between two times (at most `limit` of each), oldest first."""
    if not runs:
        return []
    rows = await sqlfile.load("events/events")["of_runs"].packed(
        connection, ids=list(runs), first=first, last=last, limit=limit
    )
    return [RunEvent(*row) for row in rows]


class DatasetEvent(msgspec.Struct, frozen=True):
    """An event that may report a dataset. `names`: the ids of the dataset's names."""

    event_time: dt.datetime
    body: bytes
    names: list[uuid.UUID]


async def of_dataset(
    connection: Connection, dataset: uuid.UUID, after: dt.datetime, until: dt.datetime, limit: int
) -> list[DatasetEvent]:
    """The first events after a time, and until another, that may report a dataset: at most `limit` of runs and as many about datasets."""
    rows = await sqlfile.load("events/events")["of_dataset"].packed(
        connection, dataset=dataset, after=after, until=until, limit=limit
    )
    return [DatasetEvent(*row) for row in rows]
