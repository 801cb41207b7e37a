"""Connectors, who pulls them at the moment, and what their pulls did. Secrets are encrypted; nothing here can read them."""

import datetime as dt
import json
import uuid
from typing import Any

import msgspec

from headwater.store import sqlfile
from headwater.store.alerts.messages import clean
from headwater.store.database import Connection

_QUERIES = "connectors/connectors"
_KEPT_PULLS = 500


class PullRow(msgspec.Struct, frozen=True):
    """One row of `connector_pulls`."""

    connector: str
    started_at: dt.datetime
    ended_at: dt.datetime
    rows: int
    events: int
    refused: int
    newest_at: dt.datetime | None
    warnings: list[str]
    error: str | None


class StoredConnector(msgspec.Struct, frozen=True):
    """`pulling`: a server pulls it now, or will at once. `last`: its last pull; `last_complete`: its last one without an error."""

    name: str
    kind: str
    options: dict[str, str]
    secrets: bytes | None
    every_seconds: int
    paused: bool
    created_at: dt.datetime
    created_by: str
    next_pull_at: dt.datetime
    failures: int
    failing_since: dt.datetime | None
    last_error: str | None
    pulling: bool
    last: PullRow | None
    last_complete: PullRow | None


class LeasedConnector(msgspec.Struct, frozen=True):
    name: str
    kind: str
    options: dict[str, str]
    secrets: bytes | None
    every_seconds: int
    cursor: dict[str, Any] | None
    failures: int


async def add(
    connection: Connection, name: str, kind: str, options: dict[str, str], secrets: bytes | None, every: int, by: str
) -> bool:
    """Keep it; False if the name is taken."""
    row = await sqlfile.load(_QUERIES)["add"].maybe(
        connection, name=name, kind=kind, options=json.dumps(options), secrets=secrets, every=every, created_by=by
    )
    return row is not None


async def change(connection: Connection, name: str, options: dict[str, str], secrets: bytes | None, every: int) -> bool:
    """Replace its options and secrets; False if there is none of this name."""
    query = sqlfile.load(_QUERIES)["change"]
    return await query.exec(connection, name=name, options=json.dumps(options), secrets=secrets, every=every) > 0


async def remove(connection: Connection, name: str) -> bool:
    return await sqlfile.load(_QUERIES)["remove"].exec(connection, name=name) > 0


async def pause(connection: Connection, name: str, paused: bool) -> bool:
    return await sqlfile.load(_QUERIES)["pause"].exec(connection, name=name, paused=paused) > 0


async def connectors(connection: Connection, name: str | None = None) -> list[StoredConnector]:
    """Return all of them, or the one of a name."""
    rows = await sqlfile.load(_QUERIES)["all"].many(connection, name=name)
    return [StoredConnector(*row[:13], *map(_pull, row[13:])) for row in rows]


async def pulls(connection: Connection, name: str, limit: int) -> list[PullRow]:
    """Return its last pulls, the last first."""
    rows = await sqlfile.load(_QUERIES)["pulls"].many(connection, name=name, limit=limit)
    return [msgspec.convert(row[0], PullRow) for row in rows]


def _pull(row: dict[str, Any] | None) -> PullRow | None:
    return None if row is None else msgspec.convert(row, PullRow)


async def request(connection: Connection, name: str) -> bool:
    """Ask for a pull now; False if there is none of this name."""
    return await sqlfile.load(_QUERIES)["request"].exec(connection, name=name) > 0


async def lease(connection: Connection, owner: uuid.UUID, seconds: float) -> LeasedConnector | None:
    """Take the one that was asked for or is due first. None if there is none that no server pulls."""
    row = await sqlfile.load(_QUERIES)["lease"].maybe(connection, owner=owner, seconds=seconds)
    return LeasedConnector(*row) if row else None


async def renew(connection: Connection, name: str, owner: uuid.UUID, seconds: float) -> bool:
    """Keep a lease; False if another server has it."""
    return await sqlfile.load(_QUERIES)["renew"].exec(connection, name=name, owner=owner, seconds=seconds) > 0


async def release(connection: Connection, name: str, owner: uuid.UUID) -> None:
    await sqlfile.load(_QUERIES)["release"].exec(connection, name=name, owner=owner)


async def finish(
    connection: Connection, owner: uuid.UUID, pull: PullRow, cursor: dict[str, Any] | None, seconds: float
) -> bool:
    """Note how a pull ended; the next is due after so many seconds. False if another server has the lease, or it was removed."""
    queries, name = sqlfile.load(_QUERIES), pull.connector
    error = pull.error and clean(pull.error)
    held = None if cursor is None else json.dumps(cursor).replace("\\u0000", "\\ufffd")
    done = await queries["finish"].exec(connection, name=name, owner=owner, cursor=held, seconds=seconds, error=error)
    if not done:
        return False
    await queries["add_pull"].exec(
        connection, name=name, started_at=pull.started_at, rows=pull.rows, events=pull.events, refused=pull.refused,
        newest_at=pull.newest_at, warnings=[clean(one) for one in pull.warnings], error=error,
    )  # fmt: skip
    await queries["forget_pulls"].exec(connection, name=name, kept=_KEPT_PULLS)
    return True
