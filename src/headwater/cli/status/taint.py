"""`headwater taint`: mark instances, runs, versions or files as wrong, with everything that used them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import typer

from headwater.cli import output, server
from headwater.cli.people.metadata import author
from headwater.cli.status import wrong_reads
from headwater.cli.status.incidents import columns, left_out
from headwater.cli.status.instances import As, Json, Limit, Url, short
from headwater.errors import InvalidQuestion


def taint(
    what: Annotated[
        str,
        typer.Argument(
            metavar="X",
            help="An entity with INSTANCES, ENTITY@INSTANCE, a run's id, DATASET@VERSION, a file, or a dataset (all that it holds).",
        ),
    ],
    instances: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INSTANCES…", help="Instances of the entity, such as 2024-03-10 or 2024-03-01..2024-03-31."
        ),
    ] = None,
    reason: Annotated[str, typer.Option(help="Record why they are wrong.")] = "",
    column: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Mark only this column as wrong. Repeatable.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be wrong without marking it.")] = False,
    as_: As = None,
    limit: Limit = 50,
    url: Url = None,
    json: Json = False,
) -> None:
    """Mark something as wrong, with everything that used it.

    It opens an incident. Who used it is found by schedule where there is one, and by what runs read. If only some columns are wrong, only what used
    those is marked.

    Examples:

      headwater taint reads 2024-03-06 --reason "half of the rows are missing" --dry-run

      headwater taint weather 2024-03-06 --reason "a sensor was stuck" --column temp --column dewp

      headwater taint 0199c0de-0000-7000-8000-000000000001 --reason "ran with last year's rates"

      headwater taint landing/meters_202101.csv.gz --reason "the provider sent it twice"
    """
    if not reason and not dry_run:
        raise InvalidQuestion("say why: --reason TEXT, or look first with --dry-run")
    body = {**_meant(url, what, instances or [], column or []), "reason": reason, "dry_run": dry_run}
    answer = server.send(url, "POST", "/api/v2/incidents", body, **author(as_))
    if json:
        output.raw(answer)
        return
    _show(msgspec.json.decode(answer), bool(column), limit)


def _meant(url: str | None, what: str, instances: list[str], some_columns: list[str]) -> dict[str, Any]:
    """The body's `wrong` or `origins`."""
    from headwater.cli import meaning

    if instances:
        return {"wrong": [{"entity": what, "instances": instances, "columns": some_columns}]}
    found = meaning.find_object(url, what)
    if found["type"] == "INSTANCE":
        return {"wrong": [{"entity": found["entity"], "instances": [found["instance"]], "columns": some_columns}]}
    if found["type"] == "COLUMN":
        found = found | {"type": "DATASET", "id": found["node"]}
        some_columns = [*some_columns, found["column"]]
    if found["type"] in {"RUN", "VERSION", "CONTENT", "DATASET"}:
        return {"origins": [{"kind": found["type"], "ref": found["id"], "columns": some_columns}]}
    raise InvalidQuestion(
        f"{meaning.described(found)}; name instances of an entity, a run, DATASET@VERSION, a dataset or a file",
        given=what,
    )


def _show(found: dict[str, Any], with_columns: bool, limit: int) -> None:
    hits, reads = found["hits"], found["reads"]
    extents = []
    if hits or not reads:
        extents.append(f"{output.counted(found['count'], 'instance')} of {output.counted(len(hits), 'entity')}")
    if reads:
        extents.append(f"{output.counted(reads['current'], 'version')} by recorded reads")
    extent = ", ".join(extents)
    one = found["count"] + (reads["current"] if reads else 0) == 1
    if found["id"]:
        output.line(f"incident {output.printable(found['id'])}: {extent} {'is' if one else 'are'} wrong", "bold")
    else:
        marks = f"; it would be {output.counted(found['stretches'], 'run')} of marks" if hits else ""
        output.line(f"{extent} would be wrong; nothing was written{marks}", "bold")
    contacts = any(hit["owners"] or hit["teams"] for hit in hits)
    if hits or not reads:
        more = (*(("owners", "teams", "path") if contacts else ()), *(("columns",) if with_columns else ()))
        output.table(
            ("entity", "instances", "count", "basis", "depth", "through", *more),
            [_hit_row(hit, more) for hit in hits[:limit]],
            styles={3: {"declared": "yellow"}},
        )
    left_out(len(hits), limit, "entity")
    for one in found["missing"]:
        text = f"ignored, because these instances do not exist: {one['entity']} {short(one['instances'])}"
        output.line(output.printable(text), "yellow")
    if reads:
        wrong_reads.print_reads(reads, limit)
    if found["id"]:
        output.line()
        for command, why in (
            ("incident show", "what is still wrong"),
            ("repair", "what to run again, in order, until it is right"),
            *((("incident fix", "the cause is fixed: what is made from now on is right"),) if hits else ()),
            ("incident retract", "it was a false alarm"),
        ):
            output.line(f"headwater {command} {output.printable(found['id'])}   # {why}", "dim")


def _hit_row(hit: dict[str, Any], more: Sequence[str]) -> tuple[object, ...]:
    """The cells of a hit; `more`: the columns that not every answer has."""
    cells = {
        "columns": columns(hit),
        "owners": ", ".join(hit["owners"]),
        "teams": ", ".join(hit["teams"]),
        "path": " → ".join(hit["path"]),
    }
    first = hit["entity"], short(hit["instances"]), f"{hit['count']:,}", hit["basis"], hit["depth"], hit["because"]
    return (*first, *(cells[each] for each in more))
