"""Prepare a plan's restores for the worker: what to restore, and what to report afterwards.

A stored plan names the version to restore, but the status may have changed by the time a worker takes the item. So every condition of the choice is
checked again. If one no longer holds, the item is not restored.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any

import msgspec

from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.plans.plan import Item
from headwater.entities.plans.serialization import Inputs
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import Ordinals
from headwater.intake.plans.restorable import Target, origin, restorable
from headwater.intake.status.incidents import Wrong, listed
from headwater.intake.status.loaded_marks import united, windows
from headwater.store.database import Connection
from headwater.store.status import restorable as store
from headwater.store.status import status as status_store

_AT_ONCE = 100
"""The number of items that are checked at once."""


class Restoring(msgspec.Struct, frozen=True):
    """Instances that go back to the version of one report (`version`, its seq), and the fields to report for the new version: `code`, `fingerprint`,
    `states`, `rows`, `bytes`, `right`, and `reads` as of `seq`. `storage`: where the version is stored. `current`: where the current version is
    stored; null if that was not reported. `restored_from`: to be copied into the new version's `storage`.
    """

    entity: str
    instances: list[str]
    version: int
    produced_at: dt.datetime
    storage: dict[str, Any]
    current: dict[str, Any] | None
    restored_from: int
    seq: int
    reads: list[Wrong]
    code: str | None
    fingerprint: str | None
    states: list[str]
    rows: int | None
    bytes: int | None
    right: bool


async def ready(
    connection: Connection, held: StoredDeclarations, inputs: Inputs, items: Sequence[Item], seq: int, *, trust: bool
) -> dict[int, list[Restoring] | None]:
    """Return the restores that each restore item consists of, by number; None if it can no longer be done. Items are
    checked in portions until one can be done; unchecked items have an empty list."""
    every = [item for item in items if item.action == "restore"]
    found: dict[int, list[Restoring] | None] = {item.number: [] for item in every}
    for first in range(0, len(every), _AT_ONCE):
        some = await _looked_at(connection, held, inputs, every[first : first + _AT_ONCE], seq, trust=trust)
        found |= some
        if any(some.values()):
            break
    return found


async def _looked_at(
    connection: Connection, held: StoredDeclarations, inputs: Inputs, some: Sequence[Item], seq: int, *, trust: bool
) -> dict[int, list[Restoring] | None]:
    own = united((held.number(name), those) for item in some for name, those in item.makes.items())
    targets = await restorable(
        connection, held, {held.names[number]: those for number, those in own.items()}, trust=trust, together=False
    )
    seqs = {target.version.seq for by_ordinal in targets.values() for target in by_ordinal.values()}
    made: dict[int, list[store.StoredVersion]] = {}
    for each in await store.stored_versions(connection, sorted(seqs)):
        made.setdefault(each.seq, []).append(each)
    current: dict[str, dict[int, status_store.Version]] = {}
    for version in await status_store.versions(connection, windows(own), seq):
        held_ = Ordinals.between(version.start_, version.end_) & own[version.entity_id]
        current.setdefault(held.names[version.entity_id], {}).update(dict.fromkeys(held_.members().tolist(), version))
    found: dict[int, list[Restoring] | None] = {}
    for item in some:
        mine: list[Restoring] = []
        for name, those, to in inputs.goes_back(item.makes):
            for k in those.members().tolist():
                target = targets.get(name, {}).get(k)
                if target is not None and target.version.seq == to:
                    mine.append(_restoring(held, name, k, target, current[name][k], seq, made[to]))
        found[item.number] = mine if len(mine) == sum(those.count for those in item.makes.values()) else None
    return found


def _restoring(
    held: StoredDeclarations,
    name: str,
    k: int,
    target: Target,
    current: status_store.Version,
    seq: int,
    made: Sequence[store.StoredVersion],
) -> Restoring:
    version = target.version
    alone = sum(each.end_ - each.start_ for each in made) == 1
    return Restoring(
        name,
        ranges.written(held.instances(name), Ordinals.between(k, k + 1)),
        version.seq,
        version.produced_at,
        msgspec.json.decode(version.storage or "{}"),
        msgspec.json.decode(current.storage) if current.storage is not None else None,
        origin(version),
        seq,
        listed(held, target.reads),
        version.code,
        version.fingerprint,
        list(msgspec.json.decode(made[0].body).get("states", [])),
        version.row_count if alone else None,  # counts of several instances were reported for all together
        version.byte_count if alone else None,
        target.vouched,
    )
