"""A pool whose PostgreSQL is away keeps knocking, so that it is back when PostgreSQL is."""

import asyncio
import time
from typing import Any

import pytest

from headwater.errors import DatabaseUnavailable
from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres


def test_while_postgresql_is_away_it_is_asked_again_and_again(
    postgres: EmbeddedPostgres, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not ever more rarely, as the pool would by itself: after an hour's outage it would take another hour to come back."""
    socket = postgres.url.partition("host=")[2] + "/.s.PGSQL.5432"
    away, knocks = False, 0

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal knocks
        if away:
            knocks += 1
            writer.close()
            return
        there, back = await asyncio.open_unix_connection(socket)

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while not away:
                try:
                    data = await asyncio.wait_for(source.read(65536), 0.1)
                except TimeoutError:
                    continue
                if not data:
                    break
                sink.write(data)
            sink.close()

        await asyncio.gather(pump(reader, back), pump(there, writer))

    async def ask(database: Database) -> bool:
        try:
            async with database.connection() as connection:
                await connection.execute("select 1")
        except DatabaseUnavailable:
            return False
        return True

    async def scene() -> None:
        nonlocal away
        server = await asyncio.start_server(relay, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with Database(f"postgresql://postgres@127.0.0.1:{port}/postgres", pool_size=2) as database:
            assert await ask(database)
            away = True
            asking, began = [], time.monotonic()
            while time.monotonic() - began < 15:
                asking.append(asyncio.create_task(ask(database)))
                await asyncio.sleep(0.5)
            away = False
            assert await ask(database)
            assert False in await asyncio.gather(*asking)
        server.close()
        await server.wait_closed()

    run(scene())
    assert knocks >= 12
