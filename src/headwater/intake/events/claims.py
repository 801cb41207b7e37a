"""Ids of items that two writers claim.

An item belongs to the run and dataset that wrote it. A second writer with the same id is a collision: its producer made the id badly (a
copied virtual machine, a fixed seed), for chance does not. Kept as it is, one of the two would hide the other.
"""

import hashlib
import uuid
from collections.abc import Sequence
from typing import Any

import msgspec

from headwater.errors import InvalidEvent
from headwater.intake.events.correlation import ITEM
from headwater.model import version
from headwater.model.event import DatasetReport, Event, read, repaired
from headwater.model.identity import Identity
from headwater.store.database import Database
from headwater.store.events import claims, server_state
from headwater.store.events.claims import Writer

_MARK = ITEM.encode()


class _Id(msgspec.Struct):
    id: uuid.UUID


_id = msgspec.json.Decoder(_Id)


class Collision(msgspec.Struct, frozen=True):
    """One event, by its place among those asked about, claims an item of another writer."""

    index: int
    item: uuid.UUID
    owner: Writer

    @property
    def reason(self) -> str:
        return (
            f"item {self.item} was written by run {self.owner.run_id} already, which is another run or another dataset"
        )


async def collisions(database: Database, bodies: Sequence[bytes]) -> list[Collision]:
    """Claims of these events on items of others, or on items that an earlier one of them claims. What is no event claims nothing.

    Two receivers that write the two claims at the same moment both see none: then both are kept, and the item is marked `collided`.
    """
    events: dict[int, Event] = {}
    for index, body in enumerate(bodies):
        if _MARK in body and (event := _read(body)) is not None:
            events[index] = event
    if not events:
        return []
    async with database.connection() as connection:
        identity = Identity((await server_state.read(connection)).rules)
        claimed = {index: _claimed(event, identity) for index, event in events.items()}
        known = await claims.writers(connection, {item for some in claimed.values() for item in some})
    found = []
    for index, some in claimed.items():
        theirs = [(item, known[item]) for item, writer in some.items() if known.get(item, writer) != writer]
        found += [Collision(index, item, owner) for item, owner in theirs]
        if not theirs:
            known |= some
    return found


def _read(body: bytes) -> Event | None:
    try:
        event = read(body)
    except InvalidEvent:
        return None
    return event if event.kind == "run" else None


def _claimed(event: Event, identity: Identity) -> dict[uuid.UUID, Writer]:
    """Items the event's run says it wrote."""
    assert event.run_id is not None
    assert event.job is not None
    job = version.job_id(event.job)
    told = ((_item(report), identity.place(report.name).id) for report in event.outputs)
    return {item: Writer(dataset, event.run_id, job) for item, dataset in told if item is not None}


def _item(report: DatasetReport) -> uuid.UUID | None:
    try:
        found = _id.decode(report.here[ITEM]).id if ITEM in report.here else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None  # odd facets are the projection's to warn about
    return None if found is None or found.version == 5 else found


def resolved(body: bytes, items: set[uuid.UUID]) -> bytes:
    """The event with fresh ids for these of its outputs' items; the old id stays in the facet as `collided_with`. The same each time.

    A fresh id is made of the old one and of who claims it (run, job, dataset), so that all events of a run come to the same id; its time
    is the old one's, so that it sorts beside it.
    """
    event: dict[str, Any] = msgspec.json.decode(repaired(body))
    for output in event.get("outputs") or []:
        facet = (output.get("outputFacets") or {}).get(ITEM)
        if not isinstance(facet, dict):
            continue
        try:
            old = uuid.UUID(str(facet.get("id")))
        except ValueError:
            continue
        if old in items:
            run, job = event["run"]["runId"], event["job"]
            who = [str(run), str(job["namespace"]), str(job["name"]), str(output["namespace"]), str(output["name"])]
            facet["collided_with"] = str(old)
            facet["id"] = str(fresh(old, who))
    return msgspec.json.encode(event)


def fresh(old: uuid.UUID, who: list[str]) -> uuid.UUID:
    """A UUID of version 7 with the old one's time, and bits made of both."""
    told = hashlib.blake2b(old.bytes + msgspec.json.encode(who), digest_size=10).digest()
    bits = int.from_bytes(old.bytes[:6] + told, "big")
    bits = bits & ~(0xF << 76) | (7 << 76)
    return uuid.UUID(int=bits & ~(0x3 << 62) | (0x2 << 62))
