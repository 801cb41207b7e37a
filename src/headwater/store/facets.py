"""Facet bodies by owner."""

import uuid
from collections.abc import Collection

from headwater.store import sqlfile
from headwater.store.database import Connection


async def of_owners(
    connection: Connection, owners: Collection[uuid.UUID], names: Collection[str] | None = None
) -> dict[uuid.UUID, dict[str, bytes]]:
    """owner → facet name → raw body, of facets that are not deleted. `names` narrows to some."""
    found: dict[uuid.UUID, dict[str, bytes]] = {}
    if owners:
        rows = await sqlfile.load("facets")["of_owners"].many(
            connection, owners=list(owners), names=None if names is None else list(names)
        )
        for owner, name, _at, body in rows:
            found.setdefault(owner, {})[name] = body
    return found
