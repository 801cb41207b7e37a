"""Messages cut into transactions: a message may be of many events, a transaction may not. Pure."""

from collections.abc import Iterator, Sequence

import msgspec
from aio_pika.abc import AbstractIncomingMessage

from headwater.intake.queue import amqp

# A message that was given out more often than this is a suspect; the broker counts restarts of receivers and of itself alike.
SUSPECT = 5


class Taken(msgspec.Struct):
    """One message with its events; a message that could not be taken apart has its `bad` instead."""

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
    """What is committed at once: events by their message and place, and letters. After it, `done` messages of the batch are through."""

    done: int
    events: list[tuple[Taken, int]] = []
    bad: list[amqp.Bad] = []
    suspect: bool = False
    bytes: int = 0


def portions(batch: Sequence[Taken], events: int, size: int) -> Iterator[Portion]:
    """The batch in order, at most so many events and bytes at a time (one event may be larger); suspects apart from the others."""
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
