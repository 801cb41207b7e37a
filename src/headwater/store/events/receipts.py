"""Single events of the log, and what was odd about them."""

import datetime as dt
import uuid
from collections.abc import Collection, Sequence

import msgspec

from headwater.store import sqlfile
from headwater.store.database import Connection


class LogRow(msgspec.Struct, frozen=True):
    """An event without its body; `size` is the body's, in bytes."""

    event_time: dt.datetime
    digest: bytes
    kind: str
    event_type: str | None
    run_id: uuid.UUID | None
    producer: str
    received_at: dt.datetime
    size: int


class Oddity(msgspec.Struct, frozen=True):
    """A warning as the log keeps it."""

    code: str
    where: str
    message: str


async def find(connection: Connection, first: bytes, last: bytes) -> list[LogRow]:
    """Return events whose digest lies between two (at most 5)."""
    rows = await sqlfile.load("events/receipts")["find"].many(connection, first=first, last=last)
    return [LogRow(*row) for row in rows]


async def body(connection: Connection, row: LogRow) -> bytes:
    (found,) = await sqlfile.load("events/receipts")["body"].one(
        connection, digest=row.digest, event_time=row.event_time
    )
    return bytes(found)


async def page(
    connection: Connection,
    *,
    since: dt.datetime,
    producer: str | None,
    code: str | None,
    run: uuid.UUID | None,
    limit: int,
    offset: int,
) -> list[LogRow]:
    """Return events by time of arrival, the latest first."""
    rows = await sqlfile.load("events/receipts")["page"].many(
        connection, since=since, producer=producer, code=code, run=run, limit=limit, offset=offset
    )
    return [LogRow(*row) for row in rows]


async def warnings(connection: Connection, rows: Sequence[LogRow]) -> dict[tuple[bytes, dt.datetime], list[Oddity]]:
    """Return the warnings of each event, by (digest, event time); events without any are absent."""
    found: dict[tuple[bytes, dt.datetime], list[Oddity]] = {}
    if rows:
        given = {"digests": [row.digest for row in rows], "times": [row.event_time for row in rows]}
        for digest, at, code, where, message in await sqlfile.load("events/receipts")["warnings"].many(
            connection, **given
        ):
            found.setdefault((digest, at), []).append(Oddity(code, where, message))
    return found


async def versions(connection: Connection, ids: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Return those of these dataset versions that exist."""
    if not ids:
        return set()
    return {row[0] for row in await sqlfile.load("events/receipts")["versions"].many(connection, ids=list(ids))}


async def run_begins(connection: Connection, runs: Collection[uuid.UUID]) -> dict[uuid.UUID, dt.datetime]:
    """Return the time of each run's first event; unknown runs are absent."""
    return dict(await sqlfile.load("events/receipts")["run_begins"].many(connection, ids=list(runs))) if runs else {}
