"""`headwater events spool`: show, send and repair the events that wait on this machine. Its only requests to servers send events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli import output

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headwater.client.address import Destination
    from headwater.client.backlog import Waiting
    from headwater.client.emitter import Emitter

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Url = Annotated[
    str | None, typer.Option(help="Send to these addresses, separated by commas, instead of those in the environment.")
]

spool = typer.Typer(
    help="Show, send and repair the events that wait on this machine.", rich_markup_mode=None, no_args_is_help=True
)


@spool.command()
def status(
    url: Url = None,
    json: Json = False,
    prometheus: Annotated[
        bool, typer.Option("--prometheus", help="Print metrics as text for node_exporter's textfile collector.")
    ] = False,
) -> None:
    """Show what waits for each destination: events, bytes, for how long, and which processes hold them.

    Examples:

      headwater events spool status

      headwater events spool status --prometheus > /var/lib/node_exporter/headwater.prom
    """
    found = list(_rows(_destination(url)))
    if json:
        import msgspec

        output.raw(msgspec.json.encode({"destinations": found}))
        return
    if prometheus:
        typer.echo(_metrics(found), nl=False)
        return
    output.table(
        ("destination", "events", "size", "oldest", "held by", "folder"),
        [
            (
                row["destination"],
                f"{row['events']:,}",
                output.size(row["bytes"]),
                output.duration(round(row["oldest_seconds"] * 1000)) if row["events"] else "",
                ", ".join(map(str, row["holders"])) or ("" if row["events"] == row["left"] else "other processes"),
                row["folder"],
            )
            for row in found
        ],
        empty="The spool is empty: no event waits.",
    )
    refused = sum(row["rejected"] for row in found)
    if refused:
        output.line(f"{refused:,} events were refused for good. List them: headwater events spool rejected", "yellow")


@spool.command()
def drain(
    url: Url = None,
    timeout: Annotated[
        float, typer.Option(help="Stop after this many seconds; undelivered events wait for the next call.")
    ] = 300,
    json: Json = False,
) -> None:
    """Send the events of ended processes to every destination. A living process sends its own events.

    If you stop it, the next call goes on from there. Exit code 1 if events are left.

    Examples:

      headwater events spool drain

      headwater events spool drain --timeout 60 --json

      HEADWATER_SPOOL=FOLDER headwater events spool drain --url https://another.server
    """
    from headwater.client import backlog
    from headwater.client.emitter import Emitter
    from headwater.client.spool import readdress

    to = _destination(url)
    if url:  # an address that is given here is meant for everything that waits
        for folder in dict.fromkeys(one.spool for one in to.each):
            readdress(folder)
    before = {one.redacted: backlog.waiting(one.spool, one.mark) for one in to.each}
    emitter = Emitter(to)
    try:
        _send(emitter, sum(one.left for one in before.values()), timeout, quiet=json)
    finally:
        emitter.close(0.5)
    rows = []
    for one in to.each:
        tally = emitter.tallies()[one.redacted]
        now = backlog.waiting(one.spool, one.mark)
        rows.append(
            {
                "destination": one.redacted,
                "delivered": tally.delivered,
                "rejected": tally.rejected,
                "torn": tally.torn,
                "left": now.left,
                "held": now.events - now.left,
                "error": tally.last_error if now.left else None,
            }
        )
    if json:
        import msgspec

        output.raw(msgspec.json.encode({"destinations": rows}))
    else:
        for row in rows:
            _say(row)
    if any(row["left"] for row in rows):
        raise typer.Exit(1)


@spool.command()
def rejected(
    url: Url = None,
    limit: Annotated[int, typer.Option(min=1, help="Show only the latest events, this many.")] = 20,
    again: Annotated[
        bool, typer.Option("--again", help="Put all of them back into the spool to be sent again.")
    ] = False,
    json: Json = False,
) -> None:
    """List the events that a server refused for good, each with the reason.

    Examples:

      headwater events spool rejected --limit 5

      headwater events spool rejected --again && headwater events spool drain
    """
    to = _destination(url)
    if again:
        count = sum(_put_back(folder) for _, folder in _folders(to))
        output.line(f"{count:,} events wait to be sent again.")
        return
    from datetime import UTC, datetime

    import msgspec

    from headwater.client import backlog

    found = [
        {
            "destination": name,
            "at": datetime.fromtimestamp(each.refused_at, UTC).isoformat(),
            "reason": each.reason,
            "event": msgspec.json.decode(each.event),
        }
        for name, folder in _folders(to)
        for path in backlog.rejected(folder)
        for each in backlog.refused(path)
    ]
    found.sort(key=lambda each: str(each["at"]), reverse=True)
    if json:
        output.raw(msgspec.json.encode({"total": len(found), "rejected": found[:limit]}))
        return
    output.table(
        ("refused at", "destination", "job", "type", "reason"),
        [
            (output.moment(str(each["at"])), each["destination"], *_named(each["event"]), each["reason"])
            for each in found[:limit]
        ],
        empty="No event was refused.",
    )
    if len(found) > limit:
        output.line(f"{len(found) - limit:,} older ones are not shown: raise --limit", "dim")


def _destination(url: str | None) -> Destination:
    from headwater.cli import server
    from headwater.client import config

    server.use_local()
    return config.destination(url=url)


def _rows(to: Destination) -> Iterator[dict[str, Any]]:
    """Return a row for each destination, and for each address that is none (any more) but has events waiting."""
    from headwater.client import backlog

    marks = {one.spool: one.mark for one in reversed(to.each)}
    for name, folder in _folders(to):
        yield _row(name, folder, marks.get(folder))
    for mark, folder in backlog.elsewhere(to):
        yield {**_row(f"another server ({mark})", folder, mark, exact=True), "rejected": 0}


def _folders(to: Destination) -> Iterator[tuple[str, Path]]:
    """Return every folder of the spool with its destination; None for a folder without a current destination."""
    from headwater.client import backlog

    seen = set()
    for one in to.each:
        if (one.remote or not to.others) and one.spool not in seen:
            seen.add(one.spool)
            yield one.redacted, one.spool
    for folder in backlog.nobodys(to):
        yield f"unknown ({folder.name})", folder


def _row(name: str, folder: Path, mark: str | None, *, exact: bool = False) -> dict[str, Any]:
    from headwater.client import backlog

    found: Waiting = backlog.waiting(folder, mark, exact=exact)
    return {
        "destination": name,
        "folder": str(folder),
        "events": found.events,
        "left": found.left,
        "bytes": found.bytes,
        "oldest_seconds": found.oldest_seconds,
        "holders": list(found.holders),
        "rejected": sum(path.read_bytes().count(b"\n") for path in backlog.rejected(folder)),
    }


# name: (kind, labels, help), as in the server's metrics; docs/reference/metrics.md lists them.
METRICS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "headwater_spool_events": ("gauge", ("destination",), "Undelivered events in the spool of this machine."),
    "headwater_spool_bytes": ("gauge", ("destination",), "Size of the undelivered events in the spool."),
    "headwater_spool_oldest_seconds": (
        "gauge", ("destination",), "How long the oldest undelivered event has waited.",
    ),
}  # fmt: skip


def _metrics(rows: list[dict[str, Any]]) -> str:
    """Format metrics as Prometheus text exposition 0.0.4."""
    lines = []
    for name, (kind, _, what) in METRICS.items():
        lines += [f"# HELP {name} {what}", f"# TYPE {name} {kind}"]
        for row in rows:
            label = row["destination"].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            lines.append(f'{name}{{destination="{label}"}} {row[name.removeprefix("headwater_spool_")]}')
    return "\n".join(lines) + "\n"


def _send(emitter: Emitter, waiting: int, timeout: float, *, quiet: bool) -> None:
    """Send until everything is delivered or the time is over; draw a progress bar if stderr is a terminal."""
    import sys
    import time

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    deadline = time.monotonic() + timeout
    columns = (TextColumn("sending"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=quiet or not sys.stderr.isatty()) as progress:
        bar = progress.add_task("sending", total=waiting)
        while (left := deadline - time.monotonic()) > 0:
            delivered = emitter.flush(min(left, 0.5))
            stats = emitter.tallies().values()
            progress.update(bar, completed=sum(tally.delivered + tally.rejected for tally in stats))
            if delivered:
                return


def _say(row: dict[str, Any]) -> None:
    parts = [f"{row['delivered']:,} delivered"]
    parts += [f"{row[key]:,} {key}" for key in ("rejected", "torn") if row[key]]
    parts += [f"{row['left']:,} left"] if row["left"] else []
    parts += [f"{row['held']:,} held by living processes"] if row["held"] else []
    output.line(f"{row['destination']}: {', '.join(parts)}" + (f" ({row['error']})" if row["error"] else ""))


def _named(event: Any) -> tuple[str, str]:
    about = event if isinstance(event, dict) else {}
    job = about.get("job") or about.get("dataset") or {}
    name = f"{job.get('namespace', '')}/{job.get('name', '')}" if isinstance(job, dict) else ""
    return name, str(about.get("eventType") or "")


def _put_back(folder: Path) -> int:
    """Move a file aside, spool its events, delete it: an interruption can send events twice but lose none."""
    from headwater.client import backlog
    from headwater.client.spool import Spool

    count = 0
    for path in backlog.rejected(folder):
        aside = path if path.name.endswith(".again") else path.rename(path.with_name(path.name + ".again"))
        kept = Spool(folder)
        try:
            for each in backlog.refused(aside):
                kept.append(bytes(each.event))
                count += 1
        finally:
            kept.close()
        aside.unlink()
    return count
