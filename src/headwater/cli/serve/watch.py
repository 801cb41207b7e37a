"""`headwater server watch`: write known lineage, read it back, count every mismatch."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli import output, server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headwater.client.watch import Count, Report, Watch

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def watch(
    rate: Annotated[float, typer.Option(min=0.01, max=10_000, help="Send this many events a second.")] = 5.0,
    duration: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="DURATION", help="Stop after this long: 90s, 10m, 8h, 1d. Default: run until stopped."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Generate from this seed: the same seed gives the same stories in the same order.")
    ] = 0,
    namespace: Annotated[
        str, typer.Option(help="Write to this namespace; nothing else should use it.")
    ] = "headwater-watch",
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="Send this many requests at a time.")] = 2,
    only: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="Count only this check or mismatch. Repeatable.")
    ] = None,
    skip: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="Skip this check or mismatch. Repeatable.")
    ] = None,
    patience: Annotated[
        float, typer.Option(min=0.0, help="Allow this many seconds until an acknowledged event is visible.")
    ] = 5.0,
    interval: Annotated[float, typer.Option(min=0.1, help="Print a line every so many seconds.")] = 5.0,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first mismatch.")] = False,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, one object per line; the last has `done`.")] = False,
) -> None:
    """Write known lineage to a server, read it back, and count mismatches.

    It uses the public API and counts mismatches by kind.

    It is safe beside real lineage: it writes to its own namespace, under a bounded number of names. It survives restarts of the server:
    what was acknowledged before must exist afterwards. Exit code 1 if anything mismatched, 75 if the server did not come back.

    Examples:

      headwater server watch --for 1m --rate 50

      headwater server watch --only lineage --only columns --json

      headwater server watch --url https://lineage.example.org --rate 1 --skip slow_visibility
    """
    import os
    import secrets
    import signal
    import time

    from headwater.client.watch import Watch, World
    from headwater.errors import ServerUnavailable

    checks, kinds = chosen(only or [], skip or [])
    seconds = None if duration is None else parsed(duration)
    mark = f"w{int(time.time()):x}{secrets.token_hex(1)}"
    made = Watch(
        server.address(url),
        World(namespace=namespace, mark=mark, seed=seed, checks=checks),
        api_key=os.environ.get("HEADWATER_API_KEY"),
        rate=rate,
        concurrency=concurrency,
        patience=patience,
        fail_fast=fail_fast,
        kinds=kinds,
    )
    before = {number: signal.signal(number, lambda *_: made.stop()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        report = _watched(made, seconds, interval, json)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    _print_report(report, json)
    if report.count.mismatches:
        raise typer.Exit(1)
    if not report.verified:
        raise ServerUnavailable(f"{report.url} did not answer at the end: what was acknowledged could not be read back")


def chosen(only: Iterable[str], skip: Iterable[str]) -> Any:
    """Return the requested checks and kinds of mismatch. Raises InvalidQuestion for a word that is neither.

    `only` with just checks counts all their kinds; with just kinds, those kinds in every check.
    """
    from headwater.client.watch import CHECKS, KINDS
    from headwater.errors import InvalidQuestion

    wanted, unwanted = set(only), set(skip)
    for word in sorted(wanted | unwanted):
        if word not in CHECKS and word not in KINDS:
            raise InvalidQuestion(
                f"{word!r} is neither a check ({', '.join(CHECKS)}) nor a mismatch ({', '.join(KINDS)})"
            )

    def left(words: tuple[Any, ...]) -> list[Any]:
        return [word for word in words if word in (wanted & set(words) or words) and word not in unwanted]

    return left(CHECKS), left(KINDS)


def parsed(text: str) -> float:
    """Parse `90`, `90s`, `10m`, `8h` or `1d` to seconds. Raises InvalidQuestion."""
    from headwater.errors import InvalidQuestion

    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", text.strip().lower())
    if match is None:
        raise InvalidQuestion(f"{text!r} is not a duration; write 90s, 10m, 8h or 1d")
    return float(match[1]) * _UNITS[match[2]]


def _watched(made: Watch, seconds: float | None, interval: float, json: bool) -> Report:
    """Run it, with a live table on a terminal, else with a line at intervals."""
    from rich.console import Console

    console = Console()
    if json or not console.is_terminal:
        return made.run(seconds, interval, _json_line if json else lambda count: output.line(_line(count)))
    from rich.live import Live

    with Live(_table(made.tally.count()), console=console, refresh_per_second=4) as live:
        show: Callable[[Count], None] = lambda count: live.update(_table(count))  # noqa: E731
        report = made.run(seconds, min(interval, 0.5), show)
        live.update(_table(report.count))
    return report


def _line(count: Count) -> str:
    found = ", ".join(f"{kind} {number}" for kind, number in count.by_kind.items()) or "none"
    return (
        f"{count.seconds:>7.1f}s  {count.scenes:,} scenes  {count.sent:,} sent  {count.asked:,} asked  "
        f"slowest {count.slowest_send_ms}/{count.slowest_answer_ms} ms  unreachable {count.unreachable:,}  mismatches: {found}"
    )


def _json_line(count: Count) -> None:
    import sys

    import msgspec

    sys.stdout.write(msgspec.json.encode({"done": False, "count": count}).decode() + "\n")
    sys.stdout.flush()


def _table(count: Count) -> Any:
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, show_header=False, pad_edge=False)
    for name, value in (
        ("time", f"{count.seconds:.0f} s"),
        ("scenes", f"{count.scenes:,}"),
        ("events sent", f"{count.sent:,}"),
        ("questions asked", f"{count.asked:,}"),
        ("slowest reply", f"{count.slowest_send_ms} ms to an event, {count.slowest_answer_ms} ms to a question"),
        ("unreachable", f"{count.unreachable:,} attempts"),
    ):
        made.add_row(name, value)
    made.add_row("mismatches", Text(f"{count.mismatches:,}", style="bold red" if count.mismatches else "green"))
    for kind, number in count.by_kind.items():
        made.add_row(f"  {kind}", Text(f"{number:,}", style="red"))
    return made


def _print_report(report: Report, json: bool) -> None:
    import sys

    import msgspec

    if json:
        summary = msgspec.to_builtins(report) | {"done": True, "ok": report.ok}
        sys.stdout.write(msgspec.json.encode(summary).decode() + "\n")
        return
    for found in report.examples:
        place = f"{found.check}/{found.kind}  {found.story} {found.slot}.{found.round}"
        output.line(f"{place}  {output.escaped(found.message)}", "red")
    verdict = "no mismatch" if not report.count.mismatches else f"{report.count.mismatches:,} mismatches"
    output.line(f"{_line(report.count)}")
    output.line(
        f"{verdict}; wrote to namespace {report.namespace}, names begin with {report.mark} (seed {report.seed})"
    )
