"""`headwater backup` and `headwater restore`: the database to a file and back, without knowing where the embedded one lives."""

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
    file: Annotated[Path, typer.Argument(help="Where to write it; what stands there is replaced when it is whole.")],
    log_only: Annotated[
        bool, typer.Option("--log-only", help="Without the tables that can be made again from the log: much smaller.")
    ] = False,
    json: Json = False,
) -> None:
    """Write the database to a file, while the server runs.

    The file holds one moment of it, in pg_dump's format.

    Examples:

      headwater backup headwater.dump

      headwater backup --log-only log.dump
    """
    need("server", "`headwater backup`")
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
    file: Annotated[Path, typer.Argument(help="A file of `headwater backup`, or of pg_dump --format=custom.")],
    json: Json = False,
) -> None:
    """Restore the database from a backup file.

    The database must hold no event yet, and the server must be down.

    A file of the log alone is followed by a rebuild, one of an older version by its migrations.

    Examples:

      headwater down && headwater restore headwater.dump && headwater up
    """
    need("server", "`headwater restore`")
    import asyncio

    import msgspec

    from headwater.errors import RestoreRefused

    if not file.is_file():
        raise RestoreRefused(f"{file} is not a file")
    if process.read() is not None:
        raise RestoreRefused("the server is running: `headwater down` first, or it would write into what is replaced")
    with database_in_use() as url:
        answer = asyncio.run(_restore(url, file))
    if json:
        output.raw(msgspec.json.encode(answer))
    else:
        output.line(f"{answer['events']:,} events restored{' and replayed' if answer['rebuilt'] else ''}")


async def _restore(url: str, file: Path) -> dict[str, Any]:
    from headwater.errors import RestoreRefused
    from headwater.intake.upkeep import rebuild
    from headwater.settings import Settings
    from headwater.store.database import Database
    from headwater.store.events import backup as store
    from headwater.store.migrate import migrate

    database = await Database(url, pool_size=2).open()
    try:
        async with database.connection() as connection:
            if held := await store.logged(connection):
                raise RestoreRefused(
                    f"the database holds {held:,} events, which a restore would replace: name an empty one"
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
            await rebuild.rebuild(database, live_runs=Settings().lineage.live_runs)
        return {"events": events, "rebuilt": rebuilt}
    finally:
        await database.close()


@contextmanager
def database_in_use() -> Iterator[str]:
    """The running server's database, else the one the settings name, else the embedded one, started for as long as this takes."""
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
