"""`headwater log`: what happened to something, the latest first: versions, facets, schemas, events, and what people changed."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import msgspec
import typer

from headwater.cli import meaning, output, server
from headwater.cli.lineage import history, object_log, receipts, update_log
from headwater.cli.people.metadata import changes
from headwater.errors import InvalidQuestion

_KINDS = {"DATASET", "COLUMN", "JOB"}


def log(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="X",
            help="A dataset, job, run or ENTITY@INSTANCE. Without it, everything that people changed.",
        ),
    ] = None,
    facets: Annotated[bool, typer.Option("--facets", help="Show the values of its facets over time.")] = False,
    facet: Annotated[str | None, typer.Option("--facet", "-f", help="Show the values of this facet over time.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Show the schemas of a dataset over time.")] = False,
    people: Annotated[bool, typer.Option("--people", help="Show only what people changed.")] = False,
    author: Annotated[str | None, typer.Option(help="Show only changes by this person.")] = None,
    since: Annotated[str | None, typer.Option(help="Show changes and events since this time (ISO 8601).")] = None,
    as_of: Annotated[
        str | None, typer.Option(metavar="TIME", help="List what had been written by then (ISO 8601, UTC).")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=2_000, help="Show at most this many rows.")] = 50,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what happened to something, and who changed it, the latest first.

    For a dataset or a column: the changes of itself (created, altered, renamed, dropped, with who and by which statement), and its writes. Each is an
    import, a correction, the same content again, forced, failed, or a removal. For a job: its code, SQL,
    inputs and outputs. Both with what people changed. For a run: the events that were received. For an instance: its reports.

    Examples:

      headwater log timeseries/TS01

      headwater log marts/daily_traffic --as-of 2024-03-10

      headwater log clean/flights --schema

      headwater log 0199c0de-0000-7000-8000-000000000001

      headwater log reads@2024-03-10

      headwater log --author ada --since 2026-01-01 --json
    """
    if sum(map(bool, (facets or facet, schema, people or author))) > 1:
        raise InvalidQuestion("--facets, --schema and --people exclude each other: give only one")
    if what is None:
        if facets or facet or schema:
            raise InvalidQuestion("--facets and --schema need X; name a dataset or a job")
        changes(None, author=author, action=None, since=since, until=None, limit=limit, url=url, json=json)
        return
    found = meaning.find_object(url, what)
    node = str(found.get("node") if found["type"] == "COLUMN" else found["id"])
    if found["type"] == "RUN":
        receipts.receipts(None, None, found["id"], since or "1970-01-01", limit, url, json)
    elif found["type"] == "INSTANCE":
        _reports(url, found, limit, json)
    elif found["type"] not in _KINDS:
        raise InvalidQuestion(
            f"{meaning.described(found)}; name a dataset, a job, a run or ENTITY@INSTANCE", given=what
        )
    elif facets or facet:
        history.facets(node, facet, limit, url, json)
    elif schema:
        history.schema(node, limit, url, json)
    elif people or author:
        changes(node, author=author, action=None, since=since, until=None, limit=limit, url=url, json=json)
    elif found["type"] in {"DATASET", "COLUMN"}:
        until = server.time(as_of)
        writes = server.get(url, "/api/v2/update-log", node=node, as_of=until, limit=limit)
        objects = server.get(
            url, "/api/v2/object-log", node=node, column=found.get("column"), as_of=until, limit=limit
        )["changes"]

        def shown() -> None:
            if objects:
                output.line("changed itself", "bold")
                object_log.show(objects)
                output.line()
                output.line("written", "bold")
            update_log.show(writes)

        _with_changes(url, node, since, limit, json, {"object_changes": objects, **writes}, shown)
    else:
        versions = msgspec.json.decode(history.versions_of(url, node, limit))
        show = partial(history.versions, node, limit, url, json=False)
        _with_changes(url, node, since, limit, json, {"versions": versions}, show)


def _with_changes(
    url: str | None,
    node: str,
    since: str | None,
    limit: int,
    json: bool,
    what: dict[str, Any],
    show: Callable[[], None],
) -> None:
    """Print what happened, then what people changed."""
    changed = server.get(url, "/api/v2/changes", target=node, since=server.time(since), limit=limit)
    if json:
        output.raw(msgspec.json.encode({**what, **changed}))
        return
    show()
    if changed["changes"]:
        output.line()
        output.line("changed by people", "bold")
        changes(node, author=None, action=None, since=since, until=None, limit=limit, url=url, json=False)


def _reports(url: str | None, found: dict[str, Any], limit: int, json: bool) -> None:
    one = server.get(url, server.path("entities", found["entity"], "instances", found["instance"]))
    if json:
        output.raw(msgspec.json.encode({"history": one["history"], "versions": one["versions"]}))
        return
    output.table(
        ("report", "what", "ref", "happened (UTC)", "by", "reason"),
        [
            (said["seq"], said["what"], said["ref"], output.moment(said["happened_at"]), said["actor"], said["reason"])
            for said in one["history"][:limit]
        ],
        empty="No report about it is recorded.",
    )
