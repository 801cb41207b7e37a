"""`headwater whatif`: what a change would break before it is made."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headwater.cli import figures, output, server

_STYLES = {"breaks": "bold red", "changes values": "yellow", "cosmetic": "dim"}
_BREAKS = 3


def whatif(
    sql: Annotated[
        str | None, typer.Argument(help="Look at this SQL: ALTER, DROP, CREATE OR REPLACE, UPDATE, …")
    ] = None,
    drop: Annotated[str | None, typer.Option(metavar="T|T.C", help="Drop this table or column.")] = None,
    rename: Annotated[
        str | None, typer.Option(metavar="T.C:D", help="Rename this column, or a table with T:U.")
    ] = None,
    retype: Annotated[str | None, typer.Option(metavar="T.C:TYPE", help="Give this column another type.")] = None,
    dialect: Annotated[str, typer.Option(help="Read the SQL as this dialect.")] = "",
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 3 if anything breaks or could not be judged.")
    ] = False,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what a change would break, whose work it touches, and whom to warn.

    Nothing is changed.

    Examples:

      headwater whatif "alter table shop.orders drop column amount"

      headwater whatif --drop shop.orders.amount

      headwater whatif --rename shop.orders.amount:value --json

      headwater whatif --retype shop.orders.amount:bigint --check
    """
    import msgspec

    asked = {"sql": sql, "dialect": dialect, "drop": drop, "rename": rename, "retype": retype}
    body = server.send(url, "POST", "/api/v2/whatif", asked)
    found = msgspec.json.decode(body)
    if json:
        output.raw(body)
    else:
        _show(found)
    if check and (found["severity"] == "breaks" or found["unjudged"]):
        raise typer.Exit(_BREAKS)


def _show(found: dict[str, Any]) -> None:
    for one in found["changes"]:
        place = one["dataset"] if one["column"] is None else f"{one['dataset']}#{one['column']}"
        to = f" to {one['to']}" if one["to"] else ""
        output.line(f"{one['action'].replace('_', ' ')}: {output.printable(place)}{output.printable(to)}", "bold")
    for name in found["unknown"]:
        output.line(f"{output.printable(name)} is not known to the server; nothing is said of it", "yellow")
    for one in found["unjudged"]:
        output.line(f"not judged: {output.printable(one['text'])}: {one['reason']}", "yellow")
    if not found["changes"] and not found["jobs"]:
        output.line("the SQL changes no table that the server knows")
        return
    parts = (
        ("jobs", ("job", "effect", "why", "statement", "ran", "last (UTC)"), _job),
        ("dashboards", ("dashboard", "effect", "columns", "name", "last (UTC)"), _dashboard),
        ("columns", ("column downstream", "effect", "kind", "hops", "by way of"), _column),
        ("entities", ("entity", "effect", "stored in"), lambda one: (one["entity"], _word(one), one["dataset"])),
        ("people", ("person", "effect", "ran", "last (UTC)"), _person),
        ("pipelines", ("pipeline or service", "effect", "ran", "last (UTC)"), _person),
        ("warn", ("warn", "effect", "as", "because of"), _warned),
    )
    for name, headings, row in parts:
        if found[name]:
            output.line()
            output.table(headings, [row(one) for one in found[name]], styles={1: _STYLES})
    breaking = [one for one in found["jobs"] if one["severity"] == "breaks"]
    unsure = sum(not one["certain"] for one in found["jobs"])
    output.line()
    output.line(
        f"{output.counted(len(breaking), 'job')} would break, {output.counted(len(found['views']), 'view')} among what they make"
        if found["jobs"]
        else "nothing notices what was judged"
        if found["unjudged"]
        else "nothing notices, as far as the server knows",
        "bold",
    )
    if unsure:
        output.line(f"{output.counted(unsure, 'job')} could not be read whole, and may be fine", "dim")
    if found["hidden"]:
        output.line(f"{found['hidden']:,} datasets further down were not looked at", "yellow")


def _word(one: dict[str, Any]) -> str:
    return str(one["severity"]).replace("_", " ")


def _job(one: dict[str, Any]) -> tuple[object, ...]:
    why = one["reason"] if one["certain"] else f"perhaps: {one['reason']}"
    return (
        one["label"],
        _word(one),
        why,
        one["statement"],
        figures.count(one["executions"]),
        output.moment(one["last_at"]),
    )


def _dashboard(one: dict[str, Any]) -> tuple[object, ...]:
    return (
        one["id"].removeprefix("dataset:"),
        _word(one),
        ", ".join(one["columns"]),
        one["name"],
        output.moment(one["last_at"]),
    )


def _column(one: dict[str, Any]) -> tuple[object, ...]:
    place = one["dataset"] if one["column"] is None else f"{one['dataset']}#{one['column']}"
    kind = f"{one['kind']}, masked" if one["masked"] else one["kind"]
    return place.removeprefix("dataset:"), _word(one), kind, one["hops"], " → ".join(one["path"][1:-1])


def _person(one: dict[str, Any]) -> tuple[object, ...]:
    return one["actor"], _word(one), figures.count(one["executions"]), output.moment(one["last_at"])


def _warned(one: dict[str, Any]) -> tuple[object, ...]:
    more = f" and {one['more']:,} more" if one["more"] else ""
    return one["who"], _word(one), one["role"], f"{', '.join(one['because'])}{more}"
