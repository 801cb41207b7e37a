"""`headwater order`: the declared order of a DAG's tasks against what their data asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from headwater.cli import meaning, output, server
from headwater.errors import InvalidQuestion

_RACES = 3


def order(
    dag: Annotated[str, typer.Argument(metavar="DAG", help="The job of an Airflow DAG.")],
    serialized: Annotated[
        Path | None,
        typer.Option(
            help="Read the order from this file: Airflow's serialised DAG, or the answer of its API about the DAG's tasks."
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Exit with 3 if a dependency is missing or backward.")] = False,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare the order of a DAG's tasks with what their data asks for.

    A missing dependency is a race: the runs show how often luck decided. A needless one only makes a task wait.

    Examples:

      headwater order nightly

      headwater order nightly --serialized nightly.json --check
    """
    found = meaning.find_object(url, dag)
    if found["type"] != "JOB":
        raise InvalidQuestion(f"{meaning.described(found)}; name the job of a DAG", given=dag)
    tasks = read_order(serialized) if serialized is not None else None
    body = server.send(url, "POST", "/api/v2/task-order", {"node": found["id"], "tasks": tasks})
    answer = msgspec.json.decode(body)
    if json:
        output.raw(body)
    else:
        _show(answer)
    if check and (answer["missing"] or answer["backward"]):
        raise typer.Exit(3)


def read_order(path: Path) -> dict[str, list[str]]:
    """Return the tasks directly after each task. Raises InvalidQuestion for another file."""
    try:
        told = msgspec.json.decode(path.read_bytes())
        tasks = told.get("dag", told)["tasks"]
        found = [one.get("__var", one) for one in tasks]
        return {str(one["task_id"]): [str(each) for each in one.get("downstream_task_ids") or ()] for one in found}
    except (OSError, msgspec.DecodeError, AttributeError, KeyError, TypeError) as error:
        raise InvalidQuestion(
            f"{path} has no tasks of a DAG ({error}); give Airflow's serialised DAG or /api/v2/dags/DAG/tasks"
        ) from error


def _show(answer: dict[str, Any]) -> None:
    for kind, words in (("missing", "no dependency is declared"), ("backward", "the reader is declared to run first")):
        for one in answer[kind]:
            output.line(f"{one['writer']} >> {one['reader']}: {words}", "bold red")
            output.line(f"  {one['reader']} reads {', '.join(one['datasets'])}")
            output.line(f"  {one['lucky']} of {one['runs']} runs had the right order")
            for race in one["races"][:_RACES]:
                written = output.moment(race["written_at"]) or "never"
                said = "lucky" if race["lucky"] else "read before it was written"
                output.line(f"    {race['run']}: written {written}, read {output.moment(race['read_at'])}: {said}")
    for one in answer["needless"]:
        output.line(f"{one['before']} >> {one['after']}: no data asks for it", "yellow")
    if answer["unreported"]:
        output.line(
            f"{len(answer['unreported'])} tasks report no dataset: {', '.join(answer['unreported'][:10])}", "dim"
        )
    if answer["undeclared"]:
        output.line(
            f"{len(answer['undeclared'])} tasks are not in the order: {', '.join(answer['undeclared'][:10])}", "dim"
        )
    if not (answer["missing"] or answer["backward"] or answer["needless"]):
        output.line(f"The order of {answer['tasks']} tasks is what their data asks for.", "bold")
