"""`headwater server audit`: who changed what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli import output
from headwater.cli.moment import moment
from headwater.cli.serve.database import on_database

if TYPE_CHECKING:
    from headwater.store.database import Database


def audit(
    actor: Annotated[str | None, typer.Option(help="List only changes by this key or person.")] = None,
    target: Annotated[str | None, typer.Option(help="List only changes of this object.")] = None,
    since: Annotated[
        str | None, typer.Option(help="List changes from this time on, as in 2026-11-21 or with a time (UTC).")
    ] = None,
    until: Annotated[str | None, typer.Option(help="List changes before this time.")] = None,
    limit: Annotated[int, typer.Option(min=0, max=10_000, help="Show at most this many rows.")] = 50,
    offset: Annotated[int, typer.Option(min=0, help="Skip this many rows first.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List changes of metadata, keys and rules, the latest first.

    Events are not changes: they are in the event log.

    Examples:

      headwater server audit

      headwater server audit --actor airflow-prod --since 2026-11-01 --json
    """
    filters = {"actor": actor, "target": target, "since": since and moment(since), "until": until and moment(until)}

    async def load_rows(database: Database) -> bytes:
        import msgspec

        from headwater.answer.people import audit as log

        return msgspec.json.encode(await log.page(database, **filters, limit=limit, offset=offset))  # type: ignore[arg-type]

    answer = on_database("audit", load_rows)
    if json:
        output.raw(answer)
        return
    import msgspec

    found = msgspec.json.decode(answer)
    output.table(
        ("at", "who", "role", "what", "target", "status", "detail"),
        [
            (
                output.moment(entry["at"]),
                entry["actor"],
                entry["role"],
                entry["action"],
                entry["target"],
                entry["status"],
                msgspec.json.encode(entry["detail"]).decode() if entry["detail"] else None,
            )
            for entry in found["entries"]
        ],
        empty="No changes found.",
    )
    if found["total"] > len(found["entries"]):
        output.line(f"{len(found['entries'])} of {found['total']:,}; --limit and --offset show more", "dim")
