"""`headwater pipeline`: Spark jobs over the whole graph and the whole log."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli import output
from headwater.cli.extras import need
from headwater.cli.server import URL_HELP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headwater.pipeline.archive import Server
    from headwater.pipeline.graph_stats.work import GraphStats

pipeline = typer.Typer(
    help="Run Spark jobs over the whole graph and the whole log.", rich_markup_mode=None, no_args_is_help=True
)

archive = typer.Typer(
    help="Export and import the event log as Parquet files.", rich_markup_mode=None, no_args_is_help=True
)
pipeline.add_typer(archive, name="archive")

Folder = Annotated[str, typer.Argument(metavar="DIR", help="Folder of the archive, local or anywhere Spark can write.")]
Master = Annotated[str | None, typer.Option(help="Use this Spark master, as in local[4] or spark://host:7077.")]
Remote = Annotated[str | None, typer.Option(help="Use this Spark Connect server, as in sc://host:15002.")]
Conf = Annotated[list[str] | None, typer.Option("--conf", metavar="K=V", help="Set a Spark property. Repeatable.")]
Url = Annotated[str | None, typer.Option(help=URL_HELP)]
Json = Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")]


@pipeline.command("graph-stats")
def graph_stats(
    store: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Write tables to, and read edges from, this folder. Default: HEADWATER_PIPELINE__STORE."
        ),
    ] = None,
    edges: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB", help="Read edges from these Parquet or CSV files instead of the folder. Repeatable."
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, max=1000, help="Show this many rows of each list.")] = 10,
    precision: Annotated[
        int, typer.Option(min=8, max=14, help="Use 2^N counters for estimates: their error is 1.04 / √(2^N).")
    ] = 10,
    again: Annotated[
        bool, typer.Option("--again", help="Compute even if the graph has not changed since the last time.")
    ] = False,
    record: Annotated[bool, typer.Option("--record/--no-record", help="Report this run to the server.")] = True,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Compute components, hubs, longest chains and the closure of the whole graph.

    Reads the edges that `headwater sync query-log` wrote, or files with the columns from_namespace, from_name, to_namespace, to_name.

    Examples:

      headwater pipeline graph-stats

      headwater pipeline graph-stats --edges 'exports/edges-*.parquet' --store graph --json
    """
    need("spark", "`headwater pipeline graph-stats`")
    from headwater.pipeline.graph_stats.stats import Limits
    from headwater.pipeline.graph_stats.work import graph_stats as work
    from headwater.settings import Settings

    if record:
        _record_at(url)
    place = store or Settings().pipeline.store or _home("graph-stats" if edges else "query-log")
    spark = _session("headwater pipeline graph-stats", master, remote, conf or [])
    answer = work(spark, place, edges or (), Limits(precision=precision), top=top, again=again, recorded=record)
    if as_json:
        import msgspec

        output.raw(msgspec.json.encode(answer))
    else:
        _say(answer)


@archive.command("export")
def archive_export(
    folder: Folder,
    record: Annotated[bool, typer.Option("--record/--no-record", help="Report this run to the server.")] = True,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Archive the server's event log as Parquet files by day of arrival.

    Bodies are kept byte for byte. Each call adds what arrived since the last one, and continues a stopped call. The key needs the role admin.

    Examples:

      headwater pipeline archive export lineage-archive

      headwater pipeline archive export s3a://lake/headwater/archive --url https://lineage --master spark://host:7077
    """
    need("spark", "`headwater pipeline archive export`")
    import msgspec

    from headwater.pipeline.archive import export

    server = _server(url)
    if record:
        _record_at(url)
    spark = _session("headwater pipeline archive export", master, remote, conf or [])
    with _bar(quiet=as_json) as show:
        answer = export(
            spark,
            folder,
            server,
            lambda state: show(state.done, state.total, f"{state.events:,} events"),
            recorded=record,
        )
    if as_json:
        output.raw(msgspec.json.encode(answer))
        return
    output.line(f"{answer.events:,} events of {answer.days:,} days from {answer.server}, {answer.seconds} s")
    output.line(f"archive: {answer.store}")


@archive.command("import")
def archive_import(
    folder: Folder,
    since: Annotated[
        str | None, typer.Option(metavar="DAY", help="Send events that arrived on this day or later, as in 2026-11-01.")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="DAY", help="Send events that arrived before this day.")] = None,
    connections: Annotated[int, typer.Option(min=1, max=64, help="Send from this many tasks at once.")] = 4,
    record: Annotated[bool, typer.Option("--record/--no-record", help="Report this run to the server.")] = False,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Send an archive's events to a server, unchanged. Events that the server already has are skipped.

    An empty server with the same rules about names ends up with the same tables. The key needs the role admin. Exit code 1 if events were refused.

    Examples:

      headwater pipeline archive import lineage-archive --url http://localhost:5001

      headwater pipeline archive import lineage-archive --since 2026-11-01
    """
    need("spark", "`headwater pipeline archive import`")
    import msgspec

    from headwater.cli.moment import moment
    from headwater.pipeline.archive import import_

    first, last = (None if text is None else moment(text).date() for text in (since, until))
    server = _server(url)
    if record:
        _record_at(url)
    spark = _session("headwater pipeline archive import", master, remote, conf or [])
    answer = import_(spark, folder, server, first, last, connections=connections, recorded=record)
    if as_json:
        output.raw(msgspec.json.encode(answer))
    else:
        output.line(
            f"{answer.events:,} events: {answer.accepted:,} new to {answer.server}, {answer.duplicates:,} already there, {answer.seconds} s"
        )
        for example in answer.examples:
            output.line(f"  {output.printable(example)}", "yellow")
    if answer.refused:
        raise typer.Exit(1)


@pipeline.command("replay")
def replay(
    folder: Folder,
    store: Annotated[str, typer.Option(metavar="DIR", help="Write the tables to this folder.")],
    tables: Annotated[
        list[str] | None, typer.Option("--table", metavar="NAME", help="Compute only this table. Repeatable.")
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Use only events that had arrived by then, as in 2026-11-01T12:00:00Z."),
    ] = None,
    rules: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Apply these rules about names, as `headwater server identity show` prints them."
        ),
    ] = None,
    record: Annotated[bool, typer.Option("--record/--no-record", help="Report this run to the server.")] = True,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Compute the lineage tables from an archive into a folder of Parquet files.

    They equal what `headwater server rebuild` computes from the log. Nothing is computed again while archive, time and rules are unchanged.

    Examples:

      headwater pipeline replay lineage-archive --store tables

      headwater pipeline replay lineage-archive --store november --until 2026-11-01 --table edges --table runs
    """
    need("spark", "`headwater pipeline replay`")
    import hashlib
    from pathlib import Path

    import msgspec

    from headwater.cli.moment import moment
    from headwater.cli.people.identity import rules_in
    from headwater.intake.events.executor import ExecutorProjector
    from headwater.pipeline.replay import replay as work

    at = None if until is None else moment(until)
    name_rules = rules_in(Path(rules)) if rules else ()
    if record:
        _record_at(url)
    spark = _session("headwater pipeline replay", master, remote, conf or [])
    answer = work(
        spark,
        folder,
        store,
        ExecutorProjector(name_rules),
        hashlib.sha256(msgspec.json.encode(name_rules)).hexdigest(),
        tables=tables or (),
        until=at,
        recorded=record,
    )
    if as_json:
        output.raw(msgspec.json.encode(answer))
        return
    output.table(["table", "rows"], ((name, f"{rows:,}") for name, rows in answer.rows.items()))
    done = "replayed" if answer.computed else "were already replayed"
    output.line(f"{answer.events:,} events {done}, {answer.seconds} s; tables: {answer.store}")


def _server(url: str | None) -> Server:
    from headwater.cli.server import address, key
    from headwater.pipeline.archive import Server as Archived

    return Archived(address(url), key(url))


@contextlib.contextmanager
def _bar(*, quiet: bool) -> Iterator[Callable[[int, int, str], None]]:
    """Show progress on standard error."""
    from rich import progress as rich
    from rich.console import Console

    columns = (rich.SpinnerColumn(), rich.TextColumn("{task.description}"), rich.BarColumn(), rich.TimeElapsedColumn())
    with rich.Progress(*columns, console=Console(stderr=True), disable=quiet, transient=True) as bars:
        task = bars.add_task("starting Spark", total=None)
        yield lambda done, total, said: bars.update(task, description=said, completed=done, total=total)


def _say(answer: GraphStats) -> None:
    about = f" (estimated within {answer.error:.1%} for {answer.estimated:,} datasets)" if answer.estimated else ""
    loops = f"; {answer.loops:,} loops of {answer.in_loops:,} datasets" if answer.loops else ""
    output.line(f"{answer.datasets:,} datasets, {answer.edges:,} edges, {answer.alone:,} datasets without any{loops}")
    output.line(f"{answer.components:,} components, the largest of {answer.largest:,} datasets")
    output.line(f"closure: {answer.closure:,} pairs{about}; the longest chain has {answer.longest:,} steps")
    for heading, rows in (
        ("most edges", answer.hubs),
        ("most downstream", answer.sources),
        ("largest components", answer.connected),
    ):
        if rows:
            output.line()
            output.line(heading, "bold")
            names = [name for name in rows[0] if name != "exact"]
            output.table(
                [name.replace("_", " ") for name in names],
                ([_format_value(row, name) for name in names] for row in rows),
            )
    for chain in answer.chains[:3]:
        output.line()
        output.line(f"chain of {len(chain) - 1:,} steps", "bold")
        shown = chain if len(chain) <= 12 else [*chain[:6], f"… {len(chain) - 12:,} more …", *chain[-6:]]
        for dataset in shown:
            output.line(f"  {output.printable(dataset)}")
    output.line()
    output.line(
        f"{'computed' if answer.computed else 'unchanged since the last time'}, {answer.seconds} s; tables: {answer.store}"
    )


def _format_value(row: dict[str, object], name: str) -> str:
    value = row[name]
    about = "~" if name in {"upstream", "downstream", "closure"} and not row["exact"] else ""
    return f"{about}{value:,}" if isinstance(value, int) else str(value)


def _home(name: str) -> str:
    from headwater.home import home

    return str(home() / name)


def _record_at(url: str | None) -> None:
    """Record the job's own runs on the server that a command would ask."""
    import os

    from headwater.cli.server import use_local

    if url:
        os.environ["HEADWATER_URL"] = url
    else:
        use_local()


def _session(name: str, master: str | None, remote: str | None, conf: list[str]) -> Any:
    from headwater.errors import InvalidQuestion
    from headwater.pipeline.session import session
    from headwater.settings import Settings

    if master and remote:
        raise InvalidQuestion("--master and --remote exclude each other: give only one", parameter="remote")
    properties = {}
    for given in conf:
        key, sign, value = given.partition("=")
        if not key or not sign:
            raise InvalidQuestion(f"--conf {given!r} is not K=V", parameter="conf", value=given)
        properties[key] = value
    knobs = Settings().pipeline
    if knobs.memory and "spark.driver.memory" not in properties:
        properties["spark.driver.memory"] = knobs.memory
    return session(master or knobs.master, remote, name, properties)
