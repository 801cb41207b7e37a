"""Datasets that go by several names: which one stands for all, and which others there are."""

import uuid
from collections.abc import AsyncIterator, Collection

from headwater.model.names import DatasetName
from headwater.store import sqlfile
from headwater.store.database import Connection


async def canonical(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, uuid.UUID]:
    """Return the dataset that each id is another name of; ids that stand for themselves are absent."""
    return dict(await sqlfile.load("lineage/names")["canonical"].many(connection, ids=list(ids))) if ids else {}


async def members(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, list[uuid.UUID]]:
    """Return the other ids of each dataset; datasets with one name are absent."""
    found: dict[uuid.UUID, list[uuid.UUID]] = {}
    if ids:
        for node, other in await sqlfile.load("lineage/names")["members"].many(connection, ids=list(ids)):
            found.setdefault(node, []).append(other)
    return found


async def aliases(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, list[DatasetName]]:
    """Return the other names of each dataset; datasets with one name are absent."""
    found: dict[uuid.UUID, list[DatasetName]] = {}
    if ids:
        for node, namespace, name in await sqlfile.load("lineage/names")["aliases"].many(connection, ids=list(ids)):
            found.setdefault(node, []).append(DatasetName(namespace, name))
    return found


async def matching(connection: Connection, regexes: Collection[str]) -> list[uuid.UUID]:
    """Return the datasets whose `namespace:name`, under any of their names, matches one of these regular expressions."""
    rows = await sqlfile.load("lineage/names")["matching"].many(connection, regexes=list(regexes))
    return [row[0] for row in rows]


async def pages(connection: Connection, size: int) -> AsyncIterator[list[DatasetName]]:
    """The names of all datasets as they are kept, a page at a time."""
    after = uuid.UUID(int=0)
    while rows := await sqlfile.load("lineage/names")["page_after"].many(connection, after=after, limit=size):
        yield [DatasetName(namespace, name) for _, namespace, name in rows]
        after = rows[-1][0]
