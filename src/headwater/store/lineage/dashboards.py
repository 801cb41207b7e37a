"""Datasets by the kind that their producers name."""

import uuid
from collections.abc import Collection

from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.lineage.nodes import NodeRow


async def kinds(connection: Connection) -> dict[uuid.UUID, bytes]:
    """Return each body of a `datasetType` facet, by its id."""
    return dict(await sqlfile.load("lineage/dashboards")["kinds"].many(connection))


async def of_kinds(connection: Connection, bodies: Collection[uuid.UUID]) -> list[NodeRow]:
    """Return the datasets that ever had one of these `datasetType` facets, the one with the latest event first."""
    if not bodies:
        return []
    rows = await sqlfile.load("lineage/dashboards")["of_kinds"].many(connection, bodies=list(bodies))
    return [NodeRow(*row) for row in rows]
