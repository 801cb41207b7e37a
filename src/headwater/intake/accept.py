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
from headwater.errors import InvalidEvent
from headwater.intake.project import Changes, project
from headwater.model import version
from headwater.model.event import Event, Warning, read, repaired
from headwater.store import events, projections
from headwater.store.database import Connection, Database

_array = msgspec.json.Decoder(list[msgspec.Raw])


class Receipt(msgspec.Struct, frozen=True):
    """What became of one event. `id` is its digest in hex; `created` are node ids and run ids never heard of before it."""

    id: str
    kind: str
    duplicate: bool
    created: list[str]
    warnings: list[Warning]


class Refused(msgspec.Struct, frozen=True):
    index: int
    reason: str


class Accepted(msgspec.Struct, frozen=True):
    """Receipts of what was kept, in the order it came, and what was refused."""

    receipts: list[Receipt]
    refused: list[Refused]


class Intake:
    """The write side over one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._partitions = events.Partitions()

    async def one(self, body: bytes) -> Receipt:
        """Accept one event. Raises InvalidEvent when it has no identity."""
        try:
            event = read(body)
        except InvalidEvent:
            telemetry.measure(telemetry.EventsTaken(1, 0, 0, 1))
            raise
        accepted = await self._accept([(0, event, body)])
        _measure(accepted, 0)
        return accepted[0]

    async def batch(self, body: bytes) -> Accepted:
        """Accept a JSON array of events; each stands alone. Raises InvalidEvent only when the body is not an array."""
        try:
            items = _array.decode(repaired(body))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidEvent(f"a batch is a JSON array of events: {error}", where="$") from error
        good: list[tuple[int, Event, bytes]] = []
        refused: list[Refused] = []
        for index, item in enumerate(items):
            raw = bytes(item)
            try:
                good.append((index, read(raw), raw))
            except InvalidEvent as error:
                refused.append(Refused(index, error.message))
        receipts = await self._accept(good) if good else []
        _measure(receipts, len(refused))
        return Accepted(receipts, refused)

    async def _accept(self, items: Sequence[tuple[int, Event, bytes]]) -> list[Receipt]:
        digests = [version.event_digest(body) for _, _, body in items]
        now = dt.datetime.now(dt.UTC)
        times = [event.time or now for _, event, _ in items]
        if timeless := [digest for digest, (_, event, _) in zip(digests, items, strict=True) if event.time is None]:
            # An event without a time keeps the time of its first arrival, or sending it again would be another event.
            async with self._database.connection() as connection:
                first = await events.times_of(connection, timeless)
            times = [event.time or first.get(digest, now) for (_, event, _), digest in zip(items, digests, strict=True)]
        await self._partitions.ensure(self._database, times)
        with telemetry.span("intake.transaction", events=len(items)):
            async with self._database.transaction() as connection:
                return await _write(connection, items, digests, times)


def _measure(receipts: list[Receipt], refused: int) -> None:
    duplicate = sum(receipt.duplicate for receipt in receipts)
    taken = telemetry.EventsTaken(len(receipts) + refused, len(receipts) - duplicate, duplicate, refused)
    telemetry.measure(taken)


async def _write(
    connection: Connection, items: Sequence[tuple[int, Event, bytes]], digests: list[bytes], times: list[dt.datetime]
) -> list[Receipt]:
    log: dict[bytes, events.LogEntry] = {}
    for (_, event, body), digest, at in zip(items, digests, times, strict=True):
        log.setdefault(
            digest, events.LogEntry(at, digest, event.kind, event.event_type, event.run_id, event.producer, body)
        )
    # In one order everywhere, so that two writers with the same events never wait for each other in a circle.
    new = await events.append(connection, [log[digest] for digest in sorted(log)])
    told = [project(event, at, digest) for (_, event, _), digest, at in zip(items, digests, times, strict=True)]
    fresh = [changes for changes, digest in zip(told, digests, strict=True) if digest in new]
    began = time.perf_counter()
    created = await projections.write(connection, merged(fresh))
    telemetry.measure(telemetry.Projected(len(fresh), time.perf_counter() - began))
    await events.append_warnings(
        connection,
        [
            (at, digest, position, event.producer, w.code, w.where, w.message)
            for (_, event, _), digest, at, changes in zip(items, digests, times, told, strict=True)
            if digest in new
            for position, w in enumerate(changes.warnings)
        ],
    )
    receipts, seen = [], set[bytes]()
    for (_, event, _), digest, changes in zip(items, digests, told, strict=True):
        duplicate = digest not in new or digest in seen
        seen.add(digest)
        nodes = changes.nodes()
        mine = [] if duplicate else [node for key, node in nodes.items() if key in created]
        created -= nodes.keys()
        receipts.append(Receipt(digest.hex(), event.kind, duplicate, mine, changes.warnings))
    return receipts


def merged(changes: Sequence[Changes]) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of many events, by query."""
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for one in changes:
        for query, given in one.rows.items():
            rows.setdefault(query, []).extend(given)
    return rows
