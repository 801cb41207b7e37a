"""A pool whose PostgreSQL is away keeps knocking, so that it is back when PostgreSQL is."""

import asyncio
import socket
import time
from typing import Any

import pytest

from headwater.errors import DatabaseRefused, DatabaseUnavailable
from headwater.store.database import Database, connecting
from headwater.store.embedded import EmbeddedPostgres


def test_while_postgresql_is_away_it_is_asked_again_and_again(
    postgres: EmbeddedPostgres, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not ever more rarely, as the pool would by itself: after an hour's outage it would take another hour to come back."""
    path = postgres.url.partition("host=")[2] + "/.s.PGSQL.5432"
    away, knocks = False, 0

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal knocks
        if away:
            knocks += 1
            writer.close()
            return
        there, back = await asyncio.open_unix_connection(path)

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


@pytest.mark.parametrize("given", ["", "?keepalives_idle=77&tcp_user_timeout=7000"])
def test_a_machine_that_is_gone_without_a_word_is_noticed(given: str) -> None:
    """A connection over a network asks whether the other side still lives; Linux's own patience is hours. The address may say otherwise."""
    told = connecting(f"postgresql://postgres@db.example/postgres{given}")
    assert told["keepalives_idle"] == ("77" if given else 10)
    assert told["tcp_user_timeout"] == ("7000" if given else 30_000)
    assert told["connect_timeout"] == 5


def test_an_address_that_is_none_is_said_without_being_shown() -> None:
    with pytest.raises(DatabaseRefused) as told:
        Database("postgresql://ada:secret@[half")
    assert "secret" not in str(told.value)


def test_what_is_told_of_a_connection_reaches_its_socket(postgres: EmbeddedPostgres, run: Any) -> None:
    path = postgres.url.partition("host=")[2] + "/.s.PGSQL.5432"

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_unix_connection(path)

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                sink.write(data)
            sink.close()

        await asyncio.gather(pump(reader, back), pump(there, writer))

    async def scene() -> list[int]:
        server = await asyncio.start_server(relay, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with (
            Database(f"postgresql://postgres@127.0.0.1:{port}/postgres", pool_size=2) as database,
            database.connection() as connection,
        ):
            with socket.socket(fileno=socket.dup(connection.fileno())) as link:
                options = (socket.TCP_KEEPIDLE, socket.TCP_USER_TIMEOUT)
                found = [link.getsockopt(socket.IPPROTO_TCP, option) for option in options]
        server.close()
        await server.wait_closed()
        return found

    assert run(scene()) == [10, 30_000]


def test_a_statement_looks_whether_its_client_is_still_there(database: Database, run: Any) -> None:
    """A process that was killed while its statement ran would hold its locks until the statement ends."""

    async def ask() -> Any:
        async with database.connection() as connection:
            return await (await connection.execute("show client_connection_check_interval")).fetchone()

    assert run(ask()) == ("10s",)
