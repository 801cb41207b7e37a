"""`headwater log X`: list who changed a dataset, write by write."""

from typing import Annotated, Any

import msgspec
import typer

from headwater.cli import meaning, output, server
from headwater.errors import InvalidQuestion

_STYLES = {"forced": "yellow", "correction": "cyan", "failed": "red", "dropped": "red", "same": "dim"}


def log(
    name: Annotated[str, typer.Argument(metavar="X", help="A dataset: its name, a unique ending of it, a path.")],
    as_of: Annotated[
        str | None, typer.Option(metavar="TIME", help="List what had been written by then (ISO 8601, UTC).")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show at most this many writes.")] = 50,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the writes of a dataset, the latest first.

    Each is an import, a correction, the same content again, forced, failed, or a removal.

    Examples:

      headwater log timeseries/TS01

      headwater log marts/daily_traffic --as-of 2024-03-10
    """
    found = meaning.find_object(url, name)
    if found["type"] != "DATASET":
        raise InvalidQuestion(f"{meaning.described(found)}; the log is that of a dataset")
    body = server.ask(url, "/api/v2/update-log", node=found["id"], as_of=server.time(as_of), limit=limit)
    if json:
        output.raw(body)
        return
    answer = msgspec.json.decode(body)
    output.table(
        ("written (UTC)", "what", "content", "job", "by", "code", "rows", "size", "run"),
        [_row(one) for one in answer["updates"]],
        styles={1: _STYLES},
        empty="No run was seen writing it.",
    )
    if answer["total"] > len(answer["updates"]):
        output.line(f"{len(answer['updates'])} of {answer['total']:,}; --limit shows more", "dim")
    if answer["cut"]:
        output.line("older ones are left out", "dim")


def _row(one: dict[str, Any]) -> tuple[Any, ...]:
    again = f" over {', '.join(run[:13] for run in one['overrides'])}" if one["overrides"] else ""
    return (
        output.moment(one["at"]),
        one["kind"],
        (one["content"] or "")[:22],
        (one["job"] or "").removeprefix("job:"),
        one["by"],
        one["code"],
        None if one["rows"] is None else f"{one['rows']:,}",
        output.size(one["bytes"]),
        (one["run"] or "") + again,
    )
