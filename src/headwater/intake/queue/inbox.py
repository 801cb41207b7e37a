"""What the broker has given out and nobody has begun with: bounded by bytes, where a prefetch is bounded by messages only.

RabbitMQ has no prefetch by bytes. So when more bytes are held than wanted, the consumer is cancelled, what came on top is given back, and
the next consumer is given a shorter prefetch; it grows again while messages are small. One message is always taken, whatever its size.
"""

import asyncio

from aio_pika.abc import AbstractChannel, AbstractIncomingMessage, AbstractQueue


class Inbox:
    """Messages of one channel, in their order. `prefetch` messages and `most` bytes (and one message) are here at most."""

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
        """Begin to take; again after `fitted` has closed it."""
        await self._channel.set_qos(prefetch_count=self.prefetch)
        self._since = self._peak = 0
        self._tag = await self._queue.consume(self._arrived)

    async def close(self) -> None:
        """Take no more; what is here stays, what came on top goes back."""
        if self._tag is not None:
            tag, self._tag = self._tag, None
            await self._queue.cancel(tag)
        await self._give_back()

    @property
    def shut(self) -> bool:
        """Nothing is taken, for too much is held."""
        return self._tag is None

    async def _arrived(self, message: AbstractIncomingMessage) -> None:
        tag, size = message.delivery_tag or 0, len(message.body)
        if self._surplus or (self._held and self.bytes + size > self._most):
            self._surplus.append(tag)  # and not the message: it is forgotten here
            if len(self._surplus) == 1:
                self._waiting.put_nowait(None)
            return
        self._held[tag] = size
        self.bytes += size
        self._since += 1
        self._peak = max(self._peak, self.bytes)
        self._waiting.put_nowait(message)

    def settled(self, message: AbstractIncomingMessage) -> None:
        """It is acknowledged: its bytes are no longer held."""
        self.bytes -= self._held.pop(message.delivery_tag or 0, 0)

    async def fitted(self) -> None:
        """Fit the prefetch to the size of messages. To be called again and again, when nothing else awaits the channel's answers."""
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
        """Whoever waits in `get` gets None."""
        self._waiting.put_nowait(None)

    def empty(self) -> bool:
        """Nothing waits here, and nothing was left with the broker for want of room."""
        return self._waiting.empty() and not self._surplus

    async def get(self, seconds: float | None) -> AbstractIncomingMessage | None:
        """The next message; None when woken. Raises TimeoutError."""
        if not self._waiting.empty():
            return self._waiting.get_nowait()
        return await asyncio.wait_for(self._waiting.get(), seconds)
