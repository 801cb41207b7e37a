"""The instances that texts of storage mean: names of files, values of partitions and times of rows, in the entity's zone and calendar."""

from collections.abc import Sequence

import msgspec

from headwater.answer.status.declared import declared
from headwater.entities.status.stored_names import named
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import Ordinals
from headwater.errors import InvalidPeriod, InvalidQuestion
from headwater.store.database import Database

MOST = 1000


class RefusedText(msgspec.Struct, frozen=True):
    """A text that is no instance, and why."""

    text: str
    why: str


class InstancesAt(msgspec.Struct, frozen=True):
    """`instances`: those that the texts name, by runs; `count`: how many. `named`: the instance of each text, null for those that are `refused`, in
    the order of the texts.
    """

    entity: str
    instances: list[str]
    count: int
    named: list[str | None]
    refused: list[RefusedText]


async def instances_at(database: Database, entity: str, texts: Sequence[str]) -> InstancesAt:
    """Resolve up to 1,000 texts to instances (`entities/status/stored_names.py`). NotFound for an entity that is not declared."""
    if len(texts) > MOST:
        raise InvalidQuestion(f"{len(texts)} texts; send {MOST:,} at most", field="texts")
    async with database.snapshot() as connection:
        of = (await declared(connection)).instances(entity)
    found: list[int] = []
    each: list[str | None] = []
    refused: list[RefusedText] = []
    for text in texts:
        try:
            found.append(named(of, text))
            each.append(ranges.written(of, Ordinals.of(found[-1:]))[0])
        except InvalidPeriod as wrong:
            each.append(None)
            refused.append(RefusedText(text[:200], wrong.message))
    some = Ordinals.of(found)
    return InstancesAt(entity, ranges.written(of, some), some.count, each, refused)
