"""Events dated in the future: the log has them under their time of arrival, once, whatever clock judges a repetition and however often they come."""

import asyncio
import datetime as dt
import random
from typing import Any

import pytest
from tests.events import RUN, dataset, encoded, run_event, schema
from tests.fixtures.postgres import empty
from tests.scale import full

from headwater.intake.events.accept import Arrival, Intake, Receipt
from headwater.intake.upkeep import retention
from headwater.intake.upkeep.rebuild import fingerprints, rebuild
from headwater.store.database import Database

NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
FUTURE = ("9999-12-31T23:59:59Z", "2999-01-01T00:00:00+14:00", "2051-01-01T00:00:00Z")


def described(column: str, at: str) -> bytes:
    return encoded({"eventTime": at, "producer": "p", "dataset": dataset("t", "ns", **schema(column))})


async def send(intake: Intake, body: bytes, received: dt.datetime | None = None) -> Receipt:
    """Accept an event; `received`: as if it had arrived then."""
    accepted = await intake.accept_each([body], [Arrival(received, received)] if received else None)
    assert not accepted.refused
    return accepted.receipts[0]


async def rows(database: Database, sql: str) -> list[Any]:
    async with database.connection() as connection:
        return await (await connection.execute(sql)).fetchall()  # type: ignore[arg-type]


def columns(run: Any, database: Database) -> list[str]:
    """The columns that are current."""
    body = (
        "select convert_from(b.body, 'UTF8')::jsonb->'fields' from owner_facets o join facet_sets s on s.id = o.set_id "
        "join facet_bodies b on b.id = s.body_id where s.name = 'schema' order by o.last_at desc, o.last_digest desc limit 1"
    )
    return [field["name"] for field in run(rows(database, body))[0][0]]


@pytest.mark.parametrize("at", FUTURE)
def test_what_is_sent_later_replaces_what_came_from_the_future(database: Database, run: Any, at: str) -> None:
    intake = Intake(database)
    receipt = run(send(intake, described("typo", at), NOON))
    assert [warning.code for warning in receipt.warnings] == ["future_time"]
    assert "time of arrival" in receipt.warnings[0].message
    run(send(intake, described("right", "2026-03-01T13:00:00Z")))
    assert columns(run, database) == ["right"]
    assert run(rows(database, "select max(event_time) < '2027-01-01' from events")) == [(True,)]
    before = run(fingerprints(database))
    run(rebuild(database))
    assert run(fingerprints(database)) == before


def test_a_run_from_the_future_ended_when_it_was_reported(database: Database, run: Any) -> None:
    run(send(Intake(database), encoded(run_event("COMPLETE", 1, "job", at=FUTURE[0])), NOON))
    assert run(rows(database, "select ended_at from runs")) == [(NOON,)]


def test_sent_again_it_is_a_duplicate_also_when_its_time_has_come(database: Database, run: Any) -> None:
    body = described("a", "2026-03-01T14:00:00Z")
    first = run(send(Intake(database), body, NOON))
    before = run(fingerprints(database))
    for received in (NOON + dt.timedelta(hours=1), NOON + dt.timedelta(hours=3), None):
        again = run(send(Intake(database), body, received))
        assert (again.duplicate, again.id, again.warnings) == (True, first.id, first.warnings)
    assert run(rows(database, "select event_time from events")) == [(NOON,)]
    assert run(fingerprints(database)) == before
    run(rebuild(database))
    assert run(fingerprints(database)) == before


def test_five_minutes_ahead_are_no_matter(database: Database, run: Any) -> None:
    late = run(send(Intake(database), described("a", "2026-03-01T12:05:00Z"), NOON))
    early = run(send(Intake(database), described("b", "2026-03-01T12:05:00.000001Z"), NOON))
    assert ([w.code for w in late.warnings], [w.code for w in early.warnings]) == ([], ["future_time"])


def test_beside_others_it_is_placed_alone(database: Database, run: Any) -> None:
    early, plain = described("a", "2026-03-01T14:00:00Z"), described("b", "2026-03-01T11:00:00Z")
    run(send(Intake(database), early, NOON))
    accepted = run(Intake(database).accept_batch(b"[" + plain + b"," + early + b"," + early + b"]"))
    assert [receipt.duplicate for receipt in accepted.receipts] == [False, True, True]
    assert run(rows(database, "select event_time from events order by 1")) == [(NOON - dt.timedelta(hours=1),), (NOON,)]


def test_two_servers_at_once_log_it_once(database: Database, run: Any) -> None:
    async def both() -> list[Receipt]:
        return await asyncio.gather(*(send(Intake(database), described("a", FUTURE[0])) for _ in range(6)))

    assert sorted(receipt.duplicate for receipt in run(both())) == [False, *[True] * 5]
    assert run(rows(database, "select count(*), count(distinct event_time) from events")) == [(1, 1)]


def test_two_servers_whose_clocks_differ_log_it_once(database: Database, run: Any) -> None:
    """The event is early by the clock of one server and not by that of the other."""

    async def both(number: int) -> None:
        body = described(f"c{number}", "2026-03-01T14:00:00Z")
        arrivals = [NOON, NOON + dt.timedelta(hours=3)] * 2
        await asyncio.gather(*(send(intake, body, at) for intake, at in zip(intakes, arrivals, strict=True)))

    intakes = [Intake(database) for _ in range(4)]
    for number in range(8):
        run(both(number))
    assert run(rows(database, "select count(*), count(distinct digest) from events")) == [(8, 8)]
    before = run(fingerprints(database))
    run(rebuild(database))
    assert run(fingerprints(database)) == before


@pytest.mark.parametrize("seed", range(full(4, 2)))
def test_any_order_of_clocks_that_are_off_ends_in_the_same_tables(database: Database, run: Any, seed: int) -> None:
    draw = random.Random(seed)
    arrived = []
    for number in range(12):
        at = NOON + dt.timedelta(minutes=number)
        skew = draw.choice([dt.timedelta(0), dt.timedelta(hours=6), dt.timedelta(hours=-6), dt.timedelta(days=365_000)])
        event = run_event(
            draw.choice(["START", "COMPLETE", "FAIL"]), draw.randrange(3), f"job{draw.randrange(2)}",
            ["/in"], [dataset("/out", **schema(f"c{number}"))], at=(at + skew).isoformat(),
        )  # fmt: skip
        arrived.append((encoded(event), at))
    seen = set()
    for _ in range(3):
        run(empty(database))
        order = [*arrived, *((body, at + dt.timedelta(days=200)) for body, at in draw.sample(arrived, 4))]
        firsts = order[:12]
        draw.shuffle(firsts)
        intakes = [Intake(database), Intake(database)]
        for body, received in [*firsts, *order[12:]]:
            run(send(draw.choice(intakes), body, received))
        seen.add(tuple(sorted(run(fingerprints(database)).items())))
    assert len(seen) == 1
    run(rebuild(database))
    assert {tuple(sorted(run(fingerprints(database)).items()))} == seen
    assert run(rows(database, "select count(*) from events")) == [(12,)]


def test_its_warning_stays_as_long_as_the_event(database: Database, run: Any) -> None:
    """The warning lets a repetition be recognised."""
    body = described("a", "2026-03-01T14:00:00Z")
    run(send(Intake(database), body, NOON))
    run(send(Intake(database), encoded({**run_event("START", 1, "j"), "run": {"runId": RUN.format(2), "facets": 7}})))
    run(retention.run(database, retention.Policy(warnings=1)))
    assert run(rows(database, "select distinct code from warnings")) == [("future_time",)]
    assert run(send(Intake(database), body)).duplicate
    run(retention.run(database, retention.Policy(events=1, warnings=1)))
    assert run(rows(database, "select count(*) from warnings")) == [(0,)]


def test_a_server_whose_clock_is_behind_keeps_the_order_and_says_so(database: Database, run: Any) -> None:
    """It cannot tell that from producers that are ahead. What they reported as the time stays in the bytes of the events."""
    intake, behind = Intake(database), dt.timedelta(hours=2)
    for number, column in enumerate(("first", "second", "third")):
        at = NOON + dt.timedelta(minutes=number)
        body = described(column, at.isoformat())
        receipt = run(send(intake, body, at - behind))
        assert [warning.code for warning in receipt.warnings] == ["future_time"]
        assert columns(run, database) == [column]
        log = f"select body from events where event_time = '{(at - behind).isoformat()}'"
        assert run(rows(database, log)) == [(body,)]
