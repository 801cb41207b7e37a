"""The declared order of a DAG's tasks against the order that their data asks for, with the runs in which luck decided.

The order is that of Airflow's serialised DAG: the `airflow` facet of the DAG's job, as Airflow's OpenLineage provider reports it, or one that is
given.
"""

import datetime as dt
import uuid
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from headwater.answer.lineage.find import node_row
from headwater.errors import InvalidQuestion, NotFound
from headwater.graph.task_order import Pair, compare
from headwater.store.database import Connection, Database
from headwater.store.history import facets as facet_store
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage import runs as run_store
from headwater.store.lineage.edges import Moment
from headwater.store.lineage.nodes import NodeRow
from headwater.store.lineage.runs import RunRow

FACET: Final = "airflow"
_MOST_RUNS: Final = 100
_MOST_SHOWN: Final = 10


class Question(msgspec.Struct, forbid_unknown_fields=True):
    """`node`: of the DAG's job. `tasks`: the tasks directly after each task; null: as the DAG's own events say."""

    node: str
    tasks: dict[str, list[str]] | None = None


class Race(msgspec.Struct, frozen=True):
    """A run of the DAG: `lucky` if the writer ended before the reader began."""

    run: str
    lucky: bool
    written_at: dt.datetime | None
    read_at: dt.datetime


class Dependency(msgspec.Struct, frozen=True):
    """The reader needs the datasets that the writer makes. `lucky` of `runs` runs of the DAG had the right order; `races`: ten, the unlucky first."""

    writer: str
    reader: str
    datasets: list[str]
    runs: int
    lucky: int
    races: list[Race]


class Needless(msgspec.Struct, frozen=True):
    before: str
    after: str


class TaskOrder(msgspec.Struct, frozen=True):
    """`missing`: no dependency is declared; `backward`: the reader is declared to run before the writer; `needless`: declared, and no data asks for
    it.

    `unreported`: tasks that report no dataset, of which nothing is said. `undeclared`: tasks with data that the order does not have.
    """

    dag: str
    tasks: int
    missing: list[Dependency]
    backward: list[Dependency]
    needless: list[Needless]
    unreported: list[str]
    undeclared: list[str]


class _Task(msgspec.Struct):
    downstream_task_ids: list[str] = []


class _Airflow(msgspec.Struct):
    tasks: dict[str, _Task] = {}


async def task_order(database: Database, question: Question) -> TaskOrder:
    """Raises NotFound for a DAG without an order, InvalidQuestion for a node that is no job."""
    async with database.snapshot() as connection:
        row = await node_row(connection, question.node)
        if row.type == "DATASET":
            raise InvalidQuestion(f"{row.node_id} is no job; name the job of a DAG", node=question.node)
        declared = question.tasks if question.tasks is not None else await _declared(connection, row.id, row.node_id)
        tasks = await _tasks(connection, row, {*declared, *(one for some in declared.values() for one in some)})
        reads, writes, datasets = await _data(connection, tasks.names)
        found = compare(declared, reads, writes)
        ids = {name: id_ for id_, name in tasks.names.items() if tasks.is_task(id_)}
        runs = await _runs(
            connection, {ids[one] for pair in (*found.missing, *found.backward) for one in pair[:2]}, tasks
        )
    every = {*declared, *(one for some in declared.values() for one in some)}
    return TaskOrder(
        row.node_id,
        len(every),
        [_dependency(pair, ids, runs, datasets) for pair in found.missing],
        [_dependency(pair, ids, runs, datasets) for pair in found.backward],
        [Needless(*one) for one in found.needless],
        sorted(every - reads.keys() - writes.keys()),
        sorted((reads.keys() | writes.keys()) - every),
    )


class _Tasks(msgspec.Struct, frozen=True):
    """The jobs below a DAG, at any depth. `names`: the task that each is, or runs below: its data is that task's. `parents`: the job above each."""

    dag: uuid.UUID
    names: dict[uuid.UUID, str]
    parents: dict[uuid.UUID, uuid.UUID]

    def is_task(self, job: uuid.UUID) -> bool:
        """Return whether the job is a task itself, and does not run below one."""
        return self.names.get(self.parents[job]) != self.names[job]


async def _tasks(connection: Connection, dag: NodeRow, declared: Collection[str]) -> _Tasks:
    """Find the tasks: jobs that the order names, in groups too; without such a job above it, a job directly below the DAG."""
    tasks = _Tasks(dag.id, {}, {})
    level = [dag.id]
    while level:
        below = await edge_store.children(connection, level)
        rows = await node_store.by_ids(connection, {id_ for some in below.values() for id_ in some})
        level = []
        for parent, some in below.items():
            for id_ in some:
                if id_ == dag.id or id_ in tasks.parents:
                    continue
                own, above = rows[id_].name.removeprefix(f"{dag.name}."), tasks.names.get(parent)
                tasks.names[id_] = own if own in declared or above is None else above
                tasks.parents[id_] = parent
                level.append(id_)
    return tasks


async def _declared(connection: Connection, job: uuid.UUID, node: str) -> dict[str, list[str]]:
    body = (await facet_store.of_owners(connection, [job], (FACET,))).get(job, {}).get(FACET)
    try:
        tasks = msgspec.json.decode(body, type=_Airflow).tasks if body is not None else {}
    except msgspec.DecodeError:
        tasks = {}
    if not tasks:
        raise NotFound(
            f"no event reports the tasks of {node} and their order; give the serialised DAG: headwater order DAG --serialized dag.json",
            node=node,
        )
    return {name: task.downstream_task_ids for name, task in tasks.items()}


async def _data(
    connection: Connection, names: Mapping[uuid.UUID, str]
) -> tuple[dict[str, set[str]], dict[str, set[str]], dict[str, str]]:
    """The datasets that each task reads and writes, by their ids as text; and the node id of each."""
    reads: dict[str, set[str]] = {}
    writes: dict[str, set[str]] = {}
    for direction, found in (("in", reads), ("out", writes)):
        for edge in await edge_store.at_jobs(connection, names, direction, Moment()):
            found.setdefault(names[edge.job], set()).add(str(edge.dataset))
    every = {uuid.UUID(one) for some in (*reads.values(), *writes.values()) for one in some}
    return reads, writes, {str(id_): row.node_id for id_, row in (await node_store.by_ids(connection, every)).items()}


async def _runs(
    connection: Connection, jobs: Iterable[uuid.UUID], tasks: _Tasks
) -> dict[uuid.UUID, dict[uuid.UUID, RunRow]]:
    """Return the newest runs of each task, by the run of the DAG."""
    pages: dict[uuid.UUID, list[RunRow]] = {}

    async def load_runs(job: uuid.UUID) -> list[RunRow]:
        if job not in pages:
            pages[job], _ = await run_store.page(
                connection, job=job, state=None, parent=None, limit=_MOST_RUNS, offset=0
            )
        return pages[job]

    found: dict[uuid.UUID, dict[uuid.UUID, RunRow]] = {}
    for job in jobs:
        runs = {row.run_id: row for row in await load_runs(job)}
        above = {id_: row.parent_run_id for id_, row in runs.items()}
        parent = tasks.parents[job]
        while parent != tasks.dag:
            # A group's run stands between the task's and the DAG's.
            further = {row.run_id: row.parent_run_id for row in await load_runs(parent)}
            above = {id_: further.get(run) if run is not None else None for id_, run in above.items()}
            parent = tasks.parents[parent]
        found[job] = {run: runs[id_] for id_, run in reversed(above.items()) if run is not None}
    return found


def _dependency(
    pair: Pair,
    ids: Mapping[str, uuid.UUID],
    runs: Mapping[uuid.UUID, Mapping[uuid.UUID, RunRow]],
    datasets: Mapping[str, str],
) -> Dependency:
    writers, readers = runs[ids[pair.writer]], runs[ids[pair.reader]]
    races = []
    for run in writers.keys() & readers.keys():
        written, read = writers[run].ended_at, readers[run].started_at or readers[run].first_event_at
        races.append(Race(str(run), written is not None and written <= read, written, read))
    races.sort(key=lambda one: (one.lucky, -one.read_at.timestamp()))
    lucky = sum(one.lucky for one in races)
    return Dependency(
        pair.writer,
        pair.reader,
        sorted(datasets.get(one, one) for one in pair.datasets),
        len(races),
        lucky,
        races[:_MOST_SHOWN],
    )
