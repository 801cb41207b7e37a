"""Receive events from RabbitMQ: many messages in a transaction (a large message in several), acknowledged after the commit.

If anything fails between receiving a message and acknowledging it, the broker redelivers it, and an event that is in the log already changes
nothing. So no event is lost or duplicated, with any number of receivers.

| problem | what happens |
|---|---|
| the database is unavailable | the batch waits unacknowledged, and is retried with growing pauses |
| the broker is unavailable | the receiver reconnects with growing pauses; the broker redelivers the messages |
| an event can never be accepted | it becomes a dead letter; once that is confirmed, its message is acknowledged |
| a message was redelivered many times | its events are tried in a child process: those that crash it become dead letters, the others are accepted |
"""

import asyncio
import time
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import msgspec
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage, AbstractQueue

from headwater import telemetry
from headwater.client.retries import Backoff
from headwater.errors import BrokerUnavailable, DatabaseUnavailable, HeadwaterError
from headwater.intake.events import messages
from headwater.intake.events.accept import Accepted
from headwater.intake.queue import amqp
from headwater.intake.queue.inbox import Inbox
from headwater.intake.queue.portions import Portion, ReceivedMessage, portions

_BATCH_BYTES = 8 * 1024 * 1024
# While one batch waits for PostgreSQL, the next is read and projected.
_AT_ONCE = 2
_WATCH_SECONDS = 5.0
_LOG_SECONDS = 60.0


class Limits(msgspec.Struct, frozen=True):
    """The limits of receiving. At most `prefetch` messages, and `held_bytes` plus one message, are unacknowledged. A
    batch closes at `events` or after `wait_seconds`; a transaction has at most `events`. `grace_seconds`: how long a
    commit may take after the request to stop."""

    prefetch: int = 250
    events: int = 500
    wait_seconds: float = 0.05
    message_bytes: int = messages.MOST_BYTES
    held_bytes: int = 128 * 1024 * 1024
    grace_seconds: float = 3.0


class Totals(msgspec.Struct):
    """The counts of one receiver."""

    messages: int = 0
    accepted: int = 0
    duplicate: int = 0
    dead_lettered: int = 0


class Lost(Exception):
    """The connection was lost during a batch, which the broker will redeliver."""


# Accepts events in this process (`headwater.intake.events.tolerant`), or in a child process (`headwater.intake.events.isolation`).
Accept = Callable[[Sequence[bytes]], Awaitable[Accepted]]


class Receiver:
    """Passes events from the queue to `accept`, and suspects to `trial`, until `stopped` is set.

    Then it finishes the running transactions, acknowledges the settled messages, and returns the others to the queue.
    """

    def __init__(
        self,
        queues: amqp.Queues,
        accept: Accept,
        trial: Accept,
        limits: Limits | None = None,
        stopped: asyncio.Event | None = None,
    ) -> None:
        self._queues, self._accept, self._trial = queues, accept, trial
        self._limits = limits or Limits()
        self._stopped = stopped or asyncio.Event()
        self._in_hand = self._unpacked = 0
        self.totals = Totals()

    async def run(self, *, until_empty: bool = False) -> Totals:
        """Receive until stopped, or with `until_empty` until the queue is empty. Raises BrokerUnavailable only then: a daemon waits for it."""
        backoff = Backoff()
        while not self._stopped.is_set():
            try:
                # A broker alarm blocks every connection that publishes, with its acknowledgements; so letters have their own connection.
                async with (
                    amqp.connected(self._queues, "headwater events receive") as connection,
                    amqp.connected(self._queues, "headwater events receive, dead letters") as publishing,
                ):
                    channel, queue = await amqp.opened(connection, self._queues, self._limits.prefetch)
                    watch = await connection.channel()
                    letters = await publishing.channel(publisher_confirms=True)
                    if await self._consume(channel, queue, watch, letters, backoff, until_empty):
                        break
            except (BrokerUnavailable, Lost, *amqp.LOST) as error:
                if until_empty and isinstance(error, BrokerUnavailable):
                    raise
                if not self._stopped.is_set():
                    await self._pause(backoff, telemetry.BrokerAway, amqp.words(error))
        return self.totals

    async def _consume(
        self,
        channel: AbstractChannel,
        queue: AbstractQueue,
        watch: AbstractChannel,
        letters: AbstractChannel,
        backoff: Backoff,
        until_empty: bool,
    ) -> bool:
        """Settle batches until stopped or empty (returns True) or the channel closes (raises Lost)."""
        inbox = Inbox(channel, queue, self._limits.prefetch, self._limits.held_bytes)
        closed = asyncio.Event()

        def ended(*_: object) -> None:
            closed.set()
            inbox.wake()

        def through(task: asyncio.Task[None]) -> None:
            if inbox.shut or (not task.cancelled() and task.exception()):
                inbox.wake()  # there is room again, or the batch failed and nothing more can be acknowledged

        channel.close_callbacks.add(ended)
        letters.close_callbacks.add(ended)
        watch.close_callbacks.add(ended)  # deleting a queue closes this channel only
        settling: deque[asyncio.Task[None]] = deque()
        beside = [
            asyncio.create_task(self._wake_when_stopped(inbox)),
            asyncio.create_task(self._watch(watch)),
        ]
        try:
            await inbox.open()
            telemetry.say(telemetry.ReceiverReady(self._queues.events, self._limits.prefetch))
            while True:
                await inbox.fitted()
                batch = await self._collect(inbox, until_empty)
                if closed.is_set():
                    raise Lost("the channel closed")
                if batch:
                    while len(settling) == _AT_ONCE or (settling and self._unpacked > self._limits.held_bytes):
                        await self._ended(settling.popleft())
                        backoff.reset()
                    before = settling[-1] if settling else None
                    settling.append(asyncio.create_task(self._settle(letters, inbox, batch, closed, before)))
                    settling[-1].add_done_callback(through)
                    continue
                while settling and (self._stopped.is_set() or settling[0].done()):
                    await self._ended(settling.popleft())
                    backoff.reset()
                if self._stopped.is_set() or (until_empty and not settling and await self._empty(channel, inbox)):
                    await inbox.close()
                    return True
        finally:
            channel.close_callbacks.discard(ended)
            watch.close_callbacks.discard(ended)
            letters.close_callbacks.discard(ended)
            for task in (*beside, *settling):
                task.cancel()
            await asyncio.gather(*beside, *settling, return_exceptions=True)

    async def _ended(self, settling: asyncio.Task[None]) -> None:
        """Wait for a batch to settle; after the request to stop, for the time of grace only. Raises what it raises, or Lost."""
        stopping = asyncio.create_task(self._stopped.wait())
        try:
            await asyncio.wait([settling, stopping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
        if not settling.done():
            await asyncio.wait([settling], timeout=self._limits.grace_seconds)
        if not settling.done():
            raise Lost(f"the running transaction took over {self._limits.grace_seconds:g} s and is abandoned")
        settling.result()

    async def _wake_when_stopped(self, inbox: Inbox) -> None:
        await self._stopped.wait()
        inbox.wake()

    async def _watch(self, channel: AbstractChannel) -> None:
        """Measure the queues' lengths every few seconds, until the channel closes."""
        while not channel.is_closed:
            try:
                waiting = await amqp.ready(channel, self._queues.events)
                letters = await amqp.ready(channel, self._queues.dead_letters)
            except amqp.LOST:
                return  # the channel's close callback notifies the receiver
            telemetry.measure(telemetry.QueueLengths(waiting, letters, idle=not waiting and not self._in_hand))
            await asyncio.sleep(_WATCH_SECONDS)

    async def _empty(self, channel: AbstractChannel, inbox: Inbox) -> bool:
        """Return whether no message waits, twice in a row: messages in transit arrive in between."""
        for _ in range(2):
            if await amqp.ready(channel, self._queues.events) or not inbox.empty():
                return False
            await asyncio.sleep(0.1)
        return inbox.empty()

    async def _collect(self, inbox: Inbox, until_empty: bool) -> list[ReceivedMessage]:
        """The next batch, closed by events, bytes or time. Empty after a wake-up, or with `until_empty` if no message arrives."""
        if self._stopped.is_set():
            return []
        try:
            first = await inbox.get(0.3 if until_empty else None)
        except TimeoutError:
            return []
        batch: list[ReceivedMessage] = []
        events = size = 0
        ends = time.monotonic() + self._limits.wait_seconds
        following: AbstractIncomingMessage | None = first
        while following is not None:
            batch.append(self._take(following))
            events += len(batch[-1].bodies)
            size += sum(map(len, batch[-1].bodies))
            if events >= self._limits.events or size >= _BATCH_BYTES or len(batch) >= self._limits.prefetch:
                break
            try:
                following = await inbox.get(max(0.0, ends - time.monotonic()))
            except TimeoutError:
                break
        return batch

    def _take(self, message: AbstractIncomingMessage) -> ReceivedMessage:
        taken = ReceivedMessage(message, [], [])
        try:
            taken.bodies, _ = messages.split(message.body, message.content_encoding, self._limits.message_bytes)
        except HeadwaterError as error:
            taken.bad.append(
                amqp.Bad(message.body, error.code, error.message, taken.id, None, message.content_encoding)
            )
        return taken

    async def _settle(
        self,
        letters: AbstractChannel,
        inbox: Inbox,
        batch: list[ReceivedMessage],
        closed: asyncio.Event,
        before: asyncio.Task[None] | None,
    ) -> None:
        """Commit the batch by portions, and bury the events that can never be accepted; then, after the batch `before`, acknowledge all settled
        messages at once. Raises Lost, also if stopped between two portions.
        """
        began = logged = time.monotonic()
        size = sum(len(body) for taken in batch for body in taken.bodies)
        events = sum(len(taken.bodies) for taken in batch)
        counts = Totals()
        committed = 0
        self._in_hand += 1
        self._unpacked += size
        try:
            for portion in portions(batch, self._limits.events, _BATCH_BYTES):
                if self._stopped.is_set():
                    break
                await self._commit(letters, portion, closed, counts)
                counts.messages, committed = portion.done, committed + len(portion.events)
                if time.monotonic() - logged >= _LOG_SECONDS:
                    logged = time.monotonic()
                    telemetry.say(telemetry.BatchGoesOn(committed, events, counts.dead_lettered, round(logged - began)))
            if before is not None:
                await asyncio.wait([before])
                if before.cancelled() or before.exception():
                    raise Lost("the batch before was not committed")
            if closed.is_set():
                raise Lost("the channel closed before the acknowledgement")
            if counts.messages:  # messages are in delivery order, so one acknowledgement covers all of them
                await batch[counts.messages - 1].message.ack(multiple=True)
        finally:
            self._in_hand -= 1
            self._unpacked -= size
        for taken in batch[: counts.messages]:
            inbox.settled(taken.message)
        self.totals.messages += counts.messages
        self.totals.accepted += counts.accepted
        self.totals.duplicate += counts.duplicate
        self.totals.dead_lettered += counts.dead_lettered
        lag = _lag([taken.message for taken in batch])
        seconds = time.monotonic() - began
        telemetry.measure(telemetry.Received(counts.messages, counts.accepted, counts.duplicate, seconds, lag))
        if counts.messages < len(batch):
            raise Lost("stopped: the rest of the batch will be redelivered")

    async def _commit(self, letters: AbstractChannel, portion: Portion, closed: asyncio.Event, counts: Totals) -> None:
        """Commit one portion, write letters for its refused events, and count both. Raises Lost."""
        bad = list(portion.bad)
        if portion.events:
            accept = self._trial if portion.suspect else self._accept
            answer = await self._accept_patiently(
                [taken.bodies[index] for taken, index in portion.events], closed, accept
            )
            for refused in answer.refused:
                taken, index = portion.events[refused.index]
                bad.append(amqp.Bad(taken.bodies[index], refused.code, refused.reason, taken.id, index))
            counts.duplicate += sum(receipt.duplicate for receipt in answer.receipts)
            counts.accepted += sum(not receipt.duplicate for receipt in answer.receipts)
        if bad:
            await amqp.bury(letters, self._queues.dead_letters, bad)
            counts.dead_lettered += len(bad)

    async def _accept_patiently(self, bodies: list[bytes], closed: asyncio.Event, accept: Accept) -> Accepted:
        """Accept events, and wait as long as the database is unavailable. Raises Lost if the channel closes or the receiver is stopped first."""
        backoff = Backoff()
        while True:
            try:
                return await accept(bodies)
            except DatabaseUnavailable as error:
                if closed.is_set() or self._stopped.is_set():
                    raise Lost("the running batch was not committed") from error
                await self._pause(backoff, telemetry.DatabaseAway, error.message[:300], closed)

    async def _pause(
        self,
        backoff: Backoff,
        event: type[telemetry.BrokerAway | telemetry.DatabaseAway],
        error: str,
        closed: asyncio.Event | None = None,
    ) -> None:
        """Log the error, and wait for the backoff or until stopped or closed."""
        wait = backoff.seconds()
        telemetry.say(event(error, round(wait, 3)))
        waiting = [asyncio.create_task(event_.wait()) for event_ in (self._stopped, closed) if event_ is not None]
        await asyncio.wait(waiting, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()


def _lag(taken: Sequence[AbstractIncomingMessage]) -> float | None:
    """The age of the oldest message in seconds, by its timestamp or the time in its id; None if no message has either."""
    times = [at for at in map(_sent, taken) if at is not None]
    return max(0.0, time.time() - min(times)) if times else None


def _sent(message: AbstractIncomingMessage) -> float | None:
    if message.timestamp is not None:
        return message.timestamp.timestamp()
    try:
        id_ = uuid.UUID(message.message_id or "")
    except ValueError:
        return None
    return (id_.int >> 80) / 1000 if id_.version == 7 else None
