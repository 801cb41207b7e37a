"""Find and resolve collisions: item ids that two writers claim.

An item belongs to the run and dataset that wrote it. A second writer with the same id is a collision: its producer generated the id badly
(a copied virtual machine, a fixed seed); chance does not. If both were stored, one would hide the other.
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
    """An event, by its index in the batch, that claims another writer's item."""

    index: int
    item: uuid.UUID
    owner: Writer

    @property
    def reason(self) -> str:
        return (
            f"item {self.item} was written by run {self.owner.run_id} already, for another run or another dataset; "
            "generate a new id"
        )


async def collisions(database: Database, bodies: Sequence[bytes]) -> list[Collision]:
    """Find the events that claim an item of another writer, stored or earlier in the batch. A body that is not an event claims nothing.

    If two receivers write two claims at the same moment, neither sees a collision: both are stored, and the item is marked `collided`.
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
        owners = await claims.writers(connection, {item for items in claimed.values() for item in items})
    found = []
    for index, items in claimed.items():
        theirs = [(item, owners[item]) for item, writer in items.items() if owners.get(item, writer) != writer]
        found += [Collision(index, item, owner) for item, owner in theirs]
        if not theirs:
            owners |= items
    return found


def _read(body: bytes) -> Event | None:
    try:
        event = read(body)
    except InvalidEvent:
        return None
    return event if event.kind == "run" else None


def _claimed(event: Event, identity: Identity) -> dict[uuid.UUID, Writer]:
    """The items that the event's run reports as written."""
    assert event.run_id is not None
    assert event.job is not None
    job = version.job_id(event.job)
    outputs = ((_item(report), identity.place(report.name).id) for report in event.outputs)
    return {item: Writer(dataset, event.run_id, job) for item, dataset in outputs if item is not None}


def _item(report: DatasetReport) -> uuid.UUID | None:
    try:
        item = _id.decode(report.io_facets[ITEM]).id if ITEM in report.io_facets else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None  # the projection warns of malformed facets
    return None if item is None or item.version == 5 else item


def resolved(body: bytes, items: set[uuid.UUID]) -> bytes:
    """Give these items of the event's outputs fresh ids; the facet keeps the old id as `collided_with`. Deterministic.

    A fresh id is derived from the old id and its writer (run, job, dataset), so all events of a run get the same id. It keeps the old id's
    time and sorts beside it.
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
            writer = [str(run), str(job["namespace"]), str(job["name"]), str(output["namespace"]), str(output["name"])]
            facet["collided_with"] = str(old)
            facet["id"] = str(fresh_id(old, writer))
    return msgspec.json.encode(event)


def fresh_id(old: uuid.UUID, writer: list[str]) -> uuid.UUID:
    """A version 7 UUID with the old id's time; its other bits are a digest of the old id and the writer."""
    digest = hashlib.blake2b(old.bytes + msgspec.json.encode(writer), digest_size=10).digest()
    bits = int.from_bytes(old.bytes[:6] + digest, "big")
    bits = bits & ~(0xF << 76) | (7 << 76)
    return uuid.UUID(int=bits & ~(0x3 << 62) | (0x2 << 62))
