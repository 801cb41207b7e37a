"""`headwater search`: find datasets and jobs by words."""

from typing import Annotated

import typer

from headwater.cli import output, server


def search(
    words: Annotated[list[str], typer.Argument(help="Words from names, columns, tags, owners, descriptions or SQL.")],
    type: Annotated[str | None, typer.Option("--type", "-t", help="Find only this type: `dataset` or `job`.")] = None,
    namespace: Annotated[str | None, typer.Option("--namespace", "-n", help="Find only in this namespace.")] = None,
    tag: Annotated[str | None, typer.Option("--tag", help="Find only with this tag.")] = None,
    owner: Annotated[str | None, typer.Option("--owner", help="Find only what this owner owns.")] = None,
    platform: Annotated[
        str | None, typer.Option("--platform", help="Find only in this kind of source: s3, snowflake, kafka and so on.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show at most this many rows.")] = 20,
    children: Annotated[
        bool, typer.Option("--children", help="List also jobs that are one statement of the job above them.")
    ] = False,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find datasets and jobs by words, the best match first.

    All words must match. Misspelt words are corrected.

    Examples:

      headwater search customer orders

      headwater search custmer --type dataset --tag pii
    """
    narrow = {"type": type, "namespace": namespace, "tag": tag, "owner": owner, "platform": platform}
    asked = {"q": " ".join(words), "limit": limit, "children": children or None, **narrow}
    if json:
        output.raw(server.ask(url, "/api/v2/search", **asked))
        return
    found = server.get(url, "/api/v2/search", **asked)
    if found["corrected"]:
        output.line(f"searched for {output.printable(found['corrected'])}", "yellow")
    if not found["results"] and not found["schedules"]:
        output.line("nothing matches these words", "dim")
        return
    if found["schedules"]:
        output.table(
            ("entity", "dataset", "description"),
            [
                (one["entity"], ", ".join(id_.removeprefix("dataset:") for id_ in one["datasets"]), one["description"])
                for one in found["schedules"]
            ],
        )
    if found["schedules"] and found["results"]:
        output.line()
    if not found["results"]:
        return
    output.table(
        ("name", "namespace", "type", "found in", ""),
        [
            (one["name"], one["namespace"], one["type"].lower(), one["matched"], one["detail"])
            for one in found["results"]
        ],
    )
    if found["total"] > len(found["results"]):
        more = "more than " if found["capped"] else ""
        output.line(f"{len(found['results'])} of {more}{found['total']:,}; --limit shows more", "dim")
    for note in found["notes"]:
        output.line(note, "dim")
