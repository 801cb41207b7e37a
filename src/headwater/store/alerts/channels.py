"""Channels beside mail. Their addresses and secrets are encrypted; nothing here can read them."""

import datetime as dt

import msgspec

from headwater.store import sqlfile
from headwater.store.alerts.messages import clean
from headwater.store.database import Connection

_QUERIES = "alerts/channels"


class StoredChannel(msgspec.Struct, frozen=True):
    name: str
    kind: str
    url: bytes
    secret: bytes | None
    created_at: dt.datetime
    created_by: str
    delivered: int
    last_delivery_at: dt.datetime | None
    failing_since: dt.datetime | None
    failures: int
    last_error: str | None


async def add(connection: Connection, name: str, kind: str, url: bytes, secret: bytes | None, by: str) -> bool:
    """Keep it; False if the name is taken."""
    row = await sqlfile.load(_QUERIES)["add"].maybe(
        connection, name=name, kind=kind, url=url, secret=secret, created_by=by
    )
    return row is not None


async def remove(connection: Connection, name: str) -> bool:
    return await sqlfile.load(_QUERIES)["remove"].exec(connection, name=name) > 0


async def all_channels(connection: Connection) -> list[StoredChannel]:
    return [StoredChannel(*row) for row in await sqlfile.load(_QUERIES)["all"].many(connection)]


async def named(connection: Connection, name: str) -> StoredChannel | None:
    row = await sqlfile.load(_QUERIES)["named"].maybe(connection, name=name)
    return StoredChannel(*row) if row else None


async def outcome(connection: Connection, name: str, error: str | None) -> None:
    await sqlfile.load(_QUERIES)["outcome"].exec(connection, name=name, error=error and clean(error))
