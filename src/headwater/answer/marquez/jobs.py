"""Jobs and their versions, one and many."""

import datetime as dt
import uuid
from collections.abc import Collection, Sequence
from typing import NamedTuple

from headwater.answer.lineage import node
from headwater.answer.marquez import addresses, annotations, hashes, naming, runs, shapes
from headwater.answer.marquez import facets as said_by_facets
from headwater.errors import NotFound
from headwater.model.run import RunState
from headwater.store.database import Connection, Database
from headwater.store.history import facets as facet_store
from headwater.store.marquez import marquez as rows
from headwater.store.marquez import runs as marquez_runs
from headwater.store.marquez.marquez import JobRow, JobVersionRow

# Marquez shows as many.
LATEST_RUNS = 10


async def get(database: Database, namespace: str, name: str) -> shapes.Job:
    """Return one job by its full name or its own, with its latest runs and all their facets. Raises NotFound."""
    async with database.snapshot(generic=True) as connection:
        row = await naming.job(connection, namespace, name)
        return (await job_answers(connection, [row], whole_runs=True))[0]


async def canonical_name(database: Database, namespace: str, name: str) -> str:
    """The name a job goes by (`parent.child`), whichever it is asked by. Raises NotFound."""
    async with database.snapshot(generic=True) as connection:
        return (await naming.job(connection, namespace, name)).full_name


async def own_name(database: Database, namespace: str, name: str) -> tuple[str, str]:
    """Return the namespace and own name of a job, by any of its names. Raises NotFound."""
    async with database.snapshot() as connection:
        row = await naming.job(connection, namespace, name)
    return row.namespace, row.name


async def page(
    database: Database, namespace: str | None, states: Collection[RunState], limit: int, offset: int
) -> shapes.Jobs:
    """Return jobs, the one with the latest event first; with states, those whose latest run is in one of them, and as many are counted.

    Runs before each job's latest have only state and times; `get` returns them whole.
    """
    async with database.snapshot(generic=True) as connection:
        found, total = await rows.jobs_page(connection, namespace, states or None, limit, offset)
        return shapes.Jobs(jobs=await job_answers(connection, found), total_count=total)


async def versions(database: Database, namespace: str, name: str, limit: int, offset: int) -> shapes.JobVersions:
    """Versions of a job, the latest first. Raises NotFound."""
    async with database.snapshot(generic=True) as connection:
        job = await naming.job(connection, namespace, name)
        found = (await rows.job_versions(connection, job.id))[offset : offset + limit]
        return shapes.JobVersions(versions=await _versions(connection, job, found))


async def version(database: Database, namespace: str, name: str, wanted: str) -> shapes.JobVersion:
    """Return one version of a job by its hash. Raises NotFound."""
    async with database.snapshot(generic=True) as connection:
        job = await naming.job(connection, namespace, name)
        found = await rows.job_versions(connection, job.id)
        hashes = await _hashes(connection, job, found)
        for row in found:
            if str(hashes[row]) == wanted.lower():
                return (await _versions(connection, job, [row]))[0]
    raise NotFound(f"Job version '{wanted}' not found.")


async def version_times(connection: Connection, job: JobRow) -> dict[str, dt.datetime]:
    """Return the time at which each version of a job was last reported."""
    found = await rows.job_versions(connection, job.id)
    hashes = await _hashes(connection, job, found)
    return {str(hashes[row]): row.last_at for row in found}


async def _hashes(
    connection: Connection, job: JobRow, found: Sequence[JobVersionRow]
) -> dict[JobVersionRow, uuid.UUID]:
    datasets = await rows.datasets_resolved(connection, {id_ for row in found for id_ in (*row.inputs, *row.outputs)})
    return {
        row: hashes.job_version(
            runs.job_id(job),
            runs.dataset_ids(row.inputs, datasets),
            runs.dataset_ids(row.outputs, datasets),
            said_by_facets.location(row.location),
        )
        for row in found
    }


async def _versions(connection: Connection, job: JobRow, found: Sequence[JobVersionRow]) -> list[shapes.JobVersion]:
    datasets = await rows.datasets_resolved(connection, {id_ for row in found for id_ in (*row.inputs, *row.outputs)})
    latest = await marquez_runs.by_keys(connection, [(row.run_id, job.id) for row in found if row.run_id])
    shown_runs = await runs.run_answers(connection, list(latest.values()))
    id_ = runs.job_id(job)
    made = []
    for row in found:
        inputs, outputs = (runs.dataset_ids(side, datasets) for side in (row.inputs, row.outputs))
        place = said_by_facets.location(row.location)
        hash_ = str(hashes.job_version(id_, inputs, outputs, place))
        made.append(
            shapes.JobVersion(
                id=shapes.JobVersionId(namespace=id_.namespace, name=id_.name, version=hash_),
                name=id_.name,
                created_at=shapes.instant(row.first_at),
                version=hash_,
                namespace=id_.namespace,
                location=addresses.url(place),
                inputs=inputs,
                outputs=outputs,
                latest_run=shown_runs.get((row.run_id, job.id)) if row.run_id else None,
            )
        )
    return made


async def job_answers(connection: Connection, found: Sequence[JobRow], *, whole_runs: bool = False) -> list[shapes.Job]:
    """Return jobs as Marquez shows them, in a fixed number of statements; without `whole_runs` only each job's latest run is whole."""
    shown = await with_datasets(connection, found, whole_runs=whole_runs)
    return [shown[row.id].job for row in found]


class ShownJob(NamedTuple):
    """A job, and the datasets that it, its latest report and its latest run read and wrote."""

    job: shapes.Job
    datasets: frozenset[uuid.UUID]


async def with_datasets(
    connection: Connection, found: Sequence[JobRow], *, whole_runs: bool = False
) -> dict[uuid.UUID, ShownJob]:
    """Return jobs as `job_answers` does, by id, with the datasets whose events may change what is shown."""
    if not found:
        return {}
    ids = [row.id for row in found]
    facets = await facet_store.of_owners(connection, ids)
    spoken = await annotations.of_owners(connection, ids)
    edges = await rows.edges_of_jobs(connection, ids)
    told = await rows.last_reports(connection, ids)
    datasets = await rows.datasets_resolved(
        connection,
        {dataset for dataset, _, _ in edges}
        | {id_ for _, inputs, outputs in told.values() for id_ in inputs | outputs},
    )
    latest = await marquez_runs.latest(connection, ids, LATEST_RUNS)
    whole = [row for mine in latest.values() for row in (mine if whole_runs else mine[:1])]
    of_runs = await marquez_runs.run_datasets(connection, [(row.run_id, row.job_id) for row in whole])
    made = await runs.run_answers(connection, whole, sides=of_runs)
    if not whole_runs:
        made |= await runs.outlined(connection, [row for mine in latest.values() for row in mine[1:]])
    places = said_by_facets.Past(
        await rows.facet_history(
            connection, [id_ for id_ in ids if "sourceCodeLocation" in facets.get(id_, {})], ["sourceCodeLocation"]
        )
    )
    sides: dict[tuple[uuid.UUID, str], set[uuid.UUID]] = {}
    for dataset, job, direction in edges:
        if dataset in datasets and not datasets[dataset].hidden:
            sides.setdefault((job, direction), set()).add(dataset)
    shown = {}
    for row in found:
        mine = facets.get(row.id, {})
        words = spoken.get(row.id) or annotations.nothing()
        run_list = [made[one.run_id, one.job_id] for one in latest.get(row.id, ())]
        id_ = runs.job_id(row)
        current = None
        if row.id in told:
            at, inputs, outputs = told[row.id]
            place = said_by_facets.location(places.body_at(row.id, "sourceCodeLocation", at))
            current = str(
                hashes.job_version(id_, runs.dataset_ids(inputs, datasets), runs.dataset_ids(outputs, datasets), place)
            )
        elif run_list and run_list[0].job_version is not None:
            current = run_list[0].job_version.version
        answer = shapes.Job(
            id=id_,
            type=said_by_facets.job_type(mine),
            name=id_.name,
            simple_name=row.simple_name,
            parent_job_name=row.parent_name,
            parent_job_uuid=str(row.parent_id) if row.parent_id else None,
            created_at=shapes.instant(row.first_seen),
            updated_at=shapes.instant(row.last_seen),
            namespace=row.namespace,
            inputs=runs.dataset_ids(sides.get((row.id, "in"), ()), datasets),
            outputs=runs.dataset_ids(sides.get((row.id, "out"), ()), datasets),
            location=addresses.url(said_by_facets.location(mine.get("sourceCodeLocation"))),
            description=said_by_facets.description(mine, words),
            latest_run=run_list[0] if run_list else None,
            latest_runs=run_list or None,
            facets=node.verbatim(mine),
            current_version=current,
            labels=said_by_facets.labels(mine),
            tags=said_by_facets.tags(mine.get("tags"), words),
        )
        touched = {*sides.get((row.id, "in"), ()), *sides.get((row.id, "out"), ())}
        if row.id in told:
            touched.update(datasets[id_].id for side in told[row.id][1:] for id_ in side if id_ in datasets)
        for run in latest.get(row.id, ()):
            touched.update(*of_runs.get((run.run_id, run.job_id), ()))
        shown[row.id] = ShownJob(answer, frozenset(touched))
    return shown
