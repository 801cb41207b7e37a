"""`headwater views`: pages under a name, for everyone or for oneself."""

from typing import Annotated, Any
from urllib.parse import quote

import msgspec
import typer

from headwater.cli import output, server
from headwater.cli.people.metadata import author

Name = Annotated[str, typer.Argument(help="The view's name.")]
Shared = Annotated[bool, typer.Option("--shared", help="The view of everyone; default: your own.")]
As = Annotated[
    str | None, typer.Option("--as", help="Set the owner, on a server without sign-in. Default: your user name here.")
]
Url = Annotated[str | None, typer.Option(help=server.URL_HELP)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

views = typer.Typer(
    help="List, save and remove views: pages of Headwater under a name.", rich_markup_mode=None, no_args_is_help=True
)


@views.command("list")
def list_views(as_: As = None, url: Url = None, json: Json = False) -> None:
    """List saved views: everyone's and your own.

    Example: headwater views list
    """
    body = server.ask(url, "/api/v2/views", **author(as_))
    if json:
        output.raw(body)
        return
    output.table(
        ("view", "for", "by", "saved (UTC)", "address"),
        [_row(one) for one in msgspec.json.decode(body)["views"]],
        empty="No view is saved. Save one with `headwater views save NAME ADDRESS`, or with the star on its page.",
    )


@views.command("save")
def save_view(
    name: Name,
    address: Annotated[str, typer.Argument(help="The page's path and query, as in catalogue/datasets?tag=pii.")],
    shared: Shared = False,
    as_: As = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Save a page under a name, in place of the view that has it.

    Examples:

      headwater views save 'personal data' 'catalogue/datasets?tag=pii' --shared

      headwater views save orders 'lineage/dataset:postgres:!3A~~shop:5432:orders?depth=2'
    """
    body = server.send(url, "PUT", _path(name), {"address": address, "shared": shared}, **author(as_))
    _print(body, "Saved", json)


@views.command("remove")
def remove_view(name: Name, shared: Shared = False, as_: As = None, url: Url = None, json: Json = False) -> None:
    """Remove a view.

    Example: headwater views remove orders
    """
    _print(server.send(url, "DELETE", _path(name), shared=shared or None, **author(as_)), "Removed", json)


def _path(name: str) -> str:
    return f"/api/v2/views/{quote(name, safe='')}"


def _print(body: bytes, did: str, json: bool) -> None:
    if json:
        output.raw(body)
        return
    one = msgspec.json.decode(body)
    whose = "everyone's" if one["shared"] else "your"
    output.line(output.escaped(f"{did} {whose} view {one['name']!r}: {one['address']}"))


def _row(one: dict[str, Any]) -> tuple[Any, ...]:
    return one["name"], "everyone" if one["shared"] else "you", one["author"], output.moment(one["at"]), one["address"]
