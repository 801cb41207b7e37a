"""`headwater backfill export`: write a plan as an Airflow DAG. Runs nothing and does not change the plan."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli import output, server
from headwater.cli.status.instances import Json, Url
from headwater.errors import InvalidPlan, InvalidQuestion

if TYPE_CHECKING:
    from headwater.runner.plans import PlannedItem

_PAGE = 1000
_WRITTEN = "# Written by `headwater backfill export`"


def export(
    id: Annotated[str, typer.Argument(metavar="ID", help="The plan's id.")],
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", metavar="FILE", help="Write the DAG to this file, as in dags/repair.py, instead of printing it."
        ),
    ] = None,
    parallel: Annotated[
        int,
        typer.Option(
            min=1, max=1000, help="Run at most this many items at once; each holds an Airflow slot while it runs."
        ),
    ] = 4,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the tasks without writing the DAG.")] = False,
    json: Json = False,
    url: Url = None,
) -> None:
    """Write a plan as an Airflow DAG that you trigger by hand.

    Its mapped tasks are the plan's items, in order: each clears the task or starts the run that makes the item, and waits for it. Like
    `headwater backfill apply` it skips what is already right; trigger it again to continue. The plan may have at most 10,000 items, all made by
    one Airflow.

    Examples:

      headwater backfill export 0199f3c2-… --to dags/repair.py

      headwater backfill export 0199f3c2-… --dry-run
    """
    from headwater.runner.plan_as_dag import airflow_of, named, tasks, written

    plan, items = _items(url, id)
    airflow = airflow_of(plan, items)
    found = tasks(plan, items)
    text = written(plan, airflow, found, parallel=parallel)
    if to is not None and not dry_run:
        _write(to, text)
    if json:
        output.json_line(
            {
                "plan": plan,
                "dag_id": named(plan),
                "airflow": airflow,
                "items": len(items),
                "tasks": [each._asdict() for each in found],
                "file": None if to is None or dry_run else str(to),
                "text": text,
            }
        )
    elif dry_run:
        output.table(
            ("task", "items", "producer", "makes", "after"),
            [(each.task_id, len(each.numbers), ", ".join(each.producers), each.about, ", ".join(each.after)) for each in found],
        )  # fmt: skip
        output.line("A dry run: nothing is written.", "dim")
    elif to is None:
        typer.echo(text, nl=False)
    else:
        output.line(f"{to}: the DAG {named(plan)} of {len(items):,} items in {len(found):,} tasks")


def _items(url: str | None, id: str) -> tuple[str, list[PlannedItem]]:
    """Return the plan's id and all its items. Raises NotFound, and InvalidPlan if there are too many for a DAG."""
    from headwater.runner.plan_as_dag import MOST_ITEMS
    from headwater.runner.plans import PlanOnServer

    plan = PlanOnServer(server.address(url), id, server.key(url))
    page = plan.page(0, _PAGE)
    if page.plan.state in {"done", "cancelled"}:
        raise InvalidPlan(f"the plan is {page.plan.state}: there is nothing to run", plan=id)
    if page.plan.items > MOST_ITEMS:
        raise InvalidPlan(
            f"the plan has {page.plan.items:,} items, and a DAG run of more than {MOST_ITEMS:,} is more than Airflow supports; plan fewer "
            f"instances (`headwater backfill plan ENTITY INSTANCES`), or run it with `headwater backfill apply {id} --airflow NAME=URL`",
            plan=id,
        )
    items = page.items
    while len(items) < page.plan.items:
        items = items + plan.page(len(items), _PAGE).items
    return page.plan.id, items


def _write(to: Path, text: str) -> None:
    """Write the file atomically, because Airflow may read its folder at any time. Raises InvalidQuestion if another file is there."""
    if to.exists() and not _is_ours(to):
        raise InvalidQuestion(f"{to} exists and is not an exported plan; name another file", path=str(to))
    part = to.with_name(f".{to.name}.{os.getpid()}")
    try:
        part.write_text(text)
        part.replace(to)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InvalidQuestion(f"{to} cannot be written: {error.strerror}", path=str(to)) from error


def _is_ours(path: Path) -> bool:
    return path.is_file() and path.read_text(errors="replace").startswith(_WRITTEN)
