"""Migrations run once, in order, and refuse to be edited after they ran."""

import subprocess
import sys
import uuid
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from headwater.answer import health
from headwater.errors import DatabaseRefused
from headwater.store import migrate as module
from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres


def test_second_run_does_nothing(database: Database, run: Any) -> None:
    assert run(module.migrate(database)) == []


def test_an_edited_file_is_refused(database: Database, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (name, sql), *rest = module.files()
    monkeypatch.setattr(module, "files", lambda: [(name, sql + "\n-- edited"), *rest])
    with pytest.raises(DatabaseRefused, match="was edited after it ran"):
        run(module.migrate(database))


def test_a_newer_database_is_refused(database: Database, run: Any) -> None:
    async def newer(version: str | None) -> None:
        async with database.transaction() as connection:
            await connection.execute("delete from migrations where name = '9999_later.sql'")
            await connection.execute("insert into migrations (name, checksum, version) values ('9999_later.sql', '', %s)", (version,))  # fmt: skip

    async def gone() -> None:
        async with database.transaction() as connection:
            await connection.execute("delete from migrations where name = '9999_later.sql'")

    try:
        run(newer("12.0.1"))
        with pytest.raises(
            DatabaseRefused, match=r"newer Headwater \(9999_later\.sql\).* Install 12\.0\.1 or newer, or"
        ):
            run(module.migrate(database))
        assert "Install 12.0.1 or newer" in run(health.unready(database))
        run(newer(None))
        with pytest.raises(DatabaseRefused, match="Install that version, or restore a backup"):
            run(module.migrate(database))
    finally:
        run(gone())
    assert run(health.unready(database)) == ""


def test_a_database_that_never_recorded_versions_is_migrated(database: Database, run: Any) -> None:
    async def forget() -> None:
        async with database.transaction() as connection:
            await connection.execute("alter table migrations drop column version")

    run(forget())
    assert run(health.unready(database)) == ""
    assert run(module.migrate(database)) == []


# Both wait for a line, so that they begin together.
_PROCESS = """
import asyncio, sys
from headwater.store.database import Database
from headwater.store.migrate import migrate

async def main():
    async with Database(sys.argv[1], pool_size=2) as database:
        print("ready", flush=True)
        sys.stdin.readline()
        print(len(await migrate(database)), flush=True)

asyncio.run(main())
"""


def test_two_processes_at_once_run_each_file_once(postgres: EmbeddedPostgres) -> None:
    name = f"migrated_{uuid.uuid4().hex}"
    url = urlunsplit(urlsplit(postgres.url)._replace(path=f"/{name}"))
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"create database {name}".encode())
        started = [
            subprocess.Popen(
                [sys.executable, "-c", _PROCESS, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for _ in range(2)
        ]
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        told = [process.communicate(timeout=60)[0] for process in started]
        connection.execute(f"drop database {name} with (force)".encode())
    assert [process.returncode for process in started] == [0, 0]
    assert sorted(map(int, told)) == [0, len(module.files())]
