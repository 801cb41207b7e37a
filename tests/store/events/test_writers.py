"""Many writers at once, in several pools and in several server processes: nothing is lost, and no caller sees a deadlock."""

import asyncio
import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from tests.events import columns, dataset, encoded, facet, parent, run_event, schema
from tests.fixtures.postgres import empty

from headwater.errors import DatabaseUnavailable
from headwater.intake.events.accept import Intake
from headwater.intake.upkeep.rebuild import fingerprints, rebuild
from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres

WRITERS = 8


def hot(writer: int, count: int) -> list[dict[str, Any]]:
    """Events of one job, few runs, few datasets and one namespace, with links between the datasets told in every direction."""
    draw = random.Random(writer)
    told = []
    for number in range(count):
        names = draw.sample(range(6), 3)
        one, two, three = (f"/d{name}" for name in names)
        links = facet(identifiers=[{"namespace": "hive", "name": f"t{draw.randrange(5)}", "type": "TABLE"}])
        source = facet(name="lake", uri=f"s3://lake{draw.randrange(2)}")
        out = dataset(three, **schema("x", draw.choice("abc")), **columns({"x": [(one, "x", "DIRECT:IDENTITY")]}))
        if draw.random() < 0.5:
            out["facets"]["symlinks"] = facet(identifiers=[{"namespace": "file", "name": two, "type": "LOCATION"}])
        read = dataset(one, symlinks=links, dataSource=source)
        if writer + number > 2:
            # Few versions of few datasets, written after they were read: correlation is full of loops.
            out["facets"]["version"] = facet(datasetVersion=f"{number % 2}")
            read["facets"]["version"] = facet(datasetVersion=f"{(writer + number // 2) % 2}")
        told.append(
            run_event(
                draw.choice(["START", "RUNNING", "COMPLETE", "FAIL", "OTHER"]),
                draw.randrange(4),
                draw.choice(["hot", "hot", "warm"]),
                [read, two],
                [out],
                at=f"2026-01-0{draw.randrange(1, 4)}T00:00:{draw.randrange(3):02}Z",
                run_facets=parent(draw.randrange(4), "whole") if draw.random() < 0.5 else {},
                job_facets={"documentation": facet(description=f"{draw.randrange(3)} {writer} {number}")},
            )
        )
    return told


def deadlocks(postgres: EmbeddedPostgres) -> int:
    with psycopg.connect(postgres.url, autocommit=True) as asking:
        asking.execute("select pg_stat_force_next_flush()")
        row = asking.execute("select deadlocks from pg_stat_database where datname = current_database()").fetchone()
        assert row is not None
        return int(row[0])


async def one_writer(database: Database, events: list[Any]) -> dict[str, str]:
    await empty(database)
    assert not (await Intake(database).accept_batch(json.dumps(events).encode())).refused
    return await fingerprints(database)


def test_eight_pools_write_the_same_things(postgres: EmbeddedPostgres, database: Database, run: Any) -> None:
    """Each has memories of its own, as server processes have; half of what each sends another sends, too."""
    plans = [hot(writer, 40) + hot((writer + 1) % WRITERS, 40) for writer in range(WRITERS)]

    async def write(plan: list[Any], seed: int) -> None:
        draw = random.Random(seed)
        async with Database(postgres.url, pool_size=2) as mine:
            intake = Intake(mine)
            while plan:
                take = draw.choice([1, 1, 3, 10])
                part, plan = plan[:take], plan[take:]
                if take == 1:
                    await intake.accept(encoded(part[0]))
                else:
                    assert not (await intake.accept_batch(json.dumps(part).encode())).refused

    async def all_at_once() -> None:
        async with asyncio.TaskGroup() as group:
            for seed, plan in enumerate(plans):
                group.create_task(write(plan, seed))

    before = deadlocks(postgres)
    run(all_at_once())
    assert deadlocks(postgres) == before, postgres._server.log.read_text()[-6000:]
    together = run(fingerprints(database))
    run(rebuild(database))
    assert run(fingerprints(database)) == together
    assert run(one_writer(database, [event for plan in plans for event in plan])) == together


def test_two_servers_are_told_the_same_at_once(
    serve: Any, postgres: EmbeddedPostgres, database: Database, run: Any
) -> None:
    servers = [serve(HEADWATER_DATABASE__POOL_SIZE="6") for _ in range(2)]
    for server in servers:
        server.ready()
    plans = [hot(writer % 4, 30) + hot(100 + writer, 10) for writer in range(WRITERS)]
    told: list[int] = []

    def write(writer: int) -> None:
        server, plan = servers[writer % 2], plans[writer]
        for start in range(0, len(plan), 5):
            if start % 2:
                told.append(server.ask("POST", "/api/v1/lineage/batch", encoded(plan[start : start + 5]))[0])
                continue
            told.extend(server.ask("POST", "/api/v1/lineage", encoded(one))[0] for one in plan[start : start + 5])

    before = deadlocks(postgres)
    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(told) == {200, 201}
    assert deadlocks(postgres) == before, postgres._server.log.read_text()[-6000:]
    together = run(fingerprints(database))
    run(rebuild(database))
    assert run(fingerprints(database)) == together
    assert run(one_writer(database, [event for plan in plans for event in plan])) == together


def test_an_event_without_a_time_told_to_many_at_once_is_one(
    postgres: EmbeddedPostgres, database: Database, run: Any
) -> None:
    """Its time is that of its first arrival, and the first is still open."""
    bodies = []
    for number in range(20):
        event = run_event("START", number, f"job{number}")
        del event["eventTime"]
        bodies.append(encoded(event))

    async def all_at_once() -> list[Any]:
        pools = [await Database(postgres.url, pool_size=2).open() for _ in range(4)]
        intakes = [Intake(pool) for pool in pools]
        try:
            receipts = []
            for body in bodies:
                receipts.append(await asyncio.gather(*(intake.accept(body) for intake in intakes)))
            return receipts
        finally:
            for pool in pools:
                await pool.close()

    receipts = run(all_at_once())

    async def kept() -> int:
        async with database.connection() as connection:
            return (await (await connection.execute("select count(*) from events")).fetchone())[0]  # type: ignore[index]

    assert run(kept()) == len(bodies)
    assert [sum(not receipt.duplicate for receipt in group) for group in receipts] == [1] * len(bodies)


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every statement that goes through the driver, from any sender."""
    counted: list[str] = []
    execute = psycopg.AsyncCursor.execute

    async def counted_execute(self: Any, query: Any, *more: Any, **named: Any) -> Any:
        counted.append(str(query)[:60])
        return await execute(self, query, *more, **named)

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.AsyncCursor, "execute", counted_execute)
        yield counted


def test_a_batch_of_any_size_is_as_many_statements(
    database: Database, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    intake, counts = Intake(database), {}
    run(intake.accept_batch(json.dumps(hot(1, 1)).encode()))
    for size in (1, 10, 500):
        batch = []
        for number in range(size):
            name = f"{size}-{number}"
            links = facet(identifiers=[{"namespace": "hive", "name": name, "type": "TABLE"}])
            out = dataset(f"/out/{name}", symlinks=links, **schema(name))
            out["facets"] |= columns({name: [(f"/in/{name}", "x", "DIRECT:IDENTITY")]})
            source = facet(name=name, uri=name)
            more: dict[str, Any] = {"run_facets": parent(1, f"parent {name}"), "at": "2026-01-01T00:00:01Z"}
            told = run_event("COMPLETE", number, name, [dataset(f"/in/{name}", dataSource=source)], [out], **more)
            told["outputs"][0]["outputFacets"] = {"subset": facet(outputCondition={"locations": [name]})}
            batch.append(told)
        with counting(monkeypatch) as counted:
            accepted = run(intake.accept_batch(json.dumps(batch).encode()))
        assert len(accepted.receipts) == size
        # Documents of the search are made in portions of some hundred, so theirs are counted apart.
        portions = (
            "-- Datasets and jobs whose document",
            "-- Documents as they are now",
            "-- Those of these datasets of which",
        )
        counts[size] = [text for text in counted if not text.startswith(portions)]
        assert len(counted) - len(counts[size]) <= 3 + 2 * size // 100
    assert len(counts[1]) == len(counts[10]) == len(counts[500]), counts
    # One to begin, one for the names' lock, the log, a statement for each table, horizons, names; begin and commit are the driver's.
    assert 15 <= len(counts[500]) <= 28, counts[500]


@pytest.fixture
def failing(database: Database, run: Any) -> Iterator[Any]:
    """`failing("runs", "40P01", 2)`: the next two statements that write the table fail with this state."""

    async def execute(*statements: str) -> None:
        async with database.connection() as connection:
            for statement in statements:
                await connection.execute(statement)  # type: ignore[arg-type]

    def plant(table: str, state: str, times: int) -> None:
        run(
            execute(
                "create sequence planted_failures",
                "create function planted_failure() returns trigger language plpgsql as $$ begin "
                f"if nextval('planted_failures') <= {times} then raise exception 'planted' using errcode = '{state}'; end if; "
                "return null; end $$",
                f"create trigger planted_failure after insert on {table} for each statement execute function planted_failure()",
            )
        )

    yield plant
    run(execute("drop function if exists planted_failure cascade", "drop sequence if exists planted_failures"))


@pytest.mark.parametrize("table", ["events", "namespaces", "report_columns"])
@pytest.mark.parametrize("state", ["40P01", "40001"])
def test_a_transaction_that_lost_is_run_again(
    database: Database, run: Any, failing: Any, table: str, state: str
) -> None:
    """Whichever statement of the pipeline failed: its error is the one that is looked at, not that the rest was not run."""
    failing(table, state, 2)
    accepted = run(Intake(database).accept_batch(json.dumps(hot(1, 3)).encode()))
    assert [receipt.duplicate for receipt in accepted.receipts] == [False] * 3
    assert run(fingerprints(database))["runs"] == run(rebuilt(database))["runs"]


@pytest.mark.parametrize("state", ["53100", "53200", "25006", "57P03", "58030", "53300"])
def test_what_is_the_databases_trouble_is_not_the_events_fault(
    database: Database, run: Any, failing: Any, state: str
) -> None:
    """Disk full, out of memory, read-only (a standby, or an operator's brake), starting, a broken disk: later, never "refused"."""
    failing("runs", state, 1)
    intake = Intake(database)
    body = encoded(run_event("START", 1, "job"))
    with pytest.raises(DatabaseUnavailable) as told:
        run(intake.accept(body))
    assert not told.value.permanent
    assert run(intake.accept(body)).duplicate is False


async def rebuilt(database: Database) -> dict[str, str]:
    await rebuild(database)
    return await fingerprints(database)
