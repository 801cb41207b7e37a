"""The event log as it can be asked: what came in, from whom, and what became of it."""

import datetime as dt

import msgspec

from headwater.errors import InvalidQuestion
from headwater.store import events as event_store
from headwater.store import nodes as node_store
from headwater.store.database import Database

_FIRST = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_LAST = dt.datetime(9999, 1, 1, tzinfo=dt.UTC)


class Namespace(msgspec.Struct, rename="camel"):
    name: str
    created_at: dt.datetime
    updated_at: dt.datetime
    owner_name: str | None
    description: str | None
    is_hidden: bool


class Namespaces(msgspec.Struct):
    namespaces: list[Namespace]


class LineageEvents(msgspec.Struct, rename="camel"):
    events: list[msgspec.Raw]
    total_count: int


async def namespaces(database: Database, *, limit: int, offset: int) -> Namespaces:
    """Namespaces in Marquez's shape."""
    _page(limit, offset)
    async with database.connection() as connection:
        rows = await node_store.namespaces(connection, limit=limit, offset=offset)
    return Namespaces([Namespace(name, first, first, None, None, False) for name, first in rows])


async def lineage_events(
    database: Database,
    *,
    after: dt.datetime | None,
    before: dt.datetime | None,
    ascending: bool,
    limit: int,
    offset: int,
) -> LineageEvents:
    """Run events between two times, verbatim."""
    _page(limit, offset)
    async with database.snapshot() as connection:
        bodies, total = await event_store.lineage_events(
            connection,
            _aware(after) or _FIRST,
            _aware(before) or _LAST,
            ascending=ascending,
            limit=limit,
            offset=offset,
        )
    return LineageEvents([msgspec.Raw(body) for body in bodies], total)


def _aware(time: dt.datetime | None) -> dt.datetime | None:
    return time.replace(tzinfo=dt.UTC) if time is not None and time.tzinfo is None else time


def _page(limit: int, offset: int) -> None:
    if limit < 0 or offset < 0:
        raise InvalidQuestion("limit and offset must not be negative", limit=limit, offset=offset)
