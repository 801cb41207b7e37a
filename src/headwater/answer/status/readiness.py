"""Readiness of instances: whether they may be made, of exactly what, and why not; and waiting until they may."""

import datetime as dt
import time
import uuid
from collections.abc import Collection, Mapping, Sequence

import msgspec

from headwater.answer.people.limits import without_limits
from headwater.answer.status.declared import declared
from headwater.answer.status.news import News
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.status.marks import Marks, by_entity, replayed
from headwater.entities.status.missing import Missing
from headwater.entities.status.readiness import Prospect, readiness, windows
from headwater.entities.time import keys, ranges
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidQuestion
from headwater.model.moments import aware
from headwater.store.database import Connection, Database
from headwater.store.limited import is_limited
from headwater.store.status import incidents
from headwater.store.status import status as store

_MOST = 10_000
_WRONG = ("tainted", "inherited")


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Instances by name, or all that overlap an interval; `state`: only whether they may be made in that one."""

    entity: str
    instances: list[str] = []
    start: dt.datetime | None = None
    end: dt.datetime | None = None
    state: str | None = None


class Interval(msgspec.Struct, frozen=True):
    """The interval from the beginning of the first of some instances to the end of the last, which is not in it."""

    start: dt.datetime
    end: dt.datetime


class Pin(msgspec.Struct, frozen=True):
    """The instances of one upstream to read, and no others."""

    entity: str
    instances: list[str]


class Lacking(msgspec.Struct, frozen=True):
    """Instances that may not be read, and why. `until`: from when on they are expected. `outcome`: blocks, failed (waiting is over), accepted.

    To a limited reader `entity` is empty and `why` is `not_visible` where a state needs an entity that the reader may not see.
    """

    entity: str
    instances: list[str]
    count: int
    why: str
    ref: str
    until: dt.datetime | None
    outcome: str


class ReadyState(msgspec.Struct, frozen=True):
    """The readiness of one state. `accepted`: it may be made, though something is missing."""

    state: str
    ready: bool
    accepted: bool
    failed: bool
    pins: list[Pin]
    missing: list[Lacking]


class ReadyInstance(msgspec.Struct, frozen=True):
    """`state`: the best that may be made now; `states`: all of them, in the order in which they are passed."""

    entity: str
    instance: str
    ready: bool
    state: str | None
    states: list[ReadyState]


class Ready(msgspec.Struct, frozen=True):
    """`seq`: the last report considered; pass it when reporting what was produced from the pins. `ready`: all of them.

    `intervals`: null unless they were asked for; when every text that names instances in this answer begins and ends, by entity; none of what is
    static.
    """

    seq: int
    ready: bool
    instances: list[ReadyInstance]
    intervals: dict[str, dict[str, Interval]] | None = None


async def ready(
    database: Database, asked: Sequence[Asked], *, as_of: dt.datetime | None = None, intervals: bool = False
) -> Ready:
    """Say whether at most 10,000 instances are ready. NotFound, InvalidPeriod and InvalidQuestion for what is not there."""
    found, _ = await _look(database, asked, as_of, intervals)
    return found


async def waited(
    database: Database, news: News, asked: Sequence[Asked], seconds: float, *, intervals: bool = False
) -> Ready:
    """Ask `ready` again after each report about what the instances need, until all are ready or the time is over."""
    end = time.monotonic() + seconds
    while True:
        found, needed = await _look(database, asked, None, intervals)
        left = end - time.monotonic()
        if found.ready or left <= 0:
            return found
        # Without a report, an instance becomes late and a wait ends.
        await news.after(database, found.seq, needed, min(left, _next(found)))


def _next(found: Ready) -> float:
    """Return the seconds until something may change by itself."""
    now = dt.datetime.now(dt.UTC)
    moments = [
        (lacking.until - now).total_seconds()
        for one in found.instances
        for state in one.states
        for lacking in state.missing
        if lacking.until is not None and lacking.until > now
    ]
    return max(min(moments, default=30.0), 0.05)


async def _look(
    database: Database, asked: Sequence[Asked], as_of: dt.datetime | None, intervals: bool
) -> tuple[Ready, frozenset[int]]:
    now = as_of or dt.datetime.now(dt.UTC)
    async with database.snapshot() as connection:
        held = await declared(connection, as_of)
        wanted = [(one, _instances(held, one)) for one in asked]
        if (many := sum(some.count for _, some in wanted)) > _MOST:
            raise InvalidQuestion(f"{many} instances are too many; ask about {_MOST} at most", instances=many)
        needs: dict[str, Ordinals] = {}
        for one, some in wanted:
            for name, need in windows(held.graph, one.entity, some, one.state).items():
                needs[name] = needs.get(name, NONE) | need
        seq = (await store.last(connection))[0] if as_of is None else await store.seq_at(connection, as_of)
        known: dict[str, Marks] = {}
        if as_of is None:
            every = [(held.ids[name], start, end) for name, need in needs.items() for start, end in need]
            marks = by_entity(await store.marks(connection, every))
            known = {held.names[number]: had for number, had in marks.items() if number in held.names}
        else:
            for name, need in needs.items():
                if need:
                    window = (held.ids[name], need.first, need.end)
                    known[name] = replayed(await store.changes(connection, window, seq))
        spared = await _spared(connection, held, known)
    hidden = await _hidden_needs(database, held, {one.entity for one in asked}, as_of)
    moment = int(now.timestamp())
    due = {name: seconds for name in needs if (seconds := held.declared[name].due) is not None}
    instances = [
        _without(_readiness_view(held, one, ordinal, used, moment, due), hidden.get(one.entity, frozenset()))
        for one, some in wanted
        for used in [_used(known, spared, one.entity)]
        for ordinal in some.members().tolist()
    ]
    numbers = frozenset(held.ids[name] for name in needs)
    found = Ready(seq, all(one.ready for one in instances), instances)
    return msgspec.structs.replace(found, intervals=_intervals(held, found)) if intervals else found, numbers


async def _hidden_needs(
    database: Database, held: StoredDeclarations, entities: set[str], as_of: dt.datetime | None
) -> dict[str, set[str]]:
    """Return by entity the states that need an entity that a limited reader may not see: of them it cannot be told whether they are ready."""
    if not is_limited():
        return {}
    with without_limits():
        async with database.snapshot() as connection:
            whole = await declared(connection, as_of)
    found: dict[str, set[str]] = {}
    for name in entities & whole.ids.keys():
        hidden = {
            link.state for link in whole.graph.upstream(name) if not link.carried and link.upstream not in held.ids
        }
        if hidden:
            found[name] = hidden
    return found


def _without(one: ReadyInstance, hidden: Collection[str]) -> ReadyInstance:
    """Return an instance's readiness with these states not ready, because what they need is not visible."""
    if not hidden:
        return one
    unseen = [Lacking("", [], 0, "not_visible", "", None, "blocks")]
    states = [ReadyState(s.state, False, False, False, [], unseen) if s.state in hidden else s for s in one.states]
    best = next((s.state for s in reversed(states) if s.ready), None)
    return ReadyInstance(one.entity, one.instance, best is not None, best, states)


async def _spared(
    connection: Connection, held: StoredDeclarations, known: Mapping[str, Marks]
) -> dict[tuple[str, str], set[str]]:
    """Return by (upstream, downstream) the incidents about columns of the one that the other does not use."""
    wrong = {mark.ref for marks in known.values() for mark in marks if mark.kind in _WRONG}
    found: dict[tuple[str, str], set[str]] = {}
    for incident, upstream, downstream in await incidents.spared(connection, [uuid.UUID(ref) for ref in wrong]):
        if upstream in held.names and downstream in held.names:
            found.setdefault((held.names[upstream], held.names[downstream]), set()).add(str(incident))
    return found


def _used(known: Mapping[str, Marks], spared: Mapping[tuple[str, str], set[str]], entity: str) -> Mapping[str, Marks]:
    """Return the marks of an entity's upstreams, without what is wrong only of columns that the entity does not use."""
    if not spared:
        return known
    found = dict(known)
    for (upstream, downstream), some in spared.items():
        if downstream == entity and (marks := known.get(upstream)) is not None:
            gone = {mark: each for mark, each in marks.items() if mark.kind in _WRONG and mark.ref in some}
            found[upstream] = marks.without(gone)
    return found


def _instances(held: StoredDeclarations, one: Asked) -> Ordinals:
    of = held.instances(one.entity)
    if one.start is None and one.end is None and (one.instances or of is None):
        return ranges.read(of, one.instances or [ranges.STATIC])
    if one.start is None or one.end is None or one.instances:
        raise InvalidQuestion(
            "write instances, or start and end of an interval, its end not included", entity=one.entity
        )
    if of is None:
        return Ordinals.between(0, 1)
    found = of.calendar.covering(aware(one.start), aware(one.end)) & of.all
    if not found:
        raise InvalidQuestion(f"no instance of {one.entity!r} overlaps that interval", entity=one.entity)
    return found


def _readiness_view(
    held: StoredDeclarations, one: Asked, ordinal: int, known: Mapping[str, Marks], now: int, due: Mapping[str, int]
) -> ReadyInstance:
    found = readiness(held.graph, one.entity, ordinal, known, now, state=one.state, due=due)
    of = held.instances(one.entity)
    return ReadyInstance(
        one.entity,
        keys.key(of.calendar, ordinal) if of is not None else ranges.STATIC,
        found.ready,
        found.state,
        [_state(held, each) for each in found.states],
    )


def _state(held: StoredDeclarations, found: Prospect) -> ReadyState:
    return ReadyState(
        found.state,
        found.ready,
        found.accepted,
        found.failed,
        [Pin(name, ranges.written(held.instances(name), some)) for name, some in found.pins.items()],
        [_lacking(held, each) for each in found.missing],
    )


def _lacking(held: StoredDeclarations, one: Missing) -> Lacking:
    return Lacking(
        one.entity,
        ranges.written(held.instances(one.entity), one.instances),
        one.instances.count,
        one.why,
        one.ref,
        dt.datetime.fromtimestamp(one.until, dt.UTC) if one.until is not None else None,
        one.outcome,
    )


def _intervals(held: StoredDeclarations, found: Ready) -> dict[str, dict[str, Interval]]:
    texts: dict[str, set[str]] = {}
    for one in found.instances:
        texts.setdefault(one.entity, set()).add(one.instance)
        for state in one.states:
            named: list[Pin | Lacking] = [*state.pins, *state.missing]
            for each in (each for each in named if each.entity):
                texts.setdefault(each.entity, set()).update(each.instances)
    return {
        name: {text: _interval(of.calendar, text) for text in sorted(some)}
        for name, some in texts.items()
        if (of := held.instances(name)) is not None
    }


def _interval(calendar: Calendar, text: str) -> Interval:
    first, dots, last = text.partition("..")
    start, end = calendar.interval(keys.ordinal(calendar, first))
    return Interval(start, calendar.interval(keys.ordinal(calendar, last))[1] if dots else end)
