"""schema.sql creates the same schema as the migrations, with comments that may be edited."""

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from tests.store.schema import PATH, catalog, replayed

from headwater.store import migrate
from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres


@contextmanager
def fresh(server: str) -> Iterator[str]:
    """The address of a new, empty database."""
    name = f"schema_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create database {name}".encode())
        yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        connection.execute(f"drop database {name} with (force)".encode())


@pytest.fixture(scope="module")
def made(postgres: EmbeddedPostgres, run: Any) -> set[str]:
    """The catalog that the migrations make."""

    async def work(url: str) -> None:
        async with Database(url, pool_size=2) as database:
            await migrate.migrate(database)

    with fresh(postgres.url) as url:
        run(work(url))
        return catalog(url)


def read(postgres: EmbeddedPostgres, sql: str) -> set[str]:
    with fresh(postgres.url) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql.encode())
        return catalog(url)


def difference(made: set[str], read: set[str]) -> str:
    lines = [f"- only the migrations: {line}" for line in made - read] + [f"+ only schema.sql: {line}" for line in read - made]  # fmt: skip
    return "\n".join(sorted(lines, key=lambda line: line.partition(": ")[2]))


def test_the_schema_is_what_the_migrations_make(postgres: EmbeddedPostgres, made: set[str]) -> None:
    told = difference(made, read(postgres, PATH.read_text(encoding="utf-8")))
    assert not told, f"`python -m tests.store.schema` writes it again\n{told}"


def test_the_schema_has_the_text_of_the_migrations() -> None:
    text = PATH.read_text(encoding="utf-8")
    assert text == replayed(text), "`python -m tests.store.schema` writes it again"


def test_an_edited_comment_stays() -> None:
    was = "-- Data sources as dataSource facets name them.\ncreate table sources"
    edited = was.replace("Data sources", "Sources")
    text = PATH.read_text(encoding="utf-8")
    assert was in text
    assert edited in replayed(text.replace(was, edited))
    assert was in replayed("")


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("external_id    text,", "external_id    varchar,"),
        ("hidden       boolean     not null default false", "hidden       boolean     not null default true"),
        ("last_seen    timestamptz not null,", "last_seen    timestamptz,"),
        (") with (fillfactor = 80);", ");"),
        ("create index edges_by_job on edges (job_id);", ""),
        ("check (direction in ('in', 'out'))", ""),
        ("e.manual or e.intermittent", "e.intermittent"),
        ("order by l.first_at desc, l.report_id limit 10", "order by l.first_at desc, l.report_id limit 1"),
        ("before update or delete or truncate on audit", "before update or delete on audit"),
        ("insert into server_state", "-- "),
        ("extension if not exists pg_trgm", "extension if not exists hstore; create extension pg_trgm"),
    ],
)
def test_a_difference_is_seen(postgres: EmbeddedPostgres, made: set[str], was: str, becomes: str) -> None:
    text = PATH.read_text(encoding="utf-8")
    assert was in text
    assert difference(made, read(postgres, text.replace(was, becomes, 1)))


def test_a_later_migration_is_written_into_its_table(monkeypatch: pytest.MonkeyPatch) -> None:
    more = """
    -- A later file.

    alter table edges add column weight numeric(4, 2) not null default 1;
    -- The way it was found.
    alter table edges add column how text, add column by_whom text;
    drop index edges_by_job;
    alter table edges alter column how set storage external;
    -- Once said.
    create or replace view live_edges as select 1 as one;
    drop table warnings;
    """
    files = [*migrate.files(), ("9999_later.sql", re.sub(r"(?m)^    ", "", more))]
    monkeypatch.setattr(migrate, "files", lambda: files)
    text = replayed(PATH.read_text(encoding="utf-8"))
    table = text[text.index("create table edges") :]
    table = table[: table.index(";\n\n")]
    assert (
        "  weight numeric(4, 2) not null default 1,\n  -- The way it was found.\n  how text,\n  by_whom text,\n  primary key"
        in table
    )
    assert "edges_by_job" not in text
    assert "alter table edges alter column how set storage external" in table
    assert "-- Once said.\ncreate or replace view live_edges as select 1 as one;" in text
    assert not re.search(r"\b(table|on) warnings\b", text)


def test_numbers_have_no_gaps() -> None:
    names = [name for name, _ in migrate.files()]
    assert [name[:4] for name in names] == [f"{number:04}" for number in range(1, len(names) + 1)]
    assert all(re.fullmatch(r"\d{4}_[a-z_]+\.sql", name) for name in names)
