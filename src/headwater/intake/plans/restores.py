"""Items of a plan that go back to stored versions, as whoever restores them has to know them: what to restore, and what to report then.

A plan says which version, and is kept; by the time that an item is taken things may be otherwise. So all that the choice was made by is looked at
once more, as it is now. What does not hold any more is not restored.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any

import msgspec

from headwater.entities.declaration.held import Held
from headwater.entities.plans.plan import Item
from headwater.entities.plans.serialization import Inputs
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import Ordinals
from headwater.intake.plans.restorable import Target, origin, restorable
from headwater.intake.status.held_marks import united, windows
from headwater.intake.status.incidents import Wrong, listed
from headwater.store.database import Connection
from headwater.store.status import restorable as store
from headwater.store.status import status as status_store

_AT_ONCE = 100
"""Items that are looked at in one go."""


class Restoring(msgspec.Struct, frozen=True):
    """Instances that go back to the version of one report (`version`, its seq), and what is to be reported of the new one: `code`, `fingerprint`,
    `states`, `rows`, `bytes`, `right`, and `reads` as of `seq`. `storage`: where it is kept; `current`: where what is there now is; null where nobody
    said. `restored_from`: what `storage` of the new one is to say.
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
    connection: Connection, held: Held, inputs: Inputs, items: Sequence[Item], seq: int, *, trust: bool
) -> dict[int, list[Restoring] | None]:
    """Of these items that restore, by number, what each does; None where it cannot be done as things are now. They are looked at in portions until
    one of them can be done, and of the others the answer is empty.
    """
    every = [item for item in items if item.action == "restore"]
    found: dict[int, list[Restoring] | None] = {item.number: [] for item in every}
    for first in range(0, len(every), _AT_ONCE):
        some = await _looked_at(connection, held, inputs, every[first : first + _AT_ONCE], seq, trust=trust)
        found |= some
        if any(some.values()):
            break
    return found


async def _looked_at(
    connection: Connection, held: Held, inputs: Inputs, some: Sequence[Item], seq: int, *, trust: bool
) -> dict[int, list[Restoring] | None]:
    own = united((held.number(name), those) for item in some for name, those in item.makes.items())
    targets = await restorable(
        connection, held, {held.names[number]: those for number, those in own.items()}, trust=trust, together=False
    )
    seqs = {target.version.seq for by_ordinal in targets.values() for target in by_ordinal.values()}
    made: dict[int, list[store.Made]] = {}
    for each in await store.made(connection, sorted(seqs)):
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
    held: Held, name: str, k: int, target: Target, current: status_store.Version, seq: int, made: Sequence[store.Made]
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
        version.row_count if alone else None,  # of several together nobody said it of one
        version.byte_count if alone else None,
        target.vouched,
    )
