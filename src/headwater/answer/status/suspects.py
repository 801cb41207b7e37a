"""What may have made some instances wrong: everything that they were made from, the likeliest first."""

import datetime as dt
from collections.abc import Sequence

import msgspec

from headwater.answer.status.declared import declared
from headwater.entities.status.marks import Marks, by_entity
from headwater.entities.status.taint import Facts, suspects
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import NONE
from headwater.store.database import Database
from headwater.store.status import status as store


class Suspect(msgspec.Struct, frozen=True):
    """Instances of one upstream that were used. `because`: what speaks against some of them, and `of_these` which; empty where nothing does."""

    entity: str
    instances: list[str]
    count: int
    depth: int
    through: str
    because: str
    of_these: list[str]


class Suspects(msgspec.Struct, frozen=True):
    """Those against which something speaks first, then the nearest."""

    entity: str
    instances: list[str]
    seq: int
    suspects: list[Suspect]


_AGAINST = (
    ("tainted", "known to be wrong"),
    ("suspect", "a check failed"),
    ("inherited", "made from what is wrong"),
    ("deleted", "deleted since"),
    ("stale", "made from another version than the current one"),
)


async def of(
    database: Database, entity: str, instances: Sequence[str], *, as_of: dt.datetime | None = None
) -> Suspects:
    """Suspects of these instances. NotFound for an entity, InvalidPeriod for instances, that are none."""
    async with database.snapshot() as connection:
        held = await declared(connection, as_of)
        some = ranges.read(held.instances(entity), instances)
        seq = (await store.last(connection))[0] if as_of is None else await store.seq_at(connection, as_of)
        reach = {
            name: hit.instances for name, hit in suspects(held.graph, {entity: some}).hits.items() if hit.instances
        }
        windows = [(held.number(name), each.first, each.end) for name, each in reach.items()]
        marks = by_entity(await store.marks(connection, windows))
    known = {name: marks.get(held.number(name), Marks()) for name in reach}

    def exist(name: str) -> object:
        # What is asked about counts whether it is there or not.
        there = known[name].exist | known[name].of("deleted") if name in known else NONE
        return there | some if name == entity else there

    found = suspects(held.graph, {entity: some}, Facts(exist=exist))  # type: ignore[arg-type]
    shown = []
    for name, hit in found.hits.items():
        if name == entity and hit.depth == 0:
            continue
        against = [(kind, why, hit.instances & known[name].of(kind)) for kind, why in _AGAINST]  # type: ignore[arg-type]
        place = next((at for at, (_, _, those) in enumerate(against) if those), len(against))
        why, those = (against[place][1], against[place][2]) if place < len(against) else ("", NONE)
        of_ = held.instances(name)
        one = Suspect(
            name,
            ranges.written(of_, hit.instances),
            hit.instances.count,
            hit.depth,
            str(hit.witness or ""),
            why,
            ranges.written(of_, those),
        )
        shown.append((place, hit.depth, name, one))
    shown.sort(key=lambda each: each[:3])
    return Suspects(entity, ranges.written(held.instances(entity), some), seq, [one for *_, one in shown])
