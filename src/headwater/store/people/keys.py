"""API keys: digests and what is known about them. The key itself is never here."""

import datetime as dt
from collections.abc import Sequence

import msgspec

from headwater.store import sqlfile
from headwater.store.database import Connection


class Key(msgspec.Struct, frozen=True):
    """One row of `api_keys`."""

    id: str
    name: str
    role: str
    digest: bytes
    created_at: dt.datetime
    created_by: str
    last_used_at: dt.datetime | None
    expires_at: dt.datetime | None
    revoked_at: dt.datetime | None
    limits: list[str]


async def insert(
    connection: Connection,
    id: str,
    name: str,
    role: str,
    digest: bytes,
    created_by: str,
    expires_at: dt.datetime | None,
    limits: Sequence[str] = (),
) -> Key | None:
    """Keep it; None when a key that is not revoked already has the name."""
    row = await sqlfile.load("people/keys")["insert"].maybe(
        connection,
        id=id,
        name=name,
        role=role,
        digest=digest,
        created_by=created_by,
        expires_at=expires_at,
        limits=list(limits),
    )
    return Key(*row) if row else None


async def find(connection: Connection, id: str) -> Key | None:
    """The key with this id, revoked and expired ones too."""
    row = await sqlfile.load("people/keys")["find"].maybe(connection, id=id)
    return Key(*row) if row else None


async def all_keys(connection: Connection) -> list[Key]:
    """Return every key, the latest first."""
    return [Key(*row) for row in await sqlfile.load("people/keys")["all"].many(connection)]


async def revoke(connection: Connection, key: str) -> Key | None:
    """Revoke by id or name; None when no live key is called so."""
    row = await sqlfile.load("people/keys")["revoke"].maybe(connection, key=key)
    return Key(*row) if row else None


async def touch(connection: Connection, id: str) -> None:
    """Record a use of the key; nothing happens within a minute of the last."""
    await sqlfile.load("people/keys")["touch"].exec(connection, id=id)


async def any_live(connection: Connection) -> bool:
    """Return whether at least one key would be accepted now."""
    (found,) = await sqlfile.load("people/keys")["any_live"].one(connection)
    return bool(found)
