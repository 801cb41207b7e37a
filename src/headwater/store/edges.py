"""Edges between datasets and jobs, live at a time, and the column evidence behind them."""

import datetime as dt
import uuid
from collections.abc import Collection

import msgspec

from headwater.model.lineage import ColumnEdge, Edge, Origin, Transformation
from headwater.store import sqlfile
from headwater.store.database import Connection


class Moment(msgspec.Struct, frozen=True):
    """When a question looks at the graph, and how many of a job's runs keep an edge alive."""

    as_of: dt.datetime | str = "infinity"
    live_runs: int = 10


async def at_datasets(connection: Connection, ids: Collection[uuid.UUID], direction: str, moment: Moment) -> list[Edge]:
    """Live edges of these datasets; direction `in` = jobs that read them, `out` = jobs that write them."""
    return await _edges(connection, "live_at_datasets", ids, direction, moment)


async def at_jobs(connection: Connection, ids: Collection[uuid.UUID], direction: str, moment: Moment) -> list[Edge]:
    """Live edges of these jobs; direction `in` = what they read, `out` = what they write."""
    return await _edges(connection, "live_at_jobs", ids, direction, moment)


async def _edges(
    connection: Connection, query: str, ids: Collection[uuid.UUID], direction: str, moment: Moment
) -> list[Edge]:
    if not ids:
        return []
    rows = await sqlfile.load("edges")[query].many(
        connection, ids=list(ids), direction=direction, as_of=moment.as_of, live_runs=moment.live_runs
    )
    return [Edge(*row) for row in rows]


async def explicit_pairs(
    connection: Connection, jobs: Collection[uuid.UUID], moment: Moment
) -> dict[uuid.UUID, dict[uuid.UUID, set[uuid.UUID]]]:
    """job → target → sources, for jobs with explicit lineage. An empty set of sources says that nothing feeds the target."""
    found: dict[uuid.UUID, dict[uuid.UUID, set[uuid.UUID]]] = {}
    if jobs:
        rows = await sqlfile.load("edges")["explicit_pairs"].many(
            connection, ids=list(jobs), as_of=moment.as_of, live_runs=moment.live_runs
        )
        for job, target, source in rows:
            sources = found.setdefault(job, {}).setdefault(target, set())
            if source is not None:
                sources.add(source)
    return found


async def column_edges(
    connection: Connection, jobs: Collection[uuid.UUID], targets: Collection[uuid.UUID], moment: Moment
) -> list[ColumnEdge]:
    """Column edges of these jobs into these targets (datasets, or the jobs themselves)."""
    if not jobs or not targets:
        return []
    rows = await sqlfile.load("edges")["column_edges"].many(
        connection, jobs=list(jobs), targets=list(targets), as_of=moment.as_of, live_runs=moment.live_runs
    )
    return [
        ColumnEdge(
            job,
            target,
            target_field,
            source,
            source_field,
            Origin(origin),
            Transformation(kind, subtype, masking, words) if kind else None,
        )
        for job, target, target_field, source, source_field, origin, kind, subtype, masking, words in rows
    ]


async def children(connection: Connection, jobs: Collection[uuid.UUID]) -> dict[uuid.UUID, list[uuid.UUID]]:
    """Jobs directly below each of these jobs."""
    found: dict[uuid.UUID, list[uuid.UUID]] = {}
    for child, parent in await sqlfile.load("edges")["children_with_edges"].many(connection, ids=list(jobs)):
        found.setdefault(parent, []).append(child)
    return found
