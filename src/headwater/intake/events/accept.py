"""Accept events: read, append to the log, project, all in one transaction; the reply follows the commit.

What has no identity is refused, with its place in the batch; everything else is kept, and its receipt says what was odd and what it
created. The same event again is known by its digest and changes nothing.
"""

import datetime as dt
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from headwater import telemetry
from headwater.errors import DatabaseRefused, DatabaseUnavailable, InvalidEvent, StaleGeneration
from headwater.intake.events import closure
from headwater.intake.events.batcher import Batcher
from headwater.intake.events.bisection import singled_out
from headwater.intake.events.project import Changes, Projector
from headwater.intake.people import manual
from headwater.model import version
from headwater.model.event import Event, Warning, read, repaired
from headwater.model.identity import Identity
from headwater.model.manual import Target
from headwater.store import search
from headwater.store.database import Database
from headwater.store.events import events, projections, server_state

_array = msgspec.json.Decoder(list[msgspec.Raw])
# A deadlock or a changed generation is nobody's fault: the transaction runs again.
_ATTEMPTS = 5
_AGAIN = frozenset({"40P01", "40001"})


class Receipt(msgspec.Struct, frozen=True):
    """What became of one event. `id` is its digest in hex; `created` are node ids and run ids never heard of before it."""

    id: str
    kind: str
    duplicate: bool
    created: list[str]
    warnings: list[Warning]


class Refused(msgspec.Struct, frozen=True):
    """One of many events that was not kept; `code` is that of the error (errors.py)."""

    index: int
    reason: str
    code: str = InvalidEvent.code


class Accepted(msgspec.Struct, frozen=True):
    """Receipts of what was kept, in the order it came, and what was refused."""

    receipts: list[Receipt]
    refused: list[Refused]


class Arrival(msgspec.Struct, frozen=True):
    """When an event of an archive arrived first, and the time the log had for it: its own, or for one without, that of its arrival."""

    received_at: dt.datetime
    event_time: dt.datetime


class Item(msgspec.Struct, frozen=True):
    """An event that was read, with the bytes it came in. `arrival`: it came before, to the log that an archive was made of."""

    event: Event
    body: bytes
    digest: bytes
    arrival: Arrival | None = None


class _Remembered:
    """What holds for one generation of the database."""

    def __init__(self, state: server_state.ServerState) -> None:
        self.generation = state.generation
        self.known = projections.Known()
        self.projector = Projector(Identity(state.rules), self.known.committed)


class Intake:
    """The write side over one database. `live_runs`: how many of a job's last reporting runs keep an edge alive."""

    def __init__(self, database: Database, live_runs: int = 10) -> None:
        self._database = database
        self._live_runs = live_runs
        self._partitions = events.Partitions()
        self._remembered: _Remembered | None = None
        self._batcher = Batcher(self._write)

    async def one(self, body: bytes) -> Receipt:
        """Accept one event; those that arrive together share a transaction. Raises InvalidEvent when it has no identity."""
        try:
            item = _item(body)
        except InvalidEvent:
            telemetry.measure(telemetry.EventsTaken(1, 0, 0, 1))
            raise
        receipt = await self._batcher.add(item, len(body))
        _measure([receipt], 0)
        return receipt

    async def batch(self, body: bytes) -> Accepted:
        """Accept a JSON array of events; each stands alone. Raises InvalidEvent only when the body is not an array."""
        try:
            items = _array.decode(repaired(body))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidEvent(f"a batch is a JSON array of events: {error}", where="$") from error
        return await self.each([bytes(item) for item in items])

    async def each(self, bodies: Sequence[bytes], arrivals: Sequence[Arrival] | None = None) -> Accepted:
        """Accept events that are apart already, all in one transaction; each stands alone, and what is refused never costs its neighbours.

        `arrivals`: of each, when it arrived first; else now. When it returns, everything is committed. Raises DatabaseUnavailable, and then
        nothing may be taken as kept.
        """
        good: list[tuple[int, Item]] = []
        refused: list[Refused] = []
        for index, body in enumerate(bodies):
            try:
                good.append((index, _item(body, arrivals[index] if arrivals else None)))
            except InvalidEvent as error:
                refused.append(Refused(index, error.message))
        receipts = await self._standing_alone(good, refused) if good else []
        refused.sort(key=lambda one: one.index)
        _measure(receipts, len(refused))
        return Accepted(receipts, refused)

    async def _standing_alone(self, items: Sequence[tuple[int, Item]], refused: list[Refused]) -> list[Receipt]:
        """Write them; where the database refuses, look for the ones it refuses, and keep their neighbours."""
        receipts: list[Receipt] = []

        async def attempt(run: Sequence[tuple[int, Item]]) -> None:
            receipts.extend(await self._write([item for _, item in run]))

        def alone(place: int, error: Exception) -> None:
            index, item = items[place]
            telemetry.say(telemetry.EventRefused(item.digest.hex(), str(error)))
            words = "the database refused this event; the server's log says more"
            refused.append(Refused(index, words, DatabaseRefused.code))

        await singled_out(items, attempt, DatabaseRefused, alone)
        return receipts

    async def _write(self, items: Sequence[Item]) -> list[Receipt]:
        """Append and project, all or nothing; one receipt for each item, in order."""
        refused = False
        for attempt in range(_ATTEMPTS):
            try:
                began = time.perf_counter()
                with telemetry.span("intake.transaction", events=len(items)):
                    receipts = await self._attempt(items)
                telemetry.measure(telemetry.Projected(len(items), time.perf_counter() - began))
                return receipts
            except StaleGeneration:
                self._remembered = None
            except DatabaseUnavailable as error:
                if error.detail.get("sqlstate") not in _AGAIN or attempt == _ATTEMPTS - 1:
                    raise
            except DatabaseRefused:
                # Nothing is remembered of a month that may have been dropped by retention meanwhile.
                self._partitions = events.Partitions()
                if refused:
                    raise
                refused = True
        raise DatabaseUnavailable("the database changed under every attempt to write; try again")

    async def _attempt(self, items: Sequence[Item]) -> list[Receipt]:
        now = dt.datetime.now(dt.UTC)
        times = [_time(item, now) for item in items]
        await self._partitions.ensure(self._database, times)
        remembered = await self._current()
        async with self._database.transaction() as connection:
            if timeless := [item.digest for item in items if item.event.time is None]:
                # An event without a time keeps the time of its first arrival, or sending it again would be another event.
                await events.lock_arrivals(connection)
                first = await events.times_of(connection, timeless)
                times = [item.event.time or first.get(item.digest) or _time(item, now) for item in items]
            told = [remembered.projector(item.event, at, item.digest) for item, at in zip(items, times, strict=True)]
            rows = remembered.known.news(merged(told))
            log = {item.digest: _entry(item, at) for item, at in zip(items, times, strict=True)}
            warnings = [
                (at, item.digest, position, item.event.producer, w.code, w.where, w.message)
                for item, at, changes in zip(items, times, told, strict=True)
                for position, w in enumerate(changes.warnings)
            ]
            async with connection.pipeline() as pipeline:
                if rows.get("upsert_dataset_links"):
                    await projections.alone(connection)
                await server_state.begin_writing(connection, remembered.generation)
                # In one order everywhere, so that two writers with the same events never wait for each other in a circle.
                appended = await events.append(connection, [log[digest] for digest in sorted(log)])
                await events.append_warnings(connection, warnings)
                written = await projections.write(connection, pipeline, rows, self._live_runs)
            new = {row[0] for row in await appended.fetchall()}
            if (written.hidden or written.hidden_namespaces) and (again := _spoken_again(items, told, new, written)):
                await manual.unhide(connection, again, remembered.projector.understood.identity)
            if changed := written.changed | written.hidden:
                await search.refresh(connection, changed, regrouped=bool(rows.get("upsert_dataset_links")))
            # Last: from here on whoever else has new edges of correlation waits.
            await closure.keep(connection, written.correlated)
        if written.hidden_namespaces:
            # What is hidden has to be met again: only an event that is new shows it.
            seen = rows["upsert_namespaces"]
            rows["upsert_namespaces"] = [row for row in seen if row[0] not in written.hidden_namespaces]
        remembered.known.learn(rows)
        return _receipts(items, told, new, written.created)

    async def _current(self) -> _Remembered:
        if self._remembered is None:
            async with self._database.connection() as connection:
                self._remembered = _Remembered(await server_state.read(connection))
        return self._remembered


def _measure(receipts: list[Receipt], refused: int) -> None:
    duplicate = sum(receipt.duplicate for receipt in receipts)
    taken = telemetry.EventsTaken(len(receipts) + refused, len(receipts) - duplicate, duplicate, refused)
    telemetry.measure(taken)


def _item(body: bytes, arrival: Arrival | None = None) -> Item:
    return Item(read(body), body, version.event_digest(body), arrival)


def _time(item: Item, now: dt.datetime) -> dt.datetime:
    return item.event.time or (item.arrival.event_time if item.arrival else now)


def _entry(item: Item, at: dt.datetime) -> events.LogEntry:
    event = item.event
    received = item.arrival.received_at if item.arrival else None
    return events.LogEntry(
        at, item.digest, event.kind, event.event_type, event.run_id, event.producer, item.body, received
    )


def _receipts(items: Sequence[Item], told: Sequence[Changes], new: set[bytes], created: set[Any]) -> list[Receipt]:
    """What each event was the first to speak of is its creation."""
    receipts, seen, left = [], set[bytes](), set(created)
    for item, changes in zip(items, told, strict=True):
        duplicate = item.digest not in new or item.digest in seen
        seen.add(item.digest)
        mine = []
        if not duplicate and left:
            nodes = changes.nodes()
            mine = [node for key, node in nodes.items() if key in left]
            left -= nodes.keys()
        receipts.append(Receipt(item.digest.hex(), item.event.kind, duplicate, mine, changes.warnings))
    return receipts


def _spoken_again(
    items: Sequence[Item], told: Sequence[Changes], new: set[bytes], written: projections.Written
) -> list[tuple[Target, str]]:
    """What was hidden and is spoken of by an event that is new, with the producer who speaks of it first."""
    found: dict[Target, str] = {}
    for item, changes in zip(items, told, strict=True):
        if item.digest in new:
            for kind, query in (("dataset", "upsert_datasets"), ("job", "upsert_jobs")):
                for row in changes.rows.get(query, ()):
                    if row[0] in written.hidden:
                        found.setdefault(Target(kind, row[2], row[1]), item.event.producer)  # type: ignore[arg-type]
            for row in changes.rows.get("upsert_namespaces", ()):
                if row[0] in written.hidden_namespaces:
                    found.setdefault(Target("namespace", row[0]), item.event.producer)
    return sorted(found.items())


def merged(changes: Sequence[Changes]) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of many events, by query."""
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for one in changes:
        for query, given in one.rows.items():
            rows.setdefault(query, []).extend(given)
    return rows
