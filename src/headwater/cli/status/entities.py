"""`headwater entities`: datasets cut by time, as they are declared. `check` and `diff` read files and ask no server, so that a pull request can be
checked where it is made; `apply` sends files to one, and `list`, `show` and `history` ask it.
"""

from __future__ import annotations

import datetime as dt
import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from headwater.cli import output, server
from headwater.cli.extras import need
from headwater.cli.moment import moment
from headwater.cli.people.metadata import author
from headwater.cli.status.instances import As, Entity, Limit, Url, short
from headwater.cli.status.instances import AsOf as KnownAsOf
from headwater.errors import InvalidEntities, InvalidQuestion, NotFound, UnreadableContent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headwater.entities.declaration.declared import Declared
    from headwater.entities.declaration.whole import Declaration
    from headwater.entities.needs.edges import Edge

    First = Callable[[Edge], int | None]

entities = typer.Typer(
    help="Declare datasets with a schedule: their periods, states and needs.",
    rich_markup_mode=None,
    no_args_is_help=True,
)

Paths = Annotated[list[str], typer.Argument(metavar="PATH…", help="Files, or folders with .yaml and .yml files.")]
AsOf = Annotated[str | None, typer.Option(metavar="TIME", help="Count the instances that are over then; else now.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_CHANGES = {"added": "green", "removed": "red", "renamed": "cyan", "changed": ""}


@entities.command("check")
def check(paths: Paths, as_of: AsOf = None, json: Json = False) -> None:
    """Whether declarations fit together; every mistake with its file and line, and exit code 1.

    Shown are each entity, how many of its instances are over, of each dependency the first instance that has all it needs, and what is odd:
    periods that overlap without one fitting into the other, entities that can never be ready.

    Examples:

      headwater entities check entities/

      headwater entities check reads.yaml words.yaml

      headwater entities check entities/ --json | jq '.warnings[]'
    """
    need("server", "`headwater entities check`")
    from headwater.entities.declaration.whole import first_full

    now = moment(as_of) if as_of else dt.datetime.now(dt.UTC)
    found = _declaration(paths, json)
    full = functools.cache(first_full)  # links that mean the same have one edge
    shown = [_entity(found, each, now, full) for each in found.by_name.values()]
    if json:
        output.json_line({"entities": shown, "warnings": [each._asdict() for each in found.warnings], "problems": []})
        return
    output.table(
        ("entity", "kind", "every", "instances over"),
        [(each["entity"], each["kind"], each["every"], each["instances"]) for each in shown],
    )
    needs = [(each["entity"], one) for each in shown for one in each["needs"]]
    if needs:
        output.line()
        output.table(
            ("entity", "state", "needs", "dates", "first full instance"),
            [(name, one["state"], one["entity"], one["dates"], one["first"] or "") for name, one in needs],
        )
    if found.warnings:
        output.line()
    for warning in found.warnings:
        output.line(f"warning: {output.escaped(str(warning))}", "yellow")
    told = ", ".join(
        output.counted(len(some), what)
        for some, what in ((shown, "entity"), (needs, "dependency"), (found.warnings, "warning"))
    )
    output.line(f"\n{told}", "dim")


@entities.command("diff")
def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A file or folder.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="A file or folder.")],
    json: Json = False,
) -> None:
    """What changed between two declarations, by what they mean: order, spelling and comments are no change.

    Examples:

      headwater entities diff ../main/entities entities

      headwater entities diff <(git show main:entities.yaml) entities.yaml
    """
    need("server", "`headwater entities diff`")
    from headwater.entities.declaration.difference import difference

    before, after = (_declaration([path], json).by_name.values() for path in (old, new))
    changes = difference(before, after)
    if json:
        output.json_line({"changes": [each._asdict() for each in changes]})
        return
    _changed(each._asdict() for each in changes)


@entities.command("apply")
def apply(
    paths: Paths,
    prune: Annotated[bool, typer.Option("--prune", help="What is in none of the files is declared no longer.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Make declarations what holds from now on: all of them or, where any is wrong, none; every mistake with its file and line, and exit code 1.

    Examples:

      headwater entities apply entities/ --dry-run

      headwater entities apply entities/ --prune
    """
    files = [{"name": str(path), "text": _text(path)} for path in _files(paths)]
    body = {"files": files, "prune": prune, "dry_run": dry_run}
    try:
        answer = server.send(url, "POST", "/api/v2/entities", body, **author(as_))
    except InvalidEntities as wrong:
        raise _mistakes(wrong, json) from wrong
    if json:
        output.raw(answer)
        return
    found = msgspec.json.decode(answer)
    _changed(found["changes"])
    for warning in found["warnings"]:
        output.line(f"warning: {output.escaped(warning)}", "yellow")
    written = "nothing was written" if found["number"] is None else f"declaration {found['number']}"
    output.line(
        f"\n{output.counted(found['entities'], 'entity')}, {output.counted(len(found['changes']), 'change')}; {written}",
        "dim",
    )


@entities.command("list")
def list_(
    tag: Annotated[str | None, typer.Option(help="A tag's name, or NAME=VALUE.")] = None,
    text: Annotated[str | None, typer.Option(help="What the name has in it.")] = None,
    as_of: KnownAsOf = None,
    limit: Limit = 100,
    offset: Annotated[int, typer.Option(min=0, help="Pass over so many.")] = 0,
    url: Url = None,
    json: Json = False,
) -> None:
    """Entities that are declared, by name: how each is cut, its newest instance, how many of its instances are wrong.

    Examples:

      headwater entities list --tag team=data-eng

      headwater entities list --text reads --json
    """
    body = server.ask(url, "/api/v2/entities", tag=tag, text=text, as_of=server.time(as_of), limit=limit, offset=offset)
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)
    output.table(
        ("entity", "kind", "period", "latest", "wrong", "needs", "tags"),
        [
            (
                one["entity"],
                one["kind"],
                one["period"],
                one["latest"],
                f"{one['wrong']:,}" if one["wrong"] else None,
                short(one["upstream"]),
                _tags(one["tags"]),
            )
            for one in found["entities"]
        ],
        empty="No entities found. Declare some with `headwater entities apply FOLDER`.",
    )
    shown = len(found["entities"])
    if found["total"] > shown:
        output.line(f"{shown:,} of {found['total']:,}; --limit and --offset show more", "dim")


@entities.command("show")
def show(name: Entity, as_of: KnownAsOf = None, url: Url = None, json: Json = False) -> None:
    """One entity: what is declared of it, what it needs and who needs it.

    Examples:

      headwater entities show weekly_reads

      headwater entities show weekly_reads --json | jq .declared
    """
    body = server.ask(url, server.path("entities", name), as_of=server.time(as_of))
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)
    one, declared = found["entity"], found["declared"]
    output.line(output.printable(one["entity"]), "bold")
    for word, value in (
        ("about", declared.get("description")),
        ("kind", one["kind"]),
        ("period", one["period"]),
        ("states", ", ".join(one["states"])),
        ("owners", ", ".join(one["owners"])),
        ("tags", _tags(one["tags"])),
        ("made by", ", ".join(producer["job"] for producer in declared.get("produced_by", []))),
        ("stored in", ", ".join(f"{held['namespace']} {held['name']}" for held in declared.get("stored_in", []))),
        ("latest", one["latest"]),
        ("wrong", output.counted(one["wrong"], "instance") if one["wrong"] else None),
    ):
        if value:
            output.line(f"  {word:<10}{output.printable(str(value))}")
    for title, side, links in (("needs", "upstream", found["needs"]), ("needed by", "downstream", found["needed_by"])):
        if links:
            output.line()
            output.table(
                (title, "for its state" if side == "upstream" else "its state", "dates", "in the states", ""),
                [
                    (
                        link[side],
                        link["state"],
                        link["dates"],
                        ", ".join(link["states"]),
                        "once waiting for another is over" if link["instead"] else "",
                    )
                    for link in links
                ],
            )


@entities.command("history")
def history(
    name: Entity,
    limit: Limit = 100,
    offset: Annotated[int, typer.Option(min=0, help="Pass over so many.")] = 0,
    url: Url = None,
    json: Json = False,
) -> None:
    """What was declared of an entity, from when to when and by whom, the latest first; and what changed each time.

    Examples:

      headwater entities history weekly_reads
    """
    where = server.path("entities", name, "history")
    if json:
        output.raw(server.ask(url, where, limit=limit, offset=offset))
        return
    # One more: what changed with the last that is shown.
    found = server.get(url, where, limit=min(limit + 1, 10_000), offset=offset)["declared"]
    need("server", "`headwater entities history`")
    from headwater.entities.declaration.canonical import from_document
    from headwater.entities.declaration.difference import difference

    read = [from_document(one["declared"]) for one in found]
    for place, one in enumerate(found[:limit]):
        until = f" until {output.moment(one['until'])}" if one["until"] else ""
        output.line(output.printable(f"{output.moment(one['since'])}{until} UTC by {one['author']}"), "bold")
        _changed(each._asdict() for each in difference(read[place + 1 : place + 2], [read[place]]))
    if len(found) > limit:
        output.line("older ones are left out; --limit and --offset show more", "dim")


def _changed(changes: Iterable[dict[str, Any]]) -> None:
    """A line for each change of a declaration."""
    none = True
    for each in changes:
        none = False
        match each["what"]:
            case "added" | "removed":
                told = each["entity"]
            case "renamed":
                told = f"{each['old']} → {each['new']}"
            case _:
                told = f"{each['entity']}  {each['path']}: {_short(each.get('old'))} → {_short(each.get('new'))}"
        output.line(f"{each['what']:<8} {output.escaped(told)}", _CHANGES.get(each["what"]))
    if none:
        output.line("no change", "dim")


def _declaration(paths: list[str], json: bool) -> Declaration:
    """Of these files; where it is wrong all that is wrong is printed and the command is over."""
    from headwater.entities.declaration.whole import gathered

    try:
        return gathered((str(path), _read(path)) for path in _files(paths))
    except InvalidEntities as wrong:
        raise _mistakes(wrong, json) from wrong


def _mistakes(wrong: InvalidEntities, json: bool) -> typer.Exit:
    """All that is wrong is printed; the command is over."""
    if json:
        output.json_line({"entities": [], "warnings": [], "problems": wrong.detail["places"]})
    else:
        problems = wrong.detail["problems"]
        for problem in problems if isinstance(problems, list) else []:
            sys.stderr.write(f"{output.escaped(str(problem))}\n")
    return typer.Exit(1)


def _files(paths: list[str]) -> list[Path]:
    """Each once, in the order given, those of a folder by name. What begins with a dot is left out of folders."""
    found: dict[Path, None] = {}
    for text in paths:
        path = Path(text)
        if not path.exists():
            raise NotFound(f"there is no file or folder {text!r}", path=text)
        if not path.is_dir():
            found[path] = None
            continue
        inside = [
            each
            for each in sorted(path.rglob("*"))
            if each.suffix in {".yaml", ".yml"}
            and each.is_file()
            and not any(part.startswith(".") for part in each.relative_to(path).parts)
        ]
        if not inside:
            raise InvalidQuestion(f"{text!r} has no .yaml or .yml files", path=text)
        found.update(dict.fromkeys(inside))
    return list(found)


def _read(path: Path) -> bytes:
    from headwater.entities.declaration.document import LARGEST

    try:
        with path.open("rb") as file:
            return file.read(LARGEST + 1)  # one too many is refused with the file's name
    except OSError as wrong:
        raise UnreadableContent(f"{path} cannot be read: {wrong.strerror}", path=str(path)) from wrong


def _text(path: Path) -> str:
    try:
        return _read(path).decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        raise UnreadableContent(f"{path} is not UTF-8: byte {wrong.start + 1}", path=str(path)) from wrong


def _entity(found: Declaration, declared: Declared, now: dt.datetime, full: First) -> dict[str, Any]:
    instances, kind = declared.entity.instances, type(declared.entity.kind).__name__.lower()
    return {
        "entity": declared.name,
        "kind": kind,
        "every": instances.calendar.every_text if instances else None,
        "instances": instances.over(now).count if instances else None,
        "needs": list(_needs(found, declared, full)),
    }


def _needs(found: Declaration, declared: Declared, full: First) -> Iterator[dict[str, Any]]:
    from headwater.entities.time import keys

    for link in found.graph.upstream(declared.name):
        edge = link.edge
        first = full(edge) if edge is not None else None
        yield {
            "state": link.state,
            "entity": link.upstream,
            "dates": "the one before" if link.carried else str(link.dates),
            "first": keys.key(edge.downstream.calendar, first) if edge is not None and first is not None else None,
        }


def _tags(tags: dict[str, list[str]]) -> str:
    return ", ".join(f"{name}={'|'.join(values)}" if values else name for name, values in tags.items())


def _short(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()
