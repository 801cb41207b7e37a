"""`headwater privacy where` and `headwater privacy check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.cli import declared_text, figures, output, server
from headwater.cli.people.metadata import author
from headwater.cli.privacy.deletion import delete, verify
from headwater.cli.privacy.scanning import scan

app = typer.Typer(no_args_is_help=True, help="Find where private values are, and check policies about them.")
app.command()(delete)
app.command()(verify)
app.command()(scan)
_BROKEN = 3
_OF_TAGS = ("never_in", "only_in")
_STYLES = {"plain": "bold red", "aggregated": "yellow", "masked": "green"}


@app.command()
def where(
    tag: Annotated[str, typer.Option(metavar="KEY[:VALUE]", help="The tag, of datasets or columns.")],
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List every column that carries a tag, by which way, how hidden, and who reads it.

    Examples:

      headwater privacy where --tag pii

      headwater privacy where --tag class:personal --json
    """
    import msgspec

    body = server.ask(url, "/api/v2/privacy/where", tag=tag)
    if json:
        output.raw(body)
    else:
        _show_places(msgspec.json.decode(body))


@app.command()
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="YAML files of policies.")],
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="TIME", help="Check the lineage of this time.")
    ] = None,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check observed lineage against policies. Exits with 3 if one is broken.

    Examples:

      headwater privacy check policies.yaml

      headwater privacy check policies/*.yaml --as-of 2026-03-01 --json
    """
    import msgspec

    texts = [{"name": str(file), "text": declared_text.read_text(file)} for file in files]
    body = server.send(url, "POST", "/api/v2/privacy/check", {"files": texts, "as_of": server.time(as_of)})
    found = msgspec.json.decode(body)
    if json:
        output.raw(body)
    else:
        _show_check(found)
    if found["violations"]:
        raise typer.Exit(_BROKEN)


@app.command()
def apply(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="YAML files of policies.")],
    as_: Annotated[str | None, typer.Option("--as", help="Name the author, on a server without sign-in.")] = None,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Replace the policies on the server by those of these files. It checks them as events arrive; a violation is an incident.

    Examples:

      headwater privacy apply policies.yaml
    """
    import msgspec

    texts = [{"name": str(file), "text": declared_text.read_text(file)} for file in files]
    body = server.send(url, "PUT", "/api/v2/privacy/policies", {"files": texts}, **author(as_))
    if json:
        output.raw(body)
        return
    told = msgspec.json.decode(body)
    words = "holds" if told["changed"] else "holds already"
    output.line(f"{output.counted(told['policies'], 'policy')}; version {told['version']} {words}")


@app.command()
def policies(
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what breaks the applied policies now, and their versions.

    Examples:

      headwater privacy policies
    """
    import msgspec

    body = server.ask(url, "/api/v2/privacy/policies")
    if json:
        output.raw(body)
        return
    told = msgspec.json.decode(body)
    output.table(
        ("policy", "dataset", "since (UTC)", "evidence"),
        [
            (
                one["policy"],
                one["dataset"].removeprefix("dataset:") + (f"#{one['column']}" if one["column"] else ""),
                output.moment(one["since"]),
                " → ".join(_short(each) for each in one["path"]),
            )
            for one in told["violations"]
        ],
        empty="Nothing breaks the applied policies."
        if told["version"]
        else "No policies are applied: `headwater privacy apply FILE`.",
    )
    if told["problems"]:
        output.line("the server does not check what these say, until they are mended and applied again:", "bold red")
    for problem in told["problems"]:
        output.line(output.printable(problem), "bold red")
    for one in told["versions"]:
        output.line(
            f"version {one['version']}: {output.moment(one['applied_at'])} by {output.printable(one['applied_by'])}",
            "dim",
        )


def _show_places(found: dict[str, Any]) -> None:
    if not found["columns"]:
        output.line(f"nothing carries the tag {output.printable(found['tag'])}, as far as the server knows")
        return
    output.table(
        ("column", "value", "now", "hops", "by way of"), [_column(one) for one in found["columns"]], styles={1: _STYLES, 2: _STYLES}
    )  # fmt: skip
    parts = (
        ("datasets", ("dataset", "columns", "owners", "teams"), _holder),
        ("dashboards", ("dashboard", "name", "columns"), _dashboard),
        ("readers", ("reader", "kind", "ran", "last (UTC)"), _reader),
        ("jobs", ("job that reads it", "columns", "ran", "last (UTC)"), _job),
    )
    for name, headings, row in parts:
        if found[name]:
            output.line()
            output.table(headings, [row(one) for one in found[name]])
    plain = sum(one["handling"] != "masked" for one in found["columns"])
    output.line()
    output.line(
        f"{output.counted(len(found['columns']), 'column')} of {output.counted(len(found['datasets']), 'dataset')}, {plain:,} not masked",
        "bold",
    )
    if unsure := sum(not one["certain"] for one in found["columns"]):
        output.line(f"{unsure:,} by a job that does not report its columns, and may be free of it", "dim")
    if past := sum(one["now"] is None for one in found["columns"]):
        output.line(f"{past:,} only by what jobs once wrote; the values may be there still", "dim")
    if found["hidden"]:
        output.line(f"{found['hidden']:,} datasets further down were not looked at", "yellow")


def _column(one: dict[str, Any]) -> tuple[object, ...]:
    value = one["handling"] if one["certain"] else f"perhaps {one['handling']}"
    way = "tagged" if one["tagged"] else " → ".join(_short(each) for each in one["path"][:-1])
    return _place(one), value, one["now"] or "not any more", one["hops"], way


def _place(one: dict[str, Any]) -> str:
    return f"{one['dataset'].removeprefix('dataset:')}#{one['column'] or '(any column)'}"


def _short(node: str) -> str:
    """Return a node's name without its kind and namespace."""
    return node.rpartition(":")[2]


def _holder(one: dict[str, Any]) -> tuple[object, ...]:
    return one["dataset"].removeprefix("dataset:"), one["columns"], ", ".join(one["owners"]), ", ".join(one["teams"])


def _dashboard(one: dict[str, Any]) -> tuple[object, ...]:
    return one["id"].removeprefix("dataset:"), one["name"], ", ".join(one["columns"])


def _reader(one: dict[str, Any]) -> tuple[object, ...]:
    return one["actor"], one["kind"], figures.count(one["executions"]), output.moment(one["last_at"])


def _job(one: dict[str, Any]) -> tuple[object, ...]:
    columns = ", ".join(one["columns"]) if one["certain"] else f"perhaps {', '.join(one['columns'])}"
    return _short(one["id"]), columns, figures.count(one["executions"]), output.moment(one["last_at"])


def _show_check(found: dict[str, Any]) -> None:
    for policy in found["policies"]:
        where = output.printable(f"{policy['name']} ({policy['file']}:{policy['line']})")
        if not policy["looked_at"]:
            output.line(f"{where}: checked nothing: nothing carries its tag, or no dataset has such a name", "yellow")
            continue
        number = len(policy["violations"])
        allowed = f", {policy['excepted']:,} allowed by exceptions" if policy["excepted"] else ""
        of = f"of {output.counted(policy['looked_at'], 'column' if policy['rule'] in _OF_TAGS else 'dataset')}"
        words = output.counted(number, "violation") if number else "kept"
        output.line(f"{where}: {words}, {of} looked at{allowed}", "bold red" if number else "green")
        if policy["hidden"]:
            output.line(f"{policy['hidden']:,} datasets further down were not looked at", "yellow")
        if number:
            output.table(("dataset", "value", "evidence", "note"), [_violation(one) for one in policy["violations"]])


def _violation(one: dict[str, Any]) -> tuple[object, ...]:
    column = f"#{one['column']}" if one["column"] else ""
    notes = [] if one["certain"] else ["perhaps: a job does not report its columns"]
    if one["expired"]:
        notes.append(f"its exception has ended: {one['expired']}")
    return (
        f"{one['dataset'].removeprefix('dataset:')}{column}",
        one["handling"],
        " → ".join(_short(each) for each in one["path"][:-1]),
        "; ".join(notes),
    )
