"""Reconcile dead letters, once a day: explain each, accept those that can be accepted now, and report the others.

Its result is a row of the audit log, from which receivers export it to Prometheus. Running it again changes no settled letter.
"""

import asyncio
import datetime as dt
import uuid
from collections import Counter
from collections.abc import Sequence

import msgspec

from headwater import telemetry
from headwater.errors import DatabaseUnavailable, InvalidEvent
from headwater.intake.events import claims
from headwater.intake.events.isolation import REDELIVERED
from headwater.intake.events.tolerant import ID_COLLISION
from headwater.intake.people import audit
from headwater.intake.queue.amqp import Queues
from headwater.intake.queue.dead_letters import HeldLetter, LetterFilter, Pile, chunks, look, retry_letters
from headwater.intake.queue.receiver import Accept
from headwater.model import version
from headwater.model.event import read
from headwater.store.database import Database
from headwater.store.events import events
from headwater.store.people import audit as audit_store

OUTCOMES = ("replayed", "resolved", "delivered", "doubled", "left")
_TARGET = "dead letters"
_ACTION = "reconcile_dead_letters"
_FOLLOW_SECONDS = 30.0

EXPLANATIONS = {
    "invalid_event": "Not an OpenLineage event: not JSON, or without a run, job or dataset name. The same bytes will never be accepted. "
    "Fix the producer, then discard the letters.",
    "invalid_encoding": "The message could not be unpacked: broken or truncated gzip, or an unknown encoding. Fix its publisher.",
    "too_large": "The message is over the size limit. Send smaller batches, or raise the receiver's limit.",
    "database_refused": "PostgreSQL refused the event. See the receiver's log for its message; a newer Headwater may accept the event.",
    "unexpected_error": "Headwater failed on the event because of a bug. See the receiver's log for the traceback; "
    "replay the letters after an update.",
    "redelivered": "The event crashed the process that accepted it, repeatedly. Each further try runs in a child process.",
    "id_collision": "Two writers gave their items the same id. The later one gets a fresh id, derived from both, and keeps the old id as "
    "collided_with. Check how its producer generates ids: this does not happen by chance.",
    "unknown": "Put there by a policy of the broker or by hand, not by a receiver.",
}


class Group(msgspec.Struct):
    """Letters with one code. `outcomes`: counts by outcome. `left`: ids of a few that stay; `reasons`: a few of their reasons."""

    code: str
    explanation: str
    letters: int
    oldest: dt.datetime | None
    newest: dt.datetime | None
    outcomes: dict[str, int]
    left: list[str]
    reasons: list[str]


class Report(msgspec.Struct):
    """The result of one reconciliation; with `dry_run`, the expected result."""

    at: dt.datetime
    dry_run: bool
    letters: int
    outcomes: dict[str, int]
    groups: list[Group]


class Reconciliation:
    """One pass over the letters that are in the queue when it begins."""

    def __init__(self, queues: Queues, database: Database, accept: Accept, trial: Accept) -> None:
        self._queues, self._database, self._accept, self._trial = queues, database, accept, trial
        self._groups: dict[str, Group] = {}
        self._seen: set[str] = set()

    async def run(self, *, dry_run: bool = False) -> Report:
        """Settle all letters. Raises BrokerUnavailable and DatabaseUnavailable; letters that are not settled by then stay."""
        async with look(self._queues) as pile:
            async for chunk in chunks(pile.letters(LetterFilter())):
                for held, (outcome, reason) in zip(chunk, await self._settle(pile, chunk, dry_run), strict=True):
                    self._count(held, outcome, reason)
        groups = sorted(self._groups.values(), key=lambda group: (-group.letters, group.code))
        total = Counter[str]()
        for group in groups:
            total.update(group.outcomes)
        outcomes = {outcome: total[outcome] for outcome in OUTCOMES}
        report = Report(dt.datetime.now(dt.UTC), dry_run, sum(group.letters for group in groups), outcomes, groups)
        if not dry_run:
            change = audit.by_command(
                "dead-letters reconcile", _ACTION, _TARGET, queue=self._queues.dead_letters, **outcomes
            )
            await audit.append(self._database, change)
        return report

    async def _settle(self, pile: Pile, chunk: Sequence[HeldLetter], dry_run: bool) -> list[tuple[str, str]]:
        """Settle letters. Returns (outcome, reason) of each, in order."""
        settled: dict[int, tuple[str, str]] = {}
        logged = await self._in_log([held.body for held in chunk])
        rest: list[int] = []
        for index, held in enumerate(chunk):
            if held.letter.id in self._seen:
                settled[index] = ("doubled", "")
            elif not logged.isdisjoint(version.digests_of(held.body)):
                settled[index] = ("delivered", "")
            else:
                rest.append(index)
            self._seen.add(held.letter.id)
        if not dry_run:
            for index in settled:
                await chunk[index].done()
        collided = [index for index in rest if chunk[index].letter.code == ID_COLLISION]
        fresh = dict(zip(collided, await self._fresh([chunk[index].body for index in collided]), strict=True))
        if dry_run:
            for index in rest:
                settled[index] = self._foreseen(chunk[index], index in fresh and fresh[index] != chunk[index].body)
            return [settled[index] for index in range(len(chunk))]
        trying = [
            HeldLetter(held.letter, fresh.get(index, held.body), held.encoding, held.done)
            for index, held in enumerate(chunk)
            if index in set(rest)
        ]
        for index, (outcome, _, reason) in zip(
            rest, await retry_letters(pile, trying, self._accept, self._trial), strict=True
        ):
            renamed = index in fresh and fresh[index] != chunk[index].body
            settled[index] = ("resolved" if renamed and outcome == "replayed" else outcome, reason)
        return [settled[index] for index in range(len(chunk))]

    async def _fresh(self, bodies: list[bytes]) -> list[bytes]:
        """The events with fresh ids for items that collide; unchanged if they no longer collide."""
        items: dict[int, set[uuid.UUID]] = {}
        for collision in await claims.collisions(self._database, bodies):
            items.setdefault(collision.index, set()).add(collision.item)
        return [claims.resolved(body, items[index]) if index in items else body for index, body in enumerate(bodies)]

    async def _in_log(self, bodies: list[bytes]) -> set[bytes]:
        digests = [digest for body in bodies for digest in version.digests_of(body)]
        async with self._database.connection() as connection:
            return set(await events.times_of(connection, digests))

    def _foreseen(self, held: HeldLetter, renamed: bool) -> tuple[str, str]:
        """The expected outcome of a letter, without asking the database: an event that it would refuse counts as replayed."""
        if renamed:
            return "resolved", ""
        if held.letter.code != REDELIVERED and held.encoding is None and held.body.lstrip()[:1] != b"[":
            try:
                read(held.body)
            except InvalidEvent as error:
                return "left", error.message
        return (
            ("left", held.letter.reason) if held.letter.code in {"too_large", "invalid_encoding"} else ("replayed", "")
        )

    def _count(self, held: HeldLetter, outcome: str, reason: str) -> None:
        letter = held.letter
        group = self._groups.setdefault(
            letter.code,
            Group(letter.code, EXPLANATIONS.get(letter.code, "A code of a newer version."), 0, None, None, {}, [], []),
        )
        group.letters += 1
        group.outcomes[outcome] = group.outcomes.get(outcome, 0) + 1
        if letter.at is not None:
            group.oldest = min(group.oldest or letter.at, letter.at)
            group.newest = max(group.newest or letter.at, letter.at)
        if outcome == "left":
            if len(group.left) < 10:
                group.left.append(letter.id)
            if reason not in group.reasons and len(group.reasons) < 5:
                group.reasons.append(reason)


async def last(database: Database) -> telemetry.LastReconciliation | None:
    """The result of the last reconciliation; None if there was none, or retention deleted its row."""
    async with database.connection() as connection:
        rows, _ = await audit_store.page(
            connection, actor=None, target=_TARGET, since=None, until=None, limit=1, offset=0
        )
    if not rows:
        return None
    detail = msgspec.json.decode(rows[0].detail)
    outcomes = {outcome: int(detail.get(outcome, 0)) for outcome in OUTCOMES}
    return telemetry.LastReconciliation(rows[0].at.timestamp(), outcomes)


async def follow(database: Database) -> None:
    """Measure the last reconciliation regularly, until cancelled."""
    while True:
        try:
            if reconciliation := await last(database):
                telemetry.measure(reconciliation)
        except DatabaseUnavailable:
            pass  # the receiver itself logs that the database is unavailable
        await asyncio.sleep(_FOLLOW_SECONDS)
