"""List, replay and discard dead letters.

A look receives the letters without acknowledging them. At its end it returns those that were not settled, in their order, before letters that arrived
since. Meanwhile another look does not see them. A letter is acknowledged only after it was settled, so an interruption loses none; settling a
letter twice has the same result as once.
"""

import asyncio
import datetime as dt
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import msgspec
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage

from headwater.errors import BrokerUnavailable, HeadwaterError
from headwater.intake.events import messages
from headwater.intake.events.accept import Accepted
from headwater.intake.events.isolation import REDELIVERED
from headwater.intake.queue import amqp
from headwater.intake.queue.receiver import Accept
from headwater.model.moments import aware

_ARRIVES_WITHIN = 5.0
_RETURNED_WITHIN = 10.0
_ANSWERED_WITHIN = 30.0
# A look holds all letters, and AMQP's prefetch count has 16 bits.
_MOST = 65535
CHUNK = 200


class _Job(msgspec.Struct):
    namespace: str
    name: str


class _Run(msgspec.Struct, rename="camel"):
    run_id: str


class _Glance(msgspec.Struct, rename="camel"):
    """The parts of an event that a list shows. It does not use the intake's reader, which the letter may have crashed."""

    event_type: str | None = None
    run: _Run | None = None
    job: _Job | None = None


_glance = msgspec.json.Decoder(_Glance)


class Letter(msgspec.Struct):
    """One letter. `id`: derived from its code and bytes, so a letter written twice has one id. `code`: `unknown` if Headwater did not write it.

    `run`, `job`, `event_type`: of the event, as far as it could be read.
    """

    id: str
    code: str
    reason: str
    at: dt.datetime | None
    origin: str
    bytes: int
    event_type: str | None = None
    job: str | None = None
    run: str | None = None


class HeldLetter(msgspec.Struct):
    """A received letter with its body. `done` removes it from the queue."""

    letter: Letter
    body: bytes
    encoding: str | None
    done: Callable[[], Awaitable[None]]


class LetterFilter(msgspec.Struct, frozen=True):
    """Selects the letters that match every given condition. `before`, `after`: by the time at which they were written."""

    ids: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()
    before: dt.datetime | None = None
    after: dt.datetime | None = None
    limit: int | None = None

    def has(self, letter: Letter) -> bool:
        if (self.ids and letter.id not in self.ids) or (self.codes and letter.code not in self.codes):
            return False
        if (self.before or self.after) and letter.at is None:
            return False
        return not (
            letter.at and ((self.before and letter.at >= self.before) or (self.after and letter.at < self.after))
        )


class Outcome(msgspec.Struct, frozen=True):
    """The outcome of one letter: `replayed`, `delivered` (its events were in the log already), `discarded` or `left`."""

    id: str
    outcome: str
    code: str
    reason: str


class Pile:
    """An open look at the dead letters. `owed`: how many letters, held or new, must be in the queue when it ends."""

    def __init__(self, queues: amqp.Queues, channel: AbstractChannel) -> None:
        self.queues, self.channel = queues, channel
        self.owed = 0

    async def letters(self, chosen: LetterFilter) -> AsyncIterator[HeldLetter]:
        """The selected letters that are in the queue now, oldest first; at most 65,535 letters are examined."""
        queue = await self.channel.get_queue(self.queues.dead_letters, ensure=False)
        # A busy quorum queue may answer a passive declare with a count of 0; a get returns the real count.
        first = await queue.get(fail=False, timeout=_ANSWERED_WITHIN)
        if first is None:
            return
        rest = min(first.message_count or 0, _MOST - 1)
        self.owed = 1 + rest
        inbox: asyncio.Queue[AbstractIncomingMessage] = asyncio.Queue()
        inbox.put_nowait(first)
        tag = None
        if rest:
            await self.channel.set_qos(prefetch_count=rest)
            tag = await queue.consume(inbox.put)
        given = 0
        for number in range(1 + rest):
            try:
                message = await asyncio.wait_for(inbox.get(), _ARRIVES_WITHIN)
            except TimeoutError:
                self.owed -= 1 + rest - number  # another consumer took the rest
                break
            held = _read_letter(message, partial(self._done, message))
            if chosen.has(held.letter):
                yield held
                given += 1
                if chosen.limit is not None and given >= chosen.limit:
                    break
        if tag:
            await queue.cancel(tag)

    async def _done(self, message: AbstractIncomingMessage) -> None:
        await message.ack()
        self.owed -= 1

    async def bury(self, bad: Sequence[amqp.Bad]) -> None:
        """Write new letters; each is confirmed."""
        await amqp.bury(self.channel, self.queues.dead_letters, bad)
        self.owed += len(bad)


@asynccontextmanager
async def look(queues: amqp.Queues) -> AsyncIterator[Pile]:
    """Open the pile; letters that are not settled are returned at the end. Raises BrokerUnavailable."""
    async with amqp.connected(queues, "headwater events dead-letters") as connection:
        try:
            await amqp.declared(connection, queues.dead_letters, amqp.LETTER_ARGUMENTS)
            pile = Pile(queues, await connection.channel(publisher_confirms=True))
            try:
                yield pile
            finally:
                if not pile.channel.is_closed:
                    await _return_letters(connection, pile)
        except amqp.LOST as error:
            raise BrokerUnavailable(
                f"RabbitMQ went away: {amqp.words(error)}; no letter is lost, run the command again"
            ) from error


async def _return_letters(connection: AbstractConnection, pile: Pile) -> None:
    """Release the held letters, and wait until the next look can see them: a quorum queue requeues them when its log is written."""
    name = pile.queues.dead_letters
    # RabbitMQ does not answer acknowledgements. The answer to this request shows that it has processed them all.
    await amqp.ready(pile.channel, name)
    await pile.channel.close()
    channel = await connection.channel()
    deadline = time.monotonic() + _RETURNED_WITHIN
    while await amqp.ready(channel, name) < pile.owed and time.monotonic() < deadline:
        await asyncio.sleep(0.01)


async def listed(queues: amqp.Queues, chosen: LetterFilter) -> list[Letter]:
    """The letters, oldest first; they stay in the queue."""
    async with look(queues) as pile:
        return [held.letter async for held in pile.letters(chosen)]


async def find_letter(queues: amqp.Queues, id_: str) -> HeldLetter | None:
    """The letter of this id with its body, or None."""
    async with look(queues) as pile:
        async for held in pile.letters(LetterFilter(ids=frozenset({id_}), limit=1)):
            return held
    return None


def readable_body(held: HeldLetter) -> Any:
    """Return a letter's body as JSON, or else its first 100,000 bytes as text."""
    try:
        body = messages.unpack(held.body, held.encoding)
    except HeadwaterError:
        body = held.body
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body[:100_000].decode(errors="backslashreplace")


async def discard(queues: amqp.Queues, chosen: LetterFilter) -> list[Outcome]:
    """Remove the letters from the queue."""
    done = []
    async with look(queues) as pile:
        async for held in pile.letters(chosen):
            await held.done()
            done.append(Outcome(held.letter.id, "discarded", held.letter.code, held.letter.reason))
    return done


async def replay(queues: amqp.Queues, chosen: LetterFilter, accept: Accept, trial: Accept) -> list[Outcome]:
    """Try the letters again, and remove those that are accepted. Raises DatabaseUnavailable; then the remaining letters stay."""
    done: list[Outcome] = []
    async with look(queues) as pile:
        async for chunk in chunks(pile.letters(chosen)):
            for held, (outcome, code, reason) in zip(
                chunk, await retry_letters(pile, chunk, accept, trial), strict=True
            ):
                done.append(Outcome(held.letter.id, outcome, code, reason))
    return done


async def chunks(letters: AsyncIterator[HeldLetter]) -> AsyncIterator[list[HeldLetter]]:
    """The letters in chunks of `CHUNK`, one transaction each."""
    chunk: list[HeldLetter] = []
    async for held in letters:
        chunk.append(held)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


async def retry_letters(
    pile: Pile, chunk: Sequence[HeldLetter], accept: Accept, trial: Accept
) -> list[tuple[str, str, str]]:
    """Try letters, and acknowledge those that are accepted. Returns (outcome, code, reason) of each, in order.

    Letters that were redelivered too often go to `trial`. A letter that holds a whole message, which could not be split before and can now, is
    replaced by letters of the events that are still refused.
    """
    found: dict[int, tuple[str, str, str]] = {}
    for suspects in (False, True):
        bodies: list[bytes] = []
        owners: list[tuple[int, int]] = []
        for index, held in enumerate(chunk):
            if (held.letter.code == REDELIVERED) is not suspects:
                continue
            try:
                events, _ = messages.split(held.body, held.encoding)
            except HeadwaterError as error:
                found[index] = ("left", error.code, error.message)
                continue
            found[index] = ("delivered", held.letter.code, held.letter.reason)
            bodies += events
            owners += [(index, place) for place in range(len(events))]
        answer = await (trial if suspects else accept)(bodies) if bodies else Accepted([], [])
        refused = {one.index: one for one in answer.refused}
        receipts = iter(answer.receipts)
        bad: dict[int, list[amqp.Bad]] = {}
        for at, (index, place) in enumerate(owners):
            if at in refused:
                one = refused[at]
                origin = chunk[index].letter.origin
                bad.setdefault(index, []).append(amqp.Bad(bodies[at], one.code, one.reason, origin, place))
            elif not next(receipts).duplicate:
                found[index] = ("replayed", *found[index][1:])
        for index, some in bad.items():
            if len(some) < sum(owner == index for owner, _ in owners):
                await pile.bury(some)
            else:
                found[index] = ("left", some[0].code, some[0].reason)
    for index, (outcome, _, _) in found.items():
        if outcome != "left":
            await chunk[index].done()
    return [found[index] for index in range(len(chunk))]


def _read_letter(message: AbstractIncomingMessage, done: Callable[[], Awaitable[None]]) -> HeldLetter:
    headers = message.headers
    code, reason = (_text(headers.get(f"x-headwater-{name}")) for name in ("code", "reason"))
    if not code:
        code, reason = "unknown", reason or _death(headers.get("x-death")) or "no reason"
    at = _time(_text(headers.get("x-headwater-at"))) or message.timestamp
    origin = _text(headers.get("x-headwater-origin")) or message.message_id or ""
    letter = Letter(str(amqp.letter_id(code, message.body)), code, reason, at, origin, len(message.body))
    if message.content_encoding is None:
        try:
            seen = _glance.decode(message.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # many letters are not events; the list shows no event for them
        else:
            letter.event_type = seen.event_type
            letter.job = f"{seen.job.namespace}/{seen.job.name}" if seen.job else None
            letter.run = seen.run.run_id if seen.run else None
    return HeldLetter(letter, message.body, message.content_encoding, done)


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value if isinstance(value, str) else ""


def _time(text: str) -> dt.datetime | None:
    try:
        at = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return aware(at)


def _death(deaths: object) -> str:
    """Return why the broker itself dead-lettered a message, if a policy made it do so; else ""."""
    if isinstance(deaths, list) and deaths and isinstance(deaths[0], dict):
        return f"the broker dead-lettered it: {_text(deaths[0].get('reason'))} in {_text(deaths[0].get('queue'))}"
    return ""
