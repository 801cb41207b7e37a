"""The event log itself, a page at a time in the order of arrival: for archives."""

import datetime as dt

import msgspec

from headwater.errors import InvalidQuestion
from headwater.store.database import Database
from headwater.store.events import archive
from headwater.store.events.arrivals import settled

_BYTES = 4 << 20


class LogPage(msgspec.Struct, frozen=True):
    """`settled`: the number of arrival up to which nothing is being written any more, or the one that was asked up to. `next`: what to ask `after`
    for the page that follows; null when there is none."""

    settled: int
    events: list[archive.Archived]
    next: str | None


async def page(database: Database, after: str | None, upto: int | None, limit: int) -> LogPage:
    """Return events after a place up to a number of arrival, some 4 MB at most.

    `upto`: default, the last that is settled. `after`: a number (its events are skipped), or a former `next`."""
    place = _place(after)
    if upto is None:
        upto = await settled(database)
    if limit == 0:
        return LogPage(upto, [], None)
    async with database.snapshot() as connection:
        found = await archive.page(connection, place, upto, limit, _BYTES)
    if not found:
        return LogPage(upto, [], None)
    last = found[-1]
    return LogPage(upto, found, f"{last.arrived}/{last.event_time.isoformat()}/{last.digest.hex()}")


def _place(text: str | None) -> archive.Place:
    if text is None:
        return archive.Place(0)
    try:
        arrived, *rest = text.split("/")
        if not rest:
            return archive.Place(int(arrived) + 1)
        time, digest = rest
        return archive.Place(int(arrived), dt.datetime.fromisoformat(time), bytes.fromhex(digest))
    except (ValueError, OverflowError):
        raise InvalidQuestion(
            f"after={text!r} is not a place in the log; send a number, or the `next` of an earlier answer", after=text
        ) from None
