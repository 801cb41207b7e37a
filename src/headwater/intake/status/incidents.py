"""Say that something is wrong, that it was put right, or that it never was; and make the marks of everything that used it what follows.

Each is one transaction over all entities it reaches: nobody sees a part of it. Every entity that changes gets a report of its own in the log.
"""

import asyncio
import datetime as dt
import itertools
import uuid
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from headwater.client.event import run_id
from headwater.entities.declaration.held import Held
from headwater.entities.needs.columns import ALL, Columns, both, named
from headwater.entities.status.incidents import confirmed, opened
from headwater.entities.status.marks import Marks
from headwater.entities.status.propagation import Spread
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.entities.time.pieces import cut
from headwater.errors import InvalidStatus, NotFound
from headwater.intake.status import histories
from headwater.intake.status.declared import declared
from headwater.intake.status.incident_columns import Restricted, restricted, spared, written
from headwater.intake.status.judgement import WRONG
from headwater.intake.status.ledger import Ledger
from headwater.store.database import Connection, Database
from headwater.store.status import histories as histories_store
from headwater.store.status import incidents as store

_OF_IT = (*WRONG, "suspect")
"""Kinds of marks that an incident may have set."""
MOST_STRETCHES = 1_000_000
"""Rows of marks, and as many of the log, that one incident writes: they take a statement some half of the minute that it may, and nobody else reports
anything meanwhile.
"""
_SHOWN = 100
"""Stretches of an entity's instances in an answer: what is wrong of thousands may be cut into millions."""


class Wrong(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Instances of an entity that are wrong."""

    entity: str
    instances: list[str]


class Spoilt(Wrong, frozen=True, forbid_unknown_fields=True):
    """`columns`: only these of them are wrong; all where none is named. Of an entity that is named more than once all that are."""

    columns: list[str] = []


def listed(held: Held, sets: Mapping[str, Ordinals]) -> list[Wrong]:
    """Sets of instances by entity as they are said; of entities that have any."""
    return [Wrong(name, ranges.written(held.instances(name), some)) for name, some in sets.items() if some]


class Hit(msgspec.Struct, frozen=True):
    """What is wrong of one entity. `basis`: exact where all of it is known to have used what is wrong, otherwise declared: it could have.

    `more`: stretches of instances that are left out. `depth`: the fewest links from what was named; `because`: the last of them. `columns`: those
    that may be wrong, in lower case; null where it may be all of them.
    """

    entity: str
    instances: list[str]
    more: int
    count: int
    basis: str
    depth: int
    because: str
    columns: list[str] | None = None


class Opened(msgspec.Struct, frozen=True):
    """`id` is null where nothing was written. `hits`: what was named first, then who used it, upstream first. `count`: instances altogether;
    `stretches`: rows of marks that these are, of which an incident may have `MOST_STRETCHES`.

    `missing`: of what was named, what does not exist: there is nothing of it that could be wrong.
    """

    id: uuid.UUID | None
    seq: int
    count: int
    stretches: int
    hits: list[Hit]
    missing: list[Wrong]


class Changed(msgspec.Struct, frozen=True):
    """Instances of an entity whose marks changed. `more`: stretches of them that are left out."""

    entity: str
    instances: list[str]
    more: int


class Settled(msgspec.Struct, frozen=True):
    """What became of an incident. `changed`: by entity; `seq`: of the last report."""

    id: uuid.UUID
    state: str
    seq: int
    changed: list[Changed]


async def open_(
    database: Database, wrong: Sequence[Wrong], reason: str, actor: str, *, dry_run: bool = False
) -> Opened:
    """These instances, as they are now, are wrong, and so is what used them; of some columns only what used those.

    NotFound and InvalidPeriod for what is not there, InvalidStatus where none of it exists, or it is too much to be written. `dry_run`: only what
    would be.
    """
    async with database.transaction() as connection:
        ledger = await Ledger.open(connection)
        held = await declared(connection)
        named = _named(held, wrong)
        known, gone = await histories.reached(connection, held, named)
        roots = {name: (some & known.there.get(name, NONE)) - gone.get(name, NONE) for name, some in named.items()}
        missing = {name: some - roots[name] for name, some in named.items()}
        if not any(roots.values()):
            raise InvalidStatus(
                "none of these instances exist, so that nothing can be wrong of them; say what was produced"
            )
        id_ = uuid.UUID(run_id())
        coded = await _coded(connection, held, roots)
        columns = None
        if some_columns := _columns(wrong):
            columns = await restricted(connection, held, some_columns, _since(roots, coded))
        # Of thousands of entities each takes a while, in which others are answered.
        unaffected = columns.unaffected if columns else frozenset[tuple[str, str]]()
        reached = await asyncio.to_thread(Spread, known, roots, {}, unaffected)
        found = await asyncio.to_thread(opened, str(id_), roots, gone, reached)
        hits = await asyncio.to_thread(lambda: list(_hits(held, gone, reached, columns)))
        stretches = sum(some.runs for marks in found.values() for some in marks.values())
        if not dry_run:
            if stretches > MOST_STRETCHES:
                raise InvalidStatus(_too_many(stretches), stretches=stretches, most=MOST_STRETCHES)
            await store.open_(connection, id_, ledger.seq + 1, ledger.now, actor, reason)
            await store.condemn(connection, _by_code(held, id_, roots, coded))
            if columns is not None:
                await written(connection, held, id_, columns)
            rows = await asyncio.to_thread(_report, ledger, held, found, str(id_), actor, reason)
            await ledger.flush()
            await store.mark(connection, str(id_), rows)
        return Opened(
            None if dry_run else id_,
            ledger.seq,
            sum(hit.count for hit in hits),
            stretches,
            hits,
            listed(held, missing),
        )


async def fix(
    database: Database, id_: uuid.UUID, actor: str, *, at: dt.datetime | None = None, note: str = ""
) -> Settled:
    """What was wrong itself has been put right: what is produced from then on (`at`, or now) is right, unless it uses what is wrong."""
    async with database.transaction() as connection:
        ledger = await Ledger.open(connection)
        incident = await _holds(connection, id_)
        await store.fixed(connection, incident.id, at or ledger.now, ledger.now, actor, note)
        return Settled(incident.id, "fixed", ledger.seq, [])


async def retract(database: Database, id_: uuid.UUID, actor: str, *, note: str = "") -> Settled:
    """It was a false alarm: everything that is wrong because of it, and of nothing else, is right again, and nothing has to run."""
    async with database.transaction() as connection:
        ledger = await Ledger.open(connection)
        held = await declared(connection)
        incident = await _holds(connection, id_)
        marked = await store.marked(connection, _OF_IT, str(id_))
        seqs: dict[int, int] = {}
        changed: dict[str, Ordinals] = {}
        for entity_id, some in _by_entity(marked).items():
            ledger.report(entity_id, "retracted", str(id_), some, actor=actor, reason=note)
            seqs[entity_id] = ledger.seq
            if entity_id in held.names:
                changed[held.names[entity_id]] = some
        await ledger.flush()
        await store.unmark(connection, _OF_IT, str(id_), seqs)
        await store.retracted(connection, incident.id, ledger.now, actor, note)
        return Settled(incident.id, "retracted", ledger.seq, await asyncio.to_thread(_shown, held, changed))


async def confirm(database: Database, id_: uuid.UUID, right: Sequence[Wrong], actor: str, *, note: str = "") -> Settled:
    """Somebody looked: these instances, as they are now, are not wrong because of the incident; nor is who was wrong only because of them."""
    async with database.transaction() as connection:
        ledger = await Ledger.open(connection)
        held = await declared(connection)
        incident = await _holds(connection, id_)
        known = await _known(connection, ledger, held, incident.id)
        wrong = {name: marks.of("tainted", "inherited", "repaired") for name, marks in known.items()}
        recorded = await histories.among(connection, held, wrong)
        unaffected = (await spared(connection, held, [incident.id])).get(str(incident.id), frozenset[tuple[str, str]]())
        found = confirmed(held.graph, str(incident.id), _named(held, right), known, recorded, unaffected)
        changed = _write(ledger, held, found, "confirmed", str(incident.id), actor, note)
        await ledger.flush()
        return Settled(incident.id, incident.state, ledger.seq, _shown(held, changed))


def _named(held: Held, some: Sequence[Wrong]) -> dict[str, Ordinals]:
    found: dict[str, Ordinals] = {}
    for one in some:
        instances = ranges.read(held.instances(one.entity), one.instances)
        found[one.entity] = found.get(one.entity, NONE) | instances
    if not any(found.values()):
        raise InvalidStatus('no instance is named; write such as {"entity": "reads", "instances": ["2024-03-10"]}')
    return found


async def _holds(connection: Connection, id_: uuid.UUID) -> store.Incident:
    found = (await store.named(connection, [id_])).get(id_)
    if found is None:
        raise NotFound(
            f"there is no incident {id_}; `headwater incident list` shows those there are", incident=str(id_)
        )
    if found.state == "retracted":
        raise InvalidStatus(f"incident {id_} was retracted at {found.closed_at}; open a new one", incident=str(id_))
    return found


async def _known(connection: Connection, ledger: Ledger, held: Held, id_: uuid.UUID) -> dict[str, Marks]:
    """The marks of all entities that have any of an incident."""
    await ledger.marks.more_of_incident(connection, _OF_IT, str(id_))
    return {held.names[each]: ledger.marks.of(each) for each in ledger.marks.ids() if each in held.names}


def _write(
    ledger: Ledger, held: Held, found: Mapping[str, Marks], what: str, ref: str, actor: str, reason: str
) -> dict[str, Ordinals]:
    """A report for each entity that changes; which instances of it do."""
    changed: dict[str, Ordinals] = {}
    for name, marks in found.items():
        number = held.number(name)
        some = ledger.touched(number, marks)
        if some:
            changed[name] = some
            ledger.report(number, what, ref, some, actor=actor, reason=reason)
            ledger.change({number: marks})
    return changed


def _shown(held: Held, some: Mapping[str, Ordinals]) -> list[Changed]:
    return [Changed(name, *_some(held, name, each)) for name, each in some.items()]


def _some(held: Held, name: str, some: Ordinals) -> tuple[list[str], int]:
    """The first stretches as texts, and how many more there are."""
    first = some if some.runs <= _SHOWN else some & Ordinals.between(some.first, int(some.ends[_SHOWN - 1]))
    return ranges.written(held.instances(name), first), max(some.runs - _SHOWN, 0)


def _report(
    ledger: Ledger, held: Held, found: Mapping[str, Marks], id_: str, actor: str, reason: str
) -> list[store.Marked]:
    """A report for each entity that gets marks; and these, with its seq."""
    rows: list[store.Marked] = []
    for name, marks in found.items():
        number = held.number(name)
        ledger.report(number, "opened", id_, NONE.union(*marks.values()), actor=actor, reason=reason)
        rows += [store.Marked(number, ledger.seq, mark.kind, some.starts, some.ends) for mark, some in marks.items()]
    return rows


def _by_entity(marked: store.Marks) -> dict[int, Ordinals]:
    """The instances that have any of these marks, by entity id."""
    order = np.argsort(marked.entity_id, kind="stable")
    bounds = np.flatnonzero(np.diff(marked.entity_id[order], prepend=-1, append=-1)).tolist()
    return {
        int(marked.entity_id[order[low]]): Ordinals.joined(marked.start_[order[low:high]], marked.end_[order[low:high]])
        for low, high in itertools.pairwise(bounds)
    }


def _columns(wrong: Sequence[Wrong]) -> dict[str, Columns]:
    """By entity those that are wrong; nothing where whole instances are, of all that are named."""
    found: dict[str, Columns] = {}
    for one in wrong:
        some = named(one.columns) if isinstance(one, Spoilt) and one.columns else ALL
        found[one.entity] = both(found.get(one.entity, frozenset()), some)
    return {} if all(some == ALL for some in found.values()) else found


def _hits(held: Held, gone: Mapping[str, Ordinals], reached: Spread, columns: Restricted | None) -> Iterator[Hit]:
    nearest = reached.nearest()
    # Of thousands of entities most have the same calendar, and are wrong at the same time.
    texts: dict[tuple[int, Ordinals], tuple[list[str], int]] = {}
    for name in (name for component in held.graph.order for name in component if name in reached.current):
        if some := reached.current[name] - gone.get(name, NONE):
            exact = reached.exact is reached.current or some <= reached.exact.get(name, NONE)
            instances = held.instances(name)
            key = id(instances and instances.calendar), some
            shown = texts.get(key) or texts.setdefault(key, _some(held, name, some))
            its = columns.columns.get(name, ALL) if columns else ALL
            shown_columns = None if its == ALL else sorted(its)
            yield Hit(name, *shown, some.count, "exact" if exact else "declared", *nearest[name], shown_columns)


async def _coded(
    connection: Connection, held: Held, roots: Mapping[str, Ordinals]
) -> dict[str, list[histories_store.Coded]]:
    """The versions of these instances, and of some between, by entity."""
    hulls = [(held.number(name), some.first, some.end) for name, some in roots.items() if some]
    found: dict[str, list[histories_store.Coded]] = {}
    for one in await histories_store.codes(connection, hulls):
        found.setdefault(held.names[one.entity_id], []).append(one)
    return found


def _since(roots: Mapping[str, Ordinals], coded: Mapping[str, Sequence[histories_store.Coded]]) -> dt.datetime | None:
    """When the first of these was made; None where that is not known of all."""
    for name, some in roots.items():
        bounds = np.array([(one.start_, one.end_) for one in coded.get(name, ())], dtype=np.int64).reshape(-1, 2)
        if some - Ordinals.joined(bounds[:, 0], bounds[:, 1]):
            return None
    return min(one.produced_at for some in coded.values() for one in some)


def _by_code(
    held: Held,
    id_: uuid.UUID,
    roots: Mapping[str, Ordinals],
    coded: Mapping[str, Sequence[histories_store.Coded]],
) -> list[store.Root]:
    """Instances by the code of their last version; of none of which anything is known, `""`."""
    found: list[store.Root] = []
    for name, some in roots.items():
        number = held.number(name)
        rows = coded.get(name, [])
        codes = [one.code for one in rows]
        bounds = np.array([(one.start_, one.end_) for one in rows], dtype=np.int64).reshape(-1, 2)
        order = np.arange(len(rows))
        last = cut(bounds[:, 0], bounds[:, 1], order, order, np.full(len(rows), -1))
        by = dict.fromkeys(sorted(set(codes)), NONE)
        for code in by:
            its = last.where(last.current & np.array([codes[row] == code for row in last.row.tolist()], dtype=np.bool_))
            by[code] = Ordinals.joined(its.start, its.end) & some
        by[""] = by.get("", NONE) | (some - NONE.union(*by.values()))
        found += [store.Root(id_, number, code, start, end) for code, each in by.items() for start, end in each]
    return found


def _too_many(stretches: int) -> str:
    return (
        f"this would write marks on {stretches:,} stretches of instances, and one incident writes at most {MOST_STRETCHES:,}: nothing was written. "
        "Say it of whole stretches, such as a month, where those between are no better; of fewer instances at a time, each time as an incident of "
        "its own; or of what was made from them, further down"
    )
