"""The status of an entity's instances, now or at any time before: the calendar of their states, and one instance with all its versions."""

import datetime as dt
import itertools
from collections.abc import Sequence
from typing import Any

import msgspec

from headwater.answer.status.declared import declared
from headwater.answer.status.doubted_versions import describe_check, doubted_versions
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.status.marks import Mark, Marks, by_entity, replayed
from headwater.entities.time import keys, ranges
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidQuestion
from headwater.store.database import Connection, Database
from headwater.store.lineage import nodes as node_store
from headwater.store.status import status as store

_SHOWN = 60
WORDS = {"quarantined": "withheld", "tainted": "wrong", "inherited": "wrong", "suspect": "doubted"}
"""The word for an instance of which a mark of this kind holds, the first that applies."""
MARK_WORDS = {**WORDS, "stale": "outdated"}
"""The words for marks, where they are shown; other kinds go by their own name."""
_FAR = 2**62


class MarkView(msgspec.Struct, frozen=True):
    """`kind`: state, deleted, running, repairing, repaired, wont_fix, or the state that it gives the instance: withheld, wrong, doubted, outdated.
    `ref`: the state, run, incident, check or plan; or empty. `inherited`: wrong because of what it used, not itself.
    """

    kind: str
    ref: str
    inherited: bool = False


class Stretch(msgspec.Struct, frozen=True):
    """Instances of which the same is known. `status`: withheld, wrong, doubted, else a state (completed, estimated, partial, one of the entity's),
    else running, deleted, missing, not over. `valid`: it may be used.
    """

    instances: str
    count: int
    status: str
    states: list[str]
    valid: bool
    marks: list[MarkView]


class Status(msgspec.Struct, frozen=True):
    """`seq`: the last report that it follows from. `counts`: instances by status. `more`: stretches that were left out."""

    entity: str
    seq: int
    as_of: dt.datetime | None
    asked: list[str]
    counts: dict[str, int]
    stretches: list[Stretch]
    more: int


class ReadView(msgspec.Struct, frozen=True):
    """The instances that a version was made from, as they were at `seq`."""

    entity: str
    instances: list[str]
    seq: int


class VersionView(msgspec.Struct, frozen=True):
    """The version that one run wrote. `current`: it is the one that counts. `reads` is null if what it read is unknown."""

    seq: int
    current: bool
    produced_at: dt.datetime
    recorded_at: dt.datetime
    actor: str
    run: str
    code: str | None
    fingerprint: str | None
    storage: Any
    rows: int | None
    bytes: int | None
    reads: list[ReadView] | None


class ReportView(msgspec.Struct, frozen=True):
    """One report about the instance."""

    seq: int
    recorded_at: dt.datetime
    what: str
    ref: str
    happened_at: dt.datetime
    actor: str
    reason: str


class Instance(msgspec.Struct, frozen=True):
    """One instance: its period, what holds of it, its versions and its history, the latest first.

    `doubts`: failed checks of what it was made from, as texts; a check that its own run reported is a mark.
    """

    entity: str
    instance: str
    start: dt.datetime | None
    end: dt.datetime | None
    seq: int
    status: str
    valid: bool
    marks: list[MarkView]
    versions: list[VersionView]
    history: list[ReportView]
    doubts: list[str]


class Period(msgspec.Struct, frozen=True):
    """The period of one instance; both ends null for a static one."""

    instance: str
    start: dt.datetime | None
    end: dt.datetime | None


class Periods(msgspec.Struct, frozen=True):
    """`more`: how many were left out."""

    entity: str
    periods: list[Period]
    more: int


async def periods(
    database: Database, entity: str, instances: Sequence[str], *, as_of: dt.datetime | None = None, limit: int = 1000
) -> Periods:
    """Return instances one by one, with or without reports. NotFound and InvalidPeriod as `status`."""
    async with database.snapshot() as connection:
        of = (await declared(connection, as_of)).instances(entity)
    asked = ranges.read(of, instances)
    if of is None:
        return Periods(entity, [Period(ranges.STATIC, None, None)], 0)
    members = asked.members()[:limit].tolist()
    return Periods(
        entity,
        [Period(keys.key(of.calendar, ordinal), *of.calendar.interval(ordinal)) for ordinal in members],
        asked.count - len(members),
    )


async def status(
    database: Database,
    entity: str,
    instances: Sequence[str] = (),
    *,
    as_of: dt.datetime | None = None,
    now: dt.datetime | None = None,
    limit: int = 1000,
) -> Status:
    """States of these instances, else of the last 60 that are over. NotFound for an entity, InvalidPeriod for instances, that are none."""
    now = as_of or now or dt.datetime.now(dt.UTC)
    async with database.snapshot() as connection:
        held = await declared(connection, as_of)
        of = held.instances(entity)
        asked = ranges.read(of, instances) if instances else _last(of, now)
        seq = await _seq(connection, as_of)
        marks = await marks_at(connection, held.number(entity), asked, seq if as_of else None)
    over = asked if of is None else asked & of.over(now)
    # Without reports the state differs before and after now, so a stretch ends there.
    stretches = [
        _stretch(of, some, had, over=ended)
        for part, ended in ((over, True), (asked - over, False))
        for some, had in alike(marks, part)
    ]
    counts: dict[str, int] = {}
    for one in stretches:
        counts[one.status] = counts.get(one.status, 0) + one.count
    written = ranges.written(of, asked)
    return Status(entity, seq, as_of, written, counts, stretches[:limit], max(len(stretches) - limit, 0))


async def instance(database: Database, entity: str, key: str, *, as_of: dt.datetime | None = None) -> Instance:
    """Return one instance, with its versions and reports. NotFound and InvalidPeriod as `status`; InvalidQuestion if a key names several."""
    async with database.snapshot() as connection:
        held = await declared(connection, as_of)
        of, number = held.instances(entity), held.number(entity)
        some = ranges.read(of, [key])
        if some.count != 1:
            raise InvalidQuestion(f"{key!r} are {some.count} instances of {entity!r}; name one", key=key)
        seq = await _seq(connection, as_of)
        marks = await marks_at(connection, number, some, seq if as_of else None)
        window = (number, some.first, some.end)
        versions = await store.versions(connection, [window], seq)
        reads = await store.reads(connection, [version.seq for version in versions])
        made = await store.version_authors(connection, [version.seq for version in versions])
        history = await store.reports(connection, window, seq, 200, 0)
        doubts = await _doubts(connection, entity, some) if as_of is None else []
    had = marks.at(some.first)
    start, end = of.calendar.interval(some.first) if of is not None else (None, None)
    return Instance(
        entity,
        key if of is None else keys.key(of.calendar, some.first),
        start,
        end,
        seq,
        _word(had, over=True),
        _valid(had),
        _mark_views(had),
        [
            VersionView(
                version.seq,
                version is versions[-1],
                version.produced_at,
                made[version.seq][0],
                made[version.seq][1],
                version.run,
                version.code,
                version.fingerprint,
                msgspec.json.decode(version.storage) if version.storage is not None else None,
                version.row_count,
                version.byte_count,
                _reads(held, [read for read in reads if read.seq == version.seq]) if version.complete else None,
            )
            for version in reversed(versions)
        ],
        [ReportView(*(getattr(said, field) for field in ReportView.__struct_fields__)) for said in history],
        doubts,
    )


async def _doubts(connection: Connection, entity: str, some: Ordinals) -> list[str]:
    """The failed checks that doubt these instances, each with the dataset that it is about."""
    doubts = (await doubted_versions(connection)).doubts
    reaching = [one for one in doubts if any(each.entity == entity and each.ordinals & some for each in one.instances)]
    names = await node_store.by_ids(connection, {one.place.dataset for one in reaching})
    return [f"{names[one.place.dataset].node_id}: {describe_check(each)}" for one in reaching for each in one.checks]


async def marks_at(connection: Connection, number: int, some: Ordinals, seq: int | None) -> Marks:
    """The marks of these instances; those that held at a seq where one is given."""
    if not some:
        return Marks()
    if seq is not None:
        changes = await store.changes(connection, (number, some.first, some.end), seq)
        return replayed(changes).within(some)
    windows = [(number, start, end) for start, end in some]
    return by_entity(await store.marks(connection, windows)).get(number, Marks()).within(some)


def alike(marks: Marks, asked: Ordinals) -> list[tuple[Ordinals, frozenset[Mark]]]:
    """Stretches of instances that have the same marks, in order; those that have none among them."""
    ends = sorted({end for some in (asked, *marks.values()) for run in some for end in run})
    found: list[tuple[Ordinals, frozenset[Mark]]] = []
    for start, end in itertools.pairwise(ends):
        if start not in asked:
            continue
        had = marks.at(start)
        if found and found[-1][1] == had and found[-1][0].end == start:
            found[-1] = (found[-1][0] | Ordinals.between(start, end), had)
        else:
            found.append((Ordinals.between(start, end), had))
    return found


async def _seq(connection: Connection, as_of: dt.datetime | None) -> int:
    return (await store.last(connection))[0] if as_of is None else await store.seq_at(connection, as_of)


def _last(of: Instances | None, now: dt.datetime) -> Ordinals:
    if of is None:
        return Ordinals.between(0, 1)
    over = of.over(now)
    return over & Ordinals.between(over.end - _SHOWN, over.end) if over else NONE


def _stretch(of: Instances | None, some: Ordinals, had: frozenset[Mark], *, over: bool) -> Stretch:
    states = sorted(mark.ref for mark in had if mark.kind == "state")
    (text,) = ranges.written(of, some)
    return Stretch(text, some.count, _word(had, over=over), states, _valid(had), _mark_views(had))


def _word(had: frozenset[Mark], *, over: bool) -> str:
    """Return the one word for an instance: what makes it wrong, else its state, else running or deleted, else missing or not over."""
    kinds = {mark.kind for mark in had}
    if bad := [word for kind, word in WORDS.items() if kind in kinds]:
        return bad[0]
    states = [mark.ref for mark in had if mark.kind == "state"]
    if states:
        return "completed" if "completed" in states else min(states)
    for kind in ("running", "deleted"):
        if kind in kinds:
            return kind
    return "missing" if over else "not over"


def _valid(had: frozenset[Mark]) -> bool:
    """Return whether an instance exists and no mark speaks against it."""
    kinds = {mark.kind for mark in had}
    return "state" in kinds and not kinds & {*WORDS, "deleted"}


def _mark_views(had: frozenset[Mark]) -> list[MarkView]:
    return [MarkView(MARK_WORDS.get(mark.kind, mark.kind), mark.ref, mark.kind == "inherited") for mark in sorted(had)]


def _reads(held: StoredDeclarations, reads: Sequence[store.Read]) -> list[ReadView]:
    found: dict[tuple[str, int], Ordinals] = {}
    for read in reads:
        name = held.names.get(read.upstream_id)
        if name is not None:
            key = name, read.read_seq
            found[key] = found.get(key, NONE) | Ordinals.between(read.start_, read.end_)
    return [ReadView(name, ranges.written(held.instances(name), some), seq) for (name, seq), some in found.items()]
