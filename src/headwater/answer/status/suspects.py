"""The upstream instances that may have made some instances wrong, by their schedules, the likeliest first: `/api/v2/entities/NAME/suspects`."""

import datetime as dt
from collections.abc import Sequence

import msgspec

from headwater.answer.status.instance_links import InstanceLinks
from headwater.entities.time import ranges
from headwater.store.database import Database


class Suspect(msgspec.Struct, frozen=True):
    """Instances of one upstream that were used. `because`: what speaks against some of them, and `of_these` which; empty if nothing does."""

    entity: str
    instances: list[str]
    count: int
    depth: int
    through: str
    because: str
    of_these: list[str]


class Suspects(msgspec.Struct, frozen=True):
    """The suspects of some instances: those against which something speaks first, then the nearest."""

    entity: str
    instances: list[str]
    seq: int
    suspects: list[Suspect]


async def of(
    database: Database, entity: str, instances: Sequence[str], *, as_of: dt.datetime | None = None
) -> Suspects:
    """Suspects of these instances. NotFound for an entity, InvalidPeriod for instances, that are none."""
    async with database.snapshot() as connection:
        links = await InstanceLinks.load(connection, entity, instances, as_of, "upstream")
    shown = []
    for name, hit in links.hits("upstream").items():
        place, why, those = links.against(name, hit.instances)
        of_ = links.held.instances(name)
        found, those_texts = ranges.written(of_, hit.instances), ranges.written(of_, those)
        one = Suspect(name, found, hit.instances.count, hit.depth, str(hit.witness or ""), why, those_texts)
        shown.append((place, hit.depth, name, one))
    shown.sort(key=lambda each: each[:3])
    texts = ranges.written(links.held.instances(entity), links.some)
    return Suspects(entity, texts, links.seq, [one for *_, one in shown])
