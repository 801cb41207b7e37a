"""List API keys, and find a key's owner. Never returns a digest."""

import datetime as dt

import msgspec

from headwater.store.database import Database
from headwater.store.people import keys as key_store

Held = key_store.Key  # with its digest, for the caller that compares it


class ApiKey(msgspec.Struct, frozen=True):
    """A key as it may be shown. `limits`: the datasets that its holder may see; empty: all."""

    id: str
    name: str
    role: str
    created_at: dt.datetime
    created_by: str
    last_used_at: dt.datetime | None
    expires_at: dt.datetime | None
    revoked_at: dt.datetime | None
    limits: list[str]


class ApiKeys(msgspec.Struct, frozen=True):
    keys: list[ApiKey]


def describe_key(key: Held) -> ApiKey:
    return ApiKey(**{field: getattr(key, field) for field in ApiKey.__struct_fields__})


async def keys(database: Database) -> ApiKeys:
    """Return every key there ever was, the latest first."""
    async with database.connection() as connection:
        return ApiKeys([describe_key(key) for key in await key_store.all_keys(connection)])


async def find(database: Database, id: str) -> Held | None:
    """Return the key with this id, with its digest, for the caller that compares it; revoked and expired ones too."""
    async with database.connection() as connection:
        return await key_store.find(connection, id)


async def any_live(database: Database) -> bool:
    """Return whether at least one key would be accepted now."""
    async with database.connection() as connection:
        return await key_store.any_live(connection)
