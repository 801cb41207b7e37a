"""The order of arrival: a number that each writer of events, or of another change, draws while it holds a shared lock.

Numbers are drawn before they are committed, so a reader must not go past the number of a writer that has not ended: read `top`, then `writers`.
"""

import asyncio
import datetime as dt
from collections.abc import Sequence

from headwater.errors import DatabaseUnavailable
from headwater.store import sqlfile
from headwater.store.database import Connection, Database

# The locks of begin_writing() and of note_change().
EVENTS: tuple[int, ...] = (2,)
CHANGES: tuple[int, ...] = (2, 15)


async def top(connection: Connection) -> int:
    """The last number of arrival that was drawn. In a statement of its own, before `writers`."""
    (number,) = await sqlfile.load("events/arrivals")["top"].one(connection)
    return int(number)


async def writers(connection: Connection, locks: Sequence[int] = EVENTS) -> frozenset[str]:
    """Transactions that may have drawn a number and have not ended; no two in the life of a database have one name at one time."""
    return frozenset(
        row[0] for row in await sqlfile.load("events/arrivals")["writers"].many(connection, locks=list(locks))
    )


async def changed(connection: Connection, after: int) -> frozenset[str]:
    """Return the kinds of change with a number after this one."""
    return frozenset(row[0] for row in await sqlfile.load("events/arrivals")["changed"].many(connection, after=after))


async def changed_since(connection: Connection, since: dt.datetime) -> frozenset[str]:
    """Return the kinds of change from a time on."""
    return frozenset(row[0] for row in await sqlfile.load("events/arrivals")["lately"].many(connection, since=since))


class Horizon:
    """The end of the readable log: `safe`, the highest arrival number below which no transaction is still writing."""

    def __init__(self, database: Database, locks: Sequence[int] = EVENTS) -> None:
        self._database, self._locks = database, locks
        self.safe = 0
        self._asked: tuple[int, frozenset[str]] | None = None

    async def look(self) -> bool:
        """Look once, without waiting. Returns whether `safe` covers every arrival number drawn so far."""
        async with self._database.connection() as connection:
            if self._asked is None:
                drawn = await top(connection)
                if drawn == self.safe:
                    return True
                # The order matters: each transaction that drew a number up to `top` is among the writers, or has ended.
                self._asked = (drawn, await writers(connection, self._locks))
                left = self._asked[1]
            else:
                left = self._asked[1] & await writers(connection, self._locks)
        if left:
            self._asked = (self._asked[0], left)
            return False
        self.safe, self._asked = self._asked[0], None
        return True


async def settled(database: Database, *, patience: float = 30.0) -> int:
    """Wait until every event that has an arrival number by now is committed. Returns the highest of these numbers.

    Raises DatabaseUnavailable if a writer does not end in time.
    """
    horizon = Horizon(database)
    try:
        async with asyncio.timeout(patience):
            while not await horizon.look():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise DatabaseUnavailable(f"a transaction has been writing events for over {patience:g} s; try again") from None
    return horizon.safe
