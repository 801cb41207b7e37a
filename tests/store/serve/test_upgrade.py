"""An upgraded database, rebuilt from its log, has the same tables as a new one."""

import json
import uuid
from typing import Any
from unittest.mock import AsyncMock
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from tests.events import columns, dataset, facet, run_event, schema

from headwater.intake.events.accept import Intake
from headwater.intake.upkeep import rebuild
from headwater.store import migrate
from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres

# Before 2010, so that every version has the partition.
DAY = "2009-06-{:02}T00:00:00Z"
EVENTS = [
    run_event("START", 1, "load", ["/raw"], [], at=DAY.format(1)),
    run_event("COMPLETE", 1, "load", ["/raw"], [dataset("/clean", **schema("id", "amount"))], at=DAY.format(2)),
    run_event(
        "COMPLETE", 2, "report", ["/clean"],
        [dataset("/report", **schema("total"), **columns({"total": [("/clean", "amount", "DIRECT:AGGREGATION")]}))],
        at=DAY.format(3),
    ),
    run_event("COMPLETE", 2, "report", ["/clean"], [dataset("/report", dataSource=facet(name="s", uri="s://s"))], at=DAY.format(3)),
    run_event("FAIL", 3, "report", ["/clean"], ["/report"], at=DAY.format(4)),
    run_event("COMPLETE", 4, "child", ["/t/day=2009-06-01"], ["/t2"], at=DAY.format(5)),
]  # fmt: skip
EARLIER = [1, 2, 4, len(migrate.files()) - 1]


@pytest.mark.parametrize("back", EARLIER, ids=[migrate.files()[-back - 1][0] for back in EARLIER])
def test_an_earlier_schema_with_its_log(
    postgres: EmbeddedPostgres, database: Database, run: Any, monkeypatch: pytest.MonkeyPatch, back: int
) -> None:
    run(Intake(database).accept_batch(json.dumps(EVENTS).encode()))
    run(rebuild.rebuild(database))
    expected = run(rebuild.fingerprints(database))

    name = f"earlier_{uuid.uuid4().hex}"
    url = urlunsplit(urlsplit(postgres.url)._replace(path=f"/{name}"))
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"create database {name}".encode())
        try:
            upgraded = run(_upgraded(url, postgres.url, back, monkeypatch))
        finally:
            connection.execute(f"drop database {name} with (force)".encode())
    assert upgraded == expected


async def _upgraded(url: str, origin: str, back: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    async with Database(url, pool_size=2) as earlier:
        every = migrate.files()
        with monkeypatch.context() as patch:
            patch.setattr(migrate, "files", lambda: every[:-back])
            patch.setattr(migrate.views, "replace", AsyncMock())  # today's views are of today's tables
            assert len(await migrate.migrate(earlier)) == len(every) - back
        _copy_log(origin, url)
        assert [name for name, _ in every[-back:]] == await migrate.migrate(earlier)
        assert await rebuild.rebuild(earlier) == len(EVENTS)
        return await rebuild.fingerprints(earlier)


def _copy_log(origin: str, target: str) -> None:
    """The columns that the earlier log had; a server of that version wrote no others."""
    with psycopg.connect(origin) as source, psycopg.connect(target) as sink:
        had = sink.execute(
            "select string_agg(quote_ident(column_name), ', ') from information_schema.columns where table_name = 'events'"
        ).fetchone()
        assert had is not None
        rows = source.execute(f"select {had[0]} from events".encode()).fetchall()
        marks = ", ".join(["%s"] * len(rows[0]))
        with sink.cursor() as cursor:
            cursor.executemany(f"insert into events ({had[0]}) values ({marks})".encode(), rows)
