"""The state of the server itself: the database, the log, and links that are probably missing."""

import datetime as dt

import msgspec

from headwater import __version__
from headwater.errors import DatabaseUnavailable
from headwater.store import server as server_store
from headwater.store.database import Database
from headwater.store.events import events as event_store
from headwater.store.lineage import nodes as node_store
from headwater.store.migrate import explain_newer_schema
from headwater.store.migrate import files as migration_files

_STARTED = dt.datetime.now(dt.UTC)


class DatabaseHealth(msgspec.Struct):
    ok: bool
    version: str
    size_bytes: int


class EventTotals(msgspec.Struct):
    total: int
    last_received_at: dt.datetime | None


class Counts(msgspec.Struct):
    datasets: int
    jobs: int
    runs: int


class RetentionDays(msgspec.Struct, frozen=True):
    """The days for which each kind of record is stored; null: for ever."""

    events: int | None = None
    runs: int | None = None
    warnings: int | None = None
    audit: int | None = None


class Status(msgspec.Struct):
    version: str
    started_at: dt.datetime
    database: DatabaseHealth
    events: EventTotals
    counts: Counts
    retention: RetentionDays


class NearMiss(msgspec.Struct):
    """A dataset that is read but never written, and one of the same short name that is written but never read."""

    read: str
    written: str


class NearMisses(msgspec.Struct):
    near_misses: list[NearMiss]


class LogSize(msgspec.Struct):
    """`events` is PostgreSQL's estimate."""

    bytes: int
    events: int


async def log_size(database: Database) -> LogSize:
    """Return the size of the event log, from PostgreSQL's own books."""
    async with database.connection() as connection:
        return LogSize(*await server_store.log_size(connection))


async def unready(database: Database) -> str:
    """Return why events cannot be accepted: the database's schema is not the one of this version, or the database takes
    no writes; "" if they can.

    Raises DatabaseUnavailable, DatabaseRefused.
    """
    if database.unwritable is not None:
        try:
            async with database.transaction() as connection:
                await server_store.try_write(connection)
        except DatabaseUnavailable:
            return f"{database.unwritable}: events are refused until it can be written"
    async with database.connection() as connection:
        ran = await server_store.migrations(connection)
    if missing := [name for name, _ in migration_files() if name not in ran]:
        return f"migrations have not run: {', '.join(missing)}"
    return explain_newer_schema(ran.items())


async def near_misses(database: Database) -> NearMisses:
    """Links that are probably missing because one dataset goes by two names."""
    async with database.connection() as connection:
        return NearMisses([NearMiss(read, written) for read, written in await node_store.near_misses(connection)])


async def status(database: Database, retention: RetentionDays) -> Status:
    async with database.connection() as connection:
        version, size = await server_store.about(connection)
        total, last = await event_store.totals(connection)
        counts = await node_store.counts(connection)
    return Status(
        __version__, _STARTED, DatabaseHealth(True, version, size), EventTotals(total, last), Counts(*counts), retention
    )
