"""`headwater sources`: list what datasets live in."""

from typing import Annotated, Any

import msgspec
import typer

from headwater.cli import output, server


def sources(
    namespace: Annotated[str | None, typer.Argument(help="Show only this namespace, with all its producers.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show at most this many rows.")] = 50,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the warehouses, buckets, brokers and folders that datasets live in.

    For each: how many datasets it has and how many jobs write and read there, when it was last heard of, by which producer, and how long
    after their time events arrive.

    Examples:

      headwater sources

      headwater sources s3://lake
    """
    body = server.ask(url, "/api/v2/sources", namespace=namespace, limit=limit)
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)
    output.table(
        ("source", "platform", "datasets", "writers", "readers", "last event (UTC)", "producer", "lag"),
        [row for one in found["sources"] for row in _rows(one, everything=namespace is not None)],
        empty="No datasets found. Record a job with `headwater run DIR`, or send OpenLineage events to the server.",
    )
    if found["total"] > len(found["sources"]):
        output.line(f"{len(found['sources'])} of {found['total']:,}; --limit shows more", "dim")


def _rows(one: dict[str, Any], *, everything: bool) -> list[tuple[Any, ...]]:
    """Return a row for the source and its first producer, and one for each other producer."""
    shown = one["producers"] if everything else one["producers"][:1]
    more = len(one["producers"]) - len(shown)
    first = tuple(one[key] for key in ("namespace", "platform", "datasets", "writers", "readers"))
    reported = [
        (each["producer"] + (f" and {more} more" if more else ""), output.duration(round(each["lag_seconds"] * 1000)))
        for each in shown
    ] or [("", "")]
    seen = output.moment(one["last_seen"])
    return [
        (*(first if place == 0 else (None,) * 5), seen if place == 0 else None, *pair)
        for place, pair in enumerate(reported)
    ]
