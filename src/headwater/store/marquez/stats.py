"""Numbers of events, and of jobs, datasets and sources, by hours of a day or days of a week."""

import datetime as dt
from collections.abc import Sequence

from headwater.store import sqlfile
from headwater.store.database import Connection


async def hours(connection: Connection) -> list[dt.datetime]:
    """Return 25 times: the borders of the last 24 hours."""
    return [row[0] for row in await sqlfile.load("marquez/stats")["hours"].many(connection)]


async def days(connection: Connection, timezone: str) -> list[dt.datetime]:
    """Return 8 times: the borders of the last seven days in a time zone. Raises DatabaseRefused (22023) for one that PostgreSQL does not know."""
    return [row[0] for row in await sqlfile.load("marquez/stats")["days"].many(connection, timezone=timezone)]


async def lineage_events(connection: Connection, times: Sequence[dt.datetime]) -> dict[tuple[int, str | None], int]:
    """Return the number of events by (span, event type); the first span is 1."""
    rows = await sqlfile.load("marquez/stats")["lineage_events"].many(connection, times=list(times))
    return {(row[0], row[1]): row[2] for row in rows}


async def first_seen(connection: Connection, what: str, times: Sequence[dt.datetime]) -> dict[int, int]:
    """Return the number of `jobs`, `datasets` or `sources` first mentioned in each span; 0 is before all."""
    return dict(await sqlfile.load("marquez/stats")[what].many(connection, times=list(times)))
