"""The numbers of events and of jobs, datasets and sources, by hours of the last day or days of the last week."""

import datetime as dt

from headwater.answer.marquez import shapes
from headwater.errors import DatabaseRefused, InvalidQuestion
from headwater.store.database import Connection, Database
from headwater.store.marquez import stats

# PostgreSQL's error for a time zone it does not know.
_NO_SUCH_ZONE = "22023"


async def lineage_events(database: Database, period: str, timezone: str | None) -> list[shapes.LineageMetric]:
    """Run events by type: 24 hours for DAY, seven days of the time zone for WEEK, the oldest first."""
    times = await _times(database, period, timezone)
    async with database.connection() as connection:
        counts = await stats.lineage_events(connection, times)
    return [
        shapes.LineageMetric(
            start_interval=shapes.instant(times[place]),
            end_interval=shapes.instant(times[place + 1]),
            fail=counts.get((place + 1, "FAIL"), 0),
            start=counts.get((place + 1, "START"), 0),
            complete=counts.get((place + 1, "COMPLETE"), 0),
            abort=counts.get((place + 1, "ABORT"), 0),
        )
        for place in range(len(times) - 1)
    ]


async def assets(database: Database, what: str, period: str, timezone: str | None) -> list[shapes.IntervalMetric]:
    """Return the number of `jobs`, `datasets` or `sources` that existed at the end of each hour or day."""
    times = await _times(database, period, timezone)
    async with database.connection() as connection:
        counts = await stats.first_seen(connection, what, times)
    found, total = [], counts.get(0, 0)
    for place in range(len(times) - 1):
        total += counts.get(place + 1, 0)
        found.append(
            shapes.IntervalMetric(
                start_interval=shapes.instant(times[place]), end_interval=shapes.instant(times[place + 1]), count=total
            )
        )
    return found


async def _times(database: Database, period: str, timezone: str | None) -> list[dt.datetime]:
    if period == "WEEK" and not timezone:
        raise InvalidQuestion("Timezone must be specified for period 'WEEK'")
    try:
        async with database.connection() as connection:
            return await _borders(connection, timezone if period == "WEEK" else None)
    except DatabaseRefused as error:
        if error.detail.get("sqlstate") != _NO_SUCH_ZONE:
            raise
        raise InvalidQuestion(f"Timezone '{timezone}' is not known") from error


async def _borders(connection: Connection, timezone: str | None) -> list[dt.datetime]:
    return await (stats.hours(connection) if timezone is None else stats.days(connection, timezone))
