"""The jobs that made instances of entities, by the runs that reported them."""

import uuid
from collections.abc import Collection

from headwater.store import sqlfile
from headwater.store.database import Connection

# Instances that a job made long ago do not show what it makes now.
_LATEST = 5


async def made_by(connection: Connection, jobs: Collection[uuid.UUID]) -> dict[uuid.UUID, list[int]]:
    """Return for each job the ids of the entities that its latest good runs made."""
    found: dict[uuid.UUID, list[int]] = {}
    if jobs:
        rows = await sqlfile.load("status/schedules")["made_by"].many(connection, jobs=list(jobs), most=_LATEST)
        for job, entity in rows:
            found.setdefault(job, []).append(entity)
    return found


async def makers(connection: Connection, entities: Collection[int]) -> dict[int, list[uuid.UUID]]:
    """Return for each entity the jobs that made its last instances."""
    found: dict[int, list[uuid.UUID]] = {}
    if entities:
        rows = await sqlfile.load("status/schedules")["makers"].many(connection, entities=list(entities), most=_LATEST)
        for entity, job in rows:
            found.setdefault(entity, []).append(job)
    return found
