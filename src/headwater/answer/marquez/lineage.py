"""The graph around a dataset or a job, and the runs that a run's inputs came from.

A hop goes from job to job over any dataset both touch, whichever way the data flows. A dataset begins at every job that touches it.
Every job and dataset is visited once, so the cost follows the size of the answer and not the depth asked for.
"""

import uuid
from collections.abc import Collection

from headwater.answer.marquez import addresses, annotations, node_ids, runs, shapes
from headwater.answer.marquez import facets as said_by_facets
from headwater.errors import NotFound
from headwater.store.database import Connection, Database
from headwater.store.history import facets as facet_store
from headwater.store.lineage.runs import RunRow
from headwater.store.marquez import marquez as rows
from headwater.store.marquez import runs as marquez_runs
from headwater.store.marquez.marquez import DatasetRow, JobRow
from headwater.store.marquez.runs import Key

# In graphs with more jobs than this, latest runs have state and times only: no inputs, outputs or facets.
WHOLE_RUNS_UP_TO = 200
OF_JOBS = ("jobType", "sourceCodeLocation", "documentation")
OF_DATASETS = ("schema", "datasetType", "dataSource", "documentation", "physicalName", "tags")


async def get(database: Database, node_id: str, depth: int, aggregate_by_parent: bool = False) -> shapes.Lineage:
    """The graph around a node. With `aggregate_by_parent`, jobs are folded into the topmost job above them. Raises NotFound."""
    node = node_ids.parsed(node_id)
    if node.kind not in {"dataset", "job"}:
        raise NotFound(f"Node '{node_id}' must be of type dataset or job!")
    async with database.snapshot(generic=True) as connection:
        start = await node_ids.dataset_or_job(connection, node)
        walk = _Walk(connection, aggregate_by_parent)
        await walk.go(start, max(depth, 0))
        return await _graph(connection, walk)


class _Walk:
    """The state of a walk: jobs, datasets, the edges between them, and the topmost job of each job if they are folded."""

    def __init__(self, connection: Connection, folded: bool) -> None:
        self.connection, self.folded = connection, folded
        self.jobs: set[uuid.UUID] = set()
        self.datasets: set[uuid.UUID] = set()
        self.edges: list[tuple[uuid.UUID, uuid.UUID, str]] = []
        self.top: dict[uuid.UUID, uuid.UUID] = {}

    async def go(self, start: DatasetRow | JobRow, depth: int) -> None:
        if isinstance(start, JobRow):
            jobs = await self.enter({start.id})
        else:
            self.datasets.add(start.id)
            jobs = await self.enter(await rows.jobs_at_datasets(self.connection, {start.id}))
        for hop in range(depth + 1):
            found = await rows.edges_of_jobs(self.connection, jobs)
            self.edges += found
            datasets = {dataset for dataset, _, _ in found} - self.datasets
            self.datasets |= datasets
            if hop == depth or not datasets:
                return
            jobs = await self.enter(await rows.jobs_at_datasets(self.connection, datasets) - self.jobs)
            if not jobs:
                return

    async def enter(self, jobs: set[uuid.UUID]) -> set[uuid.UUID]:
        """Add these jobs to the graph, with their families if jobs are folded; return those that are new."""
        if self.folded:
            families = await rows.families(self.connection, jobs)
            self.top |= families
            jobs = (jobs | families.keys()) - self.jobs
        self.jobs |= jobs
        return jobs


class _Spot:
    """A node of the graph while it is put together: its neighbours are held themselves, for ids are slow to look up."""

    __slots__ = ("into", "name", "out_of", "row")

    def __init__(self, row: DatasetRow | JobRow) -> None:
        of = node_ids.of_job if isinstance(row, JobRow) else node_ids.of_dataset
        self.row = row
        self.name = of(row.namespace, row.full_name if isinstance(row, JobRow) else row.name)
        self.into: set[_Spot] = set()
        self.out_of: set[_Spot] = set()


async def _graph(connection: Connection, walk: _Walk) -> shapes.Lineage:
    # A dataset may stand in a job's place (its own event reports what feeds it), and a job that feeds a job in a dataset's.
    jobs = await rows.jobs_by_ids(connection, {walk.top.get(id_, id_) for id_ in walk.jobs | walk.datasets})
    found = await rows.datasets_resolved(connection, walk.datasets | (walk.jobs - jobs.keys()))
    spots = {id_: _Spot(row) for id_, row in jobs.items() if not row.hidden}
    datasets = {row.id: _Spot(row) for row in found.values() if not row.hidden}
    told_as = {id_: row.id for id_, row in found.items()}
    spots |= datasets
    _join(walk, spots, told_as)
    facets = await facet_store.of_owners(connection, spots.keys(), [*OF_JOBS, *OF_DATASETS])
    spoken = await annotations.of_owners(connection, spots.keys())
    latest = {id_: mine[0] for id_, mine in (await marquez_runs.latest(connection, jobs.keys(), 1)).items()}
    show = runs.run_answers if len(jobs) <= WHOLE_RUNS_UP_TO else runs.outlined
    shown = {key[1]: run for key, run in (await show(connection, list(latest.values()))).items()}
    current = await rows.current_versions(connection, datasets.keys())
    return shapes.Lineage(
        graph=[
            _node(spot, facets.get(id_, {}), spoken.get(id_) or annotations.nothing(), shown.get(id_), current.get(id_))
            for id_, spot in sorted(spots.items(), key=lambda item: item[1].name)
        ]
    )


def _join(walk: _Walk, spots: dict[uuid.UUID, _Spot], told_as: dict[uuid.UUID, uuid.UUID]) -> None:
    """Put the edges between the spots."""
    for dataset, told_by, direction in walk.edges:
        job = spots.get(walk.top.get(told_by, told_by) if walk.top else told_by)
        if job is None and told_by in told_as:
            job = spots.get(told_as[told_by])
        other = spots.get(walk.top.get(dataset, dataset))
        if job is not None and other is not None and job is not other:
            source, target = (other, job) if direction == "in" else (job, other)
            source.out_of.add(target)
            target.into.add(source)


def _node(
    spot: _Spot,
    facets: dict[str, bytes],
    words: annotations.NodeChanges,
    latest: shapes.Run | None,
    current: rows.CurrentVersion | None,
) -> shapes.Node:
    data: shapes.JobData | shapes.DatasetData
    if isinstance(spot.row, JobRow):
        inputs, outputs = (_datasets(side) for side in (spot.into, spot.out_of))
        data = job_data(spot.row, facets, words, inputs, outputs, latest)
    else:
        data = dataset_data(spot.row, facets, words, current)
    return shapes.Node(
        id=spot.name,
        type="JOB" if isinstance(spot.row, JobRow) else "DATASET",
        data=data,
        in_edges=[
            shapes.Edge(origin=other, destination=spot.name) for other in sorted([one.name for one in spot.into])
        ],
        out_edges=[
            shapes.Edge(origin=spot.name, destination=other) for other in sorted([one.name for one in spot.out_of])
        ],
    )


def _datasets(side: set[_Spot]) -> list[shapes.DatasetId]:
    return sorted(
        [
            shapes.DatasetId(namespace=one.row.namespace, name=one.row.name)
            for one in side
            if isinstance(one.row, DatasetRow)
        ]
    )


def job_data(
    row: JobRow,
    facets: dict[str, bytes],
    words: annotations.NodeChanges,
    inputs: list[shapes.DatasetId],
    outputs: list[shapes.DatasetId],
    latest: shapes.Run | None,
) -> shapes.JobData:
    id_ = runs.job_id(row)
    return shapes.JobData(
        id=id_,
        type=said_by_facets.job_type(facets),
        name=id_.name,
        simple_name=row.simple_name,
        parent_job_name=row.parent_name,
        parent_job_uuid=str(row.parent_id) if row.parent_id else None,
        current_run_uuid=latest.id if latest else None,
        created_at=shapes.instant(row.first_seen),
        updated_at=shapes.instant(row.last_seen),
        namespace=row.namespace,
        inputs=inputs,
        outputs=outputs,
        location=addresses.url(said_by_facets.location(facets.get("sourceCodeLocation"))),
        description=said_by_facets.description(facets, words),
        latest_run=latest,
    )


def dataset_data(
    row: DatasetRow, facets: dict[str, bytes], words: annotations.NodeChanges, current: rows.CurrentVersion | None
) -> shapes.DatasetData:
    return shapes.DatasetData(
        id=shapes.DatasetId(namespace=row.namespace, name=row.name),
        type=said_by_facets.dataset_type(row.namespace, facets),
        name=row.name,
        physical_name=said_by_facets.physical_name(facets) or row.name,
        created_at=shapes.instant(row.first_seen),
        updated_at=shapes.instant(row.last_seen),
        namespace=row.namespace,
        source_name=said_by_facets.source_name(facets),
        fields=said_by_facets.fields(facets.get("schema"), facets.get("tags"), words),
        tags=said_by_facets.tags(facets.get("tags"), words),
        last_modified_at=shapes.instant(current.written_at) if current and current.written else None,
        description=said_by_facets.description(facets, words),
        last_lifecycle_state=current.lifecycle if current else None,
    )


async def upstream(database: Database, run_id: str, depth: int) -> shapes.UpstreamRuns:
    """The run, the runs that wrote what it read, and so on: a hop at a time, each run once, the nearest first. Raises NotFound."""
    async with database.snapshot(generic=True) as connection:
        start = await runs.row_of(connection, run_id)
        order: dict[Key, RunRow] = {(start.run_id, start.job_id): start}
        inputs: dict[Key, list[marquez_runs.Read]] = {}
        front: list[RunRow] = [start]
        for hop in range(max(depth, 0) + 1):
            read = await marquez_runs.read(connection, front)
            for one in read:
                inputs.setdefault((one.run_id, one.job_id), []).append(one)
            writers = {(one.writer_run, one.writer_job) for one in read if one.writer_run and one.writer_job}
            wanted = [key for key in writers if key not in order]
            if hop >= depth or not wanted:
                break
            found = await marquez_runs.by_keys(connection, wanted)
            front = sorted(found.values(), key=lambda row: (row.job_id, row.run_id))
            order |= {(row.run_id, row.job_id): row for row in front}
        return await _upstream(connection, order, inputs)


async def _upstream(
    connection: Connection, order: dict[Key, RunRow], inputs: dict[Key, list[marquez_runs.Read]]
) -> shapes.UpstreamRuns:
    shown = await runs.run_answers(connection, list(order.values()), set[Key]())
    jobs = await rows.jobs_by_ids(connection, {job for _, job in order})
    datasets = await rows.datasets_resolved(connection, _read_ids(inputs.values()))
    made = []
    for key, row in order.items():
        run, job = shown[key], runs.job_id(jobs[row.job_id])
        read = [
            shapes.UpstreamInput(
                namespace=datasets[one.dataset].namespace,
                name=datasets[one.dataset].name,
                version=str(one.version or runs.first_version(one.dataset)),
                produced_by_run_id=str(one.writer_run) if one.writer_run else None,
            )
            for one in inputs.get(key, ())
        ]
        read.sort(key=lambda one: (one.namespace, one.name))
        made.append(
            shapes.UpstreamRun(
                job=shapes.UpstreamJob(
                    namespace=job.namespace, name=job.name, version=run.job_version.version if run.job_version else None
                ),
                run=shapes.UpstreamRunInfo(id=run.id, start=run.started_at, end=run.ended_at, status=run.state),
                inputs=read,
            )
        )
    return shapes.UpstreamRuns(runs=made)


def _read_ids(reads: Collection[list[marquez_runs.Read]]) -> set[uuid.UUID]:
    return {one.dataset for some in reads for one in some}
