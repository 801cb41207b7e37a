"""The declarations that hold, for who writes status: read once for each state of them."""

from headwater.entities.declaration.held import KEPT, Held
from headwater.store import entities as store
from headwater.store.database import Connection


async def declared(connection: Connection) -> Held:
    """What is declared now; empty before anybody declared anything."""
    applied = await store.applied(connection)
    id_ = applied.id if applied else None
    return KEPT.get(id_) or KEPT.put(Held(id_, await store.declared(connection)))
