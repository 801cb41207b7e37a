"""When datasets were updated, and who spoke of them last."""

import datetime as dt
import uuid
from collections.abc import Collection

import msgspec

from headwater.model.run import RunState
from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.runs import RunRow


class Update(msgspec.Struct, frozen=True):
    """One update. `run` and `job` are None where an event without a run told it. `lifecycle` may be empty."""

    at: dt.datetime
    run: uuid.UUID | None
    job: uuid.UUID | None
    state: RunState
    lifecycle: str


async def candidates(connection: Connection, namespace: str | None, limit: int) -> tuple[list[uuid.UUID], int]:
    """Datasets that were ever written, the latest spoken of first, and how many there are."""
    rows = await sqlfile.load("freshness")["candidates"].many(connection, namespace=namespace, limit=limit)
    return [row[0] for row in rows], rows[0][1] if rows else 0


async def updates(
    connection: Connection, datasets: Collection[uuid.UUID], until: dt.datetime, limit: int
) -> dict[uuid.UUID, list[Update]]:
    """dataset → its updates, the latest first, at most `limit` under each of its names. Runs that still run are in it, failed ones are not."""
    if not datasets:
        return {}
    rows = await sqlfile.load("freshness")["updates"].many(connection, ids=list(datasets), until=until, limit=limit)
    return {
        row[0]: [
            Update(at, run, job, RunState(state), life) for at, run, job, state, life in zip(*row[1:], strict=True)
        ]
        for row in rows
    }


async def failures(
    connection: Connection, dataset: uuid.UUID, after: dt.datetime, until: dt.datetime
) -> tuple[int, dt.datetime | None]:
    """How many runs failed to write a dataset in a span, and when the first of them spoke."""
    row = await sqlfile.load("freshness")["failures"].one(connection, dataset=dataset, after=after, until=until)
    return row[0], row[1]


async def beats(
    connection: Connection, runs: Collection[uuid.UUID], until: dt.datetime, limit: int
) -> dict[uuid.UUID, list[dt.datetime]]:
    """run → times of its latest events."""
    if not runs:
        return {}
    return dict(await sqlfile.load("freshness")["beats"].many(connection, runs=list(runs), until=until, limit=limit))


async def reporters(
    connection: Connection, dataset: uuid.UUID, until: dt.datetime, *, jobs: int, runs: int
) -> list[RunRow]:
    """The latest runs that read or wrote a dataset: so many runs of each of so many jobs, the latest first."""
    rows = await sqlfile.load("freshness")["reporters"].many(
        connection, dataset=dataset, until=until, jobs=jobs, runs=runs
    )
    return [RunRow(*(*row[:3], RunState(row[3]), *row[4:])) for row in rows]
