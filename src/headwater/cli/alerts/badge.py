"""`headwater badge`: the state of a dataset in a word, and the picture of it for other pages."""

from typing import Annotated

import msgspec
import typer

from headwater.cli import output, server

_STYLES = {
    "fresh": "green",
    "no rhythm": "dim",
    "dropped": "dim",
    "unknown": "dim",
    "late": "yellow",
    "doubted": "yellow",
}


def badge(
    name: Annotated[str, typer.Argument(help="The dataset, by its name or an ending of it.")],
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what the badge of a dataset says, and how to show it.

    Exit code 1 unless the dataset is fresh or has no rhythm.

    Examples:

      headwater badge mart.orders
    """
    body = server.ask(url, "/api/v2/badge", name=name)
    told = msgspec.json.decode(body)
    if json:
        output.raw(body)
    else:
        output.line(f"{output.printable(told['label'])}: {told['state']}", _STYLES.get(told["state"], "bold red"))
        output.line(f"![{output.printable(told['label'])}]({server.address(url).rstrip('/')}{told['path']})")
        if not told["shown"]:
            output.line("The server shows no badges: set HEADWATER_EMBED__BADGES=true on it.", "dim")
    if told["state"] not in {"fresh", "no rhythm"}:
        raise typer.Exit(1)
