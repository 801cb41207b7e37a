"""`headwater server replay`: build another database as this one was at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli import output
from headwater.cli.extras import need
from headwater.cli.moment import moment
from headwater.cli.serve.backup import Json, database_in_use

if TYPE_CHECKING:
    import datetime as dt

    from headwater.store.database import Database


def replay(
    until: Annotated[
        str,
        typer.Option(
            "--until", metavar="TIME", help="Replay what had arrived by then: 2026-11-01 or 2026-11-01T12:00:00Z."
        ),
    ],
    into: Annotated[
        str,
        typer.Option(
            "--into",
            metavar="DATABASE",
            help="Write to postgresql://…, or to another database of the same PostgreSQL, created if it is missing.",
        ),
    ],
    check: Annotated[
        bool,
        typer.Option("--check", help="Send every event there again afterwards, and report whether any row changed."),
    ] = False,
    from_what_is_left: Annotated[
        bool, typer.Option("--from-what-is-left", help="Replay even if retention dropped a part of the log.")
    ] = False,
    json: Json = False,
) -> None:
    """Replay the log up to a time into another, empty database.

    That database then answers as this one answered at that time.

    The database in use is only read. If you stop the command, call it again to continue. With --check, exit code 1 if a row changed.

    Examples:

      headwater server replay --until 2026-11-01T12:00:00Z --into as_of_november

      headwater server replay --until 2026-11-01 --into postgresql://db/november --check --json
    """
    need("server", "`headwater server replay`")
    import asyncio

    import msgspec

    at = moment(until)
    with database_in_use() as url:
        answer = asyncio.run(_replay(url, into, at, check, from_what_is_left, quiet=json))
    if json:
        output.raw(msgspec.json.encode(answer))
    else:
        _say(answer)
    if check and (answer["changed"] or answer["refused"]):
        raise typer.Exit(1)


def _say(answer: dict[str, Any]) -> None:
    done = "replayed" if answer["copied"] or answer["projected"] else "were already replayed"
    output.line(
        f"{answer['events']:,} events and {answer['changes']:,} changes by people {done} in {answer['seconds']} s"
    )
    if answer["rules_from"] == "today":
        output.line("the audit log does not name the rules about names of that time: today's were used", "yellow")
    if gone := answer["log_dropped_before"]:
        output.line(
            f"retention had dropped events before {gone:%Y-%m-%d}: what only they reported is missing", "yellow"
        )
    if "changed" in answer:
        wrong = [*answer["changed"], *([f"{answer['refused']:,} events refused"] if answer["refused"] else [])]
        output.line(
            f"sending every event again changed: {', '.join(wrong)}"
            if wrong
            else "sending every event again changed no row"
        )
    output.line(f"ask it: HEADWATER_DATABASE__URL='{answer['database']}' headwater up --port 5001")


async def _replay(
    url: str, into: str, until: dt.datetime, check: bool, from_what_is_left: bool, *, quiet: bool
) -> dict[str, Any]:
    import time

    from rich.console import Console
    from rich.progress import Progress

    from headwater.intake.upkeep import replay as work
    from headwater.store.events.replay import beside

    began = time.monotonic()
    source = await _open(url, "the database in use")
    try:
        await work.possible(source, until, from_what_is_left=from_what_is_left)
        address = into if "://" in into or "=" in into else await beside(url, into)
        target = await _open(address, "the database to replay into")
        try:
            with Progress(console=Console(stderr=True), disable=quiet, transient=True) as bar:
                tasks: dict[str, Any] = {}

                def show(what: str, done: int, total: int) -> None:
                    if what not in tasks:
                        tasks[what] = bar.add_task(what, total=total)
                    bar.update(tasks[what], completed=done, total=total)

                made = await work.replay(source, target, until, show, from_what_is_left=from_what_is_left)
                answer = {field: getattr(made, field) for field in made.__struct_fields__}
                if check:
                    twice = await work.accept_again(target, show)
                    answer |= {"changed": twice.changed, "refused": twice.refused}
        finally:
            await target.close()
    finally:
        await source.close()
    return {**answer, "database": _without_password(address), "seconds": round(time.monotonic() - began, 2)}


async def _open(url: str, which: str) -> Database:
    from headwater.errors import DatabaseUnavailable
    from headwater.store.database import Database

    try:
        return await Database(url, pool_size=2).open()
    except DatabaseUnavailable as error:
        raise DatabaseUnavailable(f"{which}: {error.message}", **error.detail) from error


def _without_password(address: str) -> str:
    """Return the address without its password."""
    import re

    return re.sub(
        r"(?<=://)([^:/@]*):[^@]+@|(\bpassword=)('[^']*'|[^\s&]+)",
        lambda m: f"{m[1]}:***@" if m[2] is None else f"{m[2]}***",
        address,
    )
