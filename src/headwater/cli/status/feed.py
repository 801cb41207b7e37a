"""`headwater entities feed`: apply older events to the status of instances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli import output
from headwater.cli.moment import moment
from headwater.cli.serve.database import on_database

if TYPE_CHECKING:
    from headwater.store.database import Database


def feed(
    since: Annotated[
        str,
        typer.Option(
            "--since", metavar="TIME", help="Apply events of this time and later: 2026-11-01, or with a time."
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Apply events of the log to the status of instances.

    Use it for events that came before their entities were declared: a running server applies each event only as it arrives. It works on the
    database itself, beside a server or without one. Applying an event twice changes nothing.

    Examples:

      headwater entities feed --since 2026-01-01

      headwater entities feed --since 2026-11-01T12:00:00Z --json
    """
    at = moment(since)

    async def feed_log(database: Database) -> Any:
        from rich.console import Console
        from rich.progress import Progress

        from headwater.intake.status.feed import Feed

        with Progress(console=Console(stderr=True), disable=json, transient=True) as bar:
            task = bar.add_task("events", total=None)
            return await Feed(database).since(at, lambda events: bar.update(task, completed=events))

    fed = on_database("entities feed", feed_log)
    outcomes = {name: fed.outcomes[name] for name in ("taken", "duplicate", "refused", "unplaced", "failed")}
    if json:
        output.json_line({"events": fed.events, **outcomes})
        return
    output.line(
        f"{fed.events:,} events: {outcomes['taken']:,} reports accepted, {outcomes['duplicate']:,} already known"
    )
    for name, words in (
        ("refused", "reports do not fit the declared entities"),
        ("unplaced", "runs do not name the instances that they made"),
        ("failed", "events could not be applied"),
    ):
        if outcomes[name]:
            output.line(f"{outcomes[name]:,} {words}", "yellow")
