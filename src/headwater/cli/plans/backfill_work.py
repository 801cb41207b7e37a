"""`headwater backfill work`: a worker of every plan that people apply, on the page or elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli import output, server
from headwater.cli.plans.backfill_apply import (
    Airflows,
    Columns,
    Lease,
    Logs,
    PackagesFolder,
    Parallel,
    RunCommand,
    SparkSubmit,
    WorkerName,
    default_name,
    event_line,
    executors_of,
    plain_event,
    stop_on_signals,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from headwater.errors import HeadwaterError
    from headwater.runner.backfill import ItemEvent, Worker

_MOST_PLANS = 1000
# The digits of a plan's id that are of the millisecond it was made in.
_TOLD_APART = 13


def run_applied_plans(
    packages: PackagesFolder = None,
    airflow: Airflows = None,
    spark_submit: SparkSubmit = None,
    columns: Columns = None,
    parallel: Parallel = 1,
    worker: WorkerName = None,
    once: Annotated[bool, typer.Option("--once", help="End when nothing may run now.")] = False,
    run_command: RunCommand = None,
    logs: Logs = None,
    lease: Lease = 60.0,
    json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each step.")] = False,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
) -> None:
    """Run the items of every applied plan, until it is stopped.

    It goes round the running plans, the oldest first, and looks for new ones every few seconds: what is applied on the page begins here. Several
    workers share the items. Ctrl-C and SIGTERM start nothing more and wait for running items; a second one ends them, and the next worker takes
    them up. A server that does not answer is asked again. The exit code is 0.

    Examples:

      headwater backfill work --packages packages --parallel 2

      headwater backfill work --airflow prod=https://airflow.example.com --once
    """
    from headwater.runner.backfill import Worker
    from headwater.runner.every_plan import EveryPlan
    from headwater.runner.heartbeat import heartbeat
    from headwater.runner.plans import PlanOnServer

    executors = executors_of(packages, airflow, spark_submit, columns, run_command, logs, url)
    name = worker or default_name()

    def running() -> list[str]:
        found = server.get(url, "/api/v2/plans", state="running", limit=_MOST_PLANS)["plans"]
        return [each["id"] for each in reversed(found)]

    def worker_of(plan: str, on_event: Callable[[ItemEvent], None]) -> Worker:
        on_server = PlanOnServer(server.address(url), plan, server.key(url))
        return Worker(on_server, executors, name=name, parallel=parallel, lease=lease, waits=False, on_event=on_event)

    def print_event(plan: str, event: ItemEvent) -> None:
        if json:
            output.json_line({"plan": plan, **plain_event(event)})
        else:
            output.line(f"{plan[:_TOLD_APART]}  {event_line(event)}")

    def print_error(plan: str | None, error: HeadwaterError) -> None:
        if json:
            output.json_line({"plan": plan, "what": "unanswered", "note": error.message})
        else:
            output.line(
                f"{plan[:_TOLD_APART] if plan else 'plans'}  {output.printable(error.message)}; asked again", "yellow"
            )

    working = EveryPlan(running, worker_of, on_event=print_event, on_error=print_error)
    if not json:
        output.line(f"{name} takes items of every applied plan; Ctrl-C ends it", "dim")
    with heartbeat(server.address(url), name, api_key=server.key(url)), stop_on_signals(working):
        working.run(once=once)
