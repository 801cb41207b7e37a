"""Reports about instances in order of arrival, for clients that follow the log and wait for more."""

import datetime as dt
import time
from collections.abc import Sequence

import msgspec

from headwater.answer.status.declared import declared
from headwater.answer.status.news import News
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import Ordinals
from headwater.store.database import Database
from headwater.store.status import status as store


class LoggedReport(msgspec.Struct, frozen=True):
    """A report; of an entity that is not declared any more nothing is shown."""

    seq: int
    recorded_at: dt.datetime
    entity: str
    what: str
    ref: str
    instances: list[str]
    happened_at: dt.datetime
    actor: str
    reason: str


class StatusLog(msgspec.Struct, frozen=True):
    """`next`: ask from there. `more`: there is more already."""

    reports: list[LoggedReport]
    next: int
    more: bool


class _Body(msgspec.Struct):
    instances: list[tuple[int, int]]


_body = msgspec.json.Decoder(_Body)


async def since(
    database: Database, news: News, seq: int, *, entities: Sequence[str] = (), limit: int = 1000, wait: float = 0.0
) -> StatusLog:
    """Return the reports after a seq, of these entities or of all; wait up to so many seconds for one. NotFound for an unknown entity."""
    end = time.monotonic() + wait
    while True:
        async with database.snapshot() as connection:
            held = await declared(connection)
            numbers = [held.number(name) for name in entities] or None
            found = await store.since(connection, seq, numbers, limit + 1)
        left = end - time.monotonic()
        if found or left <= 0:
            break
        await news.after(database, seq, frozenset(numbers or held.names), left)
    page = found[:limit]
    return StatusLog(
        [
            LoggedReport(
                one.seq,
                one.recorded_at,
                name,
                one.what,
                one.ref,
                ranges.written(held.instances(name), Ordinals(_body.decode(one.body).instances)),
                one.happened_at,
                one.actor,
                one.reason,
            )
            for one in page
            if (name := held.names.get(one.entity_id)) is not None
        ],
        page[-1].seq if page else seq,
        len(found) > limit,
    )
