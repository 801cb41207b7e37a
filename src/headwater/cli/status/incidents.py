"""`headwater taint`, `suspects` and `incident`: mark what is wrong, find its cause, and close incidents."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import typer

from headwater.cli import output, server
from headwater.cli.people.metadata import author
from headwater.cli.status.instances import As, AsOf, Entity, Instances, Json, Limit, Note, Url, short
from headwater.errors import InvalidQuestion

incident = typer.Typer(
    help="List, show and close incidents.\n\n`headwater taint` opens one.", rich_markup_mode=None, no_args_is_help=True
)
Id = Annotated[str, typer.Argument(metavar="ID", help="The incident's id.")]

_STATES = {"open": "bold red", "fixed": "yellow", "retracted": "dim"}
_KINDS = ("tainted", "inherited", "repaired", "wont_fix")


def suspects(
    entity: Entity,
    instances: Instances,
    as_of: AsOf = None,
    limit: Limit = 50,
    url: Url = None,
    json: Json = False,
) -> None:
    """List the suspects for wrong instances, the likeliest first.

    The candidates are everything that the instances were made from.

    Examples:

      headwater suspects weekly 2024-W10

      headwater suspects weekly 2024-W10 --json | jq '.suspects[0]'
    """
    where = server.path("entities", entity, "suspects")
    body = server.ask(url, where, instances=instances, as_of=server.time(as_of))
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)["suspects"]
    if not found:
        output.line(output.printable(f"{entity} {short(instances)}: it is not known what it was made from"), "dim")
        return
    output.table(
        ("entity", "instances", "count", "depth", "through", "evidence against it", "of these"),
        [
            (
                one["entity"],
                short(one["instances"]),
                f"{one['count']:,}",
                one["depth"],
                one["through"],
                one["because"],
                short(one["of_these"]),
            )
            for one in found[:limit]
        ],
        styles={5: {"known to be wrong": "bold red", "made from what is wrong": "red", "a check failed": "yellow"}},
    )
    _left_out(len(found), limit, "suspect")


def taint(
    entity: Entity,
    instances: Instances,
    reason: Annotated[str, typer.Option(help="Record why they are wrong.")],
    column: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Mark only this column as wrong. Repeatable.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be wrong without marking it.")] = False,
    as_: As = None,
    limit: Limit = 50,
    url: Url = None,
    json: Json = False,
) -> None:
    """Mark instances or columns as wrong, with everything that used them.

    It opens an incident. If only some columns are wrong, only what used those is marked.

    Examples:

      headwater taint reads 2024-03-06 --reason "half of the rows are missing" --dry-run

      headwater taint reads 2024-03-06 --reason "half of the rows are missing"

      headwater taint weather 2024-03-06 --reason "a sensor was stuck" --column temp --column dewp
    """
    wrong = {"entity": entity, "instances": instances, "columns": column or []}
    body = {"wrong": [wrong], "reason": reason, "dry_run": dry_run}
    answer = server.send(url, "POST", "/api/v2/incidents", body, **author(as_))
    if json:
        output.raw(answer)
        return
    found = msgspec.json.decode(answer)
    hits = found["hits"]
    extent = f"{output.counted(found['count'], 'instance')} of {output.counted(len(hits), 'entity')}"
    if found["id"]:
        output.line(f"incident {output.printable(found['id'])}: {extent} {_be(found['count'])} wrong", "bold")
    else:
        runs = output.counted(found["stretches"], "run")
        output.line(f"{extent} would be wrong; nothing was written; it would be {runs} of marks", "bold")
    output.table(
        ("entity", "instances", "count", "basis", "depth", "through", *(("columns",) if column else ())),
        [
            (
                hit["entity"],
                short(hit["instances"]),
                f"{hit['count']:,}",
                hit["basis"],
                hit["depth"],
                hit["because"],
                *((_columns(hit),) if column else ()),
            )
            for hit in hits[:limit]
        ],
        styles={3: {"declared": "yellow"}},
    )
    _left_out(len(hits), limit, "entity")
    for one in found["missing"]:
        text = f"ignored, because these instances do not exist: {one['entity']} {short(one['instances'])}"
        output.line(output.printable(text), "yellow")
    if found["id"]:
        output.line()
        for command, why in (
            ("show", "what is still wrong"),
            ("fix", "the cause is fixed: what is made from now on is right"),
            ("retract", "it was a false alarm"),
        ):
            output.line(f"headwater incident {command} {output.printable(found['id'])}   # {why}", "dim")


@incident.command("list")
def list_(
    state: Annotated[str | None, typer.Option(help="List only incidents that are open, fixed or retracted.")] = None,
    limit: Limit = 50,
    offset: Annotated[int, typer.Option(min=0, help="Skip this many incidents first.")] = 0,
    url: Url = None,
    json: Json = False,
) -> None:
    """List incidents, the latest first, and how much is still wrong because of each.

    Examples:

      headwater incident list --state open
    """
    if state is not None and state not in _STATES:
        raise InvalidQuestion(f"{state!r} is not a state of an incident; use one of {', '.join(_STATES)}", given=state)
    body = server.ask(url, "/api/v2/incidents", state=state, limit=limit, offset=offset)
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)
    output.table(
        ("incident", "state", "wrong now", "of entities", "opened (UTC)", "by", "reason"),
        [
            (
                one["id"],
                one["state"],
                f"{one['wrong']:,}",
                one["entities"],
                output.moment(one["opened_at"]),
                one["opened_by"],
                one["reason"],
            )
            for one in found["incidents"]
        ],
        styles={1: _STATES},
        empty="No incidents found. Open one with `headwater taint ENTITY KEY`.",
    )
    shown = len(found["incidents"])
    if found["total"] > shown:
        output.line(f"{shown:,} of {found['total']:,}; --limit and --offset show more", "dim")


@incident.command("show")
def show(id_: Id, limit: Limit = 50, url: Url = None, json: Json = False) -> None:
    """Show one incident: its cause, and what is wrong because of it, upstream first.

    Examples:

      headwater incident show 0190a000-0000-7000-8000-000000000000
    """
    body = server.ask(url, _path(id_))
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)
    one = found["incident"]
    output.pieces(
        [(f"incident {output.printable(one['id'])}: ", "bold"), (one["state"], _STATES.get(one["state"], ""))]
    )
    roots = "; ".join(f"{entity} {short(some)}" for entity, some in found["roots"].items())
    fixed = (
        f"what runs that began at {output.moment(one['fixed_at'])} UTC or later make is right"
        if one["fixed_at"]
        else ""
    )
    facts = (
        ("reason", one["reason"]),
        ("opened", f"{output.moment(one['opened_at'])} UTC by {one['opened_by']}"),
        ("about", roots),
        ("fixed", fixed),
        ("closed", f"{output.moment(one['closed_at'])} UTC by {one['closed_by']}" if one["closed_at"] else ""),
        ("note", one["note"]),
        ("wrong now", f"{output.counted(one['wrong'], 'instance')} of {output.counted(one['entities'], 'entity')}"),
    )
    for name, value in facts:
        if value:
            output.line(f"  {name:<11}{output.printable(value)}")
    if found["entities"]:
        output.line()
        some = found["unaffected"] or any(each["columns"] for each in found["entities"])
        output.table(
            (
                "entity",
                "wrong itself",
                "wrong by what it used",
                "made again since",
                "left as it is",
                *(("columns",) if some else ()),
            ),
            [
                (each["entity"], *(short(each[kind]) for kind in _KINDS), *((_columns(each),) if some else ()))
                for each in found["entities"][:limit]
            ],
        )
        _left_out(len(found["entities"]), limit, "entity")
    for each in found["unaffected"][:limit]:
        output.line(output.printable(f"{each['entity']} uses {each['upstream']}, but nothing wrong of it"), "dim")
    _left_out(len(found["unaffected"]), limit, "pair")


@incident.command("fix")
def fix(
    id_: Id,
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Count what runs that began since then make as right. Default: since now."),
    ] = None,
    note: Note = "",
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Mark the cause as fixed: what is made from now on is right, unless it uses what is wrong.

    Examples:

      headwater incident fix 0190a000-0000-7000-8000-000000000000 --note "loader 1.4.2"
    """
    _settle("fix", id_, {"at": server.time(at), "note": note}, as_, url, json)


@incident.command("retract")
def retract(id_: Id, note: Note = "", as_: As = None, url: Url = None, json: Json = False) -> None:
    """Retract a false alarm: nothing is wrong because of it any more, and nothing has to run.

    Examples:

      headwater incident retract 0190a000-0000-7000-8000-000000000000 --note "the count was wrong, not the data"
    """
    _settle("retract", id_, {"note": note}, as_, url, json)


@incident.command("confirm")
def confirm(
    id_: Id,
    entity: Entity,
    instances: Instances,
    note: Note = "",
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Mark checked instances as right, and what was wrong only because of them.

    Examples:

      headwater incident confirm 0190a000-0000-7000-8000-000000000000 weekly 2024-W10
    """
    _settle("confirm", id_, {"right": [{"entity": entity, "instances": instances}], "note": note}, as_, url, json)


def _settle(word: str, id_: str, body: dict[str, Any], as_: str | None, url: str | None, json: bool) -> None:
    answer = server.send(url, "POST", _path(id_, word), body, **author(as_))
    if json:
        output.raw(answer)
        return
    found = msgspec.json.decode(answer)
    output.line(output.printable(f"incident {found['id']}: {found['state']}"))
    for each in found["changed"]:
        output.line(output.printable(f"  changed: {each['entity']} {short(each['instances'])}"))
    if not found["changed"]:
        output.line("  no instance changed", "dim")


def _path(id_: str, *words: str) -> str:
    try:
        return server.path("incidents", str(uuid.UUID(id_)), *words)
    except ValueError:
        raise InvalidQuestion(
            f"{id_!r} is not an incident's id; `headwater incident list` shows them", given=id_
        ) from None


def _columns(one: Mapping[str, Any]) -> str:
    return "all" if one["columns"] is None else ", ".join(one["columns"])


def _left_out(number: int, limit: int, what: str) -> None:
    if number > limit:
        output.line(f"{output.counted(number - limit, what)} more; --limit shows more", "dim")


def _be(number: int) -> str:
    return "is" if number == 1 else "are"
