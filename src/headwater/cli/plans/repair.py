"""`headwater repair`: what ends an incident: instances to rebuild by a plan, jobs to run again in order; and waiting until nothing is wrong."""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli import output, server
from headwater.cli.plans import bad_runs
from headwater.cli.status import wrong_reads
from headwater.cli.status.instances import As, Json, Limit, Url
from headwater.errors import InvalidQuestion

if TYPE_CHECKING:
    from headwater.cli.plans.repair_apply import Means

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
    apply: Annotated[bool, typer.Option("--apply", help="Run the jobs again that the options below can run.")] = False,
    packages: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", exists=True, file_okay=False, help="Run packages from FOLDER/NAME."),
    ] = None,
    airflow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=URL", help="Run tasks in this Airflow, as `headwater backfill apply` does. Repeatable."
        ),
    ] = None,
    dbt: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="Run dbt's models with this command and `--select MODEL`.")
    ] = None,
    command: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JOB=COMMAND",
            help="Run a job with this command; with {run}, {start} or {end} once for each of its runs. Repeatable.",
        ),
    ] = None,
    reported_commands: Annotated[
        bool,
        typer.Option(
            "--reported-commands", help="Run the shell commands that events report of jobs, such as Airflow's."
        ),
    ] = False,
    logs: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write the output of runs to this folder. Default: ~/.headwater/repair."),
    ] = None,
    reports_within: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0, help="Wait so long for a run's events after its end."),
    ] = 10.0,
    limit: Limit = 50,
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show what ends an incident, in order, and wait for it.

    Instances get a plan. Jobs whose runs are known by events alone are listed in the order in which to run them again. Each run is noticed by its
    events, wherever it was started. Started again, the command goes on from what is wrong then.

    --apply runs what the options name: packages, Airflow's tasks, dbt's models, a job's command. Each job runs after those it needs, and at most
    once. What only a person can run is listed, and waited for with --wait. With --dry-run the commands are listed, and nothing runs.

    With --run or --dag, what a bad run made is wrong. --dry-run lists who is hit, the tasks to clear and the runs to start; --reason opens the
    incident, or goes on with the one that the run has.

    The exit code is 0 if nothing is wrong any more, 3 if something is.

    Examples:

      headwater repair --run 0199c0de-0000-7000-8000-000000000001 --dry-run

      headwater repair --dag load_weather --execution-date 2024-03-11T03:00:00Z --reason "last year's rates"

      headwater repair 0190a000-0000-7000-8000-000000000000 --dry-run

      headwater repair 0190a000-0000-7000-8000-000000000000 --apply --command clean='python clean.py' --packages packages --dry-run

      headwater repair 0190a000-0000-7000-8000-000000000000 --apply --command clean='python clean.py' --wait 3600
    """
    hosts = [each for each in airflow or [] if "=" in each]
    if not apply and (packages or hosts or dbt or command or reported_commands):
        raise InvalidQuestion(
            "--packages, --airflow NAME=URL, --dbt, --command and --reported-commands go with --apply"
        )
    if incident is None:
        bad = bad_runs.ask(
            url,
            run=run,
            dag=dag,
            airflow=airflow[0].partition("=")[0] if airflow else None,
            execution_date=execution_date,
            reason=reason,
            dry_run=dry_run,
            as_=as_,
        )
        if dry_run:
            output.json_line(bad) if json else bad_runs.show(bad, limit)
            raise typer.Exit(0 if bad["incident"] is None else _NOT_YET)
        incident = bad["incident"]["id"]
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
    if apply and not dry_run and one["state"] == "open" and one["wrong"]:
        raise InvalidQuestion(
            f"nothing was run: the cause of incident {incident} is not fixed, so its {output.counted(one['wrong'], 'instance')} would be made wrong "
            f"again. Fix the cause, say so with `headwater incident fix {incident}`, then repeat this command",
            incident=incident,
        )
    plan = _plan(url, one, dry_run, as_) if one["wrong"] else None
    if not json:
        _show(found, plan, limit)
    if apply:
        from headwater.cli.plans import repair_apply
        from headwater.home import home

        folder = logs.absolute() if logs else home() / "repair"
        means = repair_apply.Means(packages, hosts, dbt, command or [], reported_commands, folder, reports_within)
        raise typer.Exit(_apply(url, incident, plan, means, wait, dry_run=dry_run, json=json))
    if wait and not dry_run:
        found = _wait(url, where, found, time.monotonic() + wait, json)
    if json:
        output.json_line({"incident": found["incident"], "plan": plan, "reads": found["reads"]})
    elif found["incident"]["mended"]:
        output.line("nothing is wrong any more", "green")
    raise typer.Exit(0 if found["incident"]["mended"] else _NOT_YET)


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


def _apply(
    url: str | None,
    incident: str,
    plan: dict[str, Any] | None,
    means: Means,
    wait: float,
    *,
    dry_run: bool,
    json: bool,
) -> int:
    """Run what can run here, and print how it ended. Returns the exit code: 0, 1 (something failed), 3 (something is still wrong), 130."""
    from headwater.cli.plans import repair_apply

    work = repair_apply.Application(url, incident, plan["id"] if plan else None, means)
    if dry_run:
        rows = work.commands()
        if json:
            output.json_line([{"job": job, "command": shown or None, "after": after} for job, shown, after in rows])
        else:
            output.line()
            repair_apply.show_commands(rows)
        return _NOT_YET if rows or plan else 0
    ended, failed = work.run(wait, lambda event: repair_apply.print_event(event, json=json), json=json)
    found = server.get(url, server.path("incidents", incident))
    if json:
        output.json_line({"ended": ended, "incident": found["incident"], "reads": found["reads"]})
    elif found["incident"]["mended"]:
        output.line("nothing is wrong any more", "green")
    else:
        left = [each["job"].removeprefix("job:") for each in found["reads"]["repeat"]] if found["reads"] else []
        output.line(
            f"still wrong: {output.printable(', '.join(left[:10])) or 'instances'}; the same command goes on", "yellow"
        )
        if plan is not None and means.packages is None and not means.airflow:
            output.line("the plan of the instances was not run: give --packages FOLDER or --airflow NAME=URL", "yellow")
    if found["incident"]["mended"]:
        return 0
    return 130 if ended == "stopped" else 1 if failed else _NOT_YET


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
