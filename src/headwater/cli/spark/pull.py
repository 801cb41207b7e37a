"""`headwater pull`: export a warehouse's query history to files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli import output

if TYPE_CHECKING:
    import datetime as dt

    from headwater.pipeline.query_log.pull.pulling import Asked, Pulled, PulledWindow

pull = typer.Typer(help="Export query logs from a warehouse to files.", rich_markup_mode=None, no_args_is_help=True)


@pull.callback()
def _group() -> None:
    """Keep `query-log` a subcommand while it is the only one."""


@pull.command("query-log")
def query_log(
    source: Annotated[str, typer.Option(help="Read the log of bigquery, databricks, redshift, snowflake or trino.")],
    to: Annotated[str, typer.Option(metavar="DIR", help="Write files to this folder, created if it is missing.")],
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Read queries that ended then or later. Default: from the end of what the folder has."
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Read queries that ended before then. Default: as far as the log is complete."
        ),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(metavar="LENGTH", help="Read this much time per request: 15m, 1h, 1d. [default: 1h; trino 5m]"),
    ] = None,
    lag: Annotated[
        str | None,
        typer.Option(metavar="LENGTH", help="Stay this much further behind the present than the source needs."),
    ] = None,
    besides: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="NAME",
            help="Export also definitions; access-history, sessions, credits (Snowflake); lineage (Databricks); tables (Redshift). Repeatable.",
        ),
    ] = None,
    most: Annotated[
        int,
        typer.Option("--max-rows", metavar="N", min=1, help="Split a window in halves if it has more rows than this."),
    ] = 100_000,
    seconds: Annotated[
        int, typer.Option("--timeout", min=1, metavar="SECONDS", help="Stop a statement after this long.")
    ] = 600,
    pause: Annotated[float, typer.Option(min=0, metavar="SECONDS", help="Pause this long between two windows.")] = 0.0,
    every: Annotated[
        float | None,
        typer.Option(min=1, metavar="SECONDS", help="Keep running until Ctrl-C, and look again this often."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a summary as JSON; with --every, one line each time.")
    ] = False,
) -> None:
    """Write a warehouse's query history to files that `headwater sync query-log` reads.

    Each window of time gets a file; windows with a file are not requested again, so a stopped call continues where it stopped. The address and
    the credentials of the warehouse come from the environment or from the configuration of its own client.

    Examples:

      headwater pull query-log --source snowflake --to /data/snowflake --with access-history

      headwater pull query-log --source bigquery --to /data/bigquery --since 2026-11-01 --window 1d

      headwater pull query-log --source trino --to /data/trino --every 300
    """
    from pathlib import Path

    from headwater.cli.moment import moment
    from headwater.pipeline.query_log.pull.pulling import Asked
    from headwater.pipeline.query_log.pull.windows import length

    asked = Asked(
        Path(to).expanduser(),
        moment(since) if since else None,
        moment(until) if until else None,
        length(window) if window else None,
        length(lag) if lag else None,
        pause,
        most,
        seconds,
        frozenset(besides or ()),
    )
    if every is None:
        answer = _once(source, asked, quiet=as_json)
        if as_json:
            import msgspec

            output.raw(msgspec.json.encode(answer))
        else:
            _say(answer)
        return
    _again_and_again(source, asked, every, as_json)


def _once(source: str, asked: Asked, *, quiet: bool) -> Pulled:
    import os

    from headwater.pipeline.query_log.pull import source as known
    from headwater.pipeline.query_log.pull.pulling import pull as work

    tell = (lambda _: None) if quiet else _print_window
    return work(known(source), asked, os.environ, now=_now, sleep=_rest, tell=tell)


def _again_and_again(source: str, asked: Asked, every: float, as_json: bool) -> None:
    """Repeat until Ctrl-C or SIGTERM. A transient error is printed and the next round tries again; any other error ends it."""
    import signal

    from headwater.errors import HeadwaterError

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        while True:
            try:
                answer = _once(source, asked, quiet=as_json)
            except HeadwaterError as error:
                if error.permanent:
                    raise
                output.complain(error)
                typer.echo(f"headwater: trying again in {every:g} s", err=True)
            else:
                if as_json:
                    output.json_line(answer)
                elif answer.windows:
                    _say(answer)
            _rest(every)
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, before)


def _now() -> dt.datetime:
    import datetime as dt

    return dt.datetime.now(dt.UTC)


def _rest(seconds: float) -> None:
    import time

    time.sleep(seconds)


def _print_window(window: PulledWindow) -> None:
    """Print a line for each window, if stderr is a terminal."""
    import sys

    if sys.stderr.isatty():
        left = f", {window.left:,} to go" if window.left else ""
        typer.echo(f"{window.window}: {window.rows:,} rows, {output.size(window.bytes)}{left}", err=True)


def _say(answer: Pulled) -> None:
    empty = f" ({answer.empty:,} without a query)" if answer.empty else ""
    output.line(
        f"{answer.rows:,} rows of {answer.windows:,} windows{empty}, {output.size(answer.bytes)}: "
        f"up to {answer.until:%Y-%m-%d %H:%M:%S}, {output.duration(answer.lag_seconds * 1000)} behind now"
    )
    output.line(f"files: {output.printable(answer.to)}")
