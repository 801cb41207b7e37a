"""The declarations of a time: read once for each state of them."""

import asyncio
import datetime as dt

from headwater.entities.declaration.stored_declarations import KEPT, StoredDeclarations
from headwater.store.database import Connection
from headwater.store.limited import is_limited
from headwater.store.status import entities as store


async def declared(connection: Connection, at: dt.datetime | None = None) -> StoredDeclarations:
    """Return the declarations of a time, or of now; empty before the first declaration. A limited reader's are those that it may see."""
    moment = at or "infinity"
    applied = await store.applied(connection, moment)
    id_ = applied.id if applied else None
    if is_limited():
        return await asyncio.to_thread(StoredDeclarations, id_, await store.declared(connection, moment))
    found = KEPT.get(id_)
    if found is None:
        # It takes seconds for thousands of entities, in which others are answered.
        found = await asyncio.to_thread(KEPT.get_or_build, id_, await store.declared(connection, moment))
    return found
