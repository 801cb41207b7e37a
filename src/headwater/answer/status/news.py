"""Wait for a report about an entity. One query of the log serves all waiters of this process; without waiters there is none."""

import asyncio
import time

from headwater.errors import DatabaseUnavailable
from headwater.store.database import Database
from headwater.store.status import status as store

_EVERY = 0.2
"""Seconds between two looks: a sensor that waits wakes well within a second."""


class News:
    """The last report of each entity, as far as it was waited for."""

    def __init__(self) -> None:
        self._last: dict[int, int] = {}
        # `_last` has every report after `_since` and up to `_until`.
        self._since = self._until = -1
        self._looked = -float("inf")
        self._looking: asyncio.Task[None] | None = None

    async def after(self, database: Database, seq: int, entities: frozenset[int], seconds: float) -> bool:
        """Wait up to `seconds` for a report about one of the entities after a seq; return whether there is one.

        While the database does not answer, there is none.
        """
        end = time.monotonic() + seconds
        while True:
            await self._look(database, seq)
            if any(self._last.get(entity, 0) > seq for entity in entities):
                return True
            left = end - time.monotonic()
            if left <= 0:
                return False
            await asyncio.sleep(min(left, max(self._looked + _EVERY - time.monotonic(), 0.01)))

    async def _look(self, database: Database, seq: int) -> None:
        known = 0 <= self._since <= seq
        if known and time.monotonic() < self._looked + _EVERY:
            return
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._read(database, self._until if known else seq))
            if not known:
                self._since = seq
        # A cancelled waiter does not cancel the query for the others.
        await asyncio.shield(self._looking)

    async def _read(self, database: Database, since: int) -> None:
        try:
            async with database.connection() as connection:
                news, last = await store.news(connection, since)
            if last < self._until:
                self._last = {}  # a backup was restored: these seqs are of the log before
            self._last |= news
            if since > last:
                self._since = last  # a waiter asks for a seq that is not reached yet
            self._until = last
        except DatabaseUnavailable:
            self._since = -1  # read again from where the next one asks
        finally:
            self._looked = time.monotonic()
