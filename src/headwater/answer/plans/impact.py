"""The impact of a run that failed, or made something wrong: the tasks to clear and the runs to start, with periods
converted.

A run is named as its scheduler names it: by DAG and date, by the id under which it reported, or by the interval that it
covers.
"""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from headwater.answer.status.declared import declared
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.plans.impact import Impact, Runs, impact
from headwater.entities.plans.runs import Producer, ProducerRuns, producer_runs
from headwater.entities.plans.serialization import producers
from headwater.entities.status.marks import Marks, by_entity
from headwater.entities.time import ranges
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidQuestion, NotFound
from headwater.model.moments import aware, later
from headwater.store.database import Connection, Database
from headwater.store.status import status as store

_FAR = 2**62


class AskedImpact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A question about the impact of one run of a job.

    The job: `producer` as entities are declared with it, or `dag_id`, with `task_ids` to name only some tasks of it;
    `airflow`: the Airflow instance of the DAG, needed if several have one of that id. The run: `execution_date`, the
    start of its interval; `run_id`, as it reported; `partition_key`; or `start` and `end`. `mode`: `failed`, or
    `wrong`, or `tainted`: it made something wrong.
    """

    producer: str | None = None
    airflow: str | None = None
    dag_id: str | None = None
    task_ids: list[str] = []
    execution_date: dt.datetime | None = None
    run_id: str | None = None
    partition_key: str | None = None
    start: dt.datetime | None = None
    end: dt.datetime | None = None
    mode: Literal["failed", "wrong", "tainted"] = "failed"


class ExpectedInstances(msgspec.Struct, frozen=True):
    """Instances that are expected of runs."""

    entity: str
    instances: list[str]


class RunPeriod(msgspec.Struct, frozen=True):
    """A run by its period: `start` is its logical date, as schedulers count."""

    period: str
    start: dt.datetime | None
    end: dt.datetime | None


class JobRuns(msgspec.Struct, frozen=True):
    """Runs of one job. `airflow`, `dag_id` and `task_id` where it is Airflow's.

    `because`: a shortest path from the first of them to what was asked about.
    """

    producer: str
    airflow: str | None
    dag_id: str | None
    task_id: str | None
    runs: list[RunPeriod]
    makes: list[ExpectedInstances]
    because: list[str]


class ImpactAnswer(msgspec.Struct, frozen=True):
    """`clear`: tasks of runs that exist; `start`: runs that do not exist yet; both in order of execution, each run once.

    `manual`: what has no declared producer. `unaffected`: entities downstream that were looked at and need nothing.
    """

    seq: int
    clear: list[JobRuns]
    start: list[JobRuns]
    manual: list[ExpectedInstances]
    unrepairable: dict[str, list[ExpectedInstances]]
    unaffected: list[str]
    levels: int


async def of(database: Database, asked: AskedImpact) -> ImpactAnswer:
    """Return the impact of the run that is asked about.

    NotFound for an unknown job or run; InvalidQuestion if the question names none, or several at once.
    """
    now = dt.datetime.now(dt.UTC)
    async with database.snapshot() as connection:
        held = await declared(connection)
        seq, _ = await store.last(connection)
        known = producers(held)
        names = _jobs(known, asked)
        marks = await _marks(connection, held, names)
        ran = await _ran(connection, held, known)
        runs = await _runs(connection, held, known, names, asked)
    exist = {name: had.exist for name, had in marks.items()}
    due = {name: of_.over(now) for name in marks if (of_ := held.instances(name)) is not None}
    never = {"wont_fix": {name: some for name, had in marks.items() if (some := had.of("wont_fix"))}}
    found = impact(
        held.graph,
        runs,
        mode="failed" if asked.mode == "failed" else "wrong",
        producers=known,
        exist=exist,
        existing=ran,
        due=due,
        unrepairable=never,
        snapshots={name: one.repair for name, one in held.declared.items()},
    )
    return _impact_answer(held, seq, found)


async def declares_dag(connection: Connection, dag: str, airflow: str | None) -> bool:
    """Return whether any entity is declared to be made by a task of this DAG."""
    asked = AskedImpact(dag_id=dag, airflow=airflow)
    jobs = {producer.name for producer in producers(await declared(connection)).values()}
    return any((task := airflow_task(job)) is not None and _is_asked(task, asked) for job in jobs)


class AirflowTask(NamedTuple):
    """A job of Airflow's: the instance's name, the DAG, and the task (None for a whole DAG)."""

    airflow: str
    dag: str
    task: str | None


def airflow_task(job: str) -> AirflowTask | None:
    """The parts of `airflow://INSTANCE/DAG/TASK`; None for another job."""
    instance, *path = job.removeprefix("airflow://").split("/")
    return AirflowTask(instance, path[0], "/".join(path[1:]) or None) if job.startswith("airflow://") and path else None


def _jobs(known: Mapping[str, Producer], asked: AskedImpact) -> list[str]:
    """The jobs that are asked about, in the alphabet's order. NotFound if there are none; InvalidQuestion if two Airflows have the DAG."""
    jobs = sorted({producer.name for producer in known.values()})
    if asked.producer is not None:
        found = [job for job in jobs if job == asked.producer]
        who = asked.producer
    elif asked.dag_id is not None:
        found = [job for job in jobs if (task := airflow_task(job)) is not None and _is_asked(task, asked)]
        who = "".join(
            (
                f"DAG {asked.dag_id}",
                f", tasks {', '.join(asked.task_ids)}" if asked.task_ids else "",
                f" of Airflow {asked.airflow}" if asked.airflow is not None else "",
            )
        )
    else:
        raise InvalidQuestion("name the producer of the run, or its dag_id", field="producer")
    if not found:
        raise NotFound(f"no entity is declared to be made by {who}", known=jobs[:20])
    instances = sorted({task.airflow for job in found if (task := airflow_task(job)) is not None})
    if len(instances) > 1:
        raise InvalidQuestion(
            f"DAG {asked.dag_id} is in {len(instances)} Airflows, {', '.join(instances)}: name one (airflow={instances[0]})",
            field="airflow",
            known=instances,
        )
    return found


def _is_asked(task: AirflowTask, asked: AskedImpact) -> bool:
    return (
        task.dag == asked.dag_id
        and (asked.airflow is None or task.airflow == asked.airflow)
        and (not asked.task_ids or task.task in asked.task_ids)
    )


async def _marks(connection: Connection, held: StoredDeclarations, jobs: Iterable[str]) -> dict[str, Marks]:
    """Return the marks of everything that depends on what these jobs make."""
    known = producers(held)
    fresh = [name for name, producer in known.items() if producer.name in set(jobs)]
    below = set(fresh)
    while fresh:
        for link in held.graph.downstream(fresh.pop()):
            if link.downstream not in below:
                below.add(link.downstream)
                fresh.append(link.downstream)
    rows = by_entity(await store.marks_of(connection, [held.number(name) for name in below]))
    return {name: rows.get(held.number(name), Marks()) for name in below}


async def _ran(connection: Connection, held: StoredDeclarations, known: Mapping[str, Producer]) -> dict[str, Ordinals]:
    """The runs that there are, by producer: those that reported, however they ended."""
    rows: dict[str, list[tuple[int, int]]] = {}
    for number, first, end in await store.ran(connection, [held.number(name) for name in known], -_FAR, _FAR):
        rows.setdefault(held.names[number], []).append((first, end))
    found: dict[str, Ordinals] = {}
    for name, stretches in rows.items():
        runs = producer_runs(held.graph.entities[name], known[name]).runs(Ordinals(stretches))
        found[known[name].name] = found.get(known[name].name, NONE) | runs
    return found


async def _runs(
    connection: Connection,
    held: StoredDeclarations,
    known: Mapping[str, Producer],
    jobs: Sequence[str],
    asked: AskedImpact,
) -> dict[str, Ordinals]:
    """The runs that are asked about, by job. Of a `run_id`: those of the jobs that have reported under it."""
    entities = {job: [name for name, producer in known.items() if producer.name == job] for job in jobs}
    if asked.run_id is None:
        return {
            job: _periods(producer_runs(held.graph.entities[names[0]], known[names[0]]), asked)
            for job, names in entities.items()
        }
    found: dict[str, Ordinals] = {}
    for job, names in entities.items():
        said = await store.runs(connection, [(held.number(name), asked.run_id) for name in names])
        for name in names:
            stretches = Ordinals((first, end) for number, _, _, _, first, end in said if held.names[number] == name)
            if stretches:
                how = producer_runs(held.graph.entities[name], known[name])
                found[job] = found.get(job, NONE) | how.runs(stretches)
    if not found:
        raise NotFound(f"no run of {', '.join(jobs)} has reported as {asked.run_id!r}", run_id=asked.run_id)
    return found


def _periods(how: ProducerRuns, asked: AskedImpact) -> Ordinals:
    if how.calendar is None:
        return Ordinals.between(0, 1)
    if asked.partition_key is not None:
        return ranges.read_periods(how.calendar, asked.partition_key)
    start, end = asked.execution_date or asked.start, asked.end
    if start is None:
        raise InvalidQuestion(
            "name the run: execution_date, run_id, partition_key, or start and end of its interval",
            field="execution_date",
        )
    found = how.calendar.covering(
        aware(start), aware(end) if end is not None else later(aware(start), dt.timedelta(seconds=1))
    )
    if not found:
        raise InvalidQuestion("the interval is empty; send an end after its start", field="end")
    return found


def _impact_answer(held: StoredDeclarations, seq: int, found: Impact) -> ImpactAnswer:
    reached = set(found.reached.hits)
    below = {link.downstream for name in reached for link in held.graph.downstream(name)}
    return ImpactAnswer(
        seq,
        [_run(held, found, runs) for runs in found.clear],
        [_run(held, found, runs) for runs in found.start],
        [
            ExpectedInstances(name, ranges.written(held.instances(name), some))
            for group in found.plan.groups()
            if group.action == "manual"
            for name, some in found.plan.block(group.first).makes(group.runs).items()
        ],
        {
            reason: [ExpectedInstances(name, ranges.written(held.instances(name), some)) for name, some in sets.items()]
            for reason, sets in found.plan.unrepairable.items()
        },
        sorted(below - reached),
        1 + max((group.level for group in found.plan.groups()), default=-1),
    )


def _run(held: StoredDeclarations, found: Impact, runs: Runs) -> JobRuns:
    task = airflow_task(runs.producer)
    name = next(iter(runs.makes), None)
    path = found.reached.why(name, runs.makes[name].first) if name is not None else []
    return JobRuns(
        runs.producer,
        task.airflow if task is not None else None,
        task.dag if task is not None else None,
        task.task if task is not None else None,
        [_period(runs.calendar, ordinal) for ordinal in runs.runs.members().tolist()],
        [ExpectedInstances(each, ranges.written(held.instances(each), some)) for each, some in runs.makes.items()],
        [
            f"{step.entity} {' '.join(ranges.written(held.instances(step.entity), Ordinals.of([step.ordinal])))}"
            for step in path
        ],
    )


def _period(calendar: Calendar | None, ordinal: int) -> RunPeriod:
    (text,) = ranges.periods(calendar, Ordinals.of([ordinal]))
    start, end = calendar.interval(ordinal) if calendar is not None else (None, None)
    return RunPeriod(text, start, end)
