"""Load the current declarations for writing status. Each state of the declarations is loaded once."""

import asyncio
import datetime as dt
import uuid

from headwater.entities.declaration.stored_declarations import KEPT, StoredDeclarations
from headwater.store.database import Connection
from headwater.store.status import entities as store


async def declared(connection: Connection, at: dt.datetime | None = None) -> StoredDeclarations:
    """The declarations now, or as they were at a time; empty before the first declaration."""
    moment = at or "infinity"
    applied = await store.applied(connection, moment)
    return await in_state(connection, applied.id if applied else None, moment)


async def in_state(
    connection: Connection, id_: uuid.UUID | None, moment: dt.datetime | str = "infinity"
) -> StoredDeclarations:
    """Return what `declared` returns, if the id of the state at that moment is known already."""
    found = KEPT.get(id_)
    if found is None:
        # Thousands of entities take seconds; a thread leaves the event loop free.
        found = await asyncio.to_thread(KEPT.get_or_build, id_, await store.declared(connection, moment))
    return found
