"""Runs, what they read and what they left behind."""

import datetime as dt
import uuid
from collections.abc import Collection

import msgspec

from headwater.model.run import RunState
from headwater.store import sqlfile
from headwater.store.database import Connection


class RunKey(msgspec.Struct, frozen=True, order=True, cache_hash=True, gc=False):
    """A run of one job: one run id may span several jobs. Its hash is kept: a walk looks each up a dozen times, and that of a UUID is slow."""

    run: uuid.UUID
    job: uuid.UUID


class RunRow(msgspec.Struct, frozen=True, gc=False):
    """One run of one job."""

    run_id: uuid.UUID
    job_id: uuid.UUID
    external_id: str | None
    state: RunState
    first_event_at: dt.datetime
    last_event_at: dt.datetime
    started_at: dt.datetime | None
    ended_at: dt.datetime | None
    parent_run_id: uuid.UUID | None
    parent_job_id: uuid.UUID | None
    nominal_start: dt.datetime | None
    nominal_end: dt.datetime | None
    user: str | None = None
    statement: str | None = None
    heartbeat_ms: int | None = None
    """Milliseconds between two events that the run announced; None: it announced none."""

    @property
    def key(self) -> RunKey:
        return RunKey(self.run_id, self.job_id)

    @property
    def began(self) -> dt.datetime:
        """The time of its START, or of its first event if no START was sent."""
        return self.started_at or self.first_event_at


class DagRun(msgspec.Struct, frozen=True):
    """A run of a DAG: the namespace of the DAG's job, and the start of the interval that the run is for, if its events report it."""

    namespace: str
    run_id: uuid.UUID
    nominal_start: dt.datetime | None


class RunsBelow(msgspec.Struct, frozen=True):
    """The runs that are part of a run: their highest state, whether one goes on, the earliest beginning and the latest end of those that reported."""

    worst: RunState
    running: bool
    began: dt.datetime | None
    ended: dt.datetime | None


class ReadVersion(msgspec.Struct, frozen=True):
    """The version of a dataset that a reader found."""

    dataset_id: uuid.UUID
    id: uuid.UUID
    external_version: str
    run_id: uuid.UUID | None
    job_id: uuid.UUID | None
    written_at: dt.datetime


def _row(row: sqlfile.Row) -> RunRow:
    return RunRow(*(*row[:3], RunState(row[3]), *row[4:]))


async def page(
    connection: Connection,
    *,
    job: uuid.UUID | None,
    state: RunState | None,
    parent: uuid.UUID | None,
    limit: int,
    offset: int,
    label: tuple[str, str] | None = None,
    top: bool = False,
) -> tuple[list[RunRow], int]:
    """Return a page of runs, the latest first, and how many there are. `label`: only those with this name and value. `top`: only those whose parent
    is not recorded; of two runs that name each other, both.
    """
    queries = sqlfile.load("lineage/runs")
    name, value = label or (None, None)
    given = {
        "job_id": job,
        "state": None if state is None else int(state),
        "parent": parent,
        "label": name,
        "value": value,
        "top": top,
    }
    rows = await queries["page"].many(connection, **given, limit=limit, offset=offset)
    (total,) = await queries["count"].one(connection, **given)
    return [_row(row) for row in rows], total


async def child_counts(connection: Connection, runs: Collection[uuid.UUID]) -> dict[uuid.UUID, int]:
    """Return how many runs are directly below each of these runs; absent: none."""
    if not runs:
        return {}
    rows = await sqlfile.load("lineage/runs")["child_counts"].many(connection, ids=list(runs))
    return {row[0]: row[1] for row in rows}


async def open_runs(
    connection: Connection, *, job: uuid.UUID | None, parent: uuid.UUID | None, limit: int
) -> list[RunRow]:
    """Runs that say they are running, those silent for longest first."""
    rows = await sqlfile.load("lineage/runs")["open"].many(connection, job_id=job, parent=parent, limit=limit)
    return [_row(row) for row in rows]


async def by_run_id(connection: Connection, run: uuid.UUID) -> list[RunRow]:
    """The run, once for each job that has it."""
    return [_row(row) for row in await sqlfile.load("lineage/runs")["by_run_id"].many(connection, run_id=run)]


async def by_run_ids(connection: Connection, runs: Collection[uuid.UUID]) -> list[RunRow]:
    """Return these runs, each once for each job that has it."""
    if not runs:
        return []
    return [_row(row) for row in await sqlfile.load("lineage/runs")["by_run_ids"].many(connection, ids=list(runs))]


async def by_part(connection: Connection, first: uuid.UUID, last: uuid.UUID, text: str) -> list[uuid.UUID]:
    """Return at most 20 runs with ids from `first` to `last`, or that end with the text."""
    rows = await sqlfile.load("lineage/runs")["by_part"].many(connection, first=first, last=last, text=text)
    return [row[0] for row in rows]


async def below(connection: Connection, runs: Collection[uuid.UUID]) -> dict[uuid.UUID, RunsBelow]:
    """Return what is below each run, all the way down; a run that none is part of is not there."""
    if not runs:
        return {}
    rows = await sqlfile.load("lineage/runs")["children"].many(connection, ids=list(runs))
    return {root: RunsBelow(RunState(worst), *others) for root, worst, *others in rows}


async def ids_below(connection: Connection, runs: Collection[uuid.UUID]) -> dict[uuid.UUID, list[uuid.UUID]]:
    """Return the runs below each run, all the way down; a run that none is part of is not there."""
    found: dict[uuid.UUID, list[uuid.UUID]] = {}
    for root, run in await sqlfile.load("lineage/runs")["ids_below"].packed(connection, ids=list(runs)) if runs else ():
        found.setdefault(root, []).append(run)
    return found


async def of_dag(
    connection: Connection,
    dag: str,
    *,
    namespace: str | None,
    start: dt.datetime | None = None,
    run: uuid.UUID | None = None,
    limit: int | None = None,
) -> list[DagRun]:
    """Return the recorded runs of a DAG whose interval begins at `start`, or with the id `run`; of all namespaces if `namespace` is None."""
    rows = await sqlfile.load("lineage/runs")["of_dag"].many(
        connection, dag=dag, namespace=namespace, start=start, run=run, limit=limit
    )
    return [DagRun(*row) for row in rows]


async def latest_of_jobs(
    connection: Connection, jobs: Collection[uuid.UUID], as_of: dt.datetime | str
) -> dict[uuid.UUID, RunRow]:
    if not jobs:
        return {}
    rows = await sqlfile.load("lineage/runs")["latest_of_jobs"].many(connection, ids=list(jobs), as_of=as_of)
    return {row[1]: _row(row) for row in rows}


async def datasets(connection: Connection, run: uuid.UUID, job: uuid.UUID) -> list[tuple[uuid.UUID, str, bool]]:
    """Return (dataset, direction, declared) of a run."""
    rows = await sqlfile.load("lineage/runs")["datasets"].many(connection, run_id=run, job_id=job)
    return [(row[0], row[1], row[2]) for row in rows]


async def parts(
    connection: Connection, run: uuid.UUID, job: uuid.UUID
) -> dict[tuple[uuid.UUID, str], list[dict[str, str]]]:
    """Return the parts that the run read or wrote, by (dataset, direction), as far as it reported them."""
    found: dict[tuple[uuid.UUID, str], list[dict[str, str]]] = {}
    for dataset, direction, part in await sqlfile.load("lineage/runs")["parts"].many(
        connection, run_id=run, job_id=job
    ):
        found.setdefault((dataset, direction), []).append(msgspec.json.decode(part))
    return found


async def read_versions(
    connection: Connection, datasets: Collection[uuid.UUID], at: dt.datetime, run: uuid.UUID, job: uuid.UUID
) -> dict[uuid.UUID, ReadVersion]:
    """Return the version of each dataset that a reader which starts at this moment reads."""
    if not datasets:
        return {}
    rows = await sqlfile.load("lineage/runs")["read_versions"].many(
        connection, datasets=list(datasets), at=at, run_id=run, job_id=job
    )
    return {row[0]: ReadVersion(*row) for row in rows}


class WrittenVersion(msgspec.Struct, frozen=True):
    """The version that a run wrote of a dataset."""

    dataset_id: uuid.UUID
    id: uuid.UUID
    external_version: str
    declared: bool
    written_at: dt.datetime
    rows: int | None
    bytes: int | None
    files: int | None
    schema_id: uuid.UUID | None


async def written_versions(connection: Connection, run: uuid.UUID, job: uuid.UUID) -> dict[uuid.UUID, WrittenVersion]:
    """Return the version that the run wrote of each dataset. If it reported several, one with an external version."""
    rows = [
        WrittenVersion(*row)
        for row in await sqlfile.load("lineage/runs")["written_versions"].many(connection, run_id=run, job_id=job)
    ]
    return {row.dataset_id: row for row in sorted(rows, key=lambda row: (row.external_version != "", row.written_at))}


async def labels(connection: Connection, run: uuid.UUID, job: uuid.UUID) -> list[tuple[str, str]]:
    """Return (name, value) of each label of a run."""
    rows = await sqlfile.load("lineage/runs")["labels"].many(connection, run_id=run, job_id=job)
    return [(row[0], row[1]) for row in rows]


class DependencyRow(msgspec.Struct, frozen=True):
    """A job that has to run before the job asked about (`upstream`), or after it."""

    job: uuid.UUID
    upstream: bool
    kind: str
    last_at: dt.datetime


async def dependencies(connection: Connection, job: uuid.UUID) -> list[DependencyRow]:
    """Return the jobs that have to run before and after a job, those before it first."""
    rows = await sqlfile.load("lineage/runs")["dependencies"].many(connection, job=job)
    return [DependencyRow(*row) for row in rows]
