"""Run work on the database itself, beside a running server or without one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from headwater.cli import process
from headwater.cli.extras import need
from headwater.home import home

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from headwater.store.database import Database

T = TypeVar("T")


def on_database(command: str, work: Callable[[Database], Awaitable[T]]) -> T:
    """Return what `work` answers over the migrated database: the running server's, else the one in the settings, else the embedded one."""
    return on_url(command, lambda url: _opened(url, work))


def on_url(command: str, work: Callable[[str], Coroutine[Any, Any, T]]) -> T:
    """Return what `work` answers for the address of that database, which may not answer yet."""
    need("server", f"`headwater {command}`")
    import asyncio

    from headwater.settings import Settings

    running = process.read()
    url = running.database_url if running else Settings().database.url
    if url is not None:
        return asyncio.run(work(url))
    from headwater.store.embedded import EmbeddedPostgres

    postgres = EmbeddedPostgres(home() / "postgres")
    try:
        return asyncio.run(work(postgres.url))
    finally:
        postgres.stop()


async def _opened(url: str, work: Callable[[Database], Awaitable[T]]) -> T:
    from headwater.store.database import Database
    from headwater.store.migrate import migrate

    async with Database(url, pool_size=2) as database:
        await migrate(database)
        return await work(database)
