"""A receiver over a real RabbitMQ and a real PostgreSQL, in this process."""

import asyncio
import gzip
import random
from collections.abc import Callable, Sequence
from typing import Any

import aio_pika
import pytest
from tests.events import encoded, run_event
from tests.fixtures.postgres import empty
from tests.fixtures.queues import batch, letters, logged, measured, publish, received
from tests.fixtures.rabbitmq import SETTLED, Broker
from tests.store.events.test_writers import hot

from headwater import telemetry
from headwater.client.retries import Backoff
from headwater.errors import DatabaseUnavailable
from headwater.intake.events.accept import Accepted, Intake
from headwater.intake.events.isolation import IsolatedIntake
from headwater.intake.events.tolerant import TolerantIntake
from headwater.intake.queue import portions
from headwater.intake.queue.amqp import Queues
from headwater.intake.queue.receiver import Limits, Receiver, Totals
from headwater.intake.upkeep.rebuild import fingerprints
from headwater.store.database import Database


def test_events_of_every_form_arrive(queues: Queues, database: Database, run: Any) -> None:
    one, two, three, four = (run_event("COMPLETE", n, "job", ["/a"], [f"/b{n}"]) for n in range(4))

    async def scene() -> Totals:
        await publish(queues, encoded(one), batch(two, three), batch())
        await publish(queues, gzip.compress(encoded(four)), content_encoding="gzip")
        await publish(queues, encoded(one))
        return await received(queues, database)

    with measured() as told:
        assert run(scene()) == Totals(messages=5, accepted=4, duplicate=1, dead_lettered=0)
    assert run(logged(database)) == 4
    taken = [figures for figures in told if isinstance(figures, telemetry.Received)]
    assert sum(figures.messages for figures in taken) == 5
    assert run(received(queues, database)).messages == 0, "all of them were acknowledged"


def test_what_can_never_be_accepted_becomes_letters(queues: Queues, database: Database, run: Any) -> None:
    good = run_event("COMPLETE", 1, "job")

    async def scene() -> tuple[Totals, list[Any]]:
        await publish(queues, batch(good, {"no": "identity"}, 7), message_id="first")
        await publish(queues, b"[{", message_id="second")
        await publish(queues, b"not json", message_id="third")
        await publish(queues, gzip.compress(encoded(good))[:-9], content_encoding="gzip", message_id="cut")
        await publish(queues, gzip.compress(b" " * 2_000_000), content_encoding="gzip", message_id="bomb")
        await publish(queues, encoded(good), content_encoding="br", message_id="foreign")
        return await received(queues, database, message_bytes=1_000_000), await letters(queues)

    with measured() as told:
        totals, found = run(scene())
    assert (totals.messages, totals.accepted, totals.dead_lettered) == (6, 1, 7)
    assert sorted((m.headers["x-headwater-origin"], m.headers["x-headwater-code"]) for m in found) == [
        ("bomb", "too_large"),
        ("cut", "invalid_encoding"),
        ("first#1", "invalid_event"),
        ("first#2", "invalid_event"),
        ("foreign", "invalid_encoding"),
        ("second", "invalid_event"),
        ("third#0", "invalid_event"),
    ]
    assert {m.body for m in found} >= {b'{"no": "identity"}', b"7", b"[{", b"not json"}
    assert all(m.headers["x-headwater-reason"] and m.headers["x-headwater-at"] for m in found)
    assert all(m.delivery_mode == aio_pika.DeliveryMode.PERSISTENT for m in found)
    assert sum(f.events for f in told if isinstance(f, telemetry.DeadLettered)) == 7


@pytest.mark.parametrize("receivers", [1, 3])
def test_any_number_of_receivers_makes_the_same_tables(
    rabbitmq: Broker, queue_name: Callable[[str], str], database: Database, run: Any, receivers: int
) -> None:
    """The same events in one order without a broker, and shuffled and doubled through one and three receivers."""
    told = [event for writer in range(4) for event in hot(writer, 60)]
    queues = Queues(rabbitmq.url, queue_name("events"), queue_name("letters"))
    draw = random.Random(receivers)

    async def scene() -> None:
        await Intake(database).accept_each([encoded(event) for event in told])
        expected = await fingerprints(database)
        await empty(database)
        doubled = [encoded(event) for event in told] * 2
        draw.shuffle(doubled)
        while doubled:
            take = draw.choice([1, 2, 7, 30])
            part, doubled = doubled[:take], doubled[take:]
            await publish(queues, part[0] if take == 1 else b"[" + b",".join(part) + b"]")
        each = [received(queues, database, events=20, prefetch=5) for _ in range(receivers)]
        totals = await asyncio.gather(*each)
        assert sum(one.accepted + one.duplicate for one in totals) == 2 * len(told)
        assert sum(one.dead_lettered for one in totals) == 0
        if receivers > 1:
            assert sum(one.messages > 0 for one in totals) > 1, "the work was shared"
        assert await fingerprints(database) == expected

    run(scene())


def test_while_the_database_is_away_nothing_is_acknowledged_or_buried(
    queues: Queues, database: Database, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept = TolerantIntake(database)
    refusals = 0

    async def away_at_first(bodies: Sequence[bytes]) -> Accepted:
        nonlocal refusals
        if refusals < 3:
            refusals += 1
            raise DatabaseUnavailable("away")
        return await accept(bodies)

    def patient() -> Backoff:
        return Backoff(0.01, 0.02)

    async def scene() -> None:
        await publish(queues, *(encoded(run_event("COMPLETE", n, "job")) for n in range(5)))
        stopped = asyncio.Event()

        async def never(bodies: Sequence[bytes]) -> Accepted:
            stopped.set()  # told to stop while the database is away
            raise DatabaseUnavailable("away")

        gave_up = await Receiver(queues, never, never, Limits(), stopped).run()
        assert gave_up == Totals()
        assert await letters(queues) == []
        totals = await Receiver(queues, away_at_first, away_at_first, Limits()).run(until_empty=True)
        assert (totals.accepted, totals.duplicate, totals.dead_lettered) == (5, 0, 0)
        assert refusals == 3
        assert await letters(queues) == []

    monkeypatch.setattr("headwater.intake.queue.receiver.Backoff", patient)
    run(scene())


def test_a_broker_killed_in_mid_load_comes_back_and_nothing_is_lost(
    own_rabbitmq: Broker, queue_name: Callable[[str], str], database: Database, run: Any
) -> None:
    queues = Queues(own_rabbitmq.url, queue_name("events"), queue_name("letters"))
    bodies = [encoded(run_event("COMPLETE", n, f"job{n % 7}", ["/a"], [f"/b{n}"])) for n in range(300)]

    async def scene() -> None:
        await received(queues, database)  # declares the queues
        await asyncio.sleep(SETTLED)
        await publish(queues, *bodies)
        stopped = asyncio.Event()
        receiver = Receiver(
            queues, TolerantIntake(database), IsolatedIntake(database.url), Limits(prefetch=20, events=10), stopped
        )
        running = asyncio.create_task(receiver.run())
        while receiver.totals.messages < 50:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(own_rabbitmq.kill)
        assert receiver.totals.messages < 300, "it was killed in mid-load"
        await asyncio.sleep(0.5)
        await asyncio.to_thread(own_rabbitmq.start)
        async with asyncio.timeout(60):
            while await logged(database) < 300 or receiver.totals.messages < 300:
                await asyncio.sleep(0.05)
        stopped.set()
        await running
        assert await logged(database) == 300
        assert await letters(queues) == []
        assert (await received(queues, database)).messages == 0

    run(scene())


def test_an_event_that_makes_the_code_fail_stops_no_other(
    queues: Queues, database: Database, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept_each = Intake.accept_each

    async def failing(self: Intake, bodies: Sequence[bytes]) -> Accepted:
        if any(b"explode" in body for body in bodies):
            raise ZeroDivisionError("a fault of ours")
        return await accept_each(self, bodies)

    monkeypatch.setattr(Intake, "accept_each", failing)

    async def scene() -> tuple[Totals, list[Any]]:
        await publish(queues, batch(*(run_event("COMPLETE", n, "explode" if n == 5 else "job") for n in range(9))))
        return await received(queues, database), await letters(queues)

    totals, found = run(scene())
    assert (totals.accepted, totals.dead_lettered) == (8, 1)
    assert found[0].headers["x-headwater-code"] == "unexpected_error"
    assert found[0].headers["x-headwater-reason"] == "ZeroDivisionError: a fault of ours"
    assert b"explode" in found[0].body


def test_a_message_that_was_unlucky_often_is_tried_apart_and_accepted(
    queues: Queues, database: Database, run: Any
) -> None:
    """Given out again and again is no proof of guilt: it goes through a process of its own, and lives."""

    async def scene() -> Totals:
        await publish(queues, encoded(run_event("COMPLETE", 1, "job")), encoded(run_event("COMPLETE", 2, "job")))
        async with await aio_pika.connect(queues.url) as connection:
            queue = await (await connection.channel()).get_queue(queues.events)
            for _ in range(portions.SUSPECT + 1):
                for message in [await queue.get() for _ in range(2)]:
                    await message.nack(requeue=True)
        tried: list[int] = []
        trial = IsolatedIntake(database.url)

        async def apart(bodies: Sequence[bytes]) -> Accepted:
            tried.append(len(bodies))
            return await trial(bodies)

        totals = await Receiver(queues, TolerantIntake(database), apart).run(until_empty=True)
        assert tried == [2]
        return totals

    totals = run(scene())
    assert (totals.accepted, totals.dead_lettered) == (2, 0)


def test_the_age_of_a_message_is_told_by_its_timestamp_or_its_id(queues: Queues, database: Database, run: Any) -> None:
    import time
    import uuid

    old = uuid.UUID(int=((int(time.time() * 1000) - 90_000) << 80) | (7 << 76) | (2 << 62))

    async def scene() -> None:
        await publish(queues, encoded(run_event("COMPLETE", 1, "job")), message_id=str(old))
        await received(queues, database)

    with measured() as told:
        run(scene())
    (taken,) = [figures for figures in told if isinstance(figures, telemetry.Received)]
    assert taken.lag is not None
    assert 89 < taken.lag < 150
