"""`headwater connect` against a server, and the statements of a PostgreSQL that counts them."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from tests.fixtures.served import serve_process

from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres


@pytest.fixture(scope="module")
def counting() -> Iterator[EmbeddedPostgres]:
    """A PostgreSQL that counts statements."""
    with tempfile.TemporaryDirectory(prefix="headwater-tests-") as folder:
        first = EmbeddedPostgres(Path(folder) / "postgres")
        with psycopg.connect(first.url, autocommit=True) as connection:
            connection.execute("alter system set shared_preload_libraries = 'pg_stat_statements'")
        first.stop()
        server = EmbeddedPostgres(Path(folder) / "postgres")
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(
                "create role reader login; create role etl login superuser; create schema mart;"
                "create table public.orders (id int, amount int); create table mart.daily (total int);"
            )
        yield server
        server.stop()


@pytest.fixture
def server(postgres: EmbeddedPostgres, database: Database) -> Iterator[str]:
    with serve_process(
        postgres.url, HEADWATER_CONNECTORS__EVERY_SECONDS="0.2", HEADWATER_CONNECTORS__ENABLED="true"
    ) as url:
        yield url


def headwater(server: str, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [".venv/bin/headwater", "connect", *words], env={**os.environ, "HEADWATER_URL": server, **more},
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def options(url: str) -> list[str]:
    where: dict[str, Any] = conninfo_to_dict(url)
    return [
        "--host",
        where["host"],
        "--port",
        str(where.get("port", 5432)),
        "--database",
        where.get("dbname", "postgres"),
        "--namespace",
        "postgres://db:5432",
    ]


def test_from_credentials_to_who_reads_what(server: str, counting: EmbeddedPostgres) -> None:
    """Every step that a person takes, with the grants that each check asks for."""
    where = options(counting.url)
    first = headwater(server, "postgres", *where, "--user", "reader")
    assert first.returncode == 0, first.stderr
    assert "CREATE EXTENSION pg_stat_statements;" in first.stdout
    with psycopg.connect(counting.url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION pg_stat_statements;")
        again = headwater(server, "test", "postgres")
        assert "GRANT pg_read_all_stats TO reader;" in again.stdout
        connection.execute("GRANT pg_read_all_stats TO reader;")
        connection.execute("set role etl")
        for _ in range(3):
            connection.execute("insert into mart.daily select sum(amount) from public.orders where id > 7")
    assert "missing" not in headwater(server, "test", "postgres").stdout
    pulled = json.loads(headwater(server, "pull", "postgres", "--json").stdout)
    assert pulled["pulls"][0]["error"] is None
    assert pulled["pulls"][0]["warnings"] == []
    lineage = subprocess.run(
        [".venv/bin/headwater", "lineage", "mart.daily", "--json"], env={**os.environ, "HEADWATER_URL": server}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    jobs = [one for one in json.loads(lineage.stdout)["nodes"] if one["type"] == "JOB"]
    assert [one["name"].rpartition(" ")[0] for one in jobs] == ["INSERT postgres.mart.daily"]
    assert "orders" in lineage.stdout
    runs = json.loads(
        subprocess.run(
            [".venv/bin/headwater", "runs", "--json"], env={**os.environ, "HEADWATER_URL": server}, capture_output=True, text=True, check=True,
        ).stdout
    )  # fmt: skip
    assert len(runs["runs"]) == 1
    # Nothing ran since: nothing is said again.
    assert json.loads(headwater(server, "pull", "postgres", "--json").stdout)["pulls"][0]["events"] == 0


def test_a_secret_is_read_from_a_file_or_the_environment(
    server: str, counting: EmbeddedPostgres, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text("from a file\n")
    where = [*options(counting.url), "--user", "reader"]
    told = headwater(server, "postgres", *where, "--password-file", str(tmp_path / "password"), "--json")
    assert json.loads(told.stdout)["ok"]
    told = headwater(server, "postgres", *where, "--name", "second", HEADWATER_CONNECT_PASSWORD="from the environment")
    assert told.returncode == 0
    state = headwater(server, "list").stdout
    assert "second" in state
    assert "from" not in state
    missing = headwater(server, "postgres", *where, "--password-file", str(tmp_path / "none"))
    assert missing.returncode != 0
    assert "name a readable file with the password" in missing.stderr
    assert headwater(server, "pause", "second").stdout == "second is paused\n"
    assert headwater(server, "remove", "second").returncode == 0
    assert headwater(server, "show", "second").returncode != 0
