"""Secrets that every server over this database shares, made by the first server that needs one."""

import secrets

from headwater.store import sqlfile
from headwater.store.database import Connection


async def shared(connection: Connection, name: str) -> bytes:
    """32 random bytes, the same for all servers and after a restart."""
    queries = sqlfile.load("people/secrets")
    await queries["propose"].exec(connection, name=name, value=secrets.token_bytes(32))
    (value,) = await queries["get"].one(connection, name=name)
    return bytes(value)
