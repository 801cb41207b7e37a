"""The times at which datasets were updated, and the runs that reported them last."""

import datetime as dt
import uuid
from collections.abc import Collection

import msgspec

from headwater.model.run import RunState
from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.lineage.runs import RunRow


class Writer(msgspec.Struct, frozen=True):
    """Updates by some runs: microseconds since 1970, in no order, and the writer of the latest.

    `run` and `job` are None for an event without a run.
    """

    times: list[int]
    run: uuid.UUID | None
    job: uuid.UUID | None


class Updates(msgspec.Struct, frozen=True):
    """`done`: by runs that ended well; `open`: by runs that still run. `dropped`: the last thing that was done to it."""

    done: Writer
    open: Writer
    dropped: bool


async def candidates(connection: Connection, namespace: str | None, limit: int) -> tuple[list[uuid.UUID], int]:
    """Return datasets that were ever written, the one with the latest event first, and how many there are."""
    rows = await sqlfile.load("status/freshness")["candidates"].many(connection, namespace=namespace, limit=limit)
    return [row[0] for row in rows], rows[0][1] if rows else 0


async def updates(
    connection: Connection, datasets: Collection[uuid.UUID], until: dt.datetime, limit: int
) -> dict[uuid.UUID, Updates]:
    """Return each dataset's latest updates, at most `limit` under each of its names. Datasets without a write are absent."""
    if not datasets:
        return {}
    rows = await sqlfile.load("status/freshness")["updates"].many(
        connection, ids=list(datasets), until=until, limit=limit
    )
    return {
        row[0]: Updates(Writer(_times(row[1]), row[2], row[3]), Writer(_times(row[4]), row[5], row[6]), bool(row[7]))
        for row in rows
    }


def _times(text: str | None) -> list[int]:
    return list(map(int, text.split(","))) if text else []


async def failures(
    connection: Connection, dataset: uuid.UUID, after: dt.datetime, until: dt.datetime
) -> tuple[int, dt.datetime | None]:
    """Return how many runs failed to write a dataset in a span, and when the first of them reported."""
    row = await sqlfile.load("status/freshness")["failures"].one(connection, dataset=dataset, after=after, until=until)
    return row[0], row[1]


async def beats(
    connection: Connection, runs: Collection[uuid.UUID], until: dt.datetime, limit: int
) -> dict[uuid.UUID, list[dt.datetime]]:
    """Return the times of each run's latest events."""
    if not runs:
        return {}
    return dict(
        await sqlfile.load("status/freshness")["beats"].many(connection, runs=list(runs), until=until, limit=limit)
    )


async def reporters(
    connection: Connection, dataset: uuid.UUID, until: dt.datetime, *, jobs: int, runs: int
) -> list[RunRow]:
    """Return the latest runs that read or wrote a dataset: so many runs of each of so many jobs, the latest first."""
    rows = await sqlfile.load("status/freshness")["reporters"].many(
        connection, dataset=dataset, until=until, jobs=jobs, runs=runs
    )
    return [RunRow(*(*row[:3], RunState(row[3]), *row[4:])) for row in rows]
