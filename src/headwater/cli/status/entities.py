"""`headwater entities`: check, apply and show declarations. `check` and `diff` read files without a server, as CI of a pull request needs;
`apply` sends files to a server; `list`, `show` and `history` ask one.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from headwater.cli import declared_text, output, server
from headwater.cli.extras import need
from headwater.cli.moment import moment
from headwater.cli.people.metadata import author
from headwater.cli.status.instances import As, Entity, Limit, Url, short
from headwater.cli.status.instances import AsOf as KnownAsOf
from headwater.errors import InvalidEntities, InvalidManifest, InvalidQuestion, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headwater.entities.declaration.entity import EntityDeclaration
    from headwater.entities.declaration.whole import Declaration
    from headwater.entities.needs.edges import Edge

    First = Callable[[Edge], int | None]

entities = typer.Typer(
    help="Declare datasets with a schedule: their periods, states and needs.",
    rich_markup_mode=None,
    no_args_is_help=True,
)

Paths = Annotated[list[str], typer.Argument(metavar="PATH…", help="Files, or folders with .yaml and .yml files.")]
AsOf = Annotated[
    str | None, typer.Option(metavar="TIME", help="Count the instances whose period has ended by then. Default: now.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

# Files in folders of packages that declare no entity.
_OF_PACKAGES = frozenset({"dk.yaml", "bindings.yaml"})
# A declaration has its name at the beginning of a line, and other tools' YAML has names too: they have no period.
_DECLARES = re.compile(rb"(?m)^[\s{\[\"'-]*(entity|entities)[\"']?\s*:")
_NAMES, _CUTS = re.compile(rb"(?m)^[\s{-]*name\s*:"), re.compile(rb"(?m)(^|[\s{,])(period|granularity)\s*:")
_CHANGES = {"added": "green", "removed": "red", "renamed": "cyan", "changed": ""}


@entities.command("check")
def check(paths: Paths, as_of: AsOf = None, json: Json = False) -> None:
    """Check declarations; print every mistake with its file and line, and exit with 1.

    For each entity it prints how many instances are over and, for each dependency, the first instance with all that it needs. It warns of
    overlapping periods that do not nest, and of entities that can never be ready.

    Examples:

      headwater entities check entities/

      headwater entities check reads.yaml words.yaml

      headwater entities check entities/ --json | jq '.warnings[]'
    """
    need("server", "`headwater entities check`")
    from headwater.entities.declaration.whole import first_full

    now = moment(as_of) if as_of else dt.datetime.now(dt.UTC)
    found = _declaration(paths, json)
    full = functools.cache(first_full)  # equivalent links share an edge
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
    text = ", ".join(
        output.counted(len(some), what)
        for some, what in ((shown, "entity"), (needs, "dependency"), (found.warnings, "warning"))
    )
    output.line(f"\n{text}", "dim")


@entities.command("diff")
def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help="The file or folder before.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The file or folder after.")],
    json: Json = False,
) -> None:
    """Compare two declarations by meaning, ignoring order, spelling and comments.

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
    prune: Annotated[bool, typer.Option("--prune", help="Remove entities that none of the files declares.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change without writing it.")] = False,
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Apply declarations: all of them or, if any is wrong, none.

    It prints every mistake with its file and line, and exits with 1. Packages in the same folders, and in folders beside the files, are
    read too: an entity without `produced_by` is made by the package whose dk.yaml names it.

    Examples:

      headwater entities apply entities/ --dry-run

      headwater entities apply entities/ --prune
    """
    files = [{"name": str(path), "text": declared_text.read_text(path)} for path in _files(paths)]
    body = {"files": files, "packages": _packages(paths), "prune": prune, "dry_run": dry_run}
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
    tag: Annotated[str | None, typer.Option(help="List only entities with this tag, NAME or NAME=VALUE.")] = None,
    text: Annotated[str | None, typer.Option(help="List only names that contain this text.")] = None,
    as_of: KnownAsOf = None,
    limit: Limit = 100,
    offset: Annotated[int, typer.Option(min=0, help="Skip this many entities first.")] = 0,
    url: Url = None,
    json: Json = False,
) -> None:
    """List declared entities by name: period, newest instance, number of wrong instances.

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
    """Show one entity: its declaration, what it needs and what needs it.

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
        ("stored in", _homes(declared.get("stored_in", []), found["entity"]["homes"])),
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
                        "once the wait for another is over" if link["instead"] else "",
                    )
                    for link in links
                ],
            )


@entities.command("history")
def history(
    name: Entity,
    limit: Limit = 100,
    offset: Annotated[int, typer.Option(min=0, help="Skip this many versions first.")] = 0,
    url: Url = None,
    json: Json = False,
) -> None:
    """List an entity's declarations, the latest first: when, by whom, what changed.

    Examples:

      headwater entities history weekly_reads
    """
    where = server.path("entities", name, "history")
    if json:
        output.raw(server.ask(url, where, limit=limit, offset=offset))
        return
    # One more than shown, to compare the last one with.
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
        output.line("older ones are not shown; --limit and --offset show more", "dim")


def _homes(stated: list[dict[str, str]], homes: list[dict[str, str]]) -> str:
    """Return the datasets that hold it; a derived one with how that is known."""
    why = {"declared": "", "package": " (its package says so)", "lineage": " (its runs write it)"}
    known = [one["dataset"].removeprefix("dataset:") + why[one["basis"]] for one in homes]
    return ", ".join(known or [f"{held['namespace']} {held['name']}" for held in stated])


def _changed(changes: Iterable[dict[str, Any]]) -> None:
    """Yield a line for each change of a declaration."""
    none = True
    for each in changes:
        none = False
        match each["what"]:
            case "added" | "removed":
                text = each["entity"]
            case "renamed":
                text = f"{each['old']} → {each['new']}"
            case _:
                text = f"{each['entity']}  {each['path']}: {_short(each.get('old'))} → {_short(each.get('new'))}"
        output.line(f"{each['what']:<8} {output.escaped(text)}", _CHANGES.get(each["what"]))
    if none:
        output.line("no change", "dim")


def _declaration(paths: list[str], json: bool) -> Declaration:
    """Read the declaration in these files; if it is wrong, print every mistake and exit."""
    from headwater.entities.declaration.whole import gathered

    try:
        return gathered((str(path), declared_text.read_bytes(path)) for path in _files(paths))
    except InvalidEntities as wrong:
        raise _mistakes(wrong, json) from wrong


def _mistakes(wrong: InvalidEntities, json: bool) -> typer.Exit:
    """Print every mistake and exit."""
    if json:
        output.json_line({"entities": [], "warnings": [], "problems": wrong.detail["places"]})
    else:
        problems = wrong.detail["problems"]
        for problem in problems if isinstance(problems, list) else []:
            sys.stderr.write(f"{output.escaped(str(problem))}\n")
    return typer.Exit(1)


def _files(paths: list[str]) -> list[Path]:
    """Return each file once, in the given order; a folder's by name, without those that begin with a dot or declare nothing."""
    found: dict[Path, None] = {}
    for text in paths:
        path = Path(text)
        if not path.exists():
            raise NotFound(f"no such file or folder: {text!r}", path=text)
        if not path.is_dir():
            found[path] = None
            continue
        inside = [
            each
            for each in sorted(path.rglob("*"))
            if each.suffix in {".yaml", ".yml"}
            and each.name not in _OF_PACKAGES
            and each.is_file()
            and not any(part.startswith(".") for part in each.relative_to(path).parts)
        ]
        if not inside:
            raise InvalidQuestion(f"{text!r} has no .yaml or .yml files", path=text)
        some = [each for each in inside if _declares(each)] or inside
        for each in inside:
            if each not in some:
                sys.stderr.write(f"{each}: skipped, it declares no entity\n")
        found.update(dict.fromkeys(some))
    return list(found)


def _declares(file: Path) -> bool:
    """Return whether a file of a folder is meant: other tools have YAML there, too."""
    text = file.read_bytes()
    return bool(_DECLARES.search(text) or (_NAMES.search(text) and _CUTS.search(text)))


def _packages(paths: list[str]) -> list[dict[str, Any]]:
    """Return what the packages in these folders, and in folders beside these files, say that they make. One that cannot be read says nothing."""
    from headwater.runner.entities import package_entities

    folders = dict.fromkeys(Path(text) if Path(text).is_dir() else Path(text).parent for text in paths)
    files = dict.fromkeys(file.absolute() for folder in folders for file in sorted(folder.glob("*/dk.yaml")))
    found = []
    for file in files:
        try:
            made = package_entities(file)
        except InvalidManifest:
            continue  # it makes none, or `headwater run` and `doctor --packages` say what is wrong with it
        found.append(
            {
                "producer": f"package:{file.parent.name}",
                "file": str(file),
                "entities": list(made.entities),
                "max_periods": made.max_periods,
            }
        )
    return found


def _entity(found: Declaration, declared: EntityDeclaration, now: dt.datetime, full: First) -> dict[str, Any]:
    instances, kind = declared.entity.instances, type(declared.entity.kind).__name__.lower()
    return {
        "entity": declared.name,
        "kind": kind,
        "every": instances.calendar.every_text if instances else None,
        "instances": instances.over(now).count if instances else None,
        "needs": list(_needs(found, declared, full)),
    }


def _needs(found: Declaration, declared: EntityDeclaration, full: First) -> Iterator[dict[str, Any]]:
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
