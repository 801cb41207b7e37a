"""`headwater sync`: what others keep about a warehouse's work, made into lineage on Spark."""

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
    from collections.abc import Callable, Iterator

    from headwater.errors import HeadwaterError
    from headwater.pipeline.query_log.sync import Progress, Publisher, Synced

sync = typer.Typer(help="Import query logs from a data warehouse.", rich_markup_mode=None, no_args_is_help=True)


_JAVA_WARNINGS = "-Xlog:disable -Xlog:all=warning:stderr"
# Datasets asked of a server at once.
_PAGE = 1_000


@sync.callback()
def _group() -> None:
    """Keeps `query-log` a word of its own while it is the only one."""


@sync.command("query-log")
def query_log(
    source: Annotated[str, typer.Option(help="Whose log: bigquery, databricks, postgres, redshift, snowflake, trino.")],
    inputs: Annotated[
        list[str],
        typer.Option(
            "--input", metavar="GLOB", help="Files or folders of the log, here or wherever Spark reads; more than once."
        ),
    ],
    store: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder of the tables; else HEADWATER_PIPELINE__STORE.")
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            help="OpenLineage namespace of the tables, as in postgres://host:5432, where the log cannot say it."
        ),
    ] = None,
    master: Annotated[str | None, typer.Option(help="Spark master, as in local[4] or spark://host:7077.")] = None,
    remote: Annotated[str | None, typer.Option(help="Spark Connect server, as in sc://host:15002.")] = None,
    conf: Annotated[list[str] | None, typer.Option("--conf", metavar="K=V", help="Set a Spark property.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Queries that started then or later, ISO 8601.")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Queries that started before then.")] = None,
    prices: Annotated[
        str | None, typer.Option(metavar="FILE", help="What work and storage cost; else HEADWATER_PIPELINE__PRICES.")
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="What is known besides the log: schemas, sizes, who is who, tools' exports; else HEADWATER_PIPELINE__CONFIG.",
        ),
    ] = None,
    publish: Annotated[bool, typer.Option("--publish/--no-publish", help="Send what came out to the server.")] = True,
    runs: Annotated[
        str,
        typer.Option(
            help="Executions that are runs: daily (of what writes one a day, else the first day's and the latest), latest, or every one."
        ),
    ] = "daily",
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on: take in files as they come, until Ctrl-C or SIGTERM.")
    ] = False,
    every: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="How often --follow looks for new files.")
    ] = 30.0,
    url: Annotated[str | None, typer.Option(help=URL_HELP)] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was done as JSON; with --follow a line each time.")
    ] = False,
) -> None:
    """Read an exported query log, and publish lineage, usage, cost and advice.

    Files that were read before are known and not read again; a call that was stopped goes on where it stopped. The same query told twice counts once.

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
        raise InvalidQuestion("--master and --remote are two ways to say where Spark is: give one", parameter="remote")
    if runs not in {"latest", "daily", "every"}:
        raise InvalidQuestion(f"--runs {runs!r} is none of latest, daily, every", parameter="runs", value=runs)
    if follow and remote:
        raise InvalidQuestion(
            "--follow is a stream in Spark's own driver, and --remote has its driver elsewhere: use --master or spark-submit",
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
    """None: it went on until it was told to stop, and said what it did as it did it."""
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
    place = store or knobs.store or str(home() / "query-log")
    spark = session(master or knobs.master, remote, "headwater sync query-log", properties)
    check(spark, place)
    if going_on is not None:
        going_on(spark, place, asked, settings, publisher, recorded=publisher is not None)
        return None
    return run_sync(spark, place, asked, settings, publisher, show, recorded=publisher is not None)


def _hushed(properties: dict[str, str]) -> None:
    """Errors alone reach the terminal from a Spark that is started here without a logging configuration: its warnings say nothing about a log.

    What its Java warns of (that its memory for compiled code is full) goes to stderr: by itself it would stand within the answer.
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


def _server_schemas(url: str | None, namespace: str) -> dict[str, list[str]]:
    """The columns of the tables that the server knows in a namespace; none in one that is new to it, as at the first sync."""
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
    """`follow`, which says each time what it did, until a signal."""

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
    """Set by Ctrl-C, and by SIGTERM, which stops services. The second one ends the command at once."""
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
    """The sync's own runs go where its lineage goes."""
    import os

    from headwater.cli.server import use_local

    if url:
        os.environ["HEADWATER_URL"] = url
    else:
        use_local()


def _publisher(url: str | None, runs: str) -> Publisher:
    """Publishes to the server that a command would ask."""
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
    """A line for the stage at work and a bar for the batches, on standard error."""
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
    resumed = ", and what an earlier call had left" if answer.resumed else ""
    known = f", {answer.files_known:,} known already" if answer.files_known else ""
    output.line(
        f"{answer.rows:,} rows of {answer.files:,} files{known}{resumed}: {answer.days:,} days, {answer.seconds} s"
    )
    if answer.quarantined:
        output.line(
            f"{answer.quarantined:,} rows or statements could not be used: the table `quarantine` says why", "yellow"
        )
    if sent := answer.published:
        refused = f", {sent.refused:,} refused" if sent.refused else ""
        output.line(f"published: {sent.events:,} events, {sent.duplicates:,} of them known there{refused}")
        for example in sent.examples:
            output.line(f"  {output.printable(example)}", "yellow")
    elif answer.unpublished_days:
        output.line(f"{answer.unpublished_days:,} days are not published yet", "yellow")
    if answer.lag_seconds is not None:
        ago = output.duration(max(0, round(answer.lag_seconds * 1000)))
        output.line(f"the newest query of {answer.source} started {ago} ago")
    output.line(f"tables: {answer.store}")
