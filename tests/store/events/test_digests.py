"""An event is a duplicate by its meaning; the log keeps the bytes that came first; events of before that rule keep their digest."""

import asyncio
import json
from typing import Any

import pytest
from tests.events import columns, dataset, encoded, facet, run_event, schema

from headwater.intake.events.accept import Intake
from headwater.intake.upkeep.rebuild import fingerprints, rebuild
from headwater.model.version import bytes_digest, event_digest
from headwater.store.database import Database

FIELDS = columns({"total": [("orders", "amount", "DIRECT:IDENTITY")]})
EVENT = run_event(
    "COMPLETE",
    1,
    "sum",
    [dataset("orders", **schema("amount"))],
    [dataset("sums", **schema("total"), **FIELDS)],
    job_facets={"sql": facet(query="select 'é/€'")},
)
FIRST = encoded(EVENT)


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return [reordered(item) for item in value] if isinstance(value, list) else value


SECOND = json.dumps(reordered(EVENT), indent=2, ensure_ascii=True).replace("/", r"\/").encode()


async def log(database: Database) -> list[tuple[bytes, bytes]]:
    async with database.connection() as connection:
        return await (await connection.execute("select digest, body from events order by arrived")).fetchall()


async def stored_by_bytes(database: Database, body: bytes, until: str = "now() + interval '1 day'") -> None:
    """The log as a version that identified events by their bytes left it."""
    await Intake(database).accept(body)
    async with database.transaction() as connection:
        for table in ("events", "warnings"):
            await connection.execute(f"update {table} set digest = %b", (bytes_digest(body),))  # type: ignore[arg-type]
        await connection.execute(f"update server_state set bytes_digests_until = {until}")  # type: ignore[arg-type]
    await rebuild(database)


@pytest.fixture(autouse=True)
def a_new_database(database: Database, run: Any) -> None:
    async def forget() -> None:
        async with database.connection() as connection:
            await connection.execute("update server_state set bytes_digests_until = null")

    run(forget())


def test_the_two_mean_the_same() -> None:
    assert FIRST != SECOND
    assert event_digest(FIRST) == event_digest(SECOND) != bytes_digest(FIRST)


@pytest.mark.parametrize("together", [False, True])
def test_in_other_words_it_is_a_duplicate(database: Database, run: Any, together: bool) -> None:
    intake = Intake(database)
    if together:
        first, second = run(intake.accept_each([FIRST, SECOND])).receipts
    else:
        first = run(intake.accept(FIRST))
        before = run(fingerprints(database))
        second = run(intake.accept(SECOND))
        assert run(fingerprints(database)) == before
    assert [first.duplicate, second.duplicate] == [False, True]
    assert first.id == second.id
    assert run(log(database)) == [(event_digest(FIRST), FIRST)]
    before = run(fingerprints(database))
    run(rebuild(database))
    assert run(fingerprints(database)) == before


def test_a_duplicate_in_other_words_costs_its_neighbours_nothing(database: Database, run: Any) -> None:
    intake = Intake(database)
    run(intake.accept(FIRST))
    other = encoded(run_event("START", 2, "other", ["orders"]))
    receipts = run(intake.accept_each([other, SECOND, other])).receipts
    assert [receipt.duplicate for receipt in receipts] == [False, True, True]
    assert [body for _, body in run(log(database))] == [FIRST, other]


def test_of_two_writers_one_is_first(database: Database, run: Any) -> None:
    async def both() -> list[bool]:
        one, other = Intake(database), Intake(database)
        receipts = await asyncio.gather(one.accept(FIRST), other.accept(SECOND))
        return sorted(receipt.duplicate for receipt in receipts)

    assert run(both()) == [False, True]
    assert len(run(log(database))) == 1
    before = run(fingerprints(database))
    run(rebuild(database))
    assert run(fingerprints(database)) == before


def test_an_event_of_before_keeps_its_digest(database: Database, run: Any) -> None:
    run(stored_by_bytes(database, FIRST))
    before = run(fingerprints(database))
    receipt = run(Intake(database).accept(FIRST))
    assert (receipt.duplicate, receipt.id) == (True, bytes_digest(FIRST).hex())
    assert run(log(database)) == [(bytes_digest(FIRST), FIRST)]
    assert run(fingerprints(database)) == before


def test_an_event_of_before_that_came_from_the_future(database: Database, run: Any) -> None:
    body = encoded(run_event("COMPLETE", 1, "early", at="2999-01-01T00:00:00Z"))
    run(stored_by_bytes(database, body))
    ((_, kept),) = run(log(database))
    assert run(Intake(database).accept(body)).duplicate
    assert len(run(log(database))) == 1
    assert kept == body


def test_an_event_of_before_without_a_time(database: Database, run: Any) -> None:
    body = encoded({key: value for key, value in EVENT.items() if key != "eventTime"})
    run(stored_by_bytes(database, body))
    assert run(Intake(database).accept(body)).duplicate
    assert len(run(log(database))) == 1


def test_an_event_of_after_the_upgrade_asks_nothing_more(database: Database, run: Any) -> None:
    run(stored_by_bytes(database, FIRST, "timestamptz '2025-01-01'"))
    receipt = run(Intake(database).accept(FIRST))
    assert not receipt.duplicate  # its time is later than the last digest by bytes, so that none is looked up
