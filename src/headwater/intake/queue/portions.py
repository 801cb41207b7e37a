"""Split messages into transactions: a message may hold more events than a transaction should. Pure."""

from collections.abc import Iterator, Sequence

import msgspec
from aio_pika.abc import AbstractIncomingMessage

from headwater.intake.queue import amqp

# A message that was delivered more often than this is a suspect. Restarts of a receiver and of the broker count alike.
SUSPECT = 5


class ReceivedMessage(msgspec.Struct):
    """One message and its events; a message that could not be split has one `bad` instead."""

    message: AbstractIncomingMessage
    bodies: list[bytes]
    bad: list[amqp.Bad]

    @property
    def id(self) -> str:
        return self.message.message_id or f"delivery {self.message.delivery_tag}"

    @property
    def suspect(self) -> bool:
        count = self.message.headers.get("x-delivery-count", 0)
        return isinstance(count, int) and count > SUSPECT


class Portion(msgspec.Struct):
    """The content of one transaction: events by message and index, and letters. After it, the first `done` messages of the batch are settled."""

    done: int
    events: list[tuple[ReceivedMessage, int]] = []
    bad: list[amqp.Bad] = []
    suspect: bool = False
    bytes: int = 0


def portions(batch: Sequence[ReceivedMessage], events: int, size: int) -> Iterator[Portion]:
    """Split the batch, in order, by number of events and bytes (a single event may be larger). Suspects get portions of their own."""
    portion = Portion(0)
    for place, taken in enumerate(batch):
        portion.bad += taken.bad
        for index, body in enumerate(taken.bodies):
            full = len(portion.events) >= events or portion.bytes + len(body) > size
            if portion.events and (full or portion.suspect is not taken.suspect):
                yield portion
                portion = Portion(place)
            portion.suspect = taken.suspect
            portion.events.append((taken, index))
            portion.bytes += len(body)
        portion.done = place + 1
    if batch:
        yield portion
