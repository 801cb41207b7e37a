"""The entities that a dataset holds, by the names that they are declared to be stored in and the rules about names."""

import uuid
from collections.abc import Iterable

from headwater.model import version
from headwater.model.identity import Identity
from headwater.model.names import DatasetName
from headwater.store.database import Connection
from headwater.store.lineage import names


async def homes(
    connection: Connection, identity: Identity, stored: Iterable[tuple[str, DatasetName]]
) -> dict[uuid.UUID, list[str]]:
    """Return the entities that each dataset holds, in the order of their names, by the id that stands for all names of the dataset."""
    placed: dict[uuid.UUID, list[str]] = {}
    for entity, name in stored:
        placed.setdefault(version.dataset_id(identity.place(name).name), []).append(entity)
    other = await names.canonical(connection, list(placed))
    found: dict[uuid.UUID, list[str]] = {}
    for id_, entities in placed.items():
        found[other.get(id_, id_)] = sorted({*found.get(other.get(id_, id_), ()), *entities})
    return found
