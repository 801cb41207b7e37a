"""Many runs at once: what they read in which version, and what they left behind. A fixed number of statements for any number of runs."""

import datetime as dt
import uuid
from collections.abc import Collection, Sequence

import msgspec

from headwater.model.run import RunState
from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.lineage.runs import RunRow

Key = tuple[uuid.UUID, uuid.UUID]


class Read(msgspec.Struct, frozen=True):
    """An input of a run: the version that was current, and its writer. All None: it had not been written."""

    run_id: uuid.UUID
    job_id: uuid.UUID
    dataset: uuid.UUID
    version: uuid.UUID | None
    writer_run: uuid.UUID | None
    writer_job: uuid.UUID | None


def _row(row: sqlfile.Row) -> RunRow:
    return RunRow(*(*row[:3], RunState(row[3]), *row[4:]))


async def latest(connection: Connection, jobs: Collection[uuid.UUID], limit: int) -> dict[uuid.UUID, list[RunRow]]:
    """Return each job's latest runs, the latest first. Jobs without runs are absent."""
    found: dict[uuid.UUID, list[RunRow]] = {}
    if jobs:
        for row in await sqlfile.load("marquez/runs")["latest"].many(connection, ids=list(jobs), limit=limit):
            found.setdefault(row[1], []).append(_row(row))
    return found


async def by_keys(connection: Connection, keys: Collection[Key]) -> dict[Key, RunRow]:
    if not keys:
        return {}
    rows = await sqlfile.load("marquez/runs")["by_keys"].many(connection, **_arrays(list(keys)))
    return {(row[0], row[1]): _row(row) for row in rows}


async def run_datasets(connection: Connection, keys: Sequence[Key]) -> dict[Key, tuple[set[uuid.UUID], set[uuid.UUID]]]:
    """Return inputs and outputs by (run, job). Runs that reported none are absent."""
    found: dict[Key, tuple[set[uuid.UUID], set[uuid.UUID]]] = {}
    if keys:
        for run, job, direction, dataset in await sqlfile.load("marquez/runs")["run_datasets"].many(
            connection, **_arrays(keys)
        ):
            found.setdefault((run, job), (set(), set()))[0 if direction == "in" else 1].add(dataset)
    return found


async def read(connection: Connection, rows: Sequence[RunRow]) -> list[Read]:
    """The inputs of these runs."""
    if not rows:
        return []
    found = await sqlfile.load("marquez/runs")["read"].many(
        connection, **_arrays([(row.run_id, row.job_id) for row in rows]), ats=[row.began for row in rows]
    )
    return [Read(*row) for row in found]


async def written(connection: Connection, keys: Sequence[Key]) -> dict[Key, dict[uuid.UUID, uuid.UUID]]:
    """Return the versions that runs wrote: by (run, job) and dataset."""
    found: dict[Key, dict[uuid.UUID, uuid.UUID]] = {}
    if keys:
        for run, job, dataset, version in await sqlfile.load("marquez/runs")["written"].many(
            connection, **_arrays(keys)
        ):
            found.setdefault((run, job), {})[dataset] = version
    return found


async def last_readers(
    connection: Connection, spans: Sequence[tuple[uuid.UUID, dt.datetime, dt.datetime]], jobs: int
) -> list[tuple[int, RunRow]]:
    """Return the last run of each job that read a dataset in a span of time (dataset, since, before), with the span's place; the latest last."""
    if not spans:
        return []
    datasets, since, until = zip(*spans, strict=True)
    rows = await sqlfile.load("marquez/runs")["last_readers"].many(
        connection, datasets=list(datasets), since=list(since), until=list(until), jobs=jobs
    )
    return [(row[0], _row(row[1:])) for row in rows]


async def ends(connection: Connection, versions: Sequence[tuple[uuid.UUID, uuid.UUID]]) -> dict[uuid.UUID, dt.datetime]:
    """Return when each version (dataset, version) was followed by another. The latest are absent."""
    if not versions:
        return {}
    rows = await sqlfile.load("marquez/runs")["ends"].many(
        connection, datasets=[one[0] for one in versions], versions=[one[1] for one in versions]
    )
    return {id_: at for id_, at in rows if at is not None}


def _arrays(keys: Sequence[Key]) -> dict[str, object]:
    return {"runs": [key[0] for key in keys], "jobs": [key[1] for key in keys]}


async def last_of_datasets(connection: Connection, datasets: Collection[uuid.UUID]) -> dict[uuid.UUID, Key]:
    """Return the last (run, job) that reported each dataset; datasets that no run reported are absent."""
    if not datasets:
        return {}
    rows = await sqlfile.load("marquez/runs")["last_of_datasets"].many(connection, ids=list(datasets))
    return {row[0]: (row[1], row[2]) for row in rows}
