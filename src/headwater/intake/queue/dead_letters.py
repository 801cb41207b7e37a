"""The dead letters: look at them, try them again, throw them away.

A look takes the letters without acknowledging them and gives back, at its end, those that were not acted on: in their order, before whatever
came meanwhile. While it lasts, another look does not see what this one holds. A letter is acknowledged only after what was to happen with it
has happened, so an interruption at any moment loses none; what was done twice is the same as done once.
"""

import asyncio
import datetime as dt
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import msgspec
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage

from headwater.errors import BrokerUnavailable, HeadwaterError
from headwater.intake.events import messages
from headwater.intake.events.accept import Accepted
from headwater.intake.events.isolation import REDELIVERED
from headwater.intake.queue import amqp
from headwater.intake.queue.receiver import Accept

_ARRIVES_WITHIN = 5.0
_GIVEN_BACK_WITHIN = 10.0
_ANSWERED_WITHIN = 30.0
# A look holds them all, and AMQP counts what is held in 16 bits.
_MOST = 65535
CHUNK = 200


class _Job(msgspec.Struct):
    namespace: str
    name: str


class _Run(msgspec.Struct, rename="camel"):
    run_id: str


class _Glance(msgspec.Struct, rename="camel"):
    """As much of an event as a list shows. Not the intake's own reader: a letter may be there because that one dies of it."""

    event_type: str | None = None
    run: _Run | None = None
    job: _Job | None = None


_glance = msgspec.json.Decoder(_Glance)


class Letter(msgspec.Struct):
    """One letter. `id` is made of its code and bytes, so the same letter twice has one id. `code` is `unknown` when others put it there.

    `run`, `job`, `event_type`: what could be read of the event, for people who look.
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


class Held(msgspec.Struct):
    """A letter in hand, with its body; `done` takes it from the queue."""

    letter: Letter
    body: bytes
    encoding: str | None
    done: Callable[[], Awaitable[None]]


class Chosen(msgspec.Struct, frozen=True):
    """Which letters are meant: all that match everything given. `before`, `after`: by when they were written."""

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
    """What became of one letter: `replayed`, `delivered` (its events were in the log already), `discarded` or `left`."""

    id: str
    outcome: str
    code: str
    reason: str


class Pile:
    """An open look at the dead letters. `owed`: how many must wait in the queue when it ends: held, or new."""

    def __init__(self, queues: amqp.Queues, channel: AbstractChannel) -> None:
        self.queues, self.channel = queues, channel
        self.owed = 0

    async def letters(self, chosen: Chosen) -> AsyncIterator[Held]:
        """Those that are there now and are meant, the oldest first; of more than 65,535 the first so many."""
        queue = await self.channel.get_queue(self.queues.dead_letters, ensure=False)
        # A question for the count alone is answered with 0 by a quorum queue that is busy; a get is not.
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
                self.owed -= 1 + rest - number  # somebody else took what was counted
                break
            held = _held(message, partial(self._done, message))
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
        """New letters, confirmed."""
        await amqp.bury(self.channel, self.queues.dead_letters, bad)
        self.owed += len(bad)


@asynccontextmanager
async def look(queues: amqp.Queues) -> AsyncIterator[Pile]:
    """Open the pile; what is not acted on is given back at the end. Raises BrokerUnavailable."""
    async with amqp.connected(queues, "headwater dead-letters") as connection:
        try:
            await amqp.declared(connection, queues.dead_letters, amqp.LETTER_ARGUMENTS)
            pile = Pile(queues, await connection.channel(publisher_confirms=True))
            try:
                yield pile
            finally:
                if not pile.channel.is_closed:
                    await _given_back(connection, pile)
        except amqp.LOST as error:
            raise BrokerUnavailable(
                f"RabbitMQ went away: {amqp.words(error)}; nothing is lost, say it again"
            ) from error


async def _given_back(connection: AbstractConnection, pile: Pile) -> None:
    """Let go of what the look holds, and wait until it is there for the next one: a quorum queue takes it back when its log is written."""
    name = pile.queues.dead_letters
    # An acknowledgement is not answered; a question behind it is, and so none is still on its way when the channel ends.
    await amqp.ready(pile.channel, name)
    await pile.channel.close()
    channel = await connection.channel()
    deadline = time.monotonic() + _GIVEN_BACK_WITHIN
    while await amqp.ready(channel, name) < pile.owed and time.monotonic() < deadline:
        await asyncio.sleep(0.01)


async def listed(queues: amqp.Queues, chosen: Chosen) -> list[Letter]:
    """The letters, the oldest first; each stays where it is."""
    async with look(queues) as pile:
        return [held.letter async for held in pile.letters(chosen)]


async def shown(queues: amqp.Queues, id_: str) -> Held | None:
    """One letter with its body."""
    async with look(queues) as pile:
        async for held in pile.letters(Chosen(ids=frozenset({id_}), limit=1)):
            return held
    return None


async def discard(queues: amqp.Queues, chosen: Chosen) -> list[Outcome]:
    """Throw the letters away."""
    done = []
    async with look(queues) as pile:
        async for held in pile.letters(chosen):
            await held.done()
            done.append(Outcome(held.letter.id, "discarded", held.letter.code, held.letter.reason))
    return done


async def replay(queues: amqp.Queues, chosen: Chosen, accept: Accept, trial: Accept) -> list[Outcome]:
    """Try the letters again; those that are accepted now are gone. Raises DatabaseUnavailable: the rest is as it was."""
    done: list[Outcome] = []
    async with look(queues) as pile:
        async for chunk in chunks(pile.letters(chosen)):
            for held, (outcome, code, reason) in zip(chunk, await tried(pile, chunk, accept, trial), strict=True):
                done.append(Outcome(held.letter.id, outcome, code, reason))
    return done


async def chunks(letters: AsyncIterator[Held]) -> AsyncIterator[list[Held]]:
    """Letters by hundreds: one transaction each."""
    chunk: list[Held] = []
    async for held in letters:
        chunk.append(held)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


async def tried(pile: Pile, chunk: Sequence[Held], accept: Accept, trial: Accept) -> list[tuple[str, str, str]]:
    """(outcome, code, reason) of each letter, in order; what is accepted is acknowledged. Suspects are tried in a process of their own.

    A letter with many events that was written whole (a message that could not be taken apart then, and can now) is replaced by letters of
    those events that are still refused.
    """
    found: dict[int, tuple[str, str, str]] = {}
    for suspects in (False, True):
        bodies: list[bytes] = []
        owners: list[tuple[int, int]] = []
        for index, held in enumerate(chunk):
            if (held.letter.code == REDELIVERED) is not suspects:
                continue
            try:
                told, _ = messages.split(held.body, held.encoding)
            except HeadwaterError as error:
                found[index] = ("left", error.code, error.message)
                continue
            found[index] = ("delivered", held.letter.code, held.letter.reason)
            bodies += told
            owners += [(index, place) for place in range(len(told))]
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


def _held(message: AbstractIncomingMessage, done: Callable[[], Awaitable[None]]) -> Held:
    headers = message.headers
    code, reason = (_text(headers.get(f"x-headwater-{name}")) for name in ("code", "reason"))
    if not code:
        code, reason = "unknown", reason or _death(headers.get("x-death")) or "no reason was given"
    at = _time(_text(headers.get("x-headwater-at"))) or message.timestamp
    origin = _text(headers.get("x-headwater-origin")) or message.message_id or ""
    letter = Letter(str(amqp.letter_id(code, message.body)), code, reason, at, origin, len(message.body))
    if message.content_encoding is None:
        try:
            seen = _glance.decode(message.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # many letters are no event; what they are is shown as it is
        else:
            letter.event_type = seen.event_type
            letter.job = f"{seen.job.namespace}/{seen.job.name}" if seen.job else None
            letter.run = seen.run.run_id if seen.run else None
    return Held(letter, message.body, message.content_encoding, done)


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value if isinstance(value, str) else ""


def _time(text: str) -> dt.datetime | None:
    try:
        at = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=dt.UTC)


def _death(deaths: object) -> str:
    """Why the broker itself put a message there, where a policy made it do so."""
    if isinstance(deaths, list) and deaths and isinstance(deaths[0], dict):
        return f"the broker dead-lettered it: {_text(deaths[0].get('reason'))} in {_text(deaths[0].get('queue'))}"
    return ""
