"""Make every projection again from the log. The log is never touched.

Runs in one transaction: readers see the old tables until the new ones are whole, and a rebuild that stops changes nothing.
"""

import datetime as dt
import hashlib
from collections.abc import Callable

from headwater.intake.accept import merged
from headwater.intake.project import Changes, project
from headwater.model.event import read
from headwater.store import events, projections
from headwater.store.database import Database

_PAGE = 500


async def rebuild(database: Database, progress: Callable[[int, int], None] = lambda done, total: None) -> int:
    """Replay the whole log; the number of events. `progress(done, total)` is called after each page."""
    done = 0
    async with database.transaction() as connection:
        await connection.execute("set local statement_timeout = 0")
        total, _ = await events.totals(connection)
        await projections.empty(connection)
        async for page in events.pages(connection, _PAGE):
            await projections.write(connection, merged([_projected(at, digest, body) for at, digest, body in page]))
            done += len(page)
            progress(done, total)
    return done


def _projected(at: dt.datetime, digest: bytes, body: bytes) -> Changes:
    return project(read(body), at, digest)


async def fingerprints(database: Database) -> dict[str, str]:
    """A digest of each projection's rows in order: equal exactly when the tables are equal, byte for byte."""
    found = {}
    async with database.snapshot() as connection:
        for table in projections.TABLES:
            digest = hashlib.blake2b(digest_size=16)
            async for line in projections.lines(connection, table):
                digest.update(line)
            found[table] = digest.hexdigest()
    return found
