"""Versions that say where they are kept, and what was held against them while they were the current ones. Refuses to judge any of it."""

import datetime as dt
from collections.abc import Sequence
from typing import NamedTuple

from headwater.store import sqlfile
from headwater.store.arrays import Packed
from headwater.store.database import Connection
from headwater.store.status.status import Change, Version, Window, packed


class StoredVersion(NamedTuple):
    """A version as it was reported: `storage` and `body` (what the log keeps of the report) are JSON text."""

    seq: int
    start_: int
    end_: int
    produced_at: dt.datetime
    run: str
    storage: str | None
    body: str


async def stored(connection: Connection, windows: Sequence[Window], limit: int) -> list[Version]:
    """Return at most `limit` versions of instances in these windows that name a version of a table, in the order in which they were produced."""
    if not windows:
        return []
    return [
        Version(*row)
        for row in await sqlfile.load("status/restorable")["stored"].many(connection, **packed(windows), limit=limit)
    ]


async def verdicts(connection: Connection, windows: Sequence[Window]) -> list[Change]:
    """Return how marks of being wrong, doubted, withheld or deleted came and went there, in order."""
    if not windows:
        return []
    return [
        Change(*row) for row in await sqlfile.load("status/restorable")["verdicts"].many(connection, **packed(windows))
    ]


async def stored_versions(connection: Connection, seqs: Sequence[int]) -> list[StoredVersion]:
    """The versions that these reports were about, one for each run of instances."""
    if not seqs:
        return []
    rows = await sqlfile.load("status/restorable")["stored_versions"].many(connection, seqs=Packed("int8", list(seqs)))
    return [StoredVersion(*row) for row in rows]
