"""`headwater entities graph`: draw what depends on what, entity by entity or team by team."""

import enum
from typing import Annotated, Any

import msgspec
import typer

from headwater.cli import output, server
from headwater.cli.status.instances import AsOf, Json, Url, short
from headwater.graph import mermaid


class Format(enum.StrEnum):
    table = "table"
    mermaid = "mermaid"


def graph(
    entity: Annotated[
        str | None, typer.Argument(metavar="ENTITY", help="Show only what this entity needs and what needs it.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(metavar="TAG", help="Draw one node for each value of this tag: team, product.")
    ] = None,
    tag: Annotated[str | None, typer.Option(help="Show only entities with this tag, NAME or NAME=VALUE.")] = None,
    depth: Annotated[int, typer.Option(min=0, max=100, help="Follow this many steps from ENTITY.")] = 100,
    as_of: AsOf = None,
    format: Annotated[Format, typer.Option(help="Print in this format.")] = Format.table,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show which entities, teams or products depend on which.

    Examples:

      headwater entities graph --group team

      headwater entities graph --group product --format mermaid

      headwater entities graph weekly_reads --depth 2
    """
    body = server.ask(
        url, "/api/v2/entity-graph", entity=entity, group=group, tag=tag, depth=depth, as_of=server.time(as_of)
    )
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)
    if format is Format.mermaid:
        output.line(mermaid.flowchart(_as_lineage(found, entity)))
        return
    if group:
        output.table((group, "entities"), [(each["name"], short(each["entities"])) for each in found["nodes"]])
        output.line()
    output.table(
        ("from", "to", "dependencies", "dates"),
        [(each["upstream"], each["downstream"], each["dependencies"], short(each["dates"])) for each in found["edges"]],
        empty="Nothing depends on anything here.",
    )
    if found["hidden"]:
        output.line(f"left out, as they only point at another: {short(found['hidden'])}", "dim")
    if found["more"]:
        output.line(f"{found['more']:,} more are not shown", "yellow")


def _as_lineage(found: dict[str, Any], root: str | None) -> dict[str, Any]:
    """Return the graph in the shape of lineage: entities and groups are nodes, dependencies edges that say their dates or their number."""
    nodes = [{"id": each["name"], "label": each["name"], "type": "ENTITY"} for each in found["nodes"]]
    edges = [
        {"source": each["upstream"], "target": each["downstream"], "refused": False, "relation": "NEEDS", "claims": [], "parts": []}
        | {"text": ", ".join(each["dates"]) if each["dependencies"] == 1 else f"{each['dependencies']:,}"}
        for each in found["edges"]
    ]  # fmt: skip
    hidden = {"nodes": found["more"], "reason": "there are more than are drawn"}
    return {"nodes": nodes, "edges": edges, "roots": [root] if root else [], "hidden": hidden}
