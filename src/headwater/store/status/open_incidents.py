"""Troubles that need a person beside verdicts: jobs that fail, and the datasets and jobs connected to them. Judges nothing."""

import datetime as dt
import uuid
from collections.abc import Collection
from typing import NamedTuple

from headwater.store import sqlfile
from headwater.store.database import Connection

_QUERIES = "status/open_incidents"


class FailingJob(NamedTuple):
    """`since`: the first failure since a good run; `failures`: how many there have been."""

    job: uuid.UUID
    run: uuid.UUID
    state: int
    ended_at: dt.datetime
    since: dt.datetime
    failures: int


class Neighbours(NamedTuple):
    """A job reads (`in`) or writes (`out`) a dataset."""

    dataset: uuid.UUID
    job: uuid.UUID
    direction: str


async def failing(connection: Connection, since: dt.datetime, limit: int) -> tuple[list[FailingJob], int]:
    """Return the jobs whose last run that ended failed, the latest first, and how many there are in all."""
    rows = await sqlfile.load(_QUERIES)["failing"].many(connection, since=since, limit=limit)
    return [FailingJob(*row[:-1]) for row in rows], rows[0][-1] if rows else 0


async def recovered(connection: Connection, since: Collection[tuple[uuid.UUID, dt.datetime]]) -> set[int]:
    """Return the places of those of these jobs and times after which a run of the job began that was good."""
    if not since:
        return set()
    rows = await sqlfile.load(_QUERIES)["recovered"].many(
        connection, jobs=[job for job, _ in since], ats=[at for _, at in since]
    )
    return {row[0] for row in rows}


async def neighbours(connection: Connection, ids: Collection[uuid.UUID]) -> list[Neighbours]:
    """The edges of these datasets and jobs."""
    if not ids:
        return []
    return [Neighbours(*row) for row in await sqlfile.load(_QUERIES)["neighbours"].many(connection, ids=list(ids))]


async def parents(connection: Connection, jobs: Collection[uuid.UUID]) -> dict[uuid.UUID, uuid.UUID]:
    """The jobs that these are part of, by their last runs."""
    if not jobs:
        return {}
    return dict(await sqlfile.load(_QUERIES)["parents"].many(connection, ids=list(jobs)))
