"""`headwater subscribe`: hear of one object, or of all that a selector names."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.cli import output, server
from headwater.cli.people.metadata import author

_PATH = "/api/v2/subscriptions"


def subscribe(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A dataset or job, or a selector: tag:pii, team:web, orders+, view:NAME. Default: list your own."
        ),
    ] = None,
    when: Annotated[
        list[str] | None,
        typer.Option(
            help="Hear of this event: failed, late, schema changed, … Repeatable. Default: what needs a person."
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(help="Send to this mail address or channel:NAME. Default: your own name, if it is one."),
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Remove the subscription.")] = False,
    as_: Annotated[str | None, typer.Option("--as", help="Name the person, on a server without sign-in.")] = None,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Subscribe to an object or a selector, or list subscriptions.

    Examples:

      headwater subscribe mart.orders

      headwater subscribe tag:pii --when 'schema changed' --to channel:privacy

      headwater subscribe 'view:my tables'

      headwater subscribe mart.orders --off
    """
    import msgspec

    if name is None:
        body = server.ask(url, _PATH, **author(as_))
        if json:
            output.raw(body)
            return
        output.table(
            ("subscribed to", "events", "to", "since (UTC)", "tells nothing because"),
            [
                (
                    one["selector"],
                    ", ".join(one["events"]),
                    one["address"],
                    output.moment(one["since"]),
                    one["problem"] or "",
                )
                for one in msgspec.json.decode(body)["subscriptions"]
            ],
            empty="You have no subscription. Subscribe: `headwater subscribe NAME`",
        )
        return
    selector = _selector(url, name)
    if off:
        body = server.send(url, "DELETE", _PATH, selector=selector, **author(as_))
    else:
        body = server.send(url, "PUT", _PATH, {"selector": selector, "events": when or [], "to": to}, **author(as_))
    if json:
        output.raw(body)
        return
    told = msgspec.json.decode(body)
    if off:
        output.line(f"{output.printable(told['selector'])}: you hear of it no more")
    else:
        output.line(
            f"{output.printable(told['selector'])}: {', '.join(told['events'])} go to {output.printable(told['address'])}"
        )


def _selector(url: str | None, name: str) -> str:
    """Return a selector as it is, and the node id of a name."""
    kind, colon, _ = name.partition(":")
    if (
        (colon and kind in {"tag", "owner", "team", "product", "namespace", "dataset", "job", "view"})
        or "*" in name
        or name[:1] == "+"
        or name[-1:] == "+"
    ):
        return name
    return str(server.resolve(url, name)["id"])
