"""`headwater trace ID|FILE|FINGERPRINT`: show the steps that made an item, and what was made from it, as `headwater lineage` does.

Its JSON keeps the shape of `/api/v2/correlation`.
"""

import enum
import os
import re
import uuid
from typing import Annotated, Any

import msgspec
import typer

from headwater.cli import output, server
from headwater.cli.lineage import history
from headwater.cli.lineage.lineage import Format as LineageFormat
from headwater.cli.lineage.lineage import show
from headwater.errors import InvalidQuestion, NotFound

_STEPS, _ALL = "50", 100_000
_FINGERPRINT = re.compile(r"xxh3-128(?:-[a-z0-9]+)?:[0-9a-fA-F]{32}")


class Format(enum.StrEnum):
    tree = "tree"
    json = "json"
    mermaid = "mermaid"


def trace(
    what: Annotated[
        str,
        typer.Argument(
            metavar="ID|FILE|FINGERPRINT",
            help="An item or run by its id, a local file or folder, a fingerprint, or a dataset's node id (its newest version).",
        ),
    ],
    up: Annotated[bool, typer.Option("--up", help="Show only what it was made from.")] = False,
    down: Annotated[bool, typer.Option("--down", help="Show only what was made from it.")] = False,
    depth: Annotated[
        str | None,
        typer.Option(metavar="N|all", help="Follow this many steps between item and run, or `all`. Default: 50."),
    ] = None,
    max_nodes: Annotated[
        int, typer.Option(min=1, max=100_000, help="Show at most this many nodes, the nearest first.")
    ] = 2000,
    details: Annotated[
        bool, typer.Option("--details", help="Show also ids, fingerprints and the details that each step reports.")
    ] = False,
    fan: Annotated[
        int, typer.Option(min=1, max=1000, help="Fold similar nodes when there are more than this many.")
    ] = 4,
    format: Annotated[Format, typer.Option(help="Print in this format.")] = Format.tree,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, as with --format json.")] = False,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
) -> None:
    """Trace an item or file: what made it, and what was made from it.

    Each step is shown with its process, version, time, duration and size.

    Examples:

      headwater trace readings_202101.csv.gz --down

      headwater trace 0199c0de-1111-7000-8000-000000000040 --up --details

      headwater trace readings_202101.csv.gz --format mermaid > flow.mmd
    """
    id_, file = _meant(what)
    old = json or format is Format.json
    words = ("both", "ancestors", "descendants") if old else ("both", "upstream", "downstream")
    question: dict[str, Any] = {
        "direction": words[0 if up == down else 1 if up else 2],
        "depth": depth if old else _versions(depth),
        "max_nodes": max_nodes,
    }
    try:
        if old:
            output.raw(server.ask(url, server.path("correlation", id_), **question))
        else:
            node = _newest_version(url, id_) if id_.startswith("dataset:") else id_
            show(url, node, format=LineageFormat(format), details=details, fan=fan, **question)
    except NotFound as error:
        if file is not None:
            raise NotFound(
                f"nothing is recorded about {file}: no event names its content ({id_}). If a step read or wrote it, "
                "run `headwater doctor` to see why its event is missing; to find the dataset by name, run `headwater lineage`",
                **error.detail | {"fingerprint": id_},
            ) from error
        if not (_FINGERPRINT.fullmatch(id_) or id_.startswith("dataset:") or _is_uuid(id_)):
            raise NotFound(f"{error.message}, and no file of this name is here", **error.detail) from error
        raise


def _versions(steps: str | None) -> int:
    """Return how many versions so many steps lead to, from run to item and from item to run."""
    text = (steps or _STEPS).strip().lower()
    if text == "all":
        return _ALL
    if not re.fullmatch(r"\d{1,6}", text, re.ASCII):
        raise InvalidQuestion(f"depth {text[:40]!r} is neither a number nor `all`", depth=text[:40])
    return min((int(text) + 1) // 2, _ALL)


def _newest_version(url: str | None, node: str) -> str:
    found = msgspec.json.decode(history.versions_of(url, node, 1))["versions"]
    if not found:
        raise NotFound(f"no version of {node!r} was written; see its sources with `headwater lineage`", node=node)
    return str(found[0]["id"])


def _meant(what: str) -> tuple[str, str | None]:
    """Return the id to ask for, and the file whose fingerprint it is. Text in the form of an id is an id; else a local path is a file."""
    if _FINGERPRINT.fullmatch(what) or what.startswith("dataset:") or _is_uuid(what):
        return what, None
    if "://" in what or os.path.exists(what):  # noqa: PTH110
        from headwater.client.fingerprint import fingerprint

        return fingerprint(what).text, what
    return what, None


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True
