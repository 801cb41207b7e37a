"""The work of a receiver is bounded, for any messages, and it obeys a stop between two transactions."""

import asyncio
import gzip
import logging
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import aio_pika
import pytest
from tests.events import encoded, run_event
from tests.fixtures.queues import batch, letters, logged, publish, received

from headwater.errors import DatabaseRefused
from headwater.intake.events.accept import Accepted, Intake
from headwater.intake.events.tolerant import TolerantIntake
from headwater.intake.queue import receiver
from headwater.intake.queue.amqp import Queues
from headwater.intake.queue.inbox import Inbox
from headwater.intake.queue.receiver import Limits, Receiver, Totals
from headwater.store.database import Database


async def never(bodies: Sequence[bytes]) -> Accepted:
    raise AssertionError(f"{len(bodies)} events were taken for suspects")


class Counting:
    """Accepts, and keeps how many events each transaction had; `at` sets `stopped` in the n-th."""

    def __init__(self, database: Database, at: int = 0) -> None:
        self._accept, self._at = TolerantIntake(database), at
        self.sizes: list[int] = []
        self.stopped = asyncio.Event()

    async def __call__(self, bodies: Sequence[bytes]) -> Accepted:
        self.sizes.append(len(bodies))
        if len(self.sizes) == self._at:
            self.stopped.set()
        return await self._accept(bodies)


def some(count: int, first: int = 0) -> list[Any]:
    return [run_event("COMPLETE", n, f"job{n % 7}", ["/a"], [f"/b{n % 9}"]) for n in range(first, first + count)]


def test_a_large_message_is_committed_by_portions_and_acknowledged_once(
    queues: Queues, database: Database, run: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(receiver, "_LOG_SECONDS", 0.0)
    told = [*some(120), *([1] * 120)]

    async def scene() -> tuple[Totals, Counting]:
        accept = Counting(database)
        await publish(queues, batch(*told))
        totals = await Receiver(queues, accept, never, Limits(events=50)).run(until_empty=True)
        return totals, accept

    with caplog.at_level(logging.INFO, "headwater"):
        totals, accept = run(scene())
    assert accept.sizes == [50, 50, 50, 50, 40]
    assert totals == Totals(messages=1, accepted=120, duplicate=0, dead_lettered=120)
    origins = {letter.headers["x-headwater-origin"] for letter in run(letters(queues))}
    assert origins == {f"m#{n}" for n in range(120, 240)}, "places are those in the message"
    assert sum("BatchGoesOn" in record.getMessage() for record in caplog.records) == 5
    assert run(received(queues, database)).messages == 0


def test_a_transaction_is_bounded_by_bytes_too(
    queues: Queues, database: Database, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiver, "_BATCH_BYTES", 3 * len(encoded(some(1)[0])))

    async def scene() -> list[int]:
        accept = Counting(database)
        await publish(queues, b"[" + b",".join(map(encoded, some(9))) + b"]")
        await Receiver(queues, accept, never).run(until_empty=True)
        return accept.sizes

    assert run(scene()) == [3, 3, 3]


def test_told_to_stop_in_mid_message_it_stops_after_the_transaction_in_hand(
    queues: Queues, database: Database, run: Any
) -> None:
    async def scene() -> None:
        accept = Counting(database, at=3)
        await publish(queues, batch(*some(10)), batch(*some(200, 10)))
        totals = await Receiver(queues, accept, never, Limits(events=20), accept.stopped).run()
        # The first message comes alone when the second is slow.
        assert accept.sizes in ([20, 20, 20], [10, 20, 20])
        done = sum(accept.sizes)
        assert totals == Totals(messages=1, accepted=done, duplicate=0, dead_lettered=0), (
            "the first message was through"
        )
        assert await logged(database) == done
        rest = await received(queues, database)
        assert rest == Totals(messages=1, accepted=210 - done, duplicate=done - 10, dead_lettered=0)

    run(scene())


def test_a_transaction_that_does_not_end_does_not_keep_it_from_stopping(
    queues: Queues, database: Database, run: Any
) -> None:
    async def scene() -> None:
        stopped = asyncio.Event()

        async def hangs(bodies: Sequence[bytes]) -> Accepted:
            stopped.set()
            await asyncio.Event().wait()
            raise AssertionError(bodies)

        await publish(queues, batch(*some(3)))
        async with asyncio.timeout(20):
            totals = await Receiver(queues, hangs, never, Limits(grace_seconds=0.1), stopped).run()
        assert totals == Totals()
        assert (await received(queues, database)).accepted == 3

    run(scene())


def test_what_is_held_is_bounded_by_bytes(
    queues: Queues, database: Database, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large messages among small ones: messages that do not fit go back and come again, and none is taken for a suspect."""
    arrived = Inbox._arrived
    held: list[int] = []
    given: list[int] = []
    opened = Inbox.open

    async def noted(self: Inbox, message: Any) -> None:
        await arrived(self, message)
        held.append(self.bytes)

    async def opening(self: Inbox) -> None:
        given.append(self.prefetch)
        await opened(self)

    monkeypatch.setattr(Inbox, "_arrived", noted)
    monkeypatch.setattr(Inbox, "open", opening)

    async def scene() -> Totals:
        large = [b"[" + encoded(event) + b" " * 100_000 + b"]" for event in some(30)]
        await publish(queues, *large, *map(encoded, some(300, 30)))
        return await Receiver(queues, TolerantIntake(database), never, Limits(prefetch=64, held_bytes=350_000)).run(
            until_empty=True
        )

    totals = run(scene())
    assert (totals.accepted, totals.duplicate, totals.dead_lettered) == (330, 0, 0)
    assert max(held) <= 350_000
    assert given[0] == 64
    assert min(given) <= 3
    # Not always the last time: a large message that was given back may be the last to come.
    assert any(after > before for before, after in pairwise(given)), "it grows again with small messages"
    assert run(received(queues, database)).messages == 0


def test_one_message_is_always_taken(queues: Queues, database: Database, run: Any) -> None:
    async def scene() -> Totals:
        await publish(queues, *(encoded(event) for event in some(5)))
        await publish(queues, gzip.compress(encoded(some(1, 5)[0])), content_encoding="gzip")
        return await Receiver(queues, TolerantIntake(database), never, Limits(held_bytes=1)).run(until_empty=True)

    assert run(scene()).accepted == 6


def test_letters_do_not_share_a_connection_with_acknowledgements(
    queues: Queues, database: Database, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker in need stops reading from connections that publish, acknowledgements included."""
    consumed: list[Any] = []
    published: list[Any] = []
    consume, publishes = aio_pika.Queue.consume, aio_pika.Exchange.publish

    async def consuming(self: Any, *args: Any, **more: Any) -> Any:
        consumed.append((await self.channel.get_underlay_channel()).connection)
        return await consume(self, *args, **more)

    async def publishing(self: Any, *args: Any, **more: Any) -> Any:
        published.append((await self.channel.get_underlay_channel()).connection)
        return await publishes(self, *args, **more)

    async def scene() -> None:
        await publish(queues, b"no event")
        monkeypatch.setattr(aio_pika.Queue, "consume", consuming)
        monkeypatch.setattr(aio_pika.Exchange, "publish", publishing)
        await received(queues, database)

    run(scene())
    assert len(consumed) == len(published) == 1
    assert consumed[0] is not published[0]


def test_many_that_the_database_refuses_cost_an_attempt_each(
    database: Database, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Intake._write
    sizes: list[int] = []

    async def refusing(self: Intake, items: Sequence[Any]) -> Any:
        sizes.append(len(items))
        if any(b"refuse" in item.body for item in items):
            raise DatabaseRefused("PostgreSQL refused")
        return await write(self, items)

    monkeypatch.setattr(Intake, "_write", refusing)
    bad = [run_event("COMPLETE", n, "refuse") for n in range(2000)]
    answer = run(TolerantIntake(database)([encoded(event) for event in [*some(4), *bad, *some(3, 3000)]]))
    assert len(answer.receipts) == 7
    assert [(one.index, one.code) for one in answer.refused] == [(n, "database_refused") for n in range(4, 2004)]
    assert len(sizes) < 2050
    assert sum(sizes) < 8000
    assert run(logged(database)) == 7
