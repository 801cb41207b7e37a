"""`headwater events dead-letters`: events that could not be accepted."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli import output
from headwater.cli.extras import need
from headwater.cli.queue.receive import Letters, Url, amqp_settings, chosen
from headwater.cli.serve.database import on_database

if TYPE_CHECKING:
    from headwater.intake.queue.amqp import Queues
    from headwater.intake.queue.dead_letters import LetterFilter, Outcome
    from headwater.store.database import Database

dead_letters = typer.Typer(
    help="List, retry and discard events that could not be accepted.", rich_markup_mode=None, no_args_is_help=True
)
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Ids = Annotated[list[str] | None, typer.Argument(help="Choose letters by id, as `list` shows them.")]
Codes = Annotated[list[str] | None, typer.Option("--code", help="Choose letters with this code. Repeatable.")]
Older = Annotated[float | None, typer.Option("--older-than", min=0, help="Choose letters older than this many hours.")]
Newer = Annotated[
    float | None, typer.Option("--newer-than", min=0, help="Choose letters younger than this many hours.")
]
Limit = Annotated[int | None, typer.Option(min=1, help="Take at most this many letters, the oldest first.")]
All = Annotated[bool, typer.Option("--all", help="Choose every letter.")]


@dead_letters.callback()
def _group() -> None:
    """List, retry and discard events that could not be accepted."""


def _queues(url: str | None, name: str | None, command: str) -> Queues:
    need("server", f"`headwater events dead-letters {command}`")
    need("amqp", f"`headwater events dead-letters {command}`")
    for library in ("aio_pika", "aiormq"):  # the error repeats what they log
        logging.getLogger(library).setLevel(logging.CRITICAL)
    return chosen(amqp_settings(), url, None, name)


def _meant(
    ids: list[str] | None, codes: list[str] | None, older: float | None, newer: float | None, limit: int | None
) -> LetterFilter:
    from headwater.intake.queue.dead_letters import LetterFilter

    now = datetime.now(UTC)
    before = None if older is None else now - timedelta(hours=older)
    after = None if newer is None else now - timedelta(hours=newer)
    return LetterFilter(frozenset(ids or ()), frozenset(codes or ()), before, after, limit)


def _check_choice(meant: LetterFilter, all_: bool) -> None:
    from headwater.errors import InvalidQuestion

    if not (all_ or meant.ids or meant.codes or meant.before or meant.after or meant.limit):
        raise InvalidQuestion("no letters are chosen; give ids, --code, --older-than, --newer-than, --limit, or --all")


@dead_letters.command("list")
def list_(
    code: Codes = None, older_than: Older = None, newer_than: Newer = None, limit: Limit = None,
    url: Url = None, dead_letters: Letters = None, json: Json = False,
) -> None:  # fmt: skip
    """List the letters, the oldest first. None is moved.

    Examples:

      headwater events dead-letters list

      headwater events dead-letters list --code invalid_event --newer-than 24 --json
    """
    queues = _queues(url, dead_letters, "list")
    import asyncio

    import msgspec

    from headwater.intake.queue.dead_letters import listed

    found = asyncio.run(listed(queues, _meant(None, code, older_than, newer_than, limit)))
    if json:
        output.raw(msgspec.json.encode({"letters": found}))
        return
    output.table(
        ("id", "code", "at", "job", "bytes", "reason"),
        [
            (
                one.id,
                one.code,
                output.moment(one.at.isoformat()) if one.at else None,
                one.job,
                one.bytes,
                one.reason[:100],
            )
            for one in found
        ],
        empty="There are no dead letters.",
    )
    output.line(f"{len(found):,} letters in {queues.dead_letters}" if found else f"{queues.dead_letters} is empty")


@dead_letters.command()
def show(
    letter: Annotated[str, typer.Argument(help="The letter's id, as `list` shows it.")],
    url: Url = None, dead_letters: Letters = None, json: Json = False,
) -> None:  # fmt: skip
    """Show one letter with its reason and its event.

    Example:

      headwater events dead-letters show 3f0c5c1e-4d2a-5b7e-8a59-0d8c1c2b6f11
    """
    queues = _queues(url, dead_letters, "show")
    import asyncio

    import msgspec

    from headwater.errors import NotFound
    from headwater.intake.queue.dead_letters import find_letter, readable_body
    from headwater.intake.queue.reconciliation import EXPLANATIONS

    held = asyncio.run(find_letter(queues, letter))
    if held is None:
        raise NotFound(
            f"no letter {letter!r} in {queues.dead_letters}; `headwater events dead-letters list` shows what is there"
        )
    fields = {
        **msgspec.to_builtins(held.letter),
        "explanation": EXPLANATIONS.get(held.letter.code, ""),
        "content_encoding": held.encoding,
        "body": readable_body(held),
    }
    if json:
        output.raw(msgspec.json.encode(fields))
        return
    body = fields.pop("body")
    output.table(("", ""), [(name, value) for name, value in fields.items() if value is not None])
    output.line()
    output.line(
        output.escaped(body)
        if isinstance(body, str)
        else msgspec.json.format(msgspec.json.encode(body), indent=2).decode()
    )


@dead_letters.command()
def replay(
    letters: Ids = None, code: Codes = None, older_than: Older = None, newer_than: Newer = None, limit: Limit = None,
    all_: All = False, url: Url = None, dead_letters: Letters = None, json: Json = False,
) -> None:  # fmt: skip
    """Retry letters. Accepted ones leave the queue; the rest stay. Exit code 1 if some stay.

    Examples:

      headwater events dead-letters replay 3f0c5c1e-4d2a-5b7e-8a59-0d8c1c2b6f11

      headwater events dead-letters replay --code database_refused

      headwater events dead-letters replay --all --json
    """
    queues = _queues(url, dead_letters, "replay")
    meant = _meant(letters, code, older_than, newer_than, limit)
    _check_choice(meant, all_)

    async def replay_letters(database: Database) -> list[Outcome]:
        from headwater.intake.events.isolation import IsolatedIntake
        from headwater.intake.events.tolerant import TolerantIntake
        from headwater.intake.people import audit
        from headwater.intake.queue.dead_letters import replay as again

        done = await again(queues, meant, TolerantIntake(database), IsolatedIntake(database.url))
        await audit.append(
            database, audit.by_command("dead-letters replay", "replay_dead_letters", None, **_counts(done))
        )
        return done

    if any(one["outcome"] == "left" for one in _outcomes(on_database("dead-letters replay", replay_letters), json)):
        raise typer.Exit(1)


@dead_letters.command()
def discard(
    letters: Ids = None, code: Codes = None, older_than: Older = None, newer_than: Newer = None, limit: Limit = None,
    all_: All = False, url: Url = None, dead_letters: Letters = None, json: Json = False,
) -> None:  # fmt: skip
    """Delete letters for good; the audit log records which.

    Examples:

      headwater events dead-letters discard 3f0c5c1e-4d2a-5b7e-8a59-0d8c1c2b6f11

      headwater events dead-letters discard --code invalid_event --older-than 720
    """
    queues = _queues(url, dead_letters, "discard")
    meant = _meant(letters, code, older_than, newer_than, limit)
    _check_choice(meant, all_)

    async def discard_letters(database: Database) -> list[Outcome]:
        from headwater.intake.people import audit
        from headwater.intake.queue.dead_letters import discard as throw_away

        done = await throw_away(queues, meant)
        ids = [one.id for one in done[:1000]]
        change = audit.by_command("dead-letters discard", "discard_dead_letters", None, **_counts(done), letters=ids)
        await audit.append(database, change)
        return done

    _outcomes(on_database("dead-letters discard", discard_letters), json)


def _counts(done: list[Outcome]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in done:
        counts[one.outcome] = counts.get(one.outcome, 0) + 1
    return counts


def _outcomes(done: list[Outcome], json: bool) -> list[dict[str, Any]]:
    import msgspec

    outcomes: list[dict[str, Any]] = msgspec.to_builtins(done)
    if json:
        output.raw(msgspec.json.encode({"counts": _counts(done), "letters": outcomes}))
    elif not done:
        output.line("no letter matches")
    else:
        output.table(("id", "outcome", "code", "reason"), [(o.id, o.outcome, o.code, o.reason[:100]) for o in done])
        output.line(", ".join(f"{count:,} {outcome}" for outcome, count in _counts(done).items()))
    return outcomes


@dead_letters.command()
def reconcile(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be tried without changing anything.")] = False,
    url: Url = None, dead_letters: Letters = None, json: Json = False,
) -> None:  # fmt: skip
    """Retry every letter and report the rest, for a daily cron job.

    Examples:

      headwater events dead-letters reconcile --dry-run

      headwater events dead-letters reconcile --json
    """
    queues = _queues(url, dead_letters, "reconcile")
    import msgspec

    from headwater.intake.queue.reconciliation import Reconciliation, Report

    async def reconcile_letters(database: Database) -> Report:
        from headwater.intake.events.isolation import IsolatedIntake
        from headwater.intake.events.tolerant import TolerantIntake

        accept, trial = TolerantIntake(database), IsolatedIntake(database.url)
        return await Reconciliation(queues, database, accept, trial).run(dry_run=dry_run)

    report = on_database("dead-letters reconcile", reconcile_letters)
    if json:
        output.raw(msgspec.json.encode(report))
        return
    if not report.letters:
        output.line(f"{queues.dead_letters} is empty")
    for group in report.groups:
        outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in group.outcomes.items())
        output.line(f"{group.code}: {group.letters:,} letters, {'would be ' if dry_run else ''}{outcomes}", "bold")
        output.line(f"  {group.explanation}")
        for reason in group.reasons:
            output.line(f"  logged: {output.printable(reason)}")
        for letter in group.left:
            output.line(f"  headwater events dead-letters show {letter}")
