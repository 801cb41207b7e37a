"""Between two queues: takes messages, gives them on in another order, some of them twice and some long after, and rubbish among them.

`python shuffler.py URL FROM TO RUBBISH SEED [until-empty]`. Every confirmed copy is confirmed before the original is acknowledged, so it may be
killed at any time, too. RUBBISH is a file: `? TEXT` before a message that is no event is published, `+ TEXT` when the broker has it.
"""

import asyncio
import os
import random
import sys
import time
import uuid

import aio_pika
from aio_pika.exceptions import AMQPError, ChannelInvalidStateError

LOST = (AMQPError, ChannelInvalidStateError, OSError, TimeoutError)


class Shuffler:
    def __init__(self, source: str, sink: str, rubbish: int, draw: random.Random) -> None:
        self.source, self.sink, self.rubbish, self.draw = source, sink, rubbish, draw
        self.old: list[aio_pika.abc.AbstractIncomingMessage] = []

    async def run(self, url: str, until_empty: bool) -> None:
        while True:
            try:
                connection = await aio_pika.connect(url, timeout=5)
                async with connection:
                    channel = await connection.channel(publisher_confirms=True)
                    await channel.set_qos(prefetch_count=60)
                    queue = await channel.declare_queue(self.source, passive=True)
                    while True:
                        taken = await self.take(queue)
                        if not taken and until_empty:
                            return
                        if taken:
                            await self.give(channel, taken)
            except LOST as error:
                print(f"shuffler: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                await asyncio.sleep(0.5)

    async def take(self, queue: aio_pika.abc.AbstractQueue) -> list[aio_pika.abc.AbstractIncomingMessage]:
        taken: list[aio_pika.abc.AbstractIncomingMessage] = []
        ends = time.monotonic() + 0.3
        while len(taken) < 20 and time.monotonic() < ends:
            message = await queue.get(fail=False, timeout=10)
            if message is None:
                await asyncio.sleep(0.05)
            else:
                taken.append(message)
        return taken

    async def give(
        self, channel: aio_pika.abc.AbstractChannel, taken: list[aio_pika.abc.AbstractIncomingMessage]
    ) -> None:
        copies = [*taken, *self.draw.choices(taken, k=len(taken) // 8 + (self.draw.random() < 0.2))]
        copies += self.draw.sample(self.old, min(2, len(self.old)))
        self.draw.shuffle(copies)
        for one in copies:
            await self.publish(channel, one.body, one.content_encoding)
        if self.draw.random() < 0.3:
            text = f'{{"no event": "{uuid.uuid4()}"}}'
            os.write(self.rubbish, f"? {text}\n".encode())
            await self.publish(channel, text.encode(), None)
            os.write(self.rubbish, f"+ {text}\n".encode())
        for one in taken:
            await one.ack()
        self.old = [*self.old, *taken][-200:]

    async def publish(self, channel: aio_pika.abc.AbstractChannel, body: bytes, encoding: str | None) -> None:
        message = aio_pika.Message(body, content_encoding=encoding, delivery_mode=2, message_id=str(uuid.uuid4()))
        await channel.default_exchange.publish(message, self.sink, mandatory=True, timeout=20)


def main() -> None:
    url, source, sink, rubbish, seed, *more = sys.argv[1:]
    file = os.open(rubbish, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    shuffler = Shuffler(source, sink, file, random.Random(seed))
    asyncio.run(shuffler.run(url, bool(more)))


if __name__ == "__main__":
    main()
