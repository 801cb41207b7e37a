"""The datasets above others, or below: the walk along which column lineage is looked for."""

import uuid
from collections.abc import Collection

from headwater.store.database import Connection
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage.edges import Moment

# A walk that meets more datasets and jobs than this is made a hop at a time.
_MOST = 100_000


async def datasets_beyond(
    connection: Connection, start: Collection[uuid.UUID], *, up: bool, depth: int, moment: Moment
) -> tuple[set[tuple[uuid.UUID, uuid.UUID]], set[uuid.UUID]]:
    """Return (job, dataset it writes) on the way up from these datasets, or down, within so many hops; and every dataset met."""
    near, far = ("out", "in") if up else ("in", "out")
    ahead = None
    if not moment.past:
        ahead = await edge_store.ahead(connection, start, (), "upstream" if up else "downstream", depth, _MOST)
    pairs: set[tuple[uuid.UUID, uuid.UUID]] = set()
    seen, front, jobs_seen = set(start), set(start), set[uuid.UUID]()
    for _ in range(depth):
        if ahead is not None and ahead.whole:
            reached = ahead.at_datasets(front, near)
        else:
            reached = await edge_store.at_datasets(connection, front, near, moment)
        jobs = {edge.job for edge in reached} - jobs_seen
        jobs_seen |= jobs
        if ahead is not None and ahead.whole:
            beyond = ahead.at_jobs(jobs, far)
        else:
            beyond = await edge_store.at_jobs(connection, jobs, far, moment)
        pairs.update((edge.job, edge.dataset) for edge in (reached if up else beyond))
        front = {edge.dataset for edge in beyond} - seen
        seen |= front
        if not front:
            break
    return pairs, seen
