"""Troubles by the day on which they came, to see if today is worse than other days."""

import datetime as dt

import msgspec

from headwater.store.database import Database
from headwater.store.status import daily_troubles as store

DAYS = 14


class DailyTroubles(msgspec.Struct, frozen=True):
    """Numbers by day of UTC, the oldest first, today the last and not over yet. `first`: the oldest day.

    `failed`: runs that failed or were aborted, parts of others among them. `doubted`: checks that failed. `wrong`: incidents that were recorded.
    `policy`: violations that were found. Of what is late or silent no history is kept.
    """

    first: dt.date
    failed: list[int]
    doubted: list[int]
    wrong: list[int]
    policy: list[int]


async def daily_troubles(database: Database) -> DailyTroubles:
    """Return the numbers of the last 14 days."""
    today = dt.datetime.now(dt.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    times = [today + dt.timedelta(days=n) for n in range(1 - DAYS, 2)]
    async with database.connection() as connection:
        found = await store.daily_troubles(connection, times)
    days: dict[str, list[int]] = {kind: [0] * DAYS for kind in ("failed", "doubted", "wrong", "policy")}
    for one in found:
        days[one.kind][one.span - 1] = one.number
    return DailyTroubles(times[0].date(), **days)
