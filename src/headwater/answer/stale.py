"""The kinds of answers that are out of date, for pages that stay open. One look serves all streams of this process; without a stream there is none.

A mark is a number of arrival below which nothing is being written any more. All servers of a database count alike, so a client may go on with a mark
at another server. Refuses to say what changed: the client asks again.
"""

import asyncio
import datetime as dt
import time

import msgspec

from headwater.errors import DatabaseUnavailable
from headwater.store.database import Database
from headwater.store.events import arrivals

_EVERY = 0.3
"""Seconds between two looks."""

_MARKS = 100
_STALE = {
    "events": ("catalogue", "events", "incidents", "lineage", "runs", "usage"),
    "reports": ("incidents", "instances", "lineage", "plans"),
    "verdicts": ("incidents", "instances", "lineage"),
    "plans": ("incidents", "plans"),
    "metadata": ("catalogue", "incidents", "lineage", "metadata"),
    "alerts": ("alerts",),
    "schedules": ("catalogue", "incidents", "instances", "lineage", "plans"),
    "settings": ("settings",),
    "retention": ("catalogue", "events", "lineage", "runs"),
}
ALL = tuple(sorted({answer for answers in _STALE.values() for answer in answers}))


class Notice(msgspec.Struct, frozen=True):
    """The kinds of answers that are out of date since an earlier mark. `mark`: go on from there."""

    mark: int
    stale: tuple[str, ...]


class StaleAnswers:
    """The end of what is written, as this process saw it last."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._horizon = arrivals.Horizon(database, arrivals.CHANGES)
        self._settled = False
        self._looked = -float("inf")
        self._looking: asyncio.Task[None] | None = None
        self._changes: dict[int, frozenset[str]] = {}

    async def begin(self, mark: int | None, recent: dt.timedelta) -> Notice:
        """Return where a client begins that has a mark, or that has none and may have asked so recently."""
        await self._look()
        if mark is not None:
            return await self._news(mark) or Notice(mark, ())
        # Before the first settled look the mark is 0, with which everything is out of date once.
        begins = self._horizon.safe
        if not recent:
            return Notice(begins, ())
        async with self._database.connection() as connection:
            since = dt.datetime.now(dt.UTC) - recent
            return Notice(begins, _answers(await arrivals.changed_since(connection, since)))

    async def after(self, mark: int, seconds: float) -> Notice | None:
        """Wait up to `seconds` for a change after a mark; None: there is none. While the database does not answer, there is no change."""
        end = time.monotonic() + seconds
        while True:
            await self._look()
            if (news := await self._news(mark)) is not None:
                return news
            if (left := end - time.monotonic()) <= 0:
                return None
            await asyncio.sleep(min(left, max(self._looked + _EVERY - time.monotonic(), 0.01)))

    async def _news(self, mark: int) -> Notice | None:
        """Return the changes after a mark; all of them after one that no server gave: invented, or of a log that a backup replaced."""
        safe = self._horizon.safe
        if not self._settled or mark == safe:
            return None
        if mark < safe:
            return Notice(safe, _answers(await self._changed(mark)))
        async with self._database.connection() as connection:
            # A server that looked later than this one may be ahead.
            return Notice(safe, ALL) if mark > await arrivals.top(connection) else None

    async def _look(self) -> None:
        if self._looking is None or self._looking.done():
            if time.monotonic() < self._looked + _EVERY:
                return
            self._looking = asyncio.ensure_future(self._read())
        # A stream that is cancelled does not cancel the look of the others.
        await asyncio.shield(self._looking)

    async def _read(self) -> None:
        before = self._horizon.safe
        try:
            self._settled = await self._horizon.look() or self._settled
        except DatabaseUnavailable:
            return
        finally:
            self._looked = time.monotonic()
        if self._horizon.safe != before:
            self._changes = {}

    async def _changed(self, mark: int) -> frozenset[str]:
        """The kinds of change after a mark; streams that are equally far share one question."""
        held = self._changes
        if mark not in held:
            if len(held) >= _MARKS:
                held.clear()
            async with self._database.connection() as connection:
                held[mark] = await arrivals.changed(connection, mark)
        return held[mark]


def _answers(changes: frozenset[str]) -> tuple[str, ...]:
    if not changes <= _STALE.keys():  # a rebuild
        return ALL
    return tuple(sorted({answer for change in changes for answer in _STALE[change]}))
