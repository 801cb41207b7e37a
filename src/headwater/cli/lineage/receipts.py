"""`headwater events show`, `headwater events list`: show what events changed."""

from typing import Annotated

import msgspec
import typer

from headwater.cli import output, server

Url = Annotated[str | None, typer.Option(help=server.URL_HELP)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def receipt(
    digest: Annotated[str, typer.Argument(help="The receipt's id, or its first 8 digits or more.")],
    url: Url = None,
    json: Json = False,
) -> None:
    """Show what one event created, changed and could not place.

    How often it was sent again is not recorded.

    Examples:

      headwater events show 3f2a90bc
    """
    body = server.ask(url, server.path("receipts", digest))
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)
    output.line(f"{found['id']}  {found['kind']} event  {found['event_type'] or ''}", "bold")
    facts = (
        ("time", output.moment(found["event_time"])),
        ("received", f"{output.moment(found['received_at'])}, {output.duration(round(found['delay_seconds'] * 1000))} later"),
        ("producer", found["producer"] or "(not reported)"),
        ("run", found["run"]),
        ("size", output.size(found["size"])),
    )  # fmt: skip
    for key, value in facts:
        if value:
            output.line(f"  {key:<10}{output.printable(value)}")
    for odd in found["warnings"]:
        output.line(
            f"  {odd['code']} at {output.printable(odd['where'])}: {output.printable(odd['message'])}", "yellow"
        )
    output.line()
    output.table(
        ("speaks of", "as", "part", "first"),
        [
            (
                node["id"] + (f"  (reported as {node['told']})" if node["told"] else "") + ("" if node["known"] else "  (gone)"),
                ", ".join(node["roles"]),
                ", ".join(f"{key}={value}" for key, value in node["part"].items()),
                "first" if node["first"] else None,
            )
            for node in found["nodes"]
        ],
    )  # fmt: skip
    for made in found["versions"]:
        output.line(
            f"version {output.printable(made['external_version'] or made['id'])} of {output.printable(made['dataset'])}"
        )


def receipts(
    producer: Annotated[str | None, typer.Option(help="List only events from this producer.")] = None,
    code: Annotated[str | None, typer.Option(help="List only events with a warning of this code.")] = None,
    run: Annotated[str | None, typer.Option(help="List only events of this run.")] = None,
    since: Annotated[
        str | None, typer.Option(help="List events since this time (ISO 8601). Default: seven days ago.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show at most this many rows.")] = 50,
    url: Url = None,
    json: Json = False,
) -> None:
    """List received events, the latest first.

    Examples:

      headwater events list --code facet_not_understood
    """
    body = server.ask(
        url, "/api/v2/receipts", producer=producer, code=code, run=run, since=server.time(since), limit=limit
    )
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)
    output.table(
        ("receipt", "received (UTC)", "kind", "type", "run", "producer", "odd"),
        [
            (
                one["id"],
                output.moment(one["received_at"]),
                one["kind"],
                one["event_type"],
                one["run"],
                one["producer"],
                ", ".join(sorted({odd["code"] for odd in one["warnings"]})),
            )
            for one in found["receipts"]
        ],
        empty="No events found. Look further back with --since, or ask `headwater doctor` why none arrive.",
    )
    if found["more"]:
        output.line("there are more: raise --limit", "dim")
