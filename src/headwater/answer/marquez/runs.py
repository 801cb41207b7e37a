"""Runs, one and many: state, times, what they read and wrote in which version."""

import uuid
from collections.abc import Collection, Iterable, Sequence

from headwater.answer.lineage import node, run_log
from headwater.answer.marquez import facets as said_by_facets
from headwater.answer.marquez import hashes, naming, shapes
from headwater.errors import InvalidQuestion, NotFound
from headwater.model import version
from headwater.model.run import RunState
from headwater.store.database import Connection, Database
from headwater.store.lineage import runs as run_store
from headwater.store.lineage.runs import RunRow
from headwater.store.marquez import marquez as rows
from headwater.store.marquez import runs
from headwater.store.marquez.marquez import DatasetRow, JobRow
from headwater.store.marquez.runs import Key

_NOTHING: tuple[set[uuid.UUID], set[uuid.UUID]] = (set(), set())
FACET_TYPES = ("RUN", "JOB", "DATASET")


def first_version(dataset: uuid.UUID) -> uuid.UUID:
    """The version of a dataset before its first recorded write: sources have no other."""
    return version.static_version_id(dataset, uuid.UUID(int=0))


async def get(database: Database, run_id: str) -> shapes.Run:
    """Return one run. Raises NotFound."""
    async with database.snapshot(generic=True) as connection:
        row = await row_of(connection, run_id)
        return (await run_answers(connection, [row]))[row.run_id, row.job_id]


async def row_of(connection: Connection, run_id: str) -> RunRow:
    """Return the run with this id; if several jobs have it, the earliest that sent events of its own. Raises NotFound."""
    found = await run_store.by_run_id(connection, version.run_id(run_id)[0])
    if not found:
        raise NotFound(f"Run '{run_id}' not found.")
    return min(found, key=lambda row: (row.state == RunState.NEW, row.first_event_at, row.job_id))


async def exists(database: Database, run_id: str) -> bool:
    """Return whether the run is known."""
    async with database.connection() as connection:
        return bool(await run_store.by_run_id(connection, version.run_id(run_id)[0]))


async def job_of(database: Database, run_id: str) -> tuple[str, str]:
    """Return the namespace and own name of the job that has the run. Raises NotFound."""
    async with database.snapshot() as connection:
        row = await row_of(connection, run_id)
        job = (await rows.jobs_by_ids(connection, [row.job_id]))[row.job_id]
    return job.namespace, job.name


async def page(database: Database, namespace: str, job: str, limit: int, offset: int) -> shapes.Runs:
    """Runs of a job, the latest first. Raises NotFound."""
    async with database.snapshot(generic=True) as connection:
        asked = await naming.job(connection, namespace, job)
        found, total = await run_store.page(
            connection, job=asked.id, state=None, parent=None, limit=limit, offset=offset
        )
        made = await run_answers(connection, found)
    return shapes.Runs(runs=[made[row.run_id, row.job_id] for row in found], total_count=total)


async def facets(database: Database, run_id: str, type_: str) -> shapes.RunFacets:
    """Return the facets of a run, or of its job as the run reported them. Raises NotFound."""
    if type_.upper() not in FACET_TYPES:
        raise InvalidQuestion("query param type must be one of [RUN, JOB, DATASET]")
    async with database.snapshot(generic=True) as connection:
        row = await row_of(connection, run_id)
        told = (await run_log.load(connection, [row]))[row.run_id, row.job_id]
    shown_ = {"run": told.run, "job": told.job, "dataset": {}}[type_.lower()]
    return shapes.RunFacets(run_id=str(row.run_id), facets=node.verbatim(shown_))


async def run_answers(
    connection: Connection,
    found: Sequence[RunRow],
    with_facets: Collection[Key] | None = None,
    logged: dict[Key, run_log.RunFacets] | None = None,
    sides: dict[Key, tuple[set[uuid.UUID], set[uuid.UUID]]] | None = None,
) -> dict[Key, shapes.Run]:
    """Return runs as Marquez shows them, in a fixed number of statements. `sides`: their inputs and outputs, if the caller has them."""
    if not found:
        return {}
    keys = [(row.run_id, row.job_id) for row in found]
    jobs = await rows.jobs_by_ids(
        connection, {row.job_id for row in found} | {row.parent_job_id for row in found if row.parent_job_id}
    )
    told = await runs.run_datasets(connection, keys) if sides is None else sides
    read = await runs.read(connection, [row for row in found if told.get((row.run_id, row.job_id), _NOTHING)[0]])
    written = await runs.written(connection, [key for key in keys if told.get(key, _NOTHING)[1]])
    datasets = await rows.datasets_resolved(connection, {id_ for sides in told.values() for id_ in sides[0] | sides[1]})
    places = said_by_facets.Past(
        await rows.facet_history(connection, {row.job_id for row in found}, ["sourceCodeLocation"])
    )
    if logged is None:
        logged = await run_log.load(
            connection, [row for row in found if with_facets is None or (row.run_id, row.job_id) in with_facets]
        )
    inputs: dict[Key, dict[uuid.UUID, uuid.UUID]] = {}
    for one in read:
        inputs.setdefault((one.run_id, one.job_id), {})[one.dataset] = one.version or first_version(one.dataset)
    made = {}
    for row, key in zip(found, keys, strict=True):
        log = logged.get(key) or run_log.empty()
        mine = told.get(key, _NOTHING)
        outputs = {id_: written.get(key, {}).get(id_) or first_version(id_) for id_ in mine[1]}
        place = said_by_facets.location(places.body_at(row.job_id, "sourceCodeLocation", row.last_event_at))
        made[key] = _run(row, jobs.get(row.job_id), jobs, datasets, mine, inputs.get(key, {}), outputs, place, log)
    return made


async def outlined(connection: Connection, found: Sequence[RunRow]) -> dict[Key, shapes.Run]:
    """Return runs with their states, times and arguments alone: their inputs and outputs are not read, so their version of the job is not known."""
    jobs = await rows.jobs_by_ids(connection, {row.parent_job_id for row in found if row.parent_job_id})
    return {
        (row.run_id, row.job_id): _run(row, None, jobs, {}, _NOTHING, {}, {}, None, run_log.empty()) for row in found
    }


def _run(
    row: RunRow,
    own_job: JobRow | None,
    jobs: dict[uuid.UUID, JobRow],
    datasets: dict[uuid.UUID, DatasetRow],
    sides: tuple[set[uuid.UUID], set[uuid.UUID]],
    inputs: dict[uuid.UUID, uuid.UUID],
    outputs: dict[uuid.UUID, uuid.UUID],
    place: str | None,
    log: run_log.RunFacets,
) -> shapes.Run:
    job_version = None
    if own_job is not None and (sides[0] or sides[1] or row.state.terminal):
        job = job_id(own_job)
        hash_ = hashes.job_version(job, dataset_ids(sides[0], datasets), dataset_ids(sides[1], datasets), place)
        job_version = shapes.JobVersionId(namespace=job.namespace, name=job.name, version=str(hash_))
    return shapes.Run(
        id=str(row.run_id),
        created_at=shapes.instant(row.first_event_at),
        updated_at=shapes.instant(row.last_event_at),
        nominal_start_time=shapes.maybe_instant(row.nominal_start),
        nominal_end_time=shapes.maybe_instant(row.nominal_end),
        state=state(row),
        started_at=started_at(row),
        ended_at=shapes.maybe_instant(row.ended_at),
        duration_ms=node.duration_ms(row) if started_at(row) is not None else None,
        args=_arguments(row, jobs, log),
        job_version=job_version,
        input_dataset_versions=[
            shapes.InputDatasetVersion(dataset_version_id=id_, facets=_here(log.inputs, dataset))
            for dataset, id_ in _versions(inputs, datasets)
        ],
        output_dataset_versions=[
            shapes.OutputDatasetVersion(dataset_version_id=id_, facets=_here(log.outputs, dataset))
            for dataset, id_ in _versions(outputs, datasets)
        ],
        facets=node.verbatim(log.run),
    )


def state(row: RunRow) -> str:
    """Return Marquez's name of the state: a run with only OTHER events is running."""
    return "RUNNING" if row.state == RunState.OTHER else row.state.name


def started_at(row: RunRow) -> str | None:
    """Return the time of its START; without one, of its first event, unless that was its end too or never came."""
    if row.started_at is None and (
        row.state == RunState.NEW or (row.state.terminal and row.first_event_at == row.last_event_at)
    ):
        return None
    return shapes.instant(row.began)


def job_id(job: JobRow) -> shapes.JobId:
    return shapes.JobId(namespace=job.namespace, name=job.full_name)


def dataset_ids(ids: Iterable[uuid.UUID], datasets: dict[uuid.UUID, DatasetRow]) -> list[shapes.DatasetId]:
    """Names of datasets, in their order."""
    return sorted(shapes.DatasetId(namespace=datasets[id_].namespace, name=datasets[id_].name) for id_ in ids)


def _versions(
    versions: dict[uuid.UUID, uuid.UUID], datasets: dict[uuid.UUID, DatasetRow]
) -> list[tuple[uuid.UUID, shapes.DatasetVersionId]]:
    named = sorted(((datasets[id_].namespace, datasets[id_].name), id_) for id_ in versions)
    return [
        (id_, shapes.DatasetVersionId(namespace=namespace, name=name, version=str(versions[id_])))
        for (namespace, name), id_ in named
    ]


def _here(side: dict[uuid.UUID, run_log.DatasetFacets], dataset: uuid.UUID) -> shapes.Facets:
    return node.verbatim(side[dataset].here) if dataset in side else {}


def _arguments(row: RunRow, jobs: dict[uuid.UUID, JobRow], log: run_log.RunFacets) -> dict[str, str]:
    """The run's parameters, and what Marquez derives from the nominalTime and parent facets."""
    parameters = node.plain(log.run.get("executionParameters")).get("parameters")
    found = {
        str(item["key"]): str(item.get("value", ""))
        for item in (parameters if isinstance(parameters, list) else [])
        if isinstance(item, dict) and "key" in item
    }
    if row.nominal_start is not None:
        found["nominal_start_time"] = shapes.zoned(row.nominal_start)
    if row.nominal_end is not None:
        found["nominal_end_time"] = shapes.zoned(row.nominal_end)
    if row.parent_run_id is not None:
        found["run_id"] = str(row.parent_run_id)
        if row.parent_job_id in jobs:
            found["name"] = jobs[row.parent_job_id].name
            found["namespace"] = jobs[row.parent_job_id].namespace
    return found
