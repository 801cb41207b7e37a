"""Differences between the reported instances of an entity and those that storage holds. Changes nothing: reporting them is left to the caller."""

import datetime as dt

import msgspec

from headwater.answer.status.declared import declared
from headwater.answer.status.instances import marks_at
from headwater.entities.status.drift import drift, expired
from headwater.entities.time import ranges
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidQuestion
from headwater.store.database import Connection, Database
from headwater.store.status import status as store

_MOST_REPORTS = 10_000


class Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`stored`: what storage holds. `within`: the instances that were looked for; all where it is empty. `since`: the seq when the listing began;
    instances reported after it are not judged.
    """

    stored: list[str]
    within: list[str] = []
    since: int | None = None


class Differing(msgspec.Struct, frozen=True):
    """Instances, by runs, and how many."""

    instances: list[str]
    count: int


class DriftAnswer(msgspec.Struct, frozen=True):
    """`agree`: how many are there and known. `retention`, `external`: known and not there, as was declared or as was not. `unknown`: there and not
    known; `unfinished`: the same of periods that are not over. `underway`: not to be judged now.
    """

    entity: str
    seq: int
    agree: int
    retention: Differing
    external: Differing
    unknown: Differing
    unfinished: Differing
    underway: Differing


async def compared(database: Database, entity: str, asked: Stored, *, now: dt.datetime | None = None) -> DriftAnswer:
    """Compare an entity's reported instances with those that storage holds.

    NotFound for an unknown entity, InvalidPeriod for an unknown instance.
    """
    now = now or dt.datetime.now(dt.UTC)
    async with database.snapshot() as connection:
        held = await declared(connection)
        of, number = held.instances(entity), held.number(entity)
        every = of.all if of is not None else Ordinals.between(0, 1)
        within = ranges.read(of, asked.within) if asked.within else every
        stored = ranges.read(of, asked.stored) & within
        seq, _ = await store.last(connection)
        marks = await marks_at(connection, number, within, None)
        reported = await _load_reported(connection, number, asked.since) if asked.since is not None else NONE
    found = drift(
        marks,
        stored,
        over=every if of is None else of.over(now),
        expired=expired(of, held.declaration(entity).retention, now),
        spoken_of=reported,
    )
    return DriftAnswer(
        entity,
        seq,
        found.agree.count,
        _differing(of, found.retention),
        _differing(of, found.external),
        _differing(of, found.unknown),
        _differing(of, found.unfinished),
        _differing(of, found.underway),
    )


async def _load_reported(connection: Connection, number: int, since: int) -> Ordinals:
    """Load the instances that reports after a seq cover, each from its first to its last."""
    reports = await store.since(connection, since, [number], _MOST_REPORTS)
    if len(reports) == _MOST_REPORTS:
        raise InvalidQuestion(
            f"{_MOST_REPORTS:,} reports came while storage was listed; compare a part of it (within)", since=since
        )
    return Ordinals((each.first_, each.end_) for each in reports)


def _differing(of: Instances | None, some: Ordinals) -> Differing:
    return Differing(ranges.written(of, some), some.count)
