"""The declarations that hold, for who writes status: read once for each state of them."""

import asyncio
import datetime as dt
import uuid

from headwater.entities.declaration.held import KEPT, Held
from headwater.store.database import Connection
from headwater.store.status import entities as store


async def declared(connection: Connection, at: dt.datetime | None = None) -> Held:
    """What is declared now, or was at a time; empty before anybody declared anything."""
    moment = at or "infinity"
    applied = await store.applied(connection, moment)
    return await in_state(connection, applied.id if applied else None, moment)


async def in_state(connection: Connection, id_: uuid.UUID | None, moment: dt.datetime | str = "infinity") -> Held:
    """As `declared`, for who knows already which state of the declarations is the one of that moment."""
    found = KEPT.get(id_)
    if found is None:
        # Of thousands of entities it takes seconds, in which others are answered.
        found = await asyncio.to_thread(KEPT.made, id_, await store.declared(connection, moment))
    return found
