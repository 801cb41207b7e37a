"""How well the statements of warehouses' logs were understood, day by day, as the query-log pipeline told."""

import datetime as dt

import msgspec

from headwater.store import sqlfile
from headwater.store.database import Connection


class DayRow(msgspec.Struct, frozen=True):
    """A day of a warehouse's log in one dialect; `model.measured.QualityDay` says what is counted."""

    day: dt.date
    namespace: str
    dialect: str
    at: dt.datetime
    shapes: int
    full_shapes: int
    partial_shapes: int
    tables_shapes: int
    nothing_shapes: int
    idle_shapes: int
    executions: int
    full_executions: int
    partial_executions: int
    tables_executions: int
    nothing_executions: int
    idle_executions: int
    textless_executions: int
    unresolved: int
    quarantined: int
    quarantined_by: dict[str, int]
    told_executions: int
    told_agreed: int
    told_only: int
    parsed_only: int


async def days(
    connection: Connection,
    *,
    namespace: str | None,
    dialect: str | None,
    since: dt.date | None,
    until: dt.date | None,
    limit: int,
) -> list[DayRow]:
    """Days from `since` to before `until`, the latest first, at most `limit` rows."""
    rows = await sqlfile.load("usage/quality")["days"].many(
        connection, namespace=namespace, dialect=dialect, since=since, until=until, limit=limit
    )
    return [DayRow(*row) for row in rows]
