"""`headwater incident`: list, show and close incidents."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import typer

from headwater.cli import output, server
from headwater.cli.people.metadata import author
from headwater.cli.status import wrong_reads
from headwater.cli.status.instances import As, Entity, Instances, Json, Limit, Note, Url, read_instances, short
from headwater.errors import InvalidQuestion

incident = typer.Typer(
    help="List, show and close incidents.\n\n`headwater taint` opens one.", rich_markup_mode=None, no_args_is_help=True
)
Id = Annotated[str, typer.Argument(metavar="ID", help="The incident's id.")]

_STATES = {"open": "bold red", "fixed": "yellow", "retracted": "dim"}
_KINDS = ("tainted", "inherited", "repaired", "wont_fix")
KIND_STYLES = {
    "wrong": "bold red",
    "policy": "bold red",
    "failed": "red",
    "doubted": "red",
    "late": "yellow",
    "stalled": "yellow",
}


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
        ("incident", "state", "instances wrong", "of entities", "versions wrong", "opened (UTC)", "by", "reason"),
        [
            (
                one["id"],
                f"{one['state']}, mended" if one["mended"] and one["state"] != "retracted" else one["state"],
                f"{one['wrong']:,}",
                one["entities"],
                f"{one['versions']:,}",
                output.moment(one["opened_at"]),
                one["opened_by"],
                one["reason"],
            )
            for one in found["incidents"]
        ],
        styles={1: _STATES | {f"{state}, mended": "green" for state in _STATES}},
        empty="No incidents found. Open one with `headwater taint`.",
    )
    shown = len(found["incidents"])
    if found["total"] > shown:
        output.line(f"{shown:,} of {found['total']:,}; --limit and --offset show more", "dim")


@incident.command("open")
def open_(
    kind: Annotated[
        str | None, typer.Option(help="List only one kind: wrong, policy, failed, doubted, late or stalled.")
    ] = None,
    owner: Annotated[
        str | None,
        typer.Option(help="List only what concerns this person: they own the cause, or something that is hit."),
    ] = None,
    limit: Limit = 50,
    url: Url = None,
    json: Json = False,
) -> None:
    """List everything that needs a person now, each under its cause.

    What is wrong, jobs whose last run failed, versions that a failed check doubts, datasets that are late, runs that fell silent. A late dataset
    whose job fails stands under that job, and what was made from a doubted version under that version. Each has its cause, who is hit, the
    owners, and what mends it. A later good run ends it by itself.

    Examples:

      headwater incident open

      headwater incident open --kind failed --json

      headwater incident open --owner ana@example.com
    """
    body = server.ask(url, "/api/v2/open-incidents", kind=kind, owner=owner, limit=limit)
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)
    output.table(
        ("what", "is", "since (UTC)", "because", "cause", "hits", "owners", "plan", "look"),
        [
            (
                one["label"].removeprefix("job:"),
                one["kind"],
                output.moment(one["since"]),
                one["text"],
                f"{one['cause']['kind']} {one['cause']['id'] if one['cause']['kind'] == 'run' else one['cause']['label']}",
                short([each["label"] for each in one["hit"]]),
                ", ".join(sorted({*one["owners"], *(owner for each in one["hit"] for owner in each["owners"])})),
                one["plan"],
                one["look"],
            )
            for one in found["incidents"]
        ],
        styles={1: KIND_STYLES},
        empty="Nothing needs you: nothing is wrong, doubted, fails, is late or fell silent.",
    )
    left_out(found["total"], limit, "incident")
    say_unjudged(found["left_out"])


@incident.command("show")
def show(
    id_: Annotated[
        str, typer.Argument(metavar="ID", help="The incident's id, or the job or dataset that an open one is about.")
    ],
    limit: Limit = 50,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show one incident: its cause, and what is wrong because of it, upstream first.

    The id of a job or dataset shows the open incident about it: the way from it to each object it hits, and what happened when.

    Examples:

      headwater incident show 0190a000-0000-7000-8000-000000000000

      headwater incident show job:shop:load-orders
    """
    if id_.startswith(("job:", "dataset:")):
        _show_open(server.ask(url, "/api/v2/open-incident", id=id_), limit, json)
        return
    body = server.ask(url, _path(id_))
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)
    one = found["incident"]
    output.pieces(
        [(f"incident {output.printable(one['id'])}: ", "bold"), (one["state"], _STATES.get(one["state"], ""))]
    )
    roots = "; ".join(
        [f"{each['kind'].lower()} {each['ref']}" for each in found["origins"]]
        + [f"{entity} {short(some)}" for entity, some in found["roots"].items()]
    )
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
        ("wrong now", _wrong_now(one)),
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
                "replaced",
                "left as it is",
                *(("columns",) if some else ()),
            ),
            [
                (each["entity"], *(short(each[kind]) for kind in _KINDS), *((columns(each),) if some else ()))
                for each in found["entities"][:limit]
            ],
        )
        left_out(len(found["entities"]), limit, "entity")
    for each in found["unaffected"][:limit]:
        output.line(output.printable(f"{each['entity']} uses {each['upstream']}, but nothing wrong of it"), "dim")
    left_out(len(found["unaffected"]), limit, "pair")
    if found["reads"]:
        wrong_reads.print_reads(found["reads"], limit)


def _show_open(body: bytes, limit: int, json: bool) -> None:
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)
    one = found["incident"]
    output.pieces([(f"{output.printable(one['label'])}: ", "bold"), (one["kind"], KIND_STYLES[one["kind"]])])
    owners = ", ".join(sorted({owner for node in found["nodes"] for owner in node["owners"]}))
    facts = (("because", one["text"]), ("owners", owners), ("teams", ", ".join(found["teams"])), ("plan", one["plan"]))
    for name, value in facts:
        if value:
            output.line(f"  {name:<11}{output.printable(value)}")
    into: dict[str, list[str]] = {}
    for edge in found["edges"]:
        into.setdefault(edge["target"], []).append(edge["source"])
    names = {node["id"]: node["label"] for node in found["nodes"]}
    output.table(
        ("hit", "is", "since (UTC)", "owners", "comes from"),
        [
            (
                node["label"],
                node["state"],
                output.moment(node["since"]),
                ", ".join(node["owners"]),
                short([names[source] for source in into.get(node["id"], ())]),
            )
            for node in found["nodes"][:limit]
            if node["role"] != "cause"
        ],
        styles={1: KIND_STYLES},
        empty="Nothing else is hit.",
    )
    left_out(len(found["nodes"]), limit, "object")
    for id_ in found["unreached"][:limit]:
        output.line(output.printable(f"{id_} is hit too; no way from the cause to it is recorded"), "dim")
    left_out(len(found["unreached"]), limit, "object")
    output.table(
        ("when (UTC)", "is", "what"),
        [(output.moment(each["at"]), each["state"], each["text"] or each["id"]) for each in found["timeline"]],
        styles={1: KIND_STYLES},
    )
    left_out(found["earlier_runs"], 0, "earlier run")


def _wrong_now(one: Mapping[str, Any]) -> str:
    if one["mended"]:
        return "nothing: all of it was made again, or is gone"
    instances = f"{output.counted(one['wrong'], 'instance')} of {output.counted(one['entities'], 'entity')}"
    versions = f"{output.counted(one['versions'], 'version')} by recorded reads"
    return ", ".join(text for text, count in ((instances, one["wrong"]), (versions, one["versions"])) if count)


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
    instances: Instances = None,
    note: Note = "",
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Mark checked instances as right, and what was wrong only because of them.

    Examples:

      headwater incident confirm 0190a000-0000-7000-8000-000000000000 weekly@2024-W10
    """
    entity, instances = read_instances(entity, instances)
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


def columns(one: Mapping[str, Any]) -> str:
    """Format the columns that may be wrong."""
    return "all" if one["columns"] is None else ", ".join(one["columns"])


def say_unjudged(counts: dict[str, int]) -> None:
    """Say what the list of open incidents did not look at."""
    words = {
        "wrong": "earlier incidents",
        "failed": "failing jobs",
        "late": "late datasets",
        "unjudged": "datasets that may be late",
    }
    if counts:
        listed = ", ".join(f"{count:,} {words[kind]}" for kind, count in counts.items())
        output.line(
            f"Not looked at, because there are too many: {listed}",
            "yellow",
        )


def left_out(number: int, limit: int, what: str) -> None:
    """Say how many lines `limit` left out."""
    if number > limit:
        output.line(f"{output.counted(number - limit, what)} more; --limit shows more", "dim")
