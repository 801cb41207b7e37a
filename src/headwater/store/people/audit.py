"""The audit log: who changed what, when, and how it ended. Rows are only ever added; the table itself refuses anything else."""

import datetime as dt

import msgspec

from headwater.store import sqlfile
from headwater.store.database import Connection


class Change(msgspec.Struct, frozen=True):
    """A change and its author. `target` is what was changed (a node id, a key's name), `status` the HTTP status; a command has none."""

    actor: str
    role: str
    method: str
    path: str
    action: str
    target: str | None
    status: int | None
    detail: dict[str, object]


class Entry(msgspec.Struct, frozen=True):
    """A row of the log; `detail` is JSON text."""

    id: int
    at: dt.datetime
    actor: str
    role: str
    method: str
    path: str
    action: str
    target: str | None
    status: int | None
    detail: str


async def append(connection: Connection, change: Change) -> None:
    """Add one row. Text that PostgreSQL cannot hold (a null character) is kept with a replacement character."""
    values = {field: _as_text(getattr(change, field)) for field in Change.__struct_fields__ if field != "detail"}
    detail = msgspec.json.encode(change.detail).decode().replace("\\u0000", "\\ufffd")
    await sqlfile.load("people/audit")["append"].exec(connection, **values, detail=detail)


def _as_text(value: object) -> object:
    return value.replace("\0", "�") if isinstance(value, str) else value


async def page(
    connection: Connection,
    *,
    actor: str | None,
    target: str | None,
    since: dt.datetime | None,
    until: dt.datetime | None,
    limit: int,
    offset: int,
) -> tuple[list[Entry], int]:
    """Rows that match every filter given (`since` ≤ at < `until`), the latest first, and how many match in all."""
    queries = sqlfile.load("people/audit")
    filters = {"actor": actor, "target": target, "since": since, "until": until}
    rows = await queries["page"].many(connection, **filters, limit=limit, offset=offset)
    (total,) = await queries["count"].one(connection, **filters)
    return [Entry(*row) for row in rows], total
