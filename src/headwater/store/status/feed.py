"""The place up to which status has read the log of events, and its questions to the log. What an event says is not
known here.

The place moves in the transaction that writes what was read up to there, so each event is read exactly once.
"""

import datetime as dt
import uuid
from collections.abc import Sequence
from typing import NamedTuple

from headwater.store import sqlfile
from headwater.store.arrays import Packed
from headwater.store.database import Connection
from headwater.store.people.listeners import Place


class ArrivedEvent(NamedTuple):
    """An event of a run. `arrived` is 0 if it came before there were numbers."""

    run_id: uuid.UUID
    arrived: int
    event_time: dt.datetime
    digest: bytes
    received_at: dt.datetime
    body: bytes


async def alone(connection: Connection) -> bool:
    """Try to take the feed's lock until the transaction ends; return whether this transaction may feed. Does not wait."""
    (mine,) = await sqlfile.load("status/feed")["alone"].one(connection)
    return bool(mine)


async def place(connection: Connection) -> Place:
    """Return the place before which everything has been read."""
    arrived, event_time, digest = await sqlfile.load("status/feed")["place"].one(connection)
    return Place(arrived, event_time, bytes(digest))


async def move(connection: Connection, to: Place) -> None:
    """Move the place to `to` when this transaction commits."""
    await sqlfile.load("status/feed")["move"].exec(
        connection, arrived=to.arrived, event_time=to.event_time, digest=to.digest
    )


async def of_runs(
    connection: Connection, ids: Sequence[uuid.UUID], first: dt.datetime, last: dt.datetime, limit: int, bytes: int
) -> list[ArrivedEvent]:
    """Events of these runs with first ≤ event time ≤ last, in that order. At most `limit` of each run, with not more than `bytes`
    together, but at least one; `RUNNING` events are left out first.
    """
    if not ids:
        return []
    rows = await sqlfile.load("status/feed")["of_runs"].many(
        connection, ids=Packed("uuid", list(ids)), first=first, last=last, limit=limit, bytes=bytes
    )
    return [ArrivedEvent(*row) for row in rows]


async def started(connection: Connection, runs: Sequence[tuple[int, str]]) -> dict[tuple[int, str], int]:
    """Return the seq of the first report that a run had started, by (entity_id, run); runs without one are absent."""
    if not runs:
        return {}
    rows = await sqlfile.load("status/feed")["started"].many(
        connection, entity_id=Packed("int4", [each[0] for each in runs]), run=Packed("text", [each[1] for each in runs])
    )
    return {(row[0], row[1]): row[2] for row in rows}


async def running(connection: Connection, runs: Sequence[str]) -> list[tuple[int, str, int, int]]:
    """Return (entity_id, run, start_, end_) that these runs are reported to be making."""
    if not runs:
        return []
    rows = await sqlfile.load("status/feed")["running"].many(connection, runs=Packed("text", list(runs)))
    return [(row[0], row[1], row[2], row[3]) for row in rows]
