"""The log in the order of arrival, with all that was written down of each event: what an archive keeps. Only read."""

import datetime as dt
import uuid

import msgspec

from headwater.store import sqlfile
from headwater.store.database import Connection


class Place(msgspec.Struct, frozen=True):
    """The place up to which the log was read. `arrived` 0: among the events from before arrivals had numbers. An empty digest: before all events."""

    arrived: int
    event_time: dt.datetime = dt.datetime.min.replace(tzinfo=dt.UTC)
    digest: bytes = b""


class Archived(msgspec.Struct, frozen=True):
    """An event as the log has it; `body` is what was received, byte for byte."""

    arrived: int
    event_time: dt.datetime
    received_at: dt.datetime
    digest: bytes
    kind: str
    event_type: str | None
    run_id: uuid.UUID | None
    producer: str
    body: bytes


async def page(connection: Connection, after: Place, upto: int, limit: int, bytes: int) -> list[Archived]:
    """Return events after a place up to the number `upto`; at least one, of any size, if there is one."""
    queries = sqlfile.load("events/archive")
    rows: list[sqlfile.Row] = []
    told = {"event_time": after.event_time, "digest": after.digest, "limit": limit, "bytes": bytes}
    if after.arrived == 0:
        rows = await queries["unnumbered"].many(connection, **told)
        told |= {"event_time": Place(1).event_time, "digest": b""}
    if not rows:
        rows = await queries["numbered"].many(connection, arrived=max(after.arrived, 1), upto=upto, **told)
    return [Archived(*row) for row in rows]
