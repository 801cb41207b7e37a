"""`headwater server backup` and `headwater server restore`: write the database to a file and back, wherever the embedded one lives."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli import output, process
from headwater.cli.extras import need
from headwater.home import home

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def backup(
    file: Annotated[
        Path, typer.Argument(help="The file to write. An existing file is replaced once the new one is complete.")
    ],
    log_only: Annotated[
        bool, typer.Option("--log-only", help="Leave out tables that the log can rebuild: a much smaller file.")
    ] = False,
    json: Json = False,
) -> None:
    """Write the database to a file, while the server runs.

    The file is a consistent snapshot in pg_dump's format.

    Examples:

      headwater server backup headwater.dump

      headwater server backup --log-only log.dump
    """
    need("server", "`headwater server backup`")
    import msgspec

    from headwater.store.events import backup as store

    with database_in_use() as url:
        store.dump(url, file, log_only=log_only)
    size = file.stat().st_size
    if json:
        output.raw(msgspec.json.encode({"file": str(file), "bytes": size, "log_only": log_only}))
    else:
        output.line(f"{file}: {output.size(size)}{', the log only' if log_only else ''}")


def restore(
    file: Annotated[Path, typer.Argument(help="A file of `headwater server backup` or of pg_dump --format=custom.")],
    json: Json = False,
) -> None:
    """Restore the database from a backup file.

    The database must not hold any event, and the server must be down.

    A backup of the log alone is rebuilt afterwards; one of an older version is migrated.

    Examples:

      headwater down && headwater server restore headwater.dump && headwater up
    """
    need("server", "`headwater server restore`")
    import asyncio

    import msgspec

    from headwater.errors import RestoreRefused

    if not file.is_file():
        raise RestoreRefused(f"{file} is not a file")
    if process.read() is not None:
        raise RestoreRefused("the server is running and would write to the database; run `headwater down` first")
    with database_in_use() as url:
        answer = asyncio.run(_restore(url, file))
    if json:
        output.raw(msgspec.json.encode(answer))
    else:
        output.line(f"{answer['events']:,} events restored{' and replayed' if answer['rebuilt'] else ''}")


async def _restore(url: str, file: Path) -> dict[str, Any]:
    from headwater.errors import RestoreRefused
    from headwater.intake.upkeep import rebuild
    from headwater.store.database import Database
    from headwater.store.events import backup as store
    from headwater.store.migrate import migrate

    database = await Database(url, pool_size=2).open()
    try:
        async with database.connection() as connection:
            if held := await store.logged(connection):
                raise RestoreRefused(
                    f"the database holds {held:,} events, which a restore would replace; name an empty database"
                )
    finally:
        await database.close()
    store.load(url, file)
    database = await Database(url, pool_size=2).open()
    try:
        await migrate(database)
        async with database.connection() as connection:
            events, projected = await store.logged(connection), await store.projected(connection)
        if rebuilt := bool(events and not projected) or await rebuild.needed(database):
            await rebuild.rebuild(database)
        return {"events": events, "rebuilt": rebuilt}
    finally:
        await database.close()


@contextmanager
def database_in_use() -> Iterator[str]:
    """Yield the running server's database, else the one in the settings, else the embedded one, which is started for this command."""
    from headwater.settings import Settings

    running = process.read()
    url = running.database_url if running else Settings().database.url
    if url is not None:
        yield url
        return
    from headwater.store.embedded import EmbeddedPostgres

    postgres = EmbeddedPostgres(home() / "postgres")
    try:
        yield postgres.url
    finally:
        postgres.stop()
