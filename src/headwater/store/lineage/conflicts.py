"""All reports of jobs' edges, by source: the claims that other answers settle by precedence, kept apart."""

import datetime as dt
import uuid
from collections.abc import Collection

import msgspec

from headwater.model.lineage import Origin
from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.lineage import column_sets, names
from headwater.store.lineage.edges import Moment


class EdgeReport(msgspec.Struct, frozen=True):
    """Someone (`OBSERVED`, `MANIFEST`, `JOB_EVENT`, `MANUAL`) says that a job reads (`in`) or writes (`out`) a dataset."""

    job: uuid.UUID
    dataset: uuid.UUID
    direction: str
    who: str
    at: dt.datetime
    run: uuid.UUID | None


class TargetEvidence(msgspec.Struct, frozen=True):
    """Column evidence names these sources of a target (a dataset, or the job itself)."""

    job: uuid.UUID
    target: uuid.UUID
    origin: Origin
    sources: frozenset[uuid.UUID]
    at: dt.datetime
    run: uuid.UUID | None


async def jobs_after(
    connection: Connection, after: uuid.UUID | None, namespace: str | None, limit: int
) -> list[uuid.UUID]:
    """A page of the jobs that have edges."""
    rows = await sqlfile.load("lineage/conflicts")["jobs_after"].many(
        connection, after=after, namespace=namespace, limit=limit
    )
    return [row[0] for row in rows]


async def edge_reports(connection: Connection, jobs: Collection[uuid.UUID], moment: Moment) -> list[EdgeReport]:
    if not jobs:
        return []
    rows = await sqlfile.load("lineage/conflicts")["edge_reports"].many(connection, jobs=list(jobs), as_of=moment.as_of)
    return [EdgeReport(*row) for row in rows]


async def evidence(connection: Connection, jobs: Collection[uuid.UUID], moment: Moment) -> list[TargetEvidence]:
    if not jobs:
        return []
    rows = await sqlfile.load("lineage/conflicts")["evidence"].many(connection, jobs=list(jobs), as_of=moment.as_of)
    sets = await column_sets.load(connection, {row[3] for row in rows})
    other = await names.canonical(
        connection, {edge.source for edges in sets.values() for edge in edges} | {row[1] for row in rows}
    )
    return [
        TargetEvidence(
            job,
            other.get(target) or target,
            Origin(origin),
            frozenset(other.get(edge.source, edge.source) for edge in sets[set_id]),
            at,
            run,
        )
        for job, target, origin, set_id, at, run in rows
    ]
