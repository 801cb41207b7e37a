"""The log of an object for `headwater log`, and `headwater blame`: the change that made a column what it is."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import typer

from headwater.cli import meaning, output, server
from headwater.errors import InvalidQuestion, NotFound

_UNKNOWN = "seen in the schema, author unknown"
_POSSIBLE = "(perhaps)"
_LONGEST = 80


def show(changes: list[dict[str, Any]]) -> None:
    """Print a line for each change."""
    output.table(
        ("when (UTC)", "change", "what", "who", "by"),
        [(output.moment(one["at"]), _action(one), _what(one), _who(one), _by(one)) for one in changes],
    )


def _what(one: dict[str, Any]) -> str:
    place = one["object"].rpartition(".")[2] if one["column"] is None else one["column"]
    ends = (
        f"{one['before']} → {one['after']}"
        if one["before"] and one["after"]
        else one["after"] or one["before"] or place
    )
    names = {str(name).rpartition(".")[2] if one["column"] is None else name for name in (one["before"], one["after"])}
    text = ends if place in names else f"{place}: {ends}" if ends != place else place
    return f"{text} ({one['times']} times)" if one["times"] > 1 else text


def _action(one: dict[str, Any]) -> str:
    words: str = one["action"].replace("_", " ")
    return words if one["certain"] else f"{words}? {_POSSIBLE}"


def _who(one: dict[str, Any]) -> str:
    return one["by"] or ("unknown" if one["source"] == "statement" else "")


def _by(one: dict[str, Any]) -> str:
    if one["source"] == "schema":
        return _UNKNOWN
    text = " ".join((one["statement"] or "").split())
    short = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return f"{one['job']}: {short}" if one["job"] else short


def blame(
    what: Annotated[str, typer.Argument(metavar="T|T.C", help="A dataset, or one of its columns.")],
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show who made each column of a dataset what it is, when, and by which statement.

    Renamed tables and columns are followed. Statements come from query logs; a change that no log shows has no known author.

    Examples:

      headwater blame shop.orders.amount

      headwater blame shop.orders --json
    """
    node, column = _place(url, what)
    body = server.ask(url, "/api/v2/blame", node=node, column=column)
    if json:
        output.raw(body)
        return
    columns = msgspec.json.decode(body)["columns"]
    rows = []
    for one in columns:
        change = one["change"]
        told = _unchanged(one) if change is None else (
            output.moment(change["at"]), _action(change), _who(change), _by(change),
        )  # fmt: skip
        rows.append((one["column"], one["type"], *told))
    output.table(("column", "type", "when (UTC)", "change", "who", "by"), rows, empty="No column of it is known.")


def _unchanged(one: dict[str, Any]) -> tuple[str, str, str, str]:
    """A column without a change: it was there when a schema was first seen, or nothing shows it."""
    if one["seen_since"] is None:
        return "", "", "", "no log and no schema shows it"
    return output.moment(one["seen_since"]), "", "", "there as long as its schema is reported"


def _place(url: str | None, what: str) -> tuple[str, str | None]:
    """Return the dataset and the column that are meant. A table that only a query log names has no schema, and its columns are in its changes."""
    try:
        found = meaning.find_object(url, what)
    except NotFound:
        table, dot, column = what.rpartition(".")
        if not dot:
            raise
        found = meaning.find_object(url, table) | {"column": column}
    if found["type"] not in {"DATASET", "COLUMN"}:
        raise InvalidQuestion(f"{meaning.described(found)}; name a dataset or a column", given=what)
    return str(found.get("node") or found["id"]), found.get("column")
