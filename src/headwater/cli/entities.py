"""`headwater entities`: datasets cut by time, as they are declared. `check` and `diff` read files and ask no server, so that a pull request can be
checked where it is made.
"""

from __future__ import annotations

import datetime as dt
import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli import output
from headwater.cli.extras import need
from headwater.cli.moment import moment
from headwater.errors import InvalidEntities, InvalidQuestion, NotFound, UnreadableContent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headwater.entities.declaration.declared import Declared
    from headwater.entities.declaration.whole import Declaration
    from headwater.entities.edges import Edge

    First = Callable[[Edge], int | None]

entities = typer.Typer(
    help="Datasets cut by time: what is declared of them.", rich_markup_mode=None, no_args_is_help=True
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
    told = ", ".join((_counted(shown, "entity"), _counted(needs, "dependency"), _counted(found.warnings, "warning")))
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
    for each in changes:
        match each.what:
            case "added" | "removed":
                told = each.entity
            case "renamed":
                told = f"{each.old} → {each.new}"
            case _:
                told = f"{each.entity}  {each.path}: {_short(each.old)} → {_short(each.new)}"
        output.line(f"{each.what:<8} {output.escaped(told)}", _CHANGES[each.what])
    if not changes:
        output.line("no change", "dim")


def _declaration(paths: list[str], json: bool) -> Declaration:
    """Of these files; where it is wrong all that is wrong is printed and the command is over."""
    from headwater.entities.declaration.whole import gathered

    try:
        return gathered((str(path), _read(path)) for path in _files(paths))
    except InvalidEntities as wrong:
        if json:
            output.json_line({"entities": [], "warnings": [], "problems": wrong.detail["places"]})
        else:
            problems = wrong.detail["problems"]
            for problem in problems if isinstance(problems, list) else []:
                sys.stderr.write(f"{output.escaped(str(problem))}\n")
        raise typer.Exit(1) from wrong


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
    from headwater.entities import keys

    for link in found.graph.upstream(declared.name):
        edge = link.edge
        first = full(edge) if edge is not None else None
        yield {
            "state": link.state,
            "entity": link.upstream,
            "dates": "the one before" if link.carried else link.dates.text,
            "first": keys.key(edge.downstream.calendar, first) if edge is not None and first is not None else None,
        }


def _counted(some: Any, what: str) -> str:
    number = len(some)
    several = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{number:,} {what if number == 1 else several}"


def _short(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return value
    import msgspec

    return msgspec.json.encode(value).decode()
