"""RabbitMQ: the queue of events, the queue of dead letters, and how an event becomes a letter.

An event that can never be accepted goes to the dead letters for a person to decide: one event in each letter, with the reason in its headers. A
letter's id is derived from its code and its bytes, so a letter written twice (a crash between the confirm and the acknowledgement) is
recognised.
"""

import asyncio
import datetime as dt
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import aio_pika
import msgspec
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractQueue
from aio_pika.exceptions import (
    AMQPError,
    AuthenticationError,
    ChannelInvalidStateError,
    ChannelNotFoundEntity,
    ProbableAuthenticationError,
)
from aiormq.exceptions import InvalidFrameError

from headwater import telemetry
from headwater.errors import BrokerUnavailable, InvalidSettings
from headwater.model import version

# The only place that defines these queues. They use the default exchange, which routes by the queue's name.
QUEUE_ARGUMENTS: dict[str, Any] = {"x-queue-type": "quorum"}
# Each look returns the letters, which counts as a delivery: by default, RabbitMQ 4 would drop a letter after twenty looks.
LETTER_ARGUMENTS: dict[str, Any] = {**QUEUE_ARGUMENTS, "x-delivery-limit": 2**31 - 1}

# The most unconfirmed letters. Each must be confirmed in time; if all 100,000 bad events of one message were published at once, most would be late,
# and the message would be redelivered for ever.
_UNCONFIRMED = 250
_UNCONFIRMED_BYTES = 16 * 1024 * 1024

# The library's exceptions if the broker is unavailable, shutting down or slow.
LOST = (AMQPError, ChannelInvalidStateError, OSError, TimeoutError)


class Queues(msgspec.Struct, frozen=True):
    """The broker's URL (`amqp://user:password@host:port/vhost`) and the names of its queues."""

    url: str
    events: str = "headwater.events"
    dead_letters: str = "headwater.dead-letters"


class Bad(msgspec.Struct, frozen=True):
    """An event that can never be accepted as it is; with `index` None, a message that could not be split."""

    body: bytes
    code: str
    reason: str
    message_id: str
    index: int | None
    content_encoding: str | None = None

    @property
    def id(self) -> uuid.UUID:
        return letter_id(self.code, self.body)

    @property
    def origin(self) -> str:
        return self.message_id if self.index is None else f"{self.message_id}#{self.index}"


def letter_id(code: str, body: bytes) -> uuid.UUID:
    """The id of a letter, the same each time it is written."""
    return version.content_id(code.encode() + b"\0" + body)


@asynccontextmanager
async def connected(queues: Queues, name: str) -> AsyncIterator[AbstractConnection]:
    """A connection, which RabbitMQ lists under `name`; closed at the end. Raises BrokerUnavailable if the broker cannot be reached, and
    InvalidSettings if the URL is not a broker's.

    It never reconnects: the broker redelivers the messages of a lost connection, so a consumer must start over.
    """
    _address(queues.url)
    try:
        connection = await aio_pika.connect(queues.url, timeout=10, client_properties={"connection_name": name})
    except (AuthenticationError, ProbableAuthenticationError) as error:
        raise BrokerUnavailable(f"RabbitMQ refuses the user or the password: {words(error)}") from error
    except InvalidFrameError as error:  # the broker sends a reason, but the library cannot read it
        raise BrokerUnavailable(
            "RabbitMQ closed the connection; check that the virtual host exists and that the user may use it (amqp://host:5672/ names the host `/`, "
            "amqp://host:5672/name the host `name`)"
        ) from error
    except LOST as error:
        raise BrokerUnavailable(f"RabbitMQ does not answer: {words(error)}") from error
    try:
        yield connection
    finally:
        await _closed(connection)


def _address(url: str) -> None:
    """Check the URL. Raises InvalidSettings; the message leaves the URL out, because it holds a password."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in {"amqp", "amqps"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise InvalidSettings(
            "HEADWATER_AMQP__URL, or --url, is not the URL of a broker; write amqp://user:password@host:5672/vhost, or amqps://…",
            variables=["HEADWATER_AMQP__URL"],
        )


async def _closed(connection: AbstractConnection) -> None:
    try:
        await asyncio.wait_for(connection.close(), 5)
    except LOST as error:
        telemetry.say(telemetry.BrokerAway(words(error), 0.0))


async def declared(connection: AbstractConnection, name: str, arguments: dict[str, Any]) -> None:
    """Create the queue if it does not exist. An existing queue keeps its operator's arguments."""
    try:
        channel = await connection.channel()
        await channel.declare_queue(name, passive=True)
    except ChannelNotFoundEntity:  # which closes the channel
        channel = await connection.channel()
        await channel.declare_queue(name, durable=True, arguments=arguments)
    await channel.close()


async def opened(
    connection: AbstractConnection, queues: Queues, prefetch: int
) -> tuple[AbstractChannel, AbstractQueue]:
    """Create both queues if necessary, and open a channel with publisher confirms. Returns it with the queue of events."""
    await declared(connection, queues.events, QUEUE_ARGUMENTS)
    await declared(connection, queues.dead_letters, LETTER_ARGUMENTS)
    channel = await connection.channel(publisher_confirms=True)
    await channel.set_qos(prefetch_count=prefetch)
    return channel, await channel.get_queue(queues.events, ensure=False)


async def ready(channel: AbstractChannel, name: str) -> int:
    """The number of messages that wait for delivery, without those that are delivered and unacknowledged."""
    queue = await channel.declare_queue(name, passive=True)
    return queue.declaration_result.message_count or 0


async def bury(channel: AbstractChannel, queue: str, bad: Sequence[Bad]) -> None:
    """Write letters and wait until each is confirmed. Raises BrokerUnavailable if one is not."""
    now = dt.datetime.now(dt.UTC)
    try:
        for some in _at_once(bad):
            await asyncio.gather(
                *(
                    channel.default_exchange.publish(_letter(one, now), queue, mandatory=True, timeout=30)
                    for one in some
                )
            )
    except LOST as error:
        raise BrokerUnavailable(f"the dead letters were not confirmed: {words(error)}") from error
    counts: dict[str, int] = {}
    for one in bad:
        counts[one.code] = counts.get(one.code, 0) + 1
        telemetry.say(telemetry.EventDeadLettered(one.code, one.reason, one.origin))
    for code, events in counts.items():
        telemetry.measure(telemetry.DeadLettered(code, events))


def _at_once(bad: Sequence[Bad]) -> Iterator[list[Bad]]:
    some: list[Bad] = []
    for one in bad:
        if len(some) == _UNCONFIRMED or (some and sum(len(b.body) for b in some) + len(one.body) > _UNCONFIRMED_BYTES):
            yield some
            some = []
        some.append(one)
    if some:
        yield some


def _letter(bad: Bad, at: dt.datetime) -> aio_pika.Message:
    return aio_pika.Message(
        bad.body,
        message_id=str(bad.id),
        content_type="application/json",
        content_encoding=bad.content_encoding,
        delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
        timestamp=at,
        headers={
            "x-headwater-reason": bad.reason[:1000],
            "x-headwater-code": bad.code,
            "x-headwater-at": at.isoformat(),
            "x-headwater-origin": bad.origin,
        },
    )


def words(error: BaseException) -> str:
    """The name and text of an exception of the AMQP library; many have no text. Never contains the URL, which holds a password."""
    return f"{type(error).__name__}: {error}".rstrip(": ")[:300]
