"""The delivered messages that no batch has taken yet, bounded in bytes.

RabbitMQ's prefetch counts messages, not bytes. If the held messages exceed the limit, the inbox cancels its consumer, returns the surplus, and
consumes again with a smaller prefetch, which grows again while messages are small. A single message of any size is always accepted.
"""

import asyncio

from aio_pika.abc import AbstractChannel, AbstractIncomingMessage, AbstractQueue


class Inbox:
    """The messages of one channel, in order: at most `prefetch` messages, and at most `most` bytes plus one message."""

    def __init__(self, channel: AbstractChannel, queue: AbstractQueue, prefetch: int, most: int) -> None:
        self._channel, self._queue, self._most = channel, queue, most
        self._widest = self.prefetch = prefetch
        self._waiting: asyncio.Queue[AbstractIncomingMessage | None] = asyncio.Queue()
        self._tag: str | None = None
        self._surplus: list[int] = []
        self._held: dict[int, int] = {}
        self._since = self._peak = 0
        self.bytes = 0

    async def open(self) -> None:
        """Start consuming, also after `fitted` has stopped it."""
        await self._channel.set_qos(prefetch_count=self.prefetch)
        self._since = self._peak = 0
        self._tag = await self._queue.consume(self._arrived)

    async def close(self) -> None:
        """Stop consuming. Held messages stay; the surplus is returned."""
        if self._tag is not None:
            tag, self._tag = self._tag, None
            await self._queue.cancel(tag)
        await self._give_back()

    @property
    def shut(self) -> bool:
        """True if consuming is stopped because too much is held."""
        return self._tag is None

    async def _arrived(self, message: AbstractIncomingMessage) -> None:
        tag, size = message.delivery_tag or 0, len(message.body)
        if self._surplus or (self._held and self.bytes + size > self._most):
            self._surplus.append(tag)  # the tag only, so that the message's memory is freed
            if len(self._surplus) == 1:
                self._waiting.put_nowait(None)
            return
        self._held[tag] = size
        self.bytes += size
        self._since += 1
        self._peak = max(self._peak, self.bytes)
        self._waiting.put_nowait(message)

    def settled(self, message: AbstractIncomingMessage) -> None:
        """Release the bytes of an acknowledged message."""
        self.bytes -= self._held.pop(message.delivery_tag or 0, 0)

    async def fitted(self) -> None:
        """Adapt the prefetch to the size of the messages. Call it regularly, while no other request waits on the channel."""
        if self._surplus:
            self.prefetch = max(1, len(self._held) // 2)
            await self.close()
        elif self._tag is None:
            if self.bytes <= self._most // 2:
                await self.open()
        elif self.prefetch < self._widest and self._since >= 2 * self.prefetch and self._peak < self._most // 4:
            self.prefetch = min(self._widest, self.prefetch * 2)
            await self.close()
            await self.open()

    async def _give_back(self) -> None:
        surplus, self._surplus = self._surplus, []
        underlay = await self._channel.get_underlay_channel()
        for tag in surplus:
            await underlay.basic_nack(tag, requeue=True)

    def wake(self) -> None:
        """Make `get` return None."""
        self._waiting.put_nowait(None)

    def empty(self) -> bool:
        """Return whether no message waits here, and none was returned for lack of room."""
        return self._waiting.empty() and not self._surplus

    async def get(self, seconds: float | None) -> AbstractIncomingMessage | None:
        """The next message; None after `wake`. Raises TimeoutError."""
        if not self._waiting.empty():
            return self._waiting.get_nowait()
        return await asyncio.wait_for(self._waiting.get(), seconds)
