"""`headwater sync`: import query logs from a data warehouse on Spark."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli import output
from headwater.cli.extras import need
from headwater.cli.server import URL_HELP

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator

    from headwater.errors import HeadwaterError
    from headwater.pipeline.query_log.sync import Progress, Publisher, Synced

sync = typer.Typer(help="Import query logs from a data warehouse.", rich_markup_mode=None, no_args_is_help=True)


_JAVA_WARNINGS = "-Xlog:disable -Xlog:all=warning:stderr"
# Without its second compiler a JVM keeps 48 MB for compiled code, which a sync fills.
_QUICK_COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
_JAVA_OPTIONS = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "SPARK_SUBMIT_OPTS")
# Datasets per request to a server.
_PAGE = 1_000


@sync.callback()
def _group() -> None:
    """Keep `query-log` a subcommand while it is the only one."""


@sync.command("query-log")
def query_log(
    source: Annotated[
        str, typer.Option(help="Read the log of bigquery, databricks, postgres, redshift, snowflake or trino.")
    ],
    inputs: Annotated[
        list[str],
        typer.Option(
            "--input", metavar="GLOB", help="Read these files or folders, local or anywhere Spark can read. Repeatable."
        ),
    ],
    store: Annotated[
        str | None, typer.Option(metavar="DIR", help="Write tables to this folder. Default: HEADWATER_PIPELINE__STORE.")
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            help="Use this OpenLineage namespace for tables if the log names none, as in postgres://host:5432."
        ),
    ] = None,
    master: Annotated[
        str | None, typer.Option(help="Use this Spark master, as in local[4] or spark://host:7077.")
    ] = None,
    remote: Annotated[str | None, typer.Option(help="Use this Spark Connect server, as in sc://host:15002.")] = None,
    conf: Annotated[
        list[str] | None, typer.Option("--conf", metavar="K=V", help="Set a Spark property. Repeatable.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Read only queries that started then or later (ISO 8601).")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Read only queries that started before then (ISO 8601).")
    ] = None,
    prices: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Read the prices of compute and storage from this file. Default: HEADWATER_PIPELINE__PRICES.",
        ),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Read schemas, sizes, actors and tools' exports as this file names them. Default: HEADWATER_PIPELINE__CONFIG.",
        ),
    ] = None,
    publish: Annotated[bool, typer.Option("--publish/--no-publish", help="Send the results to the server.")] = True,
    runs: Annotated[
        str,
        typer.Option(
            help="Send executions as runs: daily (one per day if it writes, else the first day's and the latest), latest, or every."
        ),
    ] = "daily",
    follow: Annotated[
        bool, typer.Option("--follow", help="Keep running and read new files, until Ctrl-C or SIGTERM.")
    ] = False,
    every: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Look for new files this often, with --follow.")
    ] = 30.0,
    url: Annotated[str | None, typer.Option(help=URL_HELP)] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a summary as JSON; with --follow, one line each time.")
    ] = False,
) -> None:
    """Read an exported query log, and publish lineage, usage, cost and advice.

    Files that were read before are skipped, so a stopped call continues where it stopped. A query that is logged twice counts once.

    Examples:

      headwater sync query-log --source bigquery --input 'exports/jobs-*.json.gz'

      headwater sync query-log --source postgres --input /var/log/postgresql --namespace postgres://db:5432 --since 2026-11-01

      headwater sync query-log --source trino --input /var/log/trino-events --namespace trino://db:8080 --follow

      headwater sync query-log --source snowflake --input s3a://lake/query_history/ --store s3a://lake/headwater --master spark://host:7077
    """
    need("spark", "`headwater sync query-log`")
    need("sql", "`headwater sync query-log`")
    from headwater.errors import InvalidQuestion

    if master and remote:
        raise InvalidQuestion("--master and --remote exclude each other: give only one", parameter="remote")
    if runs not in {"latest", "daily", "every"}:
        raise InvalidQuestion(f"--runs {runs!r} is none of latest, daily, every", parameter="runs", value=runs)
    if follow and remote:
        raise InvalidQuestion(
            "--follow needs Spark's driver in this process, and --remote has it elsewhere; use --master or spark-submit",
            parameter="follow",
        )
    publisher = _publisher(url, runs) if publish else None
    if publish:
        _record_at(url)
    going_on = _going_on(every, as_json) if follow else None
    with _bars(quiet=as_json or follow) as show:
        answer = _sync(
            source,
            tuple(inputs),
            store,
            namespace,
            master,
            remote,
            conf or [],
            since,
            until,
            prices,
            config,
            url,
            publisher,
            show,
            going_on,
        )
    if answer is None:
        return
    if as_json:
        import msgspec

        output.raw(msgspec.json.encode(answer))
    else:
        _say(answer)


def _sync(
    source: str,
    inputs: tuple[str, ...],
    store: str | None,
    namespace: str | None,
    master: str | None,
    remote: str | None,
    conf: list[str],
    since: str | None,
    until: str | None,
    prices: str | None,
    config: str | None,
    url: str | None,
    publisher: Publisher | None,
    show: Callable[[Progress], None],
    going_on: Callable[..., None] | None = None,
) -> Synced | None:
    """Run the sync. None: it followed the log until stopped, and printed each round."""
    from pathlib import Path

    from headwater.cli.moment import moment
    from headwater.home import home
    from headwater.pipeline.query_log import prices as price_list
    from headwater.pipeline.query_log.batch import Asked
    from headwater.pipeline.query_log.stages import Settings
    from headwater.pipeline.query_log.sync import sync as run_sync
    from headwater.pipeline.session import session
    from headwater.pipeline.workers import check
    from headwater.settings import Settings as Everything

    knobs = Everything().pipeline
    asked = Asked(
        source,
        inputs,
        namespace,
        moment(since) if since else None,
        moment(until) if until else None,
        batch_files=knobs.batch_files,
        batch_bytes=knobs.batch_bytes,
    )
    listed = prices or knobs.prices
    settings = Settings(prices=price_list.read(Path(listed)) if listed else None)
    if besides := config or knobs.config:
        from headwater.cli.spark import sync_config

        parts = sync_config.read(Path(besides).expanduser(), source, lambda space: _server_schemas(url, space))
        settings = dataclasses.replace(
            settings,
            who=parts.who,
            schemas=parts.schemas,
            storage=parts.storage,
            kept=parts.kept,
            exports=parts.exports,
        )
    properties = dict(_property(one) for one in conf)
    if knobs.memory and "spark.driver.memory" not in properties:
        properties["spark.driver.memory"] = knobs.memory
    if not remote:
        _hushed(properties)
        if going_on is None and (master or knobs.master or "local").startswith("local"):
            _start_quickly(properties, inputs)
    place = store or knobs.store or str(home() / "query-log")
    spark = session(master or knobs.master, remote, "headwater sync query-log", properties)
    check(spark, place)
    if going_on is not None:
        going_on(spark, place, asked, settings, publisher, recorded=publisher is not None)
        return None
    return run_sync(spark, place, asked, settings, publisher, show, recorded=publisher is not None)


def _hushed(properties: dict[str, str]) -> None:
    """Let only errors of a Spark that starts here without a logging configuration reach the terminal: its warnings do not concern the log.

    Java's own warnings (its memory for compiled code is full) go to stderr; by default they would mix with the answer.
    """
    import os
    from pathlib import Path

    from headwater import pipeline

    if {"SPARK_CONF_DIR", "SPARK_HOME", "PYSPARK_GATEWAY_PORT"} & os.environ.keys():
        return
    name, given = "spark.driver.extraJavaOptions", "-Dlog4j2.configurationFile="
    if given not in properties.get(name, ""):
        file = (Path(pipeline.__file__).parent / "log4j2.properties").as_uri()
        properties[name] = f"{properties.get(name, '')} {_JAVA_WARNINGS} {given}{file}".strip()


def _start_quickly(properties: dict[str, str], inputs: Iterable[str]) -> None:
    """Let the JVM of a small log compile quickly instead of well: what it would gain by the second compiler is less than that costs.

    Options that you give to the driver, or to every Java, are left as they are.
    """
    import os

    from headwater.pipeline import one_task
    from headwater.pipeline.folder import local_bytes

    if {"SPARK_CONF_DIR", "SPARK_HOME", "PYSPARK_GATEWAY_PORT", *_JAVA_OPTIONS} & os.environ.keys():
        return
    name = "spark.driver.extraJavaOptions"
    size = local_bytes(inputs)
    if "-XX:" not in properties.get(name, "") and size is not None and size <= one_task.BYTES:
        properties[name] = f"{_QUICK_COMPILER} {properties.get(name, '')}".strip()


def _server_schemas(url: str | None, namespace: str) -> dict[str, list[str]]:
    """Load the columns of the tables that the server knows in a namespace; none in a new one, as at the first sync."""
    from urllib.parse import quote

    from headwater.cli import server
    from headwater.errors import NotFound

    found: dict[str, list[str]] = {}
    path = f"/api/v1/namespaces/{quote(namespace, safe='')}/datasets"
    offset = 0
    while True:
        try:
            page = server.get(url, path, limit=_PAGE, offset=offset)["datasets"]
        except NotFound:
            return found
        for one in page:
            if columns := [each["name"] for each in one.get("fields") or ()]:
                found[one["name"]] = columns
        if len(page) < _PAGE:
            return found
        offset += _PAGE


def _going_on(every: float, as_json: bool) -> Callable[..., None]:
    """Follow the log until a signal, and print each round."""

    def follow_log(*args: Any, **kwargs: Any) -> None:
        from headwater.pipeline.query_log.follow import follow

        with _until_signalled() as stop:
            follow(*args, **kwargs, every=every, stop=stop, took=took, failed=failed)

    def took(answer: Synced) -> None:
        if as_json:
            output.json_line(answer)
        else:
            _say(answer)

    def failed(error: HeadwaterError, seconds: float) -> None:
        output.complain(error)
        typer.echo(f"headwater: trying again in {seconds:g} s", err=True)

    return follow_log


@contextlib.contextmanager
def _until_signalled() -> Iterator[threading.Event]:
    """Return an event that Ctrl-C and SIGTERM set. A second signal ends the command at once."""
    import signal
    import threading

    stop = threading.Event()

    def request_stop(_number: int, _frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, request_stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _record_at(url: str | None) -> None:
    """Record the sync's own runs where its lineage goes."""
    import os

    from headwater.cli.server import use_local

    if url:
        os.environ["HEADWATER_URL"] = url
    else:
        use_local()


def _publisher(url: str | None, runs: str) -> Publisher:
    """Return the publisher to the server that a command would ask."""
    from typing import cast

    from headwater.cli.server import address, key
    from headwater.pipeline.query_log.publish import destination, publish_measures, publish_runs
    from headwater.pipeline.query_log.publishable import Runs
    from headwater.pipeline.query_log.sync import Publisher

    to, which = destination(address(url), key(url)), cast("Runs", runs)
    return Publisher(
        lambda store, days: publish_runs(store, to, at=store.changed_at, days=days, runs=which),
        lambda store: publish_measures(store, to, at=store.changed_at),
    )


def _property(given: str) -> tuple[str, str]:
    from headwater.errors import InvalidQuestion

    name, sign, value = given.partition("=")
    if not name or not sign:
        raise InvalidQuestion(f"--conf {given!r} is not K=V", parameter="conf", value=given)
    return name, value


@contextlib.contextmanager
def _bars(*, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """Show the current stage and a bar of batches on standard error."""
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.SpinnerColumn(),
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
    )
    with rich.Progress(*columns, console=Console(stderr=True), disable=quiet, transient=True) as bars:
        task = bars.add_task("starting Spark", total=None)

        def show(progress: Progress) -> None:
            rows = f", {progress.rows:,} rows" if progress.rows else ""
            where = f"batch {progress.batch} of {progress.batches}: " if progress.batch else ""
            done = progress.batch - 1 if progress.batch else progress.batches
            bars.update(
                task, description=f"{where}{progress.stage}{rows}", completed=done, total=progress.batches or None
            )

        yield show


def _say(answer: Synced) -> None:
    resumed = ", and the rest of an earlier call" if answer.resumed else ""
    known = f", {answer.files_known:,} already known" if answer.files_known else ""
    output.line(
        f"{answer.rows:,} rows of {answer.files:,} files{known}{resumed}: {answer.days:,} days, {answer.seconds} s"
    )
    if answer.records:
        outside = f", {answer.outside:,} outside of --since and --until" if answer.outside else ""
        unusable = answer.records - answer.rows - answer.outside - answer.skipped
        reasons = ", ".join(f"{rows:,} {code}" for code, rows in sorted(answer.reasons.items()))
        output.line(
            f"{answer.records:,} records: {answer.rows:,} understood, {answer.skipped:,} skipped that tell of no execution, "
            f"{unusable:,} unusable{outside}{f'; {reasons}' if reasons else ''}"
        )
    if answer.quarantined:
        output.line(
            f"{answer.quarantined:,} rows or statements could not be used: the table `quarantine` has the reasons",
            "yellow",
        )
    if sent := answer.published:
        refused = f", {sent.refused:,} refused" if sent.refused else ""
        output.line(f"published: {sent.events:,} events, {sent.duplicates:,} of them already there{refused}")
        for example in sent.examples:
            output.line(f"  {output.printable(example)}", "yellow")
    elif answer.unpublished_days:
        output.line(f"{answer.unpublished_days:,} days are not published yet", "yellow")
    if answer.lag_seconds is not None:
        ago = output.duration(max(0, round(answer.lag_seconds * 1000)))
        output.line(f"the newest query of {answer.source} started {ago} ago")
    output.line(f"tables: {answer.store}")
