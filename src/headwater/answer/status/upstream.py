"""The datasets and jobs directly upstream of what is in trouble, to find the first cause."""

import uuid
from collections.abc import Collection

from headwater.store.database import Connection
from headwater.store.status import open_incidents as store


async def load_upstream(
    connection: Connection, troubled: Collection[uuid.UUID], jobs: Collection[uuid.UUID] = ()
) -> tuple[dict[uuid.UUID, set[uuid.UUID]], dict[uuid.UUID, uuid.UUID]]:
    """Return what is directly upstream of these datasets and jobs, and of their neighbours; and the parents of the jobs met, and of `jobs`.

    A job that is part of a troubled one has that one upstream.
    """
    edges = await store.neighbours(connection, troubled)
    others = {edge.job for edge in edges} - set(troubled)
    edges += await store.neighbours(connection, others)
    parents = await store.parents(connection, {edge.job for edge in edges} | set(jobs))
    above: dict[uuid.UUID, set[uuid.UUID]] = {}
    for edge in edges:
        down, up = (edge.dataset, edge.job) if edge.direction == "out" else (edge.job, edge.dataset)
        above.setdefault(down, set()).add(up)
    for child, parent in parents.items():
        if parent in troubled:
            above.setdefault(child, set()).add(parent)
    return above, parents
