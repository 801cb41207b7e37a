"""A receiver over a real RabbitMQ and a real PostgreSQL, in this process."""

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import aio_pika
import pytest
from tests.events import encoded, run_event
from tests.fixtures.rabbitmq import Broker

from headwater import telemetry
from headwater.intake.accept import Intake
from headwater.intake.amqp import Queues
from headwater.intake.amqp_receiver import Limits, Receiver, Totals
from headwater.intake.trial import Trial
from headwater.store.database import Database


@pytest.fixture
def queues(rabbitmq: Broker, queue_name: Callable[[str], str]) -> Queues:
    return Queues(rabbitmq.url, queue_name("events"), queue_name("letters"))


@contextmanager
def measured() -> Iterator[list[telemetry.Measured]]:
    told: list[telemetry.Measured] = []
    stop = telemetry.listen(told.append)
    yield told
    stop()


async def publish(queues: Queues, *bodies: bytes, **properties: Any) -> None:
    """Each in a message, confirmed."""
    async with await aio_pika.connect(queues.url) as connection:
        channel = await connection.channel()
        await channel.declare_queue(queues.events, durable=True, arguments={"x-queue-type": "quorum"})
        for body in bodies:
            message = aio_pika.Message(
                body, delivery_mode=2, message_id=properties.pop("message_id", "m"), **properties
            )
            await channel.default_exchange.publish(message, queues.events)


async def letters(queues: Queues) -> list[Any]:
    """The dead letters, taken out."""
    found = []
    async with await aio_pika.connect(queues.url) as connection:
        queue = await (await connection.channel()).declare_queue(queues.dead_letters, passive=True)
        while message := await queue.get(fail=False):
            await message.ack()
            found.append(message)
    return found


def batch(*events: Any) -> bytes:
    return json.dumps(list(events)).encode()


def receiver(queues: Queues, database: Database, **limits: Any) -> Receiver:
    return Receiver(queues, Intake(database), Trial(database.url), Limits(**limits))


async def received(queues: Queues, database: Database, **limits: Any) -> Totals:
    return await receiver(queues, database, **limits).run(until_empty=True)


async def logged(database: Database) -> int:
    async with database.connection() as connection:
        return (await (await connection.execute("select count(*) from events")).fetchone())[0]


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
