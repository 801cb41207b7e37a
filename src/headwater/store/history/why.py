"""The runs that are compared to say why some of them went wrong."""

import datetime as dt
import uuid
from collections.abc import Collection

import msgspec

from headwater.model.run import RunState
from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.lineage.runs import RunKey, RunRow


class Drawn(msgspec.Struct, frozen=True):
    """One run of each job and outcome, oldest first, and how many jobs there are with a good one and with a bad one."""

    runs: list[RunRow]
    good: int
    bad: int


def _row(row: sqlfile.Row) -> RunRow:
    return RunRow(*(*row[:3], RunState(row[3]), *row[4:15]))


async def ended_around(
    connection: Connection, job: uuid.UUID, at: dt.datetime, before: int, after: int
) -> list[RunRow]:
    """Return the latest `before` ended runs of a job that had begun by a time, and the `after` next, oldest first."""
    rows = await sqlfile.load("history/why")["ended_around"].many(
        connection, job_id=job, at=at, before=before, after=after
    )
    return [_row(row) for row in rows]


async def last_of_state(
    connection: Connection, job: uuid.UUID, states: Collection[RunState], until: dt.datetime | str = "infinity"
) -> RunRow | None:
    """Return the latest run of a job in one of these states that had begun before a time."""
    rows = await sqlfile.load("history/why")["last_of_state"].many(
        connection, job_id=job, states=[int(state) for state in states], until=until
    )
    return _row(rows[0]) if rows else None


async def inputs_of(connection: Connection, runs: Collection[RunKey]) -> list[tuple[RunKey, uuid.UUID]]:
    """Return (run, dataset) of all that runs read or declare to read, and of what the runs below them read and none of them writes.

    A run that failed early has no run below it that reads: what it declares is then all that is known.
    """
    if not runs:
        return []
    keys = {(key.run, key.job): key for key in runs}
    rows = await sqlfile.load("history/why")["inputs_of"].packed(
        connection, runs=[run for run, _ in keys], jobs=[job for _, job in keys]
    )
    return [(keys[row[0], row[1]], row[2]) for row in rows]


async def schemas_of(connection: Connection, versions: Collection[uuid.UUID]) -> dict[uuid.UUID, bytes]:
    """Return the schema facet of each version that has one."""
    if not versions:
        return {}
    rows = await sqlfile.load("history/why")["schemas_of"].many(connection, ids=list(versions))
    return {row[0]: bytes(row[1]) for row in rows}


async def latest_of_outcomes(
    connection: Connection, since: dt.datetime, good_since: dt.datetime, until: dt.datetime, limit: int
) -> Drawn:
    """Return the latest bad run of each job since a time, and its latest good one since another.

    At most `limit` jobs of each outcome are drawn, by chance but always the same.
    """
    rows = await sqlfile.load("history/why")["latest_of_outcomes"].many(
        connection, since=since, good_since=good_since, until=until, limit=limit
    )
    runs = [_row(row) for row in rows]
    totals = {run.state == RunState.COMPLETED: row[15] for run, row in zip(runs, rows, strict=True)}
    return Drawn(runs, totals.get(True, 0), totals.get(False, 0))
