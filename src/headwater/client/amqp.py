"""Send batches of events as messages to an AMQP 0-9-1 broker (RabbitMQ); they are delivered once the broker confirms them.

Wire contract, shared with `headwater events receive`: a durable quorum queue, declared by client or receiver with the same arguments; a message is
one JSON array of events, persistent, `application/json`, gzip when it is large, `message_id` a UUIDv7. A message that no queue takes comes back
(mandatory) and counts as not delivered. Needs aio-pika (`pip install 'headwater[amqp]'`). Imported by the sender's thread alone;
the connection has its own thread with a loop: heartbeats continue while nothing is sent. Tries once; never retries or consumes.
"""

import asyncio
import contextlib
import logging
import threading
import zlib
from collections.abc import Coroutine
from typing import Any, TypeVar

import aio_pika
import aiormq.exceptions
from aio_pika.abc import AbstractChannel, AbstractConnection
from aio_pika.exceptions import (
    AMQPError,
    ChannelPreconditionFailed,
    DeliveryError,
    PublishError,
)

from headwater.client.address import Destination
from headwater.client.event import run_id
from headwater.client.transport import Outcome, Unreachable

_CONNECT_SECONDS = 3.0
_CONFIRM_SECONDS = 10.0  # a broker out of disk or memory silently stops accepting
_CLOSE_SECONDS = 1.0
_HEARTBEAT_SECONDS = 30
_MESSAGE_BYTES = 1 << 20
_GZIP_FROM = 4 * 1024
_LARGEST = 100 << 20  # brokers close the channel on more than 128 MiB, which would be retried for ever

Found = TypeVar("Found")

_THREAD = "headwater-amqp"


def _of_others(record: logging.LogRecord) -> bool:
    return record.threadName != _THREAD


# The sender logs once per outage; the library would log every attempt. Its lines about the host's own connections stay.
for _name in ("aio_pika", "aio_pika.channel", "aiormq", "aiormq.connection", "aiormq.channel", "asyncio"):
    logging.getLogger(_name).addFilter(_of_others)


class _Closed(aio_pika.Connection):
    """A connection that this module closes; otherwise the garbage collector closes a failed one, in a thread without a loop."""

    def __del__(self) -> None: ...


class Amqp:
    """A connection to one broker, one queue. Used by one thread."""

    def __init__(self, destination: Destination) -> None:
        self._destination = destination
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=_THREAD, daemon=True)
        self._thread.start()
        self._connection: AbstractConnection | None = None
        self._channel: AbstractChannel | None = None

    def send(self, records: list[bytes]) -> Outcome:
        """Deliver in as few messages as possible. Raises Unreachable if the broker confirmed none of them."""
        packed, outcome = _pack(records)
        if not packed:
            return outcome
        limit = 2 * _CONNECT_SECONDS + _CONFIRM_SECONDS + _CLOSE_SECONDS
        errors = self._await(self._publish([body for _, body in packed]), limit)
        failed = [error for error in errors if error]
        if len(failed) == len(packed):
            raise Unreachable(failed[0])
        for (indexes, _), error in zip(packed, errors, strict=True):
            if error:
                outcome.again.extend(indexes)
                outcome.reason = error
        return outcome

    def close(self) -> None:
        with contextlib.suppress(Unreachable):
            self._await(self._disconnect(), _CLOSE_SECONDS + 0.5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_SECONDS)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.01))
        self._loop.close()

    def _await(self, work: Coroutine[Any, Any, Found], seconds: float) -> Found:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(seconds)
        except TimeoutError:
            future.cancel()
            raise Unreachable(f"no answer in {seconds:g} s") from None

    async def _publish(self, bodies: list[bytes]) -> list[str | None]:
        """Publish the bodies; return for each None, or why the broker does not have it. Raises Unreachable without a connection."""
        try:
            channel = await self._open()
        except (AMQPError, OSError, TimeoutError, RuntimeError, ValueError) as error:
            await self._disconnect()
            raise Unreachable(_why(error)) from error
        found = await asyncio.gather(*(self._publish_message(channel, body) for body in bodies))
        if any(found):
            await self._disconnect()  # a late confirmation means sending twice; such a channel is not reused
        return found

    async def _publish_message(self, channel: AbstractChannel, body: bytes) -> str | None:
        packed = len(body) > _GZIP_FROM
        if packed:
            packer = zlib.compressobj(1, wbits=31)
            body = packer.compress(body) + packer.flush()
        message = aio_pika.Message(
            body,
            content_type="application/json",
            content_encoding="gzip" if packed else None,
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
            message_id=run_id(),
            app_id="headwater",
        )
        queue = self._destination.queue
        try:
            await channel.default_exchange.publish(message, routing_key=queue, mandatory=True, timeout=_CONFIRM_SECONDS)
        except PublishError:
            return f"the broker has no queue {queue}"
        except DeliveryError as error:
            return f"the broker refused the message: {_why(error)}"
        except TimeoutError:
            return f"the broker did not confirm within {_CONFIRM_SECONDS:g} s (blocked, or without a majority)"
        except (AMQPError, OSError, RuntimeError) as error:
            return _why(error)
        return None

    async def _open(self) -> AbstractChannel:
        if self._connection is not None and self._channel is not None:
            if not self._connection.is_closed and not self._channel.is_closed:
                return self._channel
            await self._disconnect()
        self._connection = await aio_pika.connect(
            self._destination.address,
            timeout=_CONNECT_SECONDS,
            heartbeat=_HEARTBEAT_SECONDS,
            client_properties={"connection_name": "headwater client"},
            connection_class=_Closed,
        )
        async with asyncio.timeout(_CONNECT_SECONDS):
            self._channel = await self._connection.channel(publisher_confirms=True, on_return_raises=True)
            try:
                await self._channel.declare_queue(
                    self._destination.queue, durable=True, arguments={"x-queue-type": "quorum"}
                )
            except (ChannelPreconditionFailed, aiormq.exceptions.ChannelAccessRefused):
                # The queue exists with other arguments, or declaring it is forbidden: an unroutable message comes back anyway.
                self._channel = await self._connection.channel(publisher_confirms=True, on_return_raises=True)
        return self._channel

    async def _disconnect(self) -> None:
        connection, self._connection, self._channel = self._connection, None, None
        if connection is not None:
            with contextlib.suppress(AMQPError, OSError, TimeoutError, RuntimeError, asyncio.CancelledError):
                await asyncio.wait_for(connection.close(), _CLOSE_SECONDS)


def _pack(records: list[bytes]) -> tuple[list[tuple[list[int], bytes]], Outcome]:
    """Pack events into bodies of at most about a megabyte, with their positions; refuse an event that is too large for any broker."""
    packed: list[tuple[list[int], bytes]] = []
    outcome = Outcome()
    indexes: list[int] = []
    size = 0
    for index, record in enumerate(records):
        if len(record) > _LARGEST:
            outcome.refused.append((index, f"{len(record):,} bytes are more than a broker accepts"))
            continue
        if indexes and size + len(record) > _MESSAGE_BYTES:
            packed.append((indexes, b"[" + b",".join(records[at] for at in indexes) + b"]"))
            indexes, size = [], 0
        indexes.append(index)
        size += len(record) + 1
    if indexes:
        packed.append((indexes, b"[" + b",".join(records[at] for at in indexes) + b"]"))
    return packed, outcome


def _why(error: BaseException) -> str:
    return str(error) or type(error).__name__
