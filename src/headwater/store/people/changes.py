"""The second log: changes by people, as they made them. Only ever appended to."""

import datetime as dt
import uuid
from collections.abc import AsyncIterator, Sequence

import msgspec

from headwater.store import sqlfile
from headwater.store.database import Connection

_FIRST = uuid.UUID(int=0)


class Entry(msgspec.Struct, frozen=True):
    """One change to append. `body` is JSON text."""

    id: uuid.UUID
    author: str
    action: str
    target: str
    node: str
    other: str
    body: str


class LoggedChange(msgspec.Struct, frozen=True):
    """One change as the log has it."""

    id: uuid.UUID
    at: dt.datetime
    author: str
    action: str
    target: str
    body: bytes


async def append(connection: Connection, entries: Sequence[Entry]) -> dict[uuid.UUID, dt.datetime]:
    """Append changes; return id → when each was recorded."""
    arrays = {field: [getattr(entry, field) for entry in entries] for field in Entry.__struct_fields__}
    return {row[0]: row[1] for row in await sqlfile.load("people/changes")["append"].many(connection, **arrays)}


async def pages(connection: Connection, size: int) -> AsyncIterator[list[tuple[uuid.UUID, dt.datetime, str, bytes]]]:
    """Yield the log of changes as (id, at, author, body), a page at a time."""
    query = sqlfile.load("people/changes")["page_after"]
    at: dt.datetime | str = "-infinity"
    id_ = _FIRST
    while rows := await query.many(connection, at=at, id=id_, limit=size):
        yield [(row[0], row[1], row[2], row[3].encode()) for row in rows]
        id_, at = rows[-1][0], rows[-1][1]


async def search(
    connection: Connection,
    *,
    target: str | None,
    author: str | None,
    action: str | None,
    since: dt.datetime | str,
    until: dt.datetime | str,
    limit: int,
    offset: int,
) -> tuple[list[LoggedChange], int]:
    """A page, the latest first, and how many there are (0 for a page past the end)."""
    rows = await sqlfile.load("people/changes")["search"].many(
        connection, target=target, author=author, action=action, since=since, until=until, limit=limit, offset=offset
    )
    return [LoggedChange(*(*row[:5], row[5].encode())) for row in rows], rows[0][6] if rows else 0
