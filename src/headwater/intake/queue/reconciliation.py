"""The daily reconciliation: each dead letter explained, what can be accepted now accepted, the rest left and reported.

What it did is a row of the audit log, from which receivers tell it to Prometheus. Saying it again changes nothing that is settled.
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
from headwater.intake.queue.dead_letters import Chosen, Held, Pile, chunks, look, tried
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
    "invalid_event": "Not an OpenLineage event: not JSON, or without a run, job or dataset name. The producer has to be mended; "
    "the same bytes will never be accepted. Discard the letters when it is.",
    "invalid_encoding": "The message did not unpack: broken or cut gzip, or an unknown encoding. Fix its publisher.",
    "too_large": "Over what one message may hold. The publisher has to send smaller batches; a receiver with a higher limit would take it.",
    "database_refused": "PostgreSQL refused the event itself. The receiver's log says what it said; a newer Headwater may accept it.",
    "unexpected_error": "Headwater failed on the event, which is a fault of Headwater's. The receiver's log has the traceback; "
    "after an update the letters are accepted.",
    "redelivered": "The process that took the event died of it, again and again. It is tried in a process of its own each time.",
    "id_collision": "Two writers gave their items the same id. The later one gets a fresh id, made of both, and keeps the old as "
    "collided_with. Look at how its producer makes ids: chance does not do this.",
    "unknown": "Put there by a policy of the broker or by hand, not by a receiver.",
}


class Group(msgspec.Struct):
    """Letters of one reason. `outcomes` counts them by what became of them; `left` has a few of those that stay, `reasons` what they say."""

    code: str
    explanation: str
    letters: int
    oldest: dt.datetime | None
    newest: dt.datetime | None
    outcomes: dict[str, int]
    left: list[str]
    reasons: list[str]


class Report(msgspec.Struct):
    """What one reconciliation did, or with `dry_run` would try."""

    at: dt.datetime
    dry_run: bool
    letters: int
    outcomes: dict[str, int]
    groups: list[Group]


class Reconciliation:
    """One pass over the letters that are there when it begins."""

    def __init__(self, queues: Queues, database: Database, accept: Accept, trial: Accept) -> None:
        self._queues, self._database, self._accept, self._trial = queues, database, accept, trial
        self._groups: dict[str, Group] = {}
        self._seen: set[str] = set()

    async def run(self, *, dry_run: bool = False) -> Report:
        """Raises BrokerUnavailable and DatabaseUnavailable: what was not settled until then stays as it was."""
        async with look(self._queues) as pile:
            async for chunk in chunks(pile.letters(Chosen())):
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

    async def _settle(self, pile: Pile, chunk: Sequence[Held], dry_run: bool) -> list[tuple[str, str]]:
        """(outcome, reason) of each letter, in order."""
        settled: dict[int, tuple[str, str]] = {}
        known = await self._in_log([held.body for held in chunk])
        rest: list[int] = []
        for index, held in enumerate(chunk):
            if held.letter.id in self._seen:
                settled[index] = ("doubled", "")
            elif version.event_digest(held.body) in known:
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
            Held(held.letter, fresh.get(index, held.body), held.encoding, held.done)
            for index, held in enumerate(chunk)
            if index in set(rest)
        ]
        for index, (outcome, _, reason) in zip(rest, await tried(pile, trying, self._accept, self._trial), strict=True):
            renamed = index in fresh and fresh[index] != chunk[index].body
            settled[index] = ("resolved" if renamed and outcome == "replayed" else outcome, reason)
        return [settled[index] for index in range(len(chunk))]

    async def _fresh(self, bodies: list[bytes]) -> list[bytes]:
        """Each with fresh ids for the items it has no right to; as it is where nobody else claims them any more."""
        taken: dict[int, set[uuid.UUID]] = {}
        for one in await claims.collisions(self._database, bodies):
            taken.setdefault(one.index, set()).add(one.item)
        return [claims.resolved(body, taken[index]) if index in taken else body for index, body in enumerate(bodies)]

    async def _in_log(self, bodies: list[bytes]) -> set[bytes]:
        digests = [version.event_digest(body) for body in bodies]
        async with self._database.connection() as connection:
            return set(await events.times_of(connection, digests))

    def _foreseen(self, held: Held, renamed: bool) -> tuple[str, str]:
        """What would be tried: the database is not asked, so what it would refuse counts as replayed."""
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

    def _count(self, held: Held, outcome: str, reason: str) -> None:
        letter = held.letter
        group = self._groups.setdefault(
            letter.code,
            Group(
                letter.code, EXPLANATIONS.get(letter.code, "A reason of a newer version."), 0, None, None, {}, [], []
            ),
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
    """How the last one ended; None when there was none, or retention has dropped its row."""
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
    """Measures the last reconciliation every now and then, until cancelled."""
    while True:
        try:
            if found := await last(database):
                telemetry.measure(found)
        except DatabaseUnavailable:
            pass  # the receiver itself says that the database is away
        await asyncio.sleep(_FOLLOW_SECONDS)
