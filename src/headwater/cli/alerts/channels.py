"""`headwater rules channels`: the places beside mail that messages go to. Their addresses are keys, and are never shown."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.cli import output, server

channels = typer.Typer(
    help="Add, list, test and remove channels of alerts.", rich_markup_mode=None, no_args_is_help=True
)
Name = Annotated[str, typer.Argument(help="The channel's name; rules say `channel:NAME`.")]
Url = Annotated[str | None, typer.Option(help=server.URL_HELP)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_STYLES = {"works": "green", "new": "dim"}
_PATH = "/api/v2/admin/alert-channels"


@channels.command("list")
def list_channels(url: Url = None, json: Json = False) -> None:
    """List the channels, and whether they take their messages.

    Examples:

      headwater rules channels list
    """
    import msgspec

    body = server.ask(url, _PATH)
    if json:
        output.raw(body)
        return
    output.table(
        ("channel", "kind", "state", "delivered", "last (UTC)", "last error"),
        [
            (
                one["name"],
                one["kind"],
                f"failing since {output.moment(one['failing_since'])}"
                if one["failing_since"]
                else "works"
                if one["delivered"]
                else "new",
                one["delivered"],
                output.moment(one["last_delivery_at"]),
                one["last_error"],
            )
            for one in msgspec.json.decode(body)["channels"]
        ],
        styles={2: _STYLES},
        empty="There is no channel. Add one with `headwater rules channels add NAME KIND`.",
    )


@channels.command()
def add(
    name: Name,
    kind: Annotated[str, typer.Argument(help="One of slack, teams, pagerduty or webhook.")],
    address: Annotated[
        str | None,
        typer.Option(
            envvar="HEADWATER_CHANNEL_URL",
            show_envvar=True,
            help="The webhook's address. Prefer the variable: it is a key.",
        ),
    ] = None,
    secret: Annotated[
        str | None,
        typer.Option(
            envvar="HEADWATER_CHANNEL_SECRET",
            show_envvar=True,
            help="PagerDuty's routing key, or what signs a webhook (whsec_…; default: a new one).",
        ),
    ] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Add a channel.

    Examples:

      HEADWATER_CHANNEL_URL=https://hooks.slack.com/services/… headwater rules channels add data-alerts slack
    """
    import msgspec

    body = server.send(url, "POST", _PATH, {"name": name, "kind": kind, "url": address, "secret": secret})
    if json:
        output.raw(body)
        return
    told = msgspec.json.decode(body)
    if told["secret"]:
        output.line(told["secret"])
        output.line("Its messages are signed with this secret, which is not shown again.", "dim")
    output.line(
        f"{output.printable(name)} is added; test it with `headwater rules channels test {output.printable(name)}`"
    )


@channels.command("test")
def ping(name: Name, url: Url = None, json: Json = False) -> None:
    """Send a test message to a channel. Exit code 1 if it is not taken.

    Examples:

      headwater rules channels test data-alerts
    """
    import msgspec

    body = server.send(url, "POST", f"{_PATH}/{server.path(name).rpartition('/')[2]}/test")
    told = msgspec.json.decode(body)
    if json:
        output.raw(body)
    else:
        output.line("taken" if told["ok"] else output.printable(told["error"]), "green" if told["ok"] else "bold red")
    if not told["ok"]:
        raise typer.Exit(1)


@channels.command()
def remove(name: Name, url: Url = None, json: Json = False) -> None:
    """Remove a channel. Its messages wait for a channel of this name.

    Examples:

      headwater rules channels remove data-alerts
    """
    body = server.send(url, "DELETE", f"{_PATH}/{server.path(name).rpartition('/')[2]}")
    if json:
        output.raw(body)
    else:
        output.line(f"{output.printable(name)} is removed")
