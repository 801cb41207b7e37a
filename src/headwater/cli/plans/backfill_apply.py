"""`headwater backfill apply`: run a plan in the foreground and print its progress."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import msgspec
import typer

from headwater.cli import output, server
from headwater.errors import InvalidManifest, InvalidQuestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headwater.runner.backfill import ItemEvent
    from headwater.runner.executors import Executor
    from headwater.runner.plans import PlanOnServer, Progress

_SHOWN = 50


class Stoppable(Protocol):
    """Work that can be asked to stop."""

    def stop(self) -> None:
        """Begin nothing more; the second call ends what runs, the third kills it."""


_FAILED, _LEFT, _STOPPED = 1, 3, 130


PackagesFolder = Annotated[
    Path | None,
    typer.Option(
        "--packages", metavar="FOLDER", exists=True, file_okay=False, help="Run `package:NAME` from FOLDER/NAME."
    ),
]
Airflows = Annotated[
    list[str] | None,
    typer.Option(
        "--airflow",
        metavar="NAME=URL",
        help="Run `airflow://NAME/…` at URL (Airflow 2: …/api/v1). Credentials: HEADWATER_AIRFLOW_USERNAME and _PASSWORD, or _TOKEN. Repeatable.",
    ),
]
SparkSubmit = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND",
        help="Restore stored versions of Delta tables with this command: `spark-submit`, Delta's jars and options.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ENTITY=COLUMNS",
        help="Name the partition columns of an entity's time, as in `headwater reconcile`. Repeatable.",
    ),
]
Parallel = Annotated[int, typer.Option(min=1, max=1000, help="Run at most this many items at once.")]
WorkerName = Annotated[str | None, typer.Option(help="Take items under this name. Default: host and process.")]
RunCommand = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND",
        help="Run packages with this instead of `headwater run`, as in 'headwater run --master local[2]'.",
    ),
]
Logs = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Write the output of runs to this folder. Default: ~/.headwater/backfill."),
]
Lease = Annotated[float, typer.Option(min=0.1, help="Release the items of a worker that stops answering after this many seconds.")]  # fmt: skip


def apply(
    id: Annotated[str, typer.Argument(metavar="ID", help="The plan's id.")],
    packages: PackagesFolder = None,
    airflow: Airflows = None,
    spark_submit: SparkSubmit = None,
    columns: Columns = None,
    parallel: Parallel = 1,
    worker: WorkerName = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would run here without running it.")] = False,
    run_command: RunCommand = None,
    logs: Logs = None,
    lease: Lease = 60.0,
    json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each step, the plan last.")] = False,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
) -> None:  # fmt: skip
    """Run a plan until nothing is left that can run here.

    Started again, it continues; several at once share the items. Ctrl-C starts nothing more and waits for running items. A second Ctrl-C ends
    them; the next worker takes them up. Nothing runs if a package's dk.yaml and the declarations do not agree on what it makes.

    The exit code is 0 if the plan is done, 1 if an item failed or the plan was cancelled, 3 if the rest needs a person or another executor,
    130 after Ctrl-C.

    Examples:

      headwater backfill apply 0199f3c2-… --packages packages --parallel 2

      headwater backfill apply 0199f3c2-… --packages packages --dry-run

      headwater backfill apply 0199f3c2-… --packages packages --run-command 'headwater run --master local[2]'
    """
    from headwater.runner.backfill import Worker
    from headwater.runner.heartbeat import heartbeat
    from headwater.runner.plans import PlanOnServer

    executors = executors_of(packages, airflow, spark_submit, columns, run_command, logs, url)
    if dry_run:
        _show(url, id, executors, json)
        return
    plan = PlanOnServer(server.address(url), id, server.key(url))
    progress = plan.progress()
    if progress.state not in {"running", "done", "cancelled"}:
        plan.apply()
    name = worker or default_name()
    with progress_printer(plan, progress, json) as on_event:
        working = Worker(plan, executors, name=name, parallel=parallel, lease=lease, on_event=on_event)
        with heartbeat(server.address(url), name, progress.id, server.key(url)), stop_on_signals(working):
            ended = working.run_items()
    raise typer.Exit(_print_outcome(url, id, ended, json))


def default_name() -> str:
    """Return the name of a worker that was given none: its host and process."""
    return f"{socket.gethostname()}/{os.getpid()}"


def executors_of(
    packages: Path | None,
    airflow: list[str] | None,
    spark_submit: str | None,
    columns: list[str] | None,
    run_command: str | None,
    logs: Path | None,
    url: str | None,
) -> list[Executor]:
    """Return the executors that the options name. Raises InvalidQuestion if they name none."""
    from headwater.home import home

    logs = logs.absolute() if logs else home() / "backfill"
    executors = [airflow_executor(each) for each in airflow or []]
    if packages is not None:
        executors.append(packages_executor(packages, logs, run_command, url))
    if spark_submit is not None:
        executors.append(_delta(spark_submit, columns or [], logs, url))
    if not executors:
        raise InvalidQuestion(
            "no executor is given; name one: --packages FOLDER (with the packages), --airflow NAME=URL or --spark-submit COMMAND"
        )
    return executors


def packages_executor(packages: Path, logs: Path, command: str | None, url: str | None) -> Executor:
    """Return the executor of packages. Its runs look up the server as `headwater run` does, unless --url names one."""
    from headwater.runner.agreement import differences
    from headwater.runner.executors.packages import COMMAND, Packages, package_files

    found = Packages(
        packages,
        logs,
        command=shlex.split(command) if command else COMMAND,
        environ={"HEADWATER_URL": url} if url else {},
    )
    if not found.producers:
        raise InvalidQuestion(f"{packages} has no packages: no folder in it has a dk.yaml", path=str(packages))
    differing = [
        each for each in differences(package_files(packages), server.address(url), server.key(url)) if each.blocking
    ]
    if differing:
        raise InvalidManifest(
            "packages and declarations do not agree:\n" + "\n".join(f"  {each}" for each in differing),
            problems=[msgspec.to_builtins(each) for each in differing],
        )
    return found


def _delta(command: str, columns: list[str], logs: Path, url: str | None) -> Executor:
    from headwater.runner.executors.delta import DeltaTables

    named = {}
    for text in columns:
        entity, separator, some = text.partition("=")
        if not separator or not entity or not some:
            raise InvalidQuestion(f"--columns takes ENTITY=COLUMNS, as in reads=event_date, not {text!r}")
        named[entity] = some
    environ = {"HEADWATER_URL": server.address(url)}
    if key := server.key(url):
        environ["HEADWATER_API_KEY"] = key
    return DeltaTables(shlex.split(command), logs, columns=named, environ=environ)


def airflow_executor(text: str) -> Executor:
    from headwater.capture.airflow.config import rest
    from headwater.runner.executors.airflow import AirflowTasks

    name, _, url = text.partition("=")
    if not name or "://" not in url:
        raise InvalidQuestion(f"--airflow takes NAME=URL, as in prod=http://airflow:8080, not {text!r}")
    return AirflowTasks(name, rest(url))


def _show(url: str | None, id: str, executors: list[Executor], json: bool) -> None:
    """Print the first of the waiting items that would run."""

    from headwater.runner.executors import able
    from headwater.runner.plans import Item

    found = server.get(url, server.path("plans", id), state="waiting", limit=_SHOWN)
    rows = []
    for each in found["items"]:
        item = msgspec.convert({**each, "plan": id, "before": ""}, Item)
        executor = next((each for each in executors if able(each, item)), None)
        rows.append((item.number, item.action, item.about, executor.command(item) if executor else None))
    if json:
        names = ("number", "action", "makes", "command")
        output.json_line({"plan": found["plan"], "items": [dict(zip(names, row, strict=True)) for row in rows]})
        return
    output.table(("#", "action", "makes", "command"), [(*row[:3], row[3] or "not done here") for row in rows])
    if found["plan"]["waiting"] > len(rows):
        output.line(f"the first {len(rows):,} of {found['plan']['waiting']:,} that wait", "dim")


@contextlib.contextmanager
def stop_on_signals(worker: Stoppable) -> Iterator[None]:
    """Pass every stop signal on to the worker, also the second."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if threading.current_thread() is threading.main_thread() else ()  # fmt: skip

    def pass_on(_number: int, _frame: Any) -> None:
        worker.stop()

    before = {
        number: signal.signal(number, pass_on) for number in numbers if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def progress_printer(plan: PlanOnServer, progress: Progress, json: bool) -> Iterator[Callable[[ItemEvent], None]]:
    """Return a printer of progress: JSON lines, lines above a bar on a terminal, or plain lines elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=json or not console.is_terminal, transient=True) as bar:
        task = bar.add_task(f"plan {plan.id[:8]}", total=progress.items, completed=progress.done + progress.skipped)

        def print_event(event: ItemEvent) -> None:
            if json:
                output.json_line(plain_event(event))
                return
            console.print(event_line(event), markup=False)
            if event.what in {"done", "skipped"}:
                bar.advance(task, event.count)

        yield print_event


def plain_event(event: ItemEvent) -> dict[str, Any]:
    """Return the event as plain values, for JSON."""
    found = {"what": event.what, "count": event.count, "run": event.run, "note": event.note}
    if event.item is not None:
        found |= {"number": event.item.number, "attempt": event.item.attempt, "producer": event.item.producer}
        found["makes"] = msgspec.to_builtins(event.item.makes)
    return found


_WORDS = {
    "watches": "waits for the run of a lost worker:",
    "again": "released",
    "lost": "was taken by another process",
}


def event_line(event: ItemEvent) -> str:
    """Return the event as one printable line."""
    if event.what == "skipped":
        return f"{event.count:,} skipped: already right"
    if event.what == "waits":
        return f"waiting: {event.note or 'other workers are running what comes before'}"
    if event.item is None:
        return f"{event.what}: {output.printable(event.note)}"
    who = "restore" if event.item.action == "restore" else event.item.producer
    about = output.printable(f"{who}  {event.item.about}")
    note = f": {output.escaped(event.note)}" if event.note else ""
    return f"#{event.item.number} {_WORDS.get(event.what, event.what)}  {about}{note}"


_BY = {"rerun": "by hand", "manual": "by hand (manual)", "restore": "restored, with --spark-submit"}


def _print_outcome(url: str | None, id: str, ended: str, json: bool) -> int:
    """Print how the plan ended, and return the exit code."""
    path = server.path("plans", id)
    found = server.get(url, path, state="failed", limit=_SHOWN)
    one, failed = found["plan"], found["items"]
    left = server.get(url, path, state="waiting", limit=_SHOWN)["items"] if ended == "left" else []
    code = _code(ended, one)
    if json:
        output.json_line({"ended": ended, "plan": one, "failed": failed, "left": left})
        return code
    counts = ", ".join(f"{one[name]:,} {name}" for name in ("done", "skipped", "failed", "waiting") if one[name])
    output.line(f"plan {id} {one['state']}: {counts or 'nothing done'}", {0: "green", _FAILED: "bold red"}.get(code, "yellow"))  # fmt: skip
    for each in failed:
        output.line(f"  #{each['number']} {_about(each)} failed: {output.escaped(each['note'])}", "red")
    if failed:
        output.line(f"  then: headwater backfill retry {id}", "dim")
    if left:
        output.line("the rest cannot run here:", "yellow")
    for each in left:
        who = each["producer"] if each["action"] == "rerun" and each["producer"] else _BY[each["action"]]
        needs = f", after {', '.join(each['needs'])}" if each["needs"] else ""
        output.line(f"  #{each['number']} {_about(each)}: {output.printable(who)}{needs}", "yellow")
    if ended == "stopped":
        output.line(f"  go on: headwater backfill apply {id}", "dim")
    return code


def _code(ended: str, plan: Any) -> int:
    if plan["state"] == "done":
        return 0
    if ended == "stopped":
        return _STOPPED
    return _FAILED if plan["failed"] or plan["state"] == "cancelled" else _LEFT


def _about(item: Any) -> str:
    return output.printable("; ".join(f"{each['entity']} {', '.join(each['instances'])}" for each in item["makes"]))
