"""`headwater repair --apply`: run again what an incident lists, each after what it needs, and wait for what only a person can run."""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Callable, Iterator, Set
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from headwater.cli import output, server
from headwater.cli.plans import backfill_apply
from headwater.errors import HeadwaterError, InvalidQuestion, ServerUnavailable

if TYPE_CHECKING:
    from pathlib import Path

    from headwater.runner.executors import Executor
    from headwater.runner.repeated_jobs import RepeatedJob, Ways
    from headwater.runner.repeating import JobEvent

_SILENCE = 600.0


class Means(NamedTuple):
    """The options of the command line that say with what jobs are run."""

    packages: Path | None
    airflow: list[str]
    dbt: str | None
    commands: list[str]
    reported: bool
    logs: Path
    reports_within: float


class Application:
    """One incident's repair from here. `plan`: of its instances; None without any."""

    def __init__(self, url: str | None, incident: str, plan: str | None, means: Means) -> None:
        self._url, self._plan = url, plan
        self._where, self._within = server.path("incidents", incident), means.reports_within
        self._logs = means.logs / incident
        self._executors: list[Executor] = [backfill_apply.airflow_executor(each) for each in means.airflow]
        self._ways = self._make_ways(means)
        if plan is not None and means.packages is not None:
            self._executors.append(backfill_apply.packages_executor(means.packages, means.logs, None, url))

    def jobs(self) -> list[RepeatedJob]:
        """The jobs that are still to be repeated, in order. Waits for a server that does not answer."""
        from headwater.runner.repeated_jobs import RepeatedJob

        end = time.monotonic() + _SILENCE
        while True:
            try:
                reads = server.get(self._url, self._where)["reads"]
            except HeadwaterError as error:
                if error.permanent or time.monotonic() >= end:
                    raise
                time.sleep(1)
            else:
                return msgspec.convert(reads["repeat"] if reads else [], list[RepeatedJob])

    def commands(self) -> list[tuple[str, str, list[str]]]:
        """(job, what would repeat it, the jobs that come before) of all that is left; an empty text is for a person."""
        found = []
        for job in self.jobs():
            some = self._ways.repetitions(job)
            shown = "by the plan of its instances" if job.entities else "\n".join(one.shown for one in some or ())
            found.append((job.name, shown, [each.removeprefix("job:") for each in job.after]))
        return found

    def run(self, patience: float, on_event: Callable[[JobEvent], None], *, json: bool) -> tuple[str, bool]:
        """Run what can run here. Returns `done`, `left` or `stopped`, and whether something failed."""
        from headwater.runner.repeating import Repeating, waiting_entities

        repeating = Repeating(self.jobs, self._ways, on_event=on_event, reports_within=self._within)
        end = time.monotonic() + patience
        with self._alone(), backfill_apply.stop_on_signals(repeating):
            while True:
                before = {(job.job, *job.runs) for job in self.jobs()}
                ended = repeating.run_jobs()
                if ended == "stopped":
                    return ended, repeating.failed
                left = self.jobs()
                if self._plan is not None and self._executors:
                    self._run_plan(waiting_entities(left), json=json)
                    left = self.jobs()
                if {(job.job, *job.runs) for job in left} == before or not left:
                    if left and time.monotonic() < end:
                        time.sleep(1)
                        continue
                    return ("left" if left else "done"), repeating.failed

    def _run_plan(self, waiting: Set[str], *, json: bool) -> None:
        """Make what the plan can make now; not the entities in `waiting`: made before their jobs, they would use what is wrong."""
        from headwater.runner.backfill import Worker
        from headwater.runner.plans import PlanOnServer

        plan = PlanOnServer(server.address(self._url), self._plan or "", server.key(self._url))
        progress = plan.progress()
        if progress.state in {"done", "cancelled"}:
            return
        if progress.state != "running":
            plan.apply()
        numbers = plan.numbers_without(waiting) if waiting else None
        if numbers == []:
            return
        name = f"repair of {self._logs.name[:8]}"
        with backfill_apply.progress_printer(plan, progress, json) as on_event:
            working = Worker(plan, self._executors, name=name, numbers=numbers, on_event=on_event)
            with backfill_apply.stop_on_signals(working):
                working.run_items()

    def _make_ways(self, means: Means) -> Ways:
        from headwater.runner.repeated_jobs import Ways

        commands = {}
        for text in means.commands:
            job, separator, command = text.partition("=")
            if not separator or not job.strip():
                raise InvalidQuestion(f"--command takes JOB=COMMAND, as in clean='python clean.py', not {text!r}")
            commands[job.strip()] = command
        return Ways(
            self._logs,
            self._times,
            commands=commands,
            packages=means.packages.absolute() if means.packages else None,
            dbt=means.dbt,
            airflow={text.partition("=")[0]: one for text, one in zip(means.airflow, self._executors, strict=False)},
            reported=means.reported,
            environ={"HEADWATER_URL": self._url} if self._url else {},
            reports_within=means.reports_within,
        )

    def _times(self, run: str) -> tuple[str | None, str | None]:
        found = server.get(self._url, server.path("runs", run))
        return found["nominal_start"], found["nominal_end"]

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep a second process of this machine from repeating the same. The kernel ends the lock with the process."""
        self._logs.mkdir(parents=True, exist_ok=True)
        with (self._logs / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ServerUnavailable(
                    f"another process on this machine is repairing this incident ({self._logs}); wait for it, or end it"
                ) from None
            yield


def print_event(event: JobEvent, *, json: bool) -> None:
    """Print one step, or a line of JSON."""
    if json:
        output.json_line(msgspec.to_builtins(event))
        return
    about = f"{event.job} (run {event.run})" if event.run else event.job
    texts = [output.escaped(each) for each in (event.command, event.note) if each]
    style = {"done": "green", "failed": "red", "unchanged": "red", "by hand": "yellow"}.get(event.what, "")
    output.line(f"{event.what}  {output.printable(about)}{': ' if texts else ''}{' · '.join(texts)}", style)


def show_commands(rows: list[tuple[str, str, list[str]]]) -> None:
    """Print what would repeat each job."""
    output.table(
        ("#", "job", "command", "after"),
        [(number, job, shown or "by hand", ", ".join(after)) for number, (job, shown, after) in enumerate(rows, 1)],
        styles={2: {"by hand": "yellow"}},
        empty="No job is left to run again.",
    )
