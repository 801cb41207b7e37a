"""The names of all datasets, to find columns in. Judges nothing."""

import uuid

from headwater.store import sqlfile
from headwater.store.database import Connection


async def datasets(connection: Connection) -> list[tuple[uuid.UUID, str]]:
    """Return (dataset, `namespace:name`) of every dataset that is not hidden, under the name that stands for it."""
    return [(row[0], row[1]) for row in await sqlfile.load("privacy/places")["datasets"].many(connection)]
