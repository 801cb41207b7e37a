"""Troubles by the span of time in which they came, counted by kind."""

import datetime as dt
from collections.abc import Sequence
from typing import NamedTuple

from headwater.store import sqlfile
from headwater.store.database import Connection


class TroublesOfSpan(NamedTuple):
    """`span`: its place among the spans, the first is 1."""

    kind: str
    span: int
    number: int


async def daily_troubles(connection: Connection, times: Sequence[dt.datetime]) -> list[TroublesOfSpan]:
    """Return the numbers above zero, by kind (failed, doubted, wrong, policy) and by the span between these times."""
    rows = await sqlfile.load("status/daily_troubles")["daily_troubles"].many(connection, times=list(times))
    return [TroublesOfSpan(*row) for row in rows]
