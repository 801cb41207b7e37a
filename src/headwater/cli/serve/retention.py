"""`headwater server retention`: delete what is older than the retention settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli import output
from headwater.cli.serve.database import on_database

if TYPE_CHECKING:
    from headwater.store.database import Database

retention = typer.Typer(
    help="Delete what is older than the retention settings.", rich_markup_mode=None, no_args_is_help=True
)


@retention.callback()
def _group() -> None:
    """Delete what is older than the retention settings."""


@retention.command()
def run(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be deleted without deleting it.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Delete what is older than the HEADWATER_RETENTION__… settings. Exit code 1 if something could not be deleted.

    Examples:

      HEADWATER_RETENTION__EVENTS_DAYS=400 headwater server retention run --dry-run

      headwater server retention run --json
    """

    async def run_retention(database: Database) -> bytes:
        import msgspec

        from headwater.intake.upkeep import retention as writes
        from headwater.settings import Settings

        settings = Settings()
        kept = settings.retention
        policy = writes.Policy(kept.events_days, kept.runs_days, kept.warnings_days, kept.audit_days)
        report = await writes.run(database, policy, dry_run=dry_run)
        return msgspec.json.encode(report)

    answer = on_database("retention run", run_retention)
    import msgspec

    reply = msgspec.json.decode(answer)
    if json:
        output.raw(answer)
    elif reply["busy"]:
        output.line("another process is applying retention; nothing was done")
    elif not reply["kinds"]:
        output.line("nothing is deleted: no HEADWATER_RETENTION__… is set")
    else:
        output.table(
            ("kind", "before", "would be deleted" if dry_run else "deleted", "months", "error"),
            [
                (one["kind"], output.moment(one["before"]), one["deleted"], len(one["months"]) or None, one["error"])
                for one in reply["kinds"]
            ],
        )
    if any(one["error"] for one in reply["kinds"]):
        raise typer.Exit(1)
