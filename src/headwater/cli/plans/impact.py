"""`headwater impact`: list what to rerun after a bad run. Clears and starts nothing."""

from __future__ import annotations

import enum
from typing import Annotated, Any

import typer

from headwater.cli import output, server
from headwater.errors import InvalidQuestion


class Mode(enum.StrEnum):
    failed = "failed"
    wrong = "wrong"
    tainted = "tainted"


def impact(
    producer: Annotated[
        str | None, typer.Option(metavar="JOB", help="Look at a run of this job, as entities name it in `produced_by`.")
    ] = None,
    dag: Annotated[str | None, typer.Option(metavar="DAG", help="Look at a run of this DAG.")] = None,
    airflow: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Choose the Airflow whose DAG it is, as in `airflow://NAME/DAG/TASK`."),
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option(metavar="T", help="Look at only this task of the DAG. Repeatable.")
    ] = None,
    execution_date: Annotated[
        str | None, typer.Option(metavar="TIME", help="Choose the run whose interval starts then (ISO 8601, UTC).")
    ] = None,
    run: Annotated[
        str | None, typer.Option(metavar="ID", help="Choose the run with this id, as it was reported.")
    ] = None,
    partition_key: Annotated[
        str | None, typer.Option(metavar="KEY", help="Choose the run with this partition key.")
    ] = None,
    start: Annotated[str | None, typer.Option(metavar="TIME", help="Choose runs from this time on.")] = None,
    end: Annotated[str | None, typer.Option(metavar="TIME", help="Choose runs until this time.")] = None,
    mode: Annotated[
        Mode,
        typer.Option(
            help="Say how it went: `failed` (it made nothing) or `wrong` (what it made is wrong; `tainted` means the same)."
        ),
    ] = Mode.failed,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
) -> None:
    """List the tasks to clear and the runs to start after a bad run.

    A bad run failed, or what it made is wrong. Periods of different lengths are converted. A DAG's tasks get one plan: each run is in it once.

    Examples:

      headwater impact --dag load_weather --execution-date 2024-03-11T03:00:00Z

      headwater impact --dag load_weather --task load --run scheduled__2024-03-11T03:00:00+00:00 --mode wrong

      headwater impact --dag load_weather --airflow staging --execution-date yesterday

      headwater impact --producer package:reads --partition-key 2024-03-06 --json
    """
    if (producer is None) == (dag is None):
        raise InvalidQuestion("name the job of the run with --producer or --dag")
    if (task or airflow) and dag is None:
        raise InvalidQuestion("--task and --airflow go with --dag")
    asked = {
        "producer": producer,
        "airflow": airflow,
        "dag_id": dag,
        "task_ids": task or [],
        "execution_date": server.time(execution_date),
        "run_id": run,
        "partition_key": partition_key,
        "start": server.time(start),
        "end": server.time(end),
        "mode": mode.value,
    }
    body = server.send(url, "POST", "/api/v2/impact", asked)
    if json:
        output.raw(body)
        return
    import msgspec

    show(msgspec.json.decode(body))


def show(found: Any) -> None:
    """Print the tasks to clear and the runs to start."""
    rows = [
        (
            what,
            _describe_job(each),
            each["task_id"],
            ", ".join(run["period"] for run in each["runs"]),
            ", ".join(str(run["start"]) for run in each["runs"] if run["start"]),
            _describe_instances(each["makes"]),
            " ← ".join(each["because"]),
        )
        for what in ("clear", "start")
        for each in found[what]
    ]
    if rows:
        output.table(("do", "job", "task", "runs", "logical dates", "makes", "because"), rows)
    else:
        output.line("no run has to be repeated")
    if found["manual"]:
        output.line(f"by hand: {output.printable(_describe_instances(found['manual']))}", "yellow")
    for reason, some in found["unrepairable"].items():
        output.line(f"cannot be repaired ({reason}): {output.printable(_describe_instances(some))}", "yellow")
    if found["unaffected"]:
        output.line(f"checked, and not affected: {output.printable(', '.join(found['unaffected']))}", "dim")


def _describe_job(each: Any) -> str:
    return f"{each['airflow']}/{each['dag_id']}" if each["dag_id"] else str(each["producer"])


def _describe_instances(some: Any) -> str:
    return "; ".join(f"{each['entity']} {', '.join(each['instances'])}" for each in some)
