"""`headwater status`, `headwater status`, `headwater events producers`: late datasets, slower jobs, odd producers."""

from typing import Annotated, Any

import msgspec
import typer

from headwater.cli import output, server

Url = Annotated[str | None, typer.Option(help=server.URL_HELP)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Since = Annotated[str | None, typer.Option(help="Count from this day or time (ISO 8601; UTC unless it names a zone).")]
_STYLES = {"on_time": "green", "late": "yellow", "very_late": "bold red"}


def freshness(
    name: Annotated[str | None, typer.Argument(help="Show only this dataset, with its checks.")] = None,
    state: Annotated[
        str | None,
        typer.Option(help="List only datasets that are on_time, late (includes very_late), very_late or unknown."),
    ] = "late",
    everything: Annotated[bool, typer.Option("--all", "-a", help="List datasets in any state.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show at most this many rows.")] = 50,
    url: Url = None,
    json: Json = False,
) -> None:
    """List datasets that are late, or show how fresh one is.

    For one dataset: whether it exists, how often it is updated, whether it is late, and the results of its checks.

    Examples:

      headwater status

      headwater status clean/flights
    """
    if name is not None:
        node = server.resolve(url, name, "dataset")
        body = server.ask(url, server.path("datasets", node["namespace"], node["name"], "freshness"))
    else:
        body = server.ask(url, "/api/v2/freshness", state=None if everything else state, limit=limit)
    if json:
        output.raw(body)
    elif name is not None:
        _print_freshness(msgspec.json.decode(body))
    else:
        _list(msgspec.json.decode(body))


def _list(found: dict[str, Any]) -> None:
    output.table(
        ("dataset", "namespace", "state", "usually", "last update (UTC)", "late by", "missed"),
        [
            (
                one["name"],
                one["namespace"],
                one["state"],
                usually(one),
                output.moment(one["last_update"]),
                late(one),
                one["missed"] or None,
            )
            for one in found["freshness"]
        ],
        styles={2: _STYLES},
        empty="No dataset found in this state. List all with --all.",
    )
    counts = ", ".join(f"{count:,} {state.replace('_', ' ')}" for state, count in found["counts"].items() if count)
    output.line(f"of {found['examined']:,} datasets: {counts or 'none was ever written'}", "dim")
    if found["datasets"] > found["examined"]:
        output.line(f"{found['datasets'] - found['examined']:,} more were last reported longer ago", "dim")


def usually(one: dict[str, Any]) -> str:
    """Say in words how often it is updated."""
    cadence = one["cadence"]
    if cadence["rhythm"] == "unknown":
        return "too few updates to say"
    if cadence["rhythm"] == "irregular":
        return "no rhythm"
    return str(cadence["name"] or f"every {output.duration(round(cadence['gap_seconds'] * 1000))}")


def late(one: dict[str, Any]) -> str | None:
    return None if one["late_seconds"] is None else output.duration(one["late_seconds"] * 1000)


def _print_freshness(one: dict[str, Any]) -> None:
    output.line(output.printable(one["label"]), "bold")
    there = {True: "yes", False: "no: it was dropped", None: "no run was seen writing it"}[one["available"]]
    run = one["last_run"]
    facts = (
        ("available", there),
        ("state", one["state"].replace("_", " ") + (f", by {late(one)}" if late(one) else "")),
        ("usually", usually(one) + (" (a stream)" if one["streaming"] else "")),
        ("updated", output.moment(one["last_update"])),
        ("by", f"{run['job'].removeprefix('job:')}  {run['run_id']}" if run else None),
        ("expected", output.moment(one["expected_next"])),
        ("failures", f"{one['failures_since']} since {output.moment(one['failing_since'])}" if one["failures_since"] else None),
    )  # fmt: skip
    for key, value in facts:
        if value:
            output.line(f"  {key:<11}{output.printable(value)}")
    quality = one["quality"]
    checks = f", {quality['passed']} passed, {quality['failed']} failed" if quality["assertions"] else ""
    output.line(f"  {'quality':<11}{quality['state']}{checks}")
    if quality["assertions"]:
        output.table(
            ("  check", "column", "result", "at (UTC)", "by"),
            [
                (
                    "  " + c["assertion"],
                    c["column"],
                    "passed" if c["success"] else "failed",
                    output.moment(c["at"]),
                    c["run"]["job"].removeprefix("job:"),
                )
                for c in quality["assertions"]
            ],
            styles={2: {"passed": "green", "failed": "bold red"}},
        )


def slower(
    job: Annotated[str | None, typer.Argument(help="Show only this job, with its levels.")] = None,
    since: Since = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show at most this many rows.")] = 50,
    url: Url = None,
    json: Json = False,
) -> None:
    """List jobs that became slower: since when, and with what confidence.

    The jobs that cost the most time come first.

    Examples:

      headwater status --since 2026-11-01

      headwater status clean-flights
    """
    if job is not None:
        node = server.resolve(url, job, "job")
        body = server.ask(url, server.path("jobs", node["namespace"], node["name"], "durations"))
    else:
        body = server.ask(url, "/api/v2/slower", since=server.time(since), limit=limit)
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)
    if job is not None:
        _levels(found)
        return
    output.table(
        ("job", "since (UTC)", "before", "after", "factor", "sure", "runs", "added"),
        [
            (
                one["job"].removeprefix("job:"),
                output.moment(one["since"]),
                output.duration(one["before_ms"]),
                output.duration(one["after_ms"]),
                None if one["factor"] is None else f"×{one['factor']:g}",
                f"{one['confidence']:.0%}",
                one["runs_after"],
                output.duration(one["added_ms"]),
            )
            for one in found["slower"]
        ],
        empty="No job became slower in this time.",
    )
    output.line(
        f"{found['total']:,} of {found['examined']:,} jobs that ran since {output.moment(found['since'])}", "dim"
    )
    if found["jobs"] > found["examined"]:
        output.line(f"{found['jobs'] - found['examined']:,} jobs with fewer runs were skipped", "dim")


def _levels(found: dict[str, Any]) -> None:
    output.table(
        ("since (UTC)", "runs", "usually", "give or take", "sure"),
        [
            (
                output.moment(one["since"]),
                one["runs"],
                output.duration(one["median_ms"]),
                output.duration(one["spread_ms"]),
                None if one["confidence"] is None else f"{one['confidence']:.0%}",
            )
            for one in found["levels"]
        ],
    )
    if found["slower"]:
        change = found["slower"]
        output.line(
            f"slower since {output.moment(change['since'])}: {output.duration(change['before_ms'])} → "
            f"{output.duration(change['after_ms'])}, first in run {change['first_run']}"
        )
    else:
        output.line("a stream: it ends when it is stopped" if found["streaming"] else "not slower than before", "dim")


def producers(since: Since = None, url: Url = None, json: Json = False) -> None:
    """List producers: how late their events arrive, and what is odd about them.

    The last seven days are counted.

    Examples:

      headwater events producers --since 2026-11-01
    """
    body = server.ask(url, "/api/v2/producers", since=server.time(since))
    if json:
        output.raw(body)
        return
    found = msgspec.json.decode(body)["producers"]
    output.table(
        ("producer", "events", "last seen (UTC)", "delay (median, 99 %)", "odd", "never ended"),
        [
            (
                one["producer"] or "(not reported)",
                f"{one['events']:,}",
                output.moment(one["last_seen"]),
                " ".join(output.duration(round(one["delay"][key] * 1000)) for key in ("p50", "p99")),
                f"{one['warned']:.1%}" if one["warned"] else None,
                sum(lost["runs"] for lost in one["never_ended"]) or None,
            )
            for one in found
        ],
        empty="No events arrived in this time. Look further back with --since.",
    )
    for one in found:
        who = output.printable(one["producer"] or "(not reported)")
        for odd in one["warnings"]:
            output.line(f"{who}: {odd['code']} ×{odd['count']:,}  {output.printable(odd['example'])}", "dim")
        for lost in one["never_ended"]:
            job = output.printable(lost["job"].removeprefix("job:"))
            output.line(f"{who}: {lost['runs']:,} runs of {job} never ended", "dim")
