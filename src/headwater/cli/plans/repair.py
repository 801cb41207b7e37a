"""`headwater repair`: what ends an incident: instances to rebuild by a plan, jobs to run again in order; and waiting until nothing is wrong."""

from __future__ import annotations

import time
import uuid
from typing import Annotated, Any

import typer

from headwater.cli import output, server
from headwater.cli.plans import bad_runs
from headwater.cli.status import wrong_reads
from headwater.cli.status.instances import As, Json, Limit, Url
from headwater.errors import InvalidQuestion

_PAUSE = 2.0
_NOT_YET = 3
_UNDER_WAY = {"planned", "running", "paused"}


def repair(
    incident: Annotated[
        str | None,
        typer.Argument(metavar="INCIDENT", help="The incident's id, as `taint` and `incident list` print it."),
    ] = None,
    run: Annotated[
        str | None, typer.Option(metavar="ID", help="Repair after this run, which made something wrong.")
    ] = None,
    dag: Annotated[str | None, typer.Option(metavar="DAG", help="Repair after a run of this DAG.")] = None,
    airflow: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Choose the Airflow whose DAG it is, as in `airflow://NAME/DAG/TASK`."),
    ] = None,
    execution_date: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Choose the DAG's run whose interval starts then (ISO 8601, UTC)."),
    ] = None,
    reason: Annotated[str, typer.Option(help="With --run or --dag: record why it is wrong.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what is to be done, and store no plan.")] = False,
    wait: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0, help="Wait so long until nothing is wrong any more, and show how far it is."
        ),
    ] = 0.0,
    limit: Limit = 50,
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show what ends an incident, in order, and wait for it.

    Instances get a plan, which `headwater backfill apply` runs. Jobs whose runs are known by events alone are listed in the order in which to run
    them again: do it with their scheduler, or `headwater run`. Each run is noticed by itself. Started again, it goes on from what is wrong then.

    With --run or --dag, what a bad run made is wrong. --dry-run lists who is hit, the tasks to clear and the runs to start; --reason opens the
    incident, or goes on with the one that the run has.

    The exit code is 0 if nothing is wrong any more, 3 if something is.

    Examples:

      headwater repair --run 0199c0de-0000-7000-8000-000000000001 --dry-run

      headwater repair --dag load_weather --execution-date 2024-03-11T03:00:00Z --reason "last year's rates"

      headwater repair 0190a000-0000-7000-8000-000000000000 --dry-run

      headwater repair 0190a000-0000-7000-8000-000000000000 --wait 3600
    """
    if incident is None:
        bad = _bad_run(url, run, dag, airflow, execution_date)
        if dry_run:
            look = bad.look()
            output.json_line(look) if json else bad_runs.show(look, limit)
            raise typer.Exit(0 if look["incident"] is None else _NOT_YET)
        incident = bad.open_incident(reason, as_)
    elif run or dag:
        raise InvalidQuestion("name an incident, or a bad run with --run or --dag", given=incident)
    try:
        where = server.path("incidents", str(uuid.UUID(incident)))
    except ValueError:
        raise InvalidQuestion(
            f"{incident!r} is not an incident's id: mark what is wrong with `headwater taint {incident}`, or see `headwater incident list`",
            given=incident,
        ) from None
    found = server.get(url, where)
    one = found["incident"]
    if one["state"] == "retracted":
        raise InvalidQuestion(f"incident {incident} was retracted: nothing is wrong because of it", incident=incident)
    plan = _plan(url, one, dry_run, as_) if one["wrong"] else None
    if not json:
        _show(found, plan, limit)
    if wait and not dry_run:
        found = _wait(url, where, found, time.monotonic() + wait, json)
    if json:
        output.json_line({"incident": found["incident"], "plan": plan, "reads": found["reads"]})
    elif found["incident"]["mended"]:
        output.line("nothing is wrong any more", "green")
    raise typer.Exit(0 if found["incident"]["mended"] else _NOT_YET)


def _bad_run(
    url: str | None, run: str | None, dag: str | None, airflow: str | None, execution_date: str | None
) -> bad_runs.BadRun:
    if dag is not None:
        return bad_runs.BadRun.of_dag(url, dag, airflow, execution_date, run)
    if run is None or airflow or execution_date:
        raise InvalidQuestion("name an incident, a run with --run, or a run of a DAG with --dag and --execution-date")
    return bad_runs.BadRun.by_id(url, run)


def _plan(url: str | None, one: dict[str, Any], dry_run: bool, as_: str | None) -> dict[str, Any]:
    """The plan for the incident's instances; a new one unless one of its is under way."""
    import msgspec

    from headwater.cli.people.metadata import author

    plans = server.get(url, "/api/v2/plans", limit=1000)["plans"]
    under_way = [each for each in plans if each["incident"] == one["id"] and each["state"] in _UNDER_WAY]
    wanted = {"incident": one["id"], "dry_run": dry_run or bool(under_way), "reason": one["reason"]}
    made: dict[str, Any] = msgspec.json.decode(server.send(url, "POST", "/api/v2/plans", wanted, **author(as_)))
    return made | {"id": under_way[0]["id"]} if under_way else made


def _show(found: dict[str, Any], plan: dict[str, Any] | None, limit: int) -> None:
    from headwater.cli.plans.backfill import show_plan

    one = found["incident"]
    output.line(f"incident {output.printable(one['id'])}: {output.printable(one['reason'])}", "bold")
    if one["state"] == "open" and one["wrong"]:
        output.line(f"fix the cause first, then say so: headwater incident fix {one['id']}", "yellow")
    if plan is not None:
        output.line()
        show_plan(plan, "")
        if plan["id"]:
            output.line(f"headwater backfill apply {plan['id']} --packages FOLDER   # run it", "dim")
    if found["reads"] and found["reads"]["current"]:
        wrong_reads.print_reads(found["reads"], limit)


def _wait(url: str | None, where: str, found: dict[str, Any], end: float, quiet: bool) -> dict[str, Any]:
    """Ask again until nothing is wrong or the time is over; print each step forward."""
    left = None
    while not found["incident"]["mended"] and time.monotonic() < end:
        one = found["incident"]
        if (now := (one["wrong"], one["versions"])) != left and not quiet:
            counts = {"instance": one["wrong"], "version": one["versions"]}
            wrong = ", ".join(output.counted(count, what) for what, count in counts.items() if count)
            output.line(f"{output.moment(_now())} UTC  still wrong: {wrong}")
        left = now
        time.sleep(min(_PAUSE, max(end - time.monotonic(), 0)))
        found = server.get(url, where)
    return found


def _now() -> str:
    import datetime as dt

    return dt.datetime.now(dt.UTC).isoformat()
