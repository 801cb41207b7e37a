"""A server feeds the status of instances beside answering, through any failure of its database; and a command feeds older events."""

import asyncio
import json
from typing import Any

import pytest
from tests.events import encoded, facet, run_event
from typer.testing import CliRunner

from headwater.cli.program import program
from headwater.errors import DatabaseUnavailable
from headwater.intake.events.accept import Intake
from headwater.intake.status import feeder as status_feeder
from headwater.intake.status.entities import File, apply
from headwater.intake.status.feed import Feed
from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres
from headwater.store.events.arrivals import settled
from headwater.store.people.listeners import Place
from headwater.store.status import feed as status_feed

DECLARED = """
entity: reads
period: {every: day, from: 2024-01-01}
stored_in: [{namespace: file, name: /reads}]
"""


def day(number: int) -> bytes:
    nominal = {"nominalTime": facet(nominalStartTime=f"2024-03-{number:02}T00:00:00Z")}
    return encoded(run_event("COMPLETE", number, "load", [], ["/reads"], run_facets=nominal))


@pytest.fixture
def declared(database: Database, run: Any) -> Database:
    run(apply(database, [File("entities.yaml", DECLARED)], "tests"))
    run(now(database))
    return database


async def now(database: Database) -> None:
    """Let the feeder begin here."""
    safe = await settled(database)
    async with database.transaction() as connection:
        await status_feed.move(connection, Place(safe + 1))


async def reported(database: Database, count: int) -> None:
    """Wait until there are so many reports."""
    async with asyncio.timeout(30):
        while await _reports(database) < count:
            await asyncio.sleep(0.02)


async def _reports(database: Database) -> int:
    async with database.connection() as connection:
        row = await (await connection.execute("select count(*) from status_reports")).fetchone()
    return int(row[0]) if row else 0


def test_what_arrives_is_fed_at_once(declared: Database, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The feeder alone would look again in an hour."""
    monkeypatch.setattr(status_feeder, "_LOOK_SECONDS", 3600.0)
    live, looks = Feed.live, []

    async def looked(self: Feed, safe: int) -> Any:
        found = await live(self, safe)
        looks.append(found)
        return found

    monkeypatch.setattr(Feed, "live", looked)

    async def scene() -> None:
        feeder = status_feeder.begin(declared)
        try:
            while not looks:
                await asyncio.sleep(0.02)
            await Intake(declared).accept(day(10))
            await reported(declared, 1)
        finally:
            await status_feeder.end(feeder)

    run(scene())


def test_an_outage_of_the_database_is_survived_and_said_once(
    declared: Database, run: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    live, away = Feed.live, True

    async def tried(self: Feed, safe: int) -> Any:
        if away:
            raise DatabaseUnavailable("PostgreSQL is away")
        return await live(self, safe)

    monkeypatch.setattr(Feed, "live", tried)
    monkeypatch.setattr(status_feeder, "_LOOK_SECONDS", 0.05)
    monkeypatch.setattr(status_feeder, "_REST_SECONDS", 0.01)

    async def scene() -> None:
        nonlocal away
        feeder = status_feeder.begin(declared)
        try:
            await Intake(declared).accept(day(10))
            await asyncio.sleep(0.4)
            assert await _reports(declared) == 0
            away = False
            await reported(declared, 1)
        finally:
            await status_feeder.end(feeder)

    run(scene())
    assert [record.message for record in caplog.records].count("StatusFeedHeldUp error='PostgreSQL is away'") == 1


@pytest.mark.parametrize("feed", [True, False])
def test_a_server_feeds_unless_it_is_told_not_to(served: Any, declared: Database, run: Any, feed: bool) -> None:
    server = served(entities={"feed": feed})
    server.post("/api/v1/lineage", content=day(10))
    if feed:
        run(reported(declared, 1))
        counted = 'headwater_status_feed_total{outcome="taken"} 1.0'
        for _ in range(500):
            if counted in server.get("/metrics").text:  # once it is committed, and may be seen
                break
            run(asyncio.sleep(0.02))
        assert counted in server.get("/metrics").text
    else:
        run(asyncio.sleep(0.4))
        assert run(_reports(declared)) == 0


def test_the_command_feeds_what_is_older(
    declared: Database, postgres: EmbeddedPostgres, run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE__URL", postgres.url)
    monkeypatch.setenv("HEADWATER_HOME", str(tmp_path))
    for number in (10, 11):
        run(Intake(declared).accept(day(number)))
    nowhere = run_event("COMPLETE", 12, "load", [], ["/reads"])
    run(Intake(declared).accept(encoded(nowhere)))
    for taken, duplicate in ((2, 0), (0, 2)):
        told = CliRunner().invoke(program, ["entities", "feed", "--since", "2025-12-31", "--json"])
        assert told.exit_code == 0, told.output
        expected = {"events": 3, "taken": taken, "duplicate": duplicate, "refused": 0, "unplaced": 1, "failed": 0}
        assert json.loads(told.output) == expected
    assert "1 runs do not name" in CliRunner().invoke(program, ["entities", "feed", "--since", "2025-12-31"]).output


def test_it_ends_whatever_it_is_doing(database: Database, run: Any) -> None:
    async def once(after: float) -> None:
        feeder = status_feeder.begin(database)
        await asyncio.sleep(after)
        async with asyncio.timeout(30):
            await status_feeder.end(feeder)

    for turn in range(40):
        run(once(turn * 0.0004))
