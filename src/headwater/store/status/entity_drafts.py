"""The intervals, reads and writes of runs: the evidence that drafts of entities are made from. Nothing here judges it."""

import datetime as dt
import uuid
from collections.abc import Collection, Sequence

import msgspec

from headwater.model.names import DatasetName, JobName
from headwater.store import sqlfile
from headwater.store.database import Connection


class Toucher(msgspec.Struct, frozen=True):
    """A job that reads (`in`) or writes (`out`) a dataset. `runs`: 0, 1, or 2 for any more. `kind`: recurring, ad_hoc, one_off; None if no query
    log told of it.
    """

    dataset: uuid.UUID
    job: uuid.UUID
    direction: str
    name: JobName
    parent: uuid.UUID | None
    runs: int
    kind: str | None


class RunFor(msgspec.Struct, frozen=True):
    """A run and the interval it says it was for."""

    job: uuid.UUID
    run: uuid.UUID
    started: dt.datetime
    ended: dt.datetime
    nominal_start: dt.datetime | None
    nominal_end: dt.datetime | None


class Touched(msgspec.Struct, frozen=True):
    """A dataset that a run read or wrote; `parts`: JSON objects, none if it did not say which."""

    job: uuid.UUID
    run: uuid.UUID
    direction: str
    dataset: uuid.UUID
    parts: list[str]


class ParentJob(msgspec.Struct, frozen=True):
    id: uuid.UUID
    name: JobName
    parent: uuid.UUID | None


async def candidates(
    connection: Connection,
    *,
    namespace: str | None,
    among: Collection[uuid.UUID] | None,
    without: Collection[uuid.UUID],
    limit: int,
) -> tuple[dict[uuid.UUID, DatasetName], int]:
    """Datasets with a writer, by name, and how many there are. `among`: only of these; None: of all."""
    rows = await sqlfile.load("status/entity_drafts")["candidates"].many(
        connection,
        namespace=namespace,
        all=among is None,
        ids=list(among or ()),
        without=list(without),
        limit=limit,
    )
    return {row[0]: DatasetName(row[1], row[2]) for row in rows}, rows[0][3] if rows else 0


async def jobs(connection: Connection, datasets: Collection[uuid.UUID]) -> list[Toucher]:
    """Return the jobs that read or write these datasets, by name, without hidden ones."""
    if not datasets:
        return []
    rows = await sqlfile.load("status/entity_drafts")["jobs"].many(connection, ids=list(datasets))
    return [Toucher(row[0], row[1], row[2], JobName(row[3], row[4]), row[5], row[6], row[7]) for row in rows]


async def runs(connection: Connection, jobs: Collection[uuid.UUID], *, latest: int, first: int) -> list[RunFor]:
    """Runs that did not fail: of each job the last `latest` and the first `first`, by start."""
    if not jobs:
        return []
    rows = await sqlfile.load("status/entity_drafts")["runs"].many(
        connection, jobs=list(jobs), latest=latest, first=first
    )
    return [RunFor(*row) for row in rows]


async def touched(connection: Connection, runs: Sequence[RunFor]) -> list[Touched]:
    """Return the datasets that these runs read and wrote, by the names that stand for them."""
    if not runs:
        return []
    rows = await sqlfile.load("status/entity_drafts")["touched"].many(
        connection, jobs=[each.job for each in runs], runs=[each.run for each in runs]
    )
    return [Touched(row[0], row[1], row[2], row[3], row[4] or []) for row in rows]


async def parents(connection: Connection, jobs: Collection[uuid.UUID]) -> dict[uuid.UUID, ParentJob]:
    """Return these jobs and those above them, up to three steps, by id."""
    if not jobs:
        return {}
    rows = await sqlfile.load("status/entity_drafts")["parents"].many(connection, jobs=list(jobs))
    return {row[0]: ParentJob(row[0], JobName(row[1], row[2]), row[3]) for row in rows}
