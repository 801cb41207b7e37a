"""Accept events: read them, append them to the log and project them in one transaction. The reply follows the commit.

An event without identity is refused, with its index in the batch. Every other event is stored, and its receipt lists warnings and what it
created. An event sent again has the same digest and changes nothing, also in other words: the log keeps the bytes that came first (decision 057).
"""

import datetime as dt
import time
from collections.abc import Sequence
from typing import Any, Protocol, cast

import msgspec

from headwater import telemetry
from headwater.errors import (
    DatabaseRefused,
    DatabaseUnavailable,
    HeadwaterError,
    InvalidEvent,
    StaleGeneration,
    TooLarge,
)
from headwater.intake.events import closure
from headwater.intake.events.batch import Damage, split_batch
from headwater.intake.events.batcher import Batcher
from headwater.intake.events.bisection import isolate_failures
from headwater.intake.events.changes import Changes
from headwater.intake.events.project import Projector
from headwater.intake.events.statements import add_statement_reads
from headwater.intake.events.touched import TouchedNodes
from headwater.intake.events.turns import take_turns
from headwater.intake.events.width import Limits, check_width
from headwater.intake.people import manual
from headwater.model import version
from headwater.model.event import Event, Warning, read
from headwater.model.identity import Identity
from headwater.model.manual import Target
from headwater.store import search
from headwater.store.database import Connection, Database
from headwater.store.events import events, projections, server_state
from headwater.store.events.rows import DatasetLinkRow, DatasetRow, JobRow, NamespaceRow, merge_rows

# After a deadlock, a serialization failure or a changed generation, the transaction is retried.
_ATTEMPTS = 5
_RETRIABLE = frozenset({"40P01", "40001"})
# As of reports on instances (`intake.status.request`).
_AHEAD = dt.timedelta(minutes=5)


class Receipt(msgspec.Struct, frozen=True):
    """The outcome of one event. `id`: its digest in hex. `created`: node ids of the datasets, jobs and runs it is the first to mention."""

    id: str
    kind: str
    duplicate: bool
    created: list[str]
    warnings: list[Warning]


class Refused(msgspec.Struct, frozen=True):
    """An event of a batch that was not stored. `code` is the error's code (errors.py)."""

    index: int
    reason: str
    code: str = InvalidEvent.code


class Accepted(msgspec.Struct, frozen=True):
    """The receipts of the stored events, in the order they came, and the refused events."""

    receipts: list[Receipt]
    refused: list[Refused]


class Arrival(msgspec.Struct, frozen=True):
    """The time at which an archived event first arrived, and its time in the log: its own, or its time of arrival if it has none."""

    received_at: dt.datetime
    event_time: dt.datetime


class Item(msgspec.Struct, frozen=True):
    """An event with the bytes it was read from. `arrival`: for an event of an archive, its first arrival."""

    event: Event
    body: bytes
    digest: bytes
    arrival: Arrival | None = None


class _LoggedEarlier(Exception):
    """Events of this transaction are in the log under another time: their own was still ahead of the clock when they arrived."""

    def __init__(self, times: dict[bytes, dt.datetime]) -> None:
        super().__init__()
        self.times = times


class _InOtherWords(Exception):
    """The log has events of this transaction with other bytes, which mean the same: its bodies, by digest."""

    def __init__(self, bodies: dict[bytes, bytes]) -> None:
        super().__init__()
        self.bodies = bodies


class WideIntake(Protocol):
    """Accepts events that would keep this process from answering others (`intake.events.wide`)."""

    def is_wide(self, body: bytes) -> bool: ...

    async def accept(self, body: bytes, arrival: Arrival | None = None) -> Accepted: ...


class _GenerationCache:
    """The values that may be cached while the database keeps its generation: the projector, and the rows that are stored already."""

    def __init__(self, state: server_state.ServerState) -> None:
        self.generation = state.generation
        self.bytes_digests_until = state.bytes_digests_until
        self.known = projections.CommittedRows()
        self.projector = Projector(Identity(state.rules), self.known.committed)


class Intake:
    """Writes events to one database. `wide` accepts the events that it says are wide; without it, they are accepted here.
    `touched` is told what each event is about."""

    def __init__(
        self,
        database: Database,
        *,
        limits: Limits | None = None,
        wide: WideIntake | None = None,
        touched: TouchedNodes | None = None,
    ) -> None:
        self._database, self._touched = database, touched
        self._limits = limits or Limits()
        self._wide = wide
        self._partitions = events.Partitions()
        self._cache: _GenerationCache | None = None
        self._batcher = Batcher(self._write)

    async def accept(self, body: bytes) -> Receipt:
        """Accept one event. Events that arrive together share a transaction.

        Raises InvalidEvent if it has no identity, TooLarge if it is over a limit.
        """
        if self._wide is not None and self._wide.is_wide(body):
            accepted = await self._wide.accept(body)
            _measure(accepted.receipts, len(accepted.refused))
            if accepted.refused:
                raise _refusal(accepted.refused[0])
            return accepted.receipts[0]
        try:
            item = self._item(body)
        except (InvalidEvent, TooLarge):
            telemetry.measure(telemetry.EventsTaken(1, 0, 0, 1))
            raise
        receipt = await self._batcher.add(item, len(body))
        _measure([receipt], 0)
        return receipt

    async def accept_batch(self, body: bytes) -> Accepted:
        """Accept a JSON array of events; each succeeds or fails alone.

        Raises InvalidEvent if the body is not an array, or not to its end: the elements before the damage are accepted, and sending them again
        is safe. It is an error, because what follows the damage, which may be many events, is not accepted.
        """
        batch = split_batch(body)
        accepted = await self.accept_each(batch.elements)
        if batch.damage is None:
            return accepted
        telemetry.measure(telemetry.EventsTaken(1, 0, 0, 1))
        raise _damaged(batch.damage, accepted)

    async def accept_each(self, bodies: Sequence[bytes], arrivals: Sequence[Arrival] | None = None) -> Accepted:
        """Accept separate events in one transaction. Each succeeds or fails alone: a refused event never costs its neighbours.

        `arrivals`: the first arrival of each event; without it, now. Everything is committed on return. Raises DatabaseUnavailable; then
        assume that no event is stored.
        """
        good: list[tuple[int, Item]] = []
        wide: list[tuple[int, WideIntake]] = []
        refused: list[Refused] = []
        async for index, body in take_turns(enumerate(bodies)):
            if self._wide is not None and self._wide.is_wide(body):
                wide.append((index, self._wide))
                continue
            try:
                good.append((index, self._item(body, arrivals[index] if arrivals else None)))
            except (InvalidEvent, TooLarge) as error:
                refused.append(Refused(index, error.message, error.code))
        by_index = await self._write_separately(good, refused) if good else {}
        for index, elsewhere in wide:
            accepted = await elsewhere.accept(bodies[index], arrivals[index] if arrivals else None)
            by_index |= dict.fromkeys([index] if accepted.receipts else [], *accepted.receipts)
            refused += [msgspec.structs.replace(refusal, index=index) for refusal in accepted.refused]
        receipts = [by_index[index] for index in sorted(by_index)]
        refused.sort(key=lambda refusal: refusal.index)
        _measure(receipts, len(refused))
        return Accepted(receipts, refused)

    def _item(self, body: bytes, arrival: Arrival | None = None) -> Item:
        event = read(body)
        check_width(event, self._limits)
        return Item(event, body, version.event_digest(body), arrival)

    async def _write_separately(self, items: Sequence[tuple[int, Item]], refused: list[Refused]) -> dict[int, Receipt]:
        """Write the items; their receipts by index. If the database refuses the batch, find the items it refuses and write their neighbours."""
        receipts: dict[int, Receipt] = {}

        async def attempt(run: Sequence[tuple[int, Item]]) -> None:
            written = await self._write([item for _, item in run])
            receipts.update((index, receipt) for (index, _), receipt in zip(run, written, strict=True))

        def refuse(place: int, error: Exception) -> None:
            index, item = items[place]
            telemetry.say(telemetry.EventRefused(item.digest.hex(), str(error)))
            reason = "the database refused this event; see the server's log for the cause"
            refused.append(Refused(index, reason, DatabaseRefused.code))

        await isolate_failures(items, attempt, DatabaseRefused, refuse)
        return receipts

    async def _write(self, items: Sequence[Item]) -> list[Receipt]:
        """Append and project all items or none. Returns one receipt for each item, in order."""
        refused = False
        logged: dict[bytes, dt.datetime] = {}
        items = _in_first_words(items)
        for attempt in range(_ATTEMPTS):
            try:
                began = time.perf_counter()
                with telemetry.span("intake.transaction", events=len(items)):
                    receipts = await self._attempt(items, logged)
                telemetry.measure(telemetry.Projected(len(items), time.perf_counter() - began))
                return receipts
            except _LoggedEarlier as earlier:
                logged |= earlier.times
            except _InOtherWords as first:
                items = [
                    Item(read(body), body, item.digest, item.arrival)
                    if (body := first.bodies.get(item.digest))
                    else item
                    for item in items
                ]
            except StaleGeneration:
                self._cache = None
            except DatabaseUnavailable as error:
                if error.detail.get("sqlstate") not in _RETRIABLE or attempt == _ATTEMPTS - 1:
                    raise
            except DatabaseRefused:
                # Retention may have dropped a monthly partition that the cache says exists: check again.
                self._partitions = events.Partitions()
                if refused:
                    raise
                refused = True
        raise DatabaseUnavailable("the database changed under every attempt to write; try again")

    async def _attempt(self, items: Sequence[Item], logged: dict[bytes, dt.datetime]) -> list[Receipt]:
        """`logged`: times that the log has events under although they are not the events' own."""
        now = dt.datetime.now(dt.UTC)
        times = [logged.get(item.digest) or _time(item, now) for item in items]
        await self._partitions.ensure(self._database, times)
        cache = await self._current_cache()
        async with self._database.transaction() as connection:
            if cache.bytes_digests_until is not None:
                items = await _with_stored_digests(connection, items, cache.bytes_digests_until, now)
                times = [logged.get(item.digest, at) for item, at in zip(items, times, strict=True)]
            if by_arrival := [item.digest for item in items if _is_by_arrival(item, now)]:
                # An event without a time, or from the future, keeps the time of its first arrival; otherwise a repetition would be another event.
                await events.lock_arrivals_alone(connection)
                first = await events.times_of(connection, by_arrival)
                times = [first.get(item.digest, at) for item, at in zip(items, times, strict=True)]
            projected = [
                cache.projector(item.event, at, item.digest)
                async for item, at in take_turns(zip(items, times, strict=True))
            ]
            for item, at, changes in zip(items, times, projected, strict=True):
                changes.warnings.extend(_clock_warnings(item.event.time, at))
            rows = cache.known.news(merge_rows(projected))
            log = {item.digest: _entry(item, at) for item, at in zip(items, times, strict=True)}
            warnings = [
                (at, item.digest, position, item.event.producer, w.code, w.where, w.message)
                for item, at, changes in zip(items, times, projected, strict=True)
                for position, w in enumerate(changes.warnings)
            ]
            async with connection.pipeline() as pipeline:
                if not by_arrival:
                    await events.lock_arrivals(connection)
                if rows.get(DatasetLinkRow):
                    await projections.alone(connection)
                await server_state.begin_writing(connection, cache.generation)
                # Every writer appends in the order of digests; two writers of the same events then cannot deadlock.
                appended = await events.append(connection, [log[digest] for digest in sorted(log)])
                early = await events.send_early_times(connection, sorted(log))
                await events.append_warnings(connection, warnings)
                written = await projections.write(connection, pipeline, rows)
            if earlier := {d: at for d, at in await early.fetchall() if d in log and log[d].event_time != at}:
                raise _LoggedEarlier(earlier)
            new = {row[0] for row in await appended.fetchall()}
            repeated = [entry for digest, entry in log.items() if digest not in new]
            if repeated and (other := await events.other_bodies(connection, repeated)):
                raise _InOtherWords(other)
            if (written.hidden or written.hidden_namespaces) and (
                mentioned := _mentioned_again(items, projected, new, written)
            ):
                await manual.unhide(connection, mentioned, cache.projector.decoder.identity)
            behind = await add_statement_reads(connection, rows, cache.projector.decoder)
            if changed := written.changed | written.hidden | behind:
                reported = cast("Sequence[DatasetRow]", rows.get(DatasetRow, ()))
                created = {row.id: (row.namespace, row.name) for row in reported if row.id in written.created}
                await search.refresh(connection, changed, regrouped=bool(rows.get(DatasetLinkRow)), new=created)
            # Last, because it locks the closure: other transactions with new correlation edges wait from here on.
            await closure.update_closure(connection, written.correlated)
        if written.hidden_namespaces:
            # A hidden namespace is not cached: a later new event must still find that it is hidden, and unhide it.
            namespaces = cast("Sequence[NamespaceRow]", rows[NamespaceRow])
            rows[NamespaceRow] = [row for row in namespaces if row.name not in written.hidden_namespaces]
        cache.known.learn(rows)
        if self._touched is not None:
            self._touched.remember((item.digest, changes) for item, changes in zip(items, projected, strict=True))
        return _receipts(items, projected, new, written.created)

    async def _current_cache(self) -> _GenerationCache:
        if self._cache is None:
            async with self._database.connection() as connection:
                self._cache = _GenerationCache(await server_state.read(connection))
        return self._cache


def _in_first_words(items: Sequence[Item]) -> Sequence[Item]:
    """Give items that mean the same the body of the first."""
    first: dict[bytes, Item] = {}
    for item in items:
        first.setdefault(item.digest, item)
    if len(first) == len(items):
        return items
    return [
        msgspec.structs.replace(item, event=first[item.digest].event, body=first[item.digest].body) for item in items
    ]


async def _with_stored_digests(
    connection: Connection, items: Sequence[Item], until: dt.datetime, now: dt.datetime
) -> Sequence[Item]:
    """Give items that the log has under the digest of their bytes that digest. `until`: events that arrived later have none."""
    by_bytes = {
        version.bytes_digest(item.body): item
        for item in items
        if _is_by_arrival(item, now) or _time(item, now) - _AHEAD <= until
    }
    stored = await events.times_of(connection, list(by_bytes)) if by_bytes else {}
    if not stored:
        return items
    digests = {by_bytes[digest].digest: digest for digest in stored}
    return [msgspec.structs.replace(item, digest=digests.get(item.digest, item.digest)) for item in items]


def _damaged(damage: Damage, accepted: Accepted) -> InvalidEvent:
    stored, refused = len(accepted.receipts), accepted.refused
    others = (
        f", {len(refused)} refused, the first of them element {refused[0].index}: {refused[0].reason}"
        if refused
        else ""
    )
    return InvalidEvent(
        f"{damage.explain()}. Of the {damage.index} elements before it {stored} are stored{others}. Nothing after them is: correct the batch and "
        "send all of it again",
        where=f"$[{damage.index}]",
        offset=damage.offset,
    )


def _refusal(refused: Refused) -> HeadwaterError:
    kinds = {kind.code: kind for kind in (InvalidEvent, TooLarge, DatabaseRefused)}
    return kinds.get(refused.code, HeadwaterError)(refused.reason)


def _measure(receipts: list[Receipt], refused: int) -> None:
    duplicate = sum(receipt.duplicate for receipt in receipts)
    taken = telemetry.EventsTaken(len(receipts) + refused, len(receipts) - duplicate, duplicate, refused)
    telemetry.measure(taken)


def _time(item: Item, now: dt.datetime) -> dt.datetime:
    """The event's time in the log, unless the log has it already: its own, if that had come when it arrived."""
    received = item.arrival.received_at if item.arrival else now
    if item.event.time is not None and item.event.time - received <= _AHEAD:
        return item.event.time
    in_log = item.arrival.event_time if item.arrival else now
    return in_log if in_log - received <= _AHEAD else received


def _is_by_arrival(item: Item, now: dt.datetime) -> bool:
    """Return whether the event's time in the log depends on when it arrived."""
    return item.event.time is None or item.event.time != _time(item, now)


def _clock_warnings(own: dt.datetime | None, at: dt.datetime) -> list[Warning]:
    """Return warnings about an event's time. The projection, which knows only the event, cannot give them."""
    if own is None or own <= at:
        return []
    why = (
        "was more than five minutes ahead of this server's clock; the time of arrival is used, else nothing sent later "
        "would replace what this event says; correct the producer's clock"
    )
    return [Warning(events.EARLY, "eventTime", f"{own.isoformat()} {why}")]


def _entry(item: Item, at: dt.datetime) -> events.LogEntry:
    event = item.event
    received = item.arrival.received_at if item.arrival else None
    return events.LogEntry(
        at, item.digest, event.kind, event.event_type, event.run_id, event.producer, item.body, received
    )


def _receipts(items: Sequence[Item], projected: Sequence[Changes], new: set[bytes], created: set[Any]) -> list[Receipt]:
    """Return one receipt for each item. Each created node is attributed to the first event that mentions it."""
    receipts, seen, left = [], set[bytes](), set(created)
    for item, changes in zip(items, projected, strict=True):
        duplicate = item.digest not in new or item.digest in seen
        seen.add(item.digest)
        mine = changes.take_nodes(left) if left and not duplicate else []
        receipts.append(Receipt(item.digest.hex(), item.event.kind, duplicate, mine, changes.warnings))
    return receipts


def _mentioned_again(
    items: Sequence[Item], projected: Sequence[Changes], new: set[bytes], written: projections.WriteResult
) -> list[tuple[Target, str]]:
    """The hidden datasets, jobs and namespaces that a new event mentions, each with the first event's producer."""
    producers: dict[Target, str] = {}
    for item, changes in zip(items, projected, strict=True):
        if item.digest in new:
            targets = [
                Target("dataset", row.name, row.namespace) for row in changes.of(DatasetRow) if row.id in written.hidden
            ]
            targets += [
                Target("job", row.name, row.namespace) for row in changes.of(JobRow) if row.id in written.hidden
            ]
            targets += [
                Target("namespace", row.name)
                for row in changes.of(NamespaceRow)
                if row.name in written.hidden_namespaces
            ]
            for target in targets:
                producers.setdefault(target, item.event.producer)
    return sorted(producers.items())
