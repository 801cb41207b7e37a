"""Run items of Airflow's tasks, `airflow://NAME/DAG/TASK`: clear the task in the period's run, or start a run for the period.

The run is known before anything is cleared or started, so the worker that takes the item after a crash finds it. A running
task is awaited, not cleared. Never unpauses a DAG or stops a task: to stop here means to stop watching.
"""

import datetime as dt
import time
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from headwater.capture.airflow.rest import Airflow, DagRun
from headwater.client.event import run_id
from headwater.errors import HeadwaterError, InvalidQuestion, NotFound
from headwater.runner.executors import Going, Outcome
from headwater.runner.plans import RERUN, Item

_SCHEME = "airflow://"
_ACTIVE = {"queued", "running"}
_ENDED = {"success", "failed", "skipped", "upstream_failed", "removed"}
_EVERY = 2.0  # seconds between two polls of a run
_REPORTED = 60.0  # seconds: a task reports what it made after Airflow knows that it succeeded
_EXISTS = 409

Interval = tuple[dt.datetime, dt.datetime]


class _Job(NamedTuple):
    dag: str
    task: str


class AirflowTasks:
    """Runs tasks of one Airflow, named `name` in `produced_by`. `every`: seconds between polls."""

    actions = (RERUN,)

    def __init__(self, name: str, airflow: Airflow, *, every: float = _EVERY) -> None:
        self._name, self._airflow, self._every = name, airflow, every
        self._intervals: dict[str, Interval | None] = {}
        self._begun: set[str] = set()

    @property
    def producers(self) -> list[str]:
        return [f"{_SCHEME}{self._name}/*"]

    def named(self, item: Item) -> str:
        """Return the ids of existing runs and of those to start, separated by commas."""
        job, wanted = self._job(item), _interval(item)
        there = self._there(job.dag, item, wanted)
        found = [run.dag_run_id for run, _ in there]
        for interval in _uncovered(wanted, [each for _, each in there]) if wanted else [None]:
            found.append(f"headwater__{run_id()}")
            self._intervals[found[-1]] = interval
        return ",".join(found)

    def earlier(self, item: Item) -> Going | None:
        job, going = self._job(item), self._going(item, item.before)
        return going if any(self._active(job, each) for each in item.before.split(",")) else None

    def start(self, item: Item, run: str) -> Going:
        job = self._job(item)
        for each in run.split(","):
            if f"{item.attempt} {item.number} {each}" not in self._begun:
                self._begin(job, item, each)
                self._begun.add(f"{item.attempt} {item.number} {each}")
        return self._going(item, run)

    def command(self, item: Item) -> str:
        job, wanted = self._job(item), _interval(item)
        there = self._there(job.dag, item, wanted)
        steps = [f"clear {job.dag} {run.dag_run_id} {job.task}" for run, _ in there]
        if wanted is None or _uncovered(wanted, [each for _, each in there]):
            steps.append(f"start {job.dag} for {', '.join(item.runs)}")
        return "; ".join(steps)

    def _begin(self, job: _Job, item: Item, run: str) -> None:
        note = f"headwater backfill: plan {item.plan}, item {item.number}"
        if run not in self._intervals:
            if not self._active(job, run):
                self._airflow.clear(job.dag, run, [job.task], note=note)
            return
        # The dates of scheduled runs are often their periods' ends: the previous period's run has this one's start.
        interval = self._intervals[run]
        for date in interval or (None,):
            try:
                self._airflow.trigger(
                    job.dag,
                    logical_date=date,
                    interval=interval,
                    run_id=run,
                    conf={"headwater_plan": item.plan},
                    note=note,
                )
            except HeadwaterError as error:
                if error.detail.get("status") != _EXISTS:
                    raise
                if self._is_there(job.dag, run):  # after a lost answer
                    return
            else:
                return
        raise InvalidQuestion(
            f"{job.dag} has other runs with the dates {' and '.join(map(str, interval or ()))}", dag_id=job.dag
        )

    def _is_there(self, dag: str, run: str) -> bool:
        try:
            self._airflow.run(dag, run)
        except NotFound:
            return False
        return True

    def _there(self, dag: str, item: Item, wanted: Interval | None) -> list[tuple[DagRun, Interval]]:
        """Return the runs that are about any of the item's periods, and the period of each.

        A run without an interval is about the last period that was over when it was due: its date is that period's end or later.
        """
        if wanted is None:
            return []
        start, end = wanted
        longest = end - start
        found = []
        for run in self._airflow.runs(dag, logical_date_from=start - longest, logical_date_to=end + longest):
            about = run.data_interval_start, run.data_interval_end
            if about[0] is not None and about[1] is not None and about[0] < about[1]:
                if about[0] < end and start < about[1]:
                    found.append((run, (about[0], about[1])))
            elif run.logical_date is not None and start < run.logical_date < end + longest:
                if len(item.runs) > 1 or ".." in item.runs[0]:
                    raise InvalidQuestion(
                        f"runs of {dag} have no data interval, so which of them made {', '.join(item.runs)} is unknown; "
                        "declare max_periods: 1 for what it makes",
                        dag_id=dag,
                    )
                if run.logical_date >= end:
                    found.append((run, wanted))
        return found

    def _active(self, job: _Job, run: str) -> bool:
        """Return whether the task will run, or is running."""
        try:
            if self._airflow.run(job.dag, run).state not in _ACTIVE:
                return False
            states = self._states(job, run)
        except NotFound:
            return False
        return not states or any(each not in _ENDED for each in states)

    def _states(self, job: _Job, run: str) -> list[str | None]:
        return [each.state for each in self._airflow.tasks(job.dag, run) if each.task_id == job.task]

    def _going(self, item: Item, run: str) -> Going:
        return _Watched(self, self._job(item), run, self._every)

    def outcome(self, job: _Job, run: str) -> Outcome | None:
        """Return the outcome of all these runs; None while one of them is running."""
        failed = []
        for each in run.split(","):
            if self._active(job, each):
                return None
            try:
                states = self._states(job, each)
            except NotFound:
                states = ["removed"]
            if not states or any(state != "success" for state in states):
                failed.append(f"{job.task} of {each} is {', '.join(map(str, states)) or 'not a task of it'}")
        return Outcome(bool(failed), "; ".join(failed), run, 0.0 if failed else _REPORTED)

    def _job(self, item: Item) -> _Job:
        dag, _, task = (item.producer or "").removeprefix(f"{_SCHEME}{self._name}/").partition("/")
        if not task:
            raise InvalidQuestion(
                f"{item.producer} names no task; declare airflow://{self._name}/DAG/TASK", producer=item.producer
            )
        return _Job(unquote(dag), unquote(task))


class _Watched:
    """Runs of one task, polled at intervals."""

    def __init__(self, airflow: AirflowTasks, job: _Job, run: str, every: float) -> None:
        self._airflow, self._job, self._run, self._every = airflow, job, run, every
        self._look_at = 0.0
        self._outcome: Outcome | None = None

    def poll(self) -> Outcome | None:
        if self._outcome is None and time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + self._every
            self._outcome = self._airflow.outcome(self._job, self._run)
        return self._outcome

    def stop(self) -> None:
        self._outcome = self._outcome or Outcome(True, "no longer watched; it may go on in Airflow", self._run)


def _interval(item: Item) -> Interval | None:
    if item.start is None or item.end is None:
        return None
    return dt.datetime.fromisoformat(item.start), dt.datetime.fromisoformat(item.end)


def _uncovered(wanted: Interval, covered: list[Interval]) -> list[Interval]:
    """Return the parts of an interval that none of these covers."""
    return list(_gaps(wanted, sorted(covered)))


def _gaps(wanted: Interval, covered: list[Interval]) -> Iterator[Interval]:
    at, end = wanted
    for first, last in covered:
        if first > at:
            yield at, min(first, end)
        at = max(at, last)
    if at < end:
        yield at, end
