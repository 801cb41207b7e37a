"""The completeness with which the statements of query logs were parsed, day by day, from `headwater_quality` facets."""

import datetime as dt

import msgspec

from headwater.model.measured import QualityDay
from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.usage.measured import LINEAGE_QUALITY


class DayRow(msgspec.Struct, frozen=True):
    """A day of a warehouse's log in one dialect. `at`: the event that reported it last."""

    namespace: str
    at: dt.datetime
    counts: QualityDay


async def days(
    connection: Connection,
    *,
    namespace: str | None,
    dialect: str | None,
    since: dt.date | None,
    until: dt.date | None,
    limit: int,
) -> list[DayRow]:
    """Return the days from `since` to before `until`, the latest first, at most `limit` rows."""
    rows = await sqlfile.load("usage/quality")["days"].dicts(
        connection, namespace=namespace, dialect=dialect, since=since, until=until, limit=limit
    )
    return [DayRow(row["namespace"], row["at"], LINEAGE_QUALITY.read(row)) for row in rows]
