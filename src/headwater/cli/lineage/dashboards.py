"""`headwater dashboards`: list dashboards, charts and questions of BI tools."""

from typing import Annotated

import msgspec
import typer

from headwater.cli import output, server
from headwater.model.names import short


def dashboards(
    words: Annotated[str | None, typer.Argument(help="Show only those whose title or name has these words.")] = None,
    tool: Annotated[str | None, typer.Option(help="Show only those of this tool, by its namespace.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show at most this many rows.")] = 50,
    offset: Annotated[int, typer.Option(min=0, help="Skip this many rows first.")] = 0,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List dashboards of BI tools, with what each shows and whom to ask.

    Examples:

      headwater dashboards

      headwater dashboards funnel --tool metabase
    """
    body = server.ask(url, "/api/v2/dashboards", q=words, tool=tool, limit=limit, offset=offset)
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)
    output.table(
        ("dashboard", "kind", "tool", "shows", "owners", "teams", "last event (UTC)", "id"),
        [
            (
                one["title"],
                one["kind"].lower(),
                one["tool"],
                _list_names(one["reads"]),
                ", ".join(one["owners"]),
                ", ".join(one["teams"]),
                output.moment(one["last_seen"]),
                one["id"],
            )
            for one in found["dashboards"]
        ],
        empty="No dashboards found. `headwater sync` reads the logs of BI tools: docs/howto/query-log.md",
    )
    if found["total"] > offset + len(found["dashboards"]):
        output.line(f"{len(found['dashboards'])} of {found['total']:,}; --limit and --offset show more", "dim")


def _list_names(ids: list[str]) -> str:
    names = [short(id_.partition(":")[2]) for id_ in ids]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
