"""Ways to run again the jobs of an incident, as far as a program can: by a command that you name, as a package, as a dbt model, in Airflow.

The jobs are known by their events alone. A repetition that a killed process began is found again: its output is a file that stays locked while it
runs, and Airflow knows what it runs.
"""

import hashlib
import os
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from headwater.client.event import run_id
from headwater.errors import InvalidQuestion
from headwater.runner.executors import Executor, Going
from headwater.runner.executors.packages import COMMAND, package_files
from headwater.runner.executors.processes import EarlierProcesses, Processes, is_locked
from headwater.runner.plans import RERUN, Item

_STEPS = {"run", "build", "snapshot", "seed"}
"""Last parts of the name of a dbt model's job, as dbt's OpenLineage integration writes it."""


class RepeatedJob(msgspec.Struct, frozen=True):
    """A job that an incident lists, as the server describes it (`Repeat`)."""

    job: str
    label: str
    datasets: list[str]
    runs: list[str]
    after: list[str]
    integration: str | None = None
    job_type: str | None = None
    command: str | None = None
    entities: list[str] = []

    @property
    def name(self) -> str:
        """Its namespace and name."""
        return self.job.removeprefix("job:")


class Repetition(NamedTuple):
    """One run to make again. `run`: which one; None if the command makes all of the job's at once. `shown`: as you would type it.

    `begin`: start it; `earlier`: the one that a killed process began, while it runs, or while its events may still come.
    """

    job: RepeatedJob
    run: str | None
    shown: str
    begin: Callable[[], Going]
    earlier: Callable[[], Going | None]


class Ways:
    """`logs`: the folder of the incident's output. `commands`: by job (`namespace:name`, or its short name), without a shell; `{run}`, `{start}` and
    `{end}` stand for a run's id and nominal times, and then the command is run once for each run. `packages`: the folder of packages. `dbt`: a
    command that takes `--select MODEL`. `airflow`: by name. `reported`: run the shell commands that events report. `times`: a run's nominal times.
    """

    def __init__(
        self,
        logs: Path,
        times: Callable[[str], tuple[str | None, str | None]],
        *,
        commands: Mapping[str, str],
        packages: Path | None = None,
        dbt: str | None = None,
        airflow: Mapping[str, Executor] | None = None,
        reported: bool = False,
        environ: Mapping[str, str] | None = None,
        reports_within: float = 10.0,
    ) -> None:
        self._logs, self._times, self._reported, self._within = logs, times, reported, reports_within
        self._commands = {name: shlex.split(text) for name, text in commands.items()}
        self._packages = package_files(packages) if packages is not None else {}
        self._dbt = shlex.split(dbt) if dbt else None
        self._airflow, self._environ = dict(airflow or {}), os.environ | dict(environ or {})
        if empty := [name for name, words in self._commands.items() if not words]:
            raise InvalidQuestion(f"--command {empty[0]}= names no command", given=empty[0])

    def repetitions(self, job: RepeatedJob) -> list[Repetition] | None:
        """Return the runs that repeat a job, the earliest first; None if only a person can repeat it."""
        words = self._words(job)
        if words is None:
            return self._tasks(job)
        if not any("{" + name + "}" in word for word in words for name in ("run", "start", "end")):
            return [self._process(job, None, words)]
        times = {run: self._times(run) for run in job.runs}
        return [
            self._process(job, run, _filled(words, run, *times[run]))
            for run in sorted(job.runs, key=lambda run: (times[run][0] or "", run))
        ]

    def _words(self, job: RepeatedJob) -> list[str] | None:
        for name in (job.name, job.job, job.label):
            if name in self._commands:
                return self._commands[name]
        if job.job_type == "PACKAGE" and (file := self._packages.get(f"package:{job.label}")) is not None:
            return [*COMMAND, str(file.parent), "--json"]
        if job.integration == "DBT" and self._dbt is not None:
            return [*self._dbt, "--select", _model(job.name)]
        return ["bash", "-c", job.command] if job.command and self._reported else None

    def _process(self, job: RepeatedJob, run: str | None, words: list[str]) -> Repetition:
        stem = f"{_number(job, run):010}"

        def begin() -> Going:
            self._logs.mkdir(parents=True, exist_ok=True)
            new = run_id()
            return Processes([words], self._logs / f"{stem}-{new}.log", self._environ, new)

        def earlier() -> Going | None:
            files = sorted(self._logs.glob(f"{stem}-*.log"), key=lambda file: file.stat().st_mtime)
            if not files:
                return None
            # After its end its events may still be on their way.
            under_way = is_locked(files[-1]) or time.time() < files[-1].stat().st_mtime + self._within
            return EarlierProcesses(files[-1], files[-1].stem.partition("-")[2]) if under_way else None

        return Repetition(job, run, shlex.join(words), begin, earlier)

    def _tasks(self, job: RepeatedJob) -> list[Repetition] | None:
        """The runs of Airflow's task DAG.TASK, if it is clear in which Airflow."""
        dag, dot, task = job.name.partition(":")[2].rpartition(".")
        name = next((each for each in self._airflow if each == job.name.partition(":")[0]), None)
        if name is None and len(self._airflow) == 1:
            (name,) = self._airflow
        if job.integration != "AIRFLOW" or not dot or name is None:
            return None
        executor, found = self._airflow[name], []
        for run in job.runs:
            start, end = self._times(run)
            if start is None or end is None:
                return None
            item = Item(
                self._logs.name, _number(job, run), 0, RERUN, f"airflow://{name}/{dag}/{task}", [], [start], start, end, ""
            )  # fmt: skip
            found.append(self._task(job, run, executor, item))
        return sorted(found, key=lambda one: self._times(one.run or "")[0] or "")

    def _task(self, job: RepeatedJob, run: str, executor: Executor, item: Item) -> Repetition:
        def earlier() -> Going | None:
            return executor.earlier(msgspec.structs.replace(item, before=executor.named(item)))

        return Repetition(job, run, executor.command(item), lambda: executor.start(item, executor.named(item)), earlier)


def _number(job: RepeatedJob, run: str | None) -> int:
    return int.from_bytes(hashlib.sha256(f"{job.job} {run}".encode()).digest()[:4])


def _model(name: str) -> str:
    parts = name.split(".")
    while len(parts) > 1 and parts[-1] in _STEPS:
        parts.pop()
    return parts[-1]


def _filled(words: Sequence[str], run: str, start: str | None, end: str | None) -> list[str]:
    values: dict[str, Any] = {"{run}": run, "{start}": start or "", "{end}": end or ""}
    found = []
    for word in words:
        for name, value in values.items():
            word = word.replace(name, value)  # noqa: PLW2901
        found.append(word)
    return found
