"""`headwater alerts`: what was told, to whom, and what became of the messages."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headwater.cli import output, server
from headwater.cli.people.metadata import author

alerts = typer.Typer(help="List, acknowledge and mute alerts.", rich_markup_mode=None, no_args_is_help=True)
Id = Annotated[str, typer.Argument(metavar="ID", help="The alert's id, or the beginning of it.")]
Url = Annotated[str | None, typer.Option(help=server.URL_HELP)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
As = Annotated[str | None, typer.Option("--as", help="Name the author, on a server without sign-in.")]
_STYLES = {"open": "bold red", "over": "dim", "acknowledged": "yellow", "muted": "dim", "told": ""}


@alerts.command("list")
def list_alerts(
    open_only: Annotated[
        bool, typer.Option("--open", help="List only those that are neither acknowledged nor over.")
    ] = False,
    since: Annotated[
        str | None, typer.Option(help="List those decided from this time on, as in 2026-11-21, or 3d.")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, max=10_000, help="Show at most this many alerts.")] = 50,
    url: Url = None,
    json: Json = False,
) -> None:
    """List alerts, the latest first.

    Examples:

      headwater alerts list --open
    """
    import msgspec

    body = server.ask(url, "/api/v2/alerts", open=open_only, since=server.time(since), limit=limit)
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)
    output.table(
        ("alert", "state", "event", "object", "since (UTC)", "tells", "messages"),
        [
            (
                one["id"][:8],
                state_of(one),
                one["event"].replace("_", " "),
                one["label"],
                output.moment(one["since"]),
                output.counted(len(one["members"]), "object"),
                _counts(one["messages"]),
            )
            for one in found["alerts"]
        ],
        styles={1: _STYLES},
        empty="No alerts. Rules say what is told: `headwater rules show`.",
    )
    if found["failing"]:
        output.line(
            f"{output.counted(found['failing'], 'message')} could not be sent yet; see `headwater rules channels list`",
            "bold red",
        )


@alerts.command()
def show(id_: Id, url: Url = None, json: Json = False) -> None:
    """Show one alert: its cause, what it hits, and each message.

    Examples:

      headwater alerts show 1f0c2a7e
    """
    _print(server.ask(url, server.path("alerts", id_)), json)


@alerts.command()
def ack(
    id_: Id,
    note: Annotated[str, typer.Option(help="Say what you do about it.")] = "",
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Say that you look after an alert: it escalates no further.

    Examples:

      headwater alerts ack 1f0c2a7e --note "the disk is full; cleaning"
    """
    _print(server.send(url, "POST", server.path("alerts", id_, "acknowledge"), {"note": note}, **author(as_)), json)


@alerts.command()
def mute(
    id_: Id,
    until: Annotated[str | None, typer.Option(help="Send nothing about it until this time.")] = None,
    off: Annotated[bool, typer.Option("--off", help="Send again.")] = False,
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Send nothing about an alert until a time.

    Examples:

      headwater alerts mute 1f0c2a7e --until 2026-12-01
    """
    from headwater.errors import InvalidQuestion

    if off == (until is not None):
        raise InvalidQuestion("give --until TIME, or --off")
    wanted = {"until": server.time(until)}
    _print(server.send(url, "POST", server.path("alerts", id_, "mute"), wanted, **author(as_)), json)


def state_of(one: dict[str, Any]) -> str:
    """Return the state of an alert in a word."""
    if one["until"]:
        return "over"
    if one["acknowledged_at"]:
        return "acknowledged"
    return "muted" if one["muted_until"] else "open"


def _counts(messages: list[dict[str, Any]]) -> str:
    counts: dict[str, int] = {}
    for one in messages:
        counts[one["state"]] = counts.get(one["state"], 0) + 1
    return ", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "none"


def _print(body: bytes, json: bool) -> None:
    import msgspec

    if json:
        output.raw(body)
        return
    one = msgspec.json.decode(body)
    lines = {
        "alert": one["id"],
        "what": f"{one['label']}: {one['event'].replace('_', ' ')}",
        "because": one["text"],
        "object": one["subject"],
        "since": output.moment(one["since"]),
        "until": output.moment(one["until"]) or None,
        "state": state_of(one),
        "acknowledged": one["acknowledged_at"]
        and f"{output.moment(one['acknowledged_at'])} by {one['acknowledged_by']}: {one['note']}",
        "muted until": output.moment(one["muted_until"]) or None,
        "without an address": ", ".join(one["unaddressed"]) or None,
        "look": one["look"],
    }
    output.table(("", ""), [(key, value) for key, value in lines.items() if value is not None])
    output.line()
    output.table(
        ("tells", "object", "since (UTC)", "until (UTC)", "because", "by rules"),
        [
            (
                each["event"].replace("_", " "),
                each["label"],
                output.moment(each["since"]),
                output.moment(each["until"]),
                each["text"],
                ", ".join(each["rules"]),
            )
            for each in one["members"]
        ],
    )
    output.line()
    output.table(
        ("message to", "state", "due (UTC)", "sent (UTC)", "tries", "error"),
        [
            (
                f"{each['address']} (escalation {each['stage']})" if each["stage"] else each["address"],
                each["state"],
                output.moment(each["due_at"]),
                output.moment(each["sent_at"]),
                each["attempts"],
                each["last_error"],
            )
            for each in one["messages"]
        ],
        empty="No message: none of the people has an address.",
    )
