"""`headwater server rebuild` and `headwater doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.cli import output, process, server
from headwater.cli.extras import need
from headwater.home import home

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def rebuild(
    check: Annotated[bool, typer.Option("--check", help="Report whether the tables already matched the log.")] = False,
    from_what_is_left: Annotated[
        bool, typer.Option("--from-what-is-left", help="Rebuild even if retention dropped a part of the log.")
    ] = False,
    json: Json = False,
) -> None:
    """Rebuild every table from the event log.

    Readers see the old tables until the new ones are complete.

    Examples:

      headwater server rebuild

      headwater server rebuild --check --json
    """
    need("server", "`headwater server rebuild`")
    import asyncio

    import msgspec

    from headwater.settings import Settings

    running = process.read()
    url = running.database_url if running else Settings().database.url
    postgres = None
    if url is None:
        from headwater.store.embedded import EmbeddedPostgres

        postgres = EmbeddedPostgres(home() / "postgres")
        url = postgres.url
    try:
        answer = asyncio.run(_rebuild(url, check, from_what_is_left, quiet=json))
    finally:
        if postgres is not None:
            postgres.stop()
    if json:
        output.raw(msgspec.json.encode(answer))
        return
    output.line(f"{answer['events']:,} events replayed in {answer['seconds']} s")
    if check:
        output.line(
            "the tables were equal before and after"
            if answer["equal"]
            else f"these tables differed: {', '.join(answer['differed'])}"
        )


async def _rebuild(url: str, check: bool, from_what_is_left: bool, quiet: bool) -> dict[str, Any]:
    import time

    from rich.console import Console
    from rich.progress import Progress

    from headwater.intake.upkeep import rebuild as work
    from headwater.store.database import Database
    from headwater.store.migrate import migrate

    database = await Database(url).open()
    try:
        await migrate(database)
        if check:
            await work.delete_what_is_due(database)
        before = await work.fingerprints(database) if check else {}
        began = time.monotonic()
        with Progress(console=Console(stderr=True), disable=quiet, transient=True) as bar:
            task = bar.add_task("replaying the log", total=None)
            events = await work.rebuild(
                database,
                lambda done, total: bar.update(task, completed=done, total=total),
                from_what_is_left=from_what_is_left,
            )
        answer: dict[str, Any] = {"events": events, "seconds": round(time.monotonic() - began, 2)}
        if check:
            after = await work.fingerprints(database)
            answer |= {
                "equal": before == after,
                "differed": [table for table in after if before.get(table) != after[table]],
            }
        return answer
    finally:
        await database.close()


def doctor(
    security: Annotated[
        bool, typer.Option("--security", help="Check file modes, keys, listeners and access instead.")
    ] = False,
    packages: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            exists=True,
            file_okay=False,
            help="Compare the packages in FOLDER with the declarations, too.",
        ),
    ] = None,
    url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None,
    json: Json = False,
) -> None:
    """Find out why events do not arrive or links are missing.

    Each step from a job to the server is checked.

    Exit code 1 when something is wrong.

    Examples:

      headwater doctor

      headwater doctor --security

      headwater doctor --packages packages

      HEADWATER_URL=http://lineage:5000 headwater doctor --json
    """
    import msgspec

    from headwater.cli.serve.checks import checks
    from headwater.cli.serve.security_checks import security_checks

    found = security_checks(url) if security else checks(url, packages)
    if json:
        output.raw(msgspec.json.encode(found))
    else:
        output.table(
            ("", "check", "finding"),
            [({"ok": "ok", "warn": "!", "bad": "✗"}[item.verdict], item.name, item.finding) for item in found],
            styles={0: {"ok": "green", "!": "yellow", "✗": "bold red"}},
        )
    if any(item.verdict == "bad" for item in found):
        raise typer.Exit(1)
