"""Say that something is wrong, that it was put right, or that it never was; and make the marks of everything that used it what follows.

Each is one transaction over all entities it reaches: nobody sees a part of it. Every entity that changes gets a report of its own in the log.
"""

import asyncio
import datetime as dt
import uuid
from collections.abc import Mapping, Sequence

import msgspec

from headwater.client.event import run_id
from headwater.entities import ranges
from headwater.entities.declaration.held import Held
from headwater.entities.graph import Link
from headwater.entities.incidents import Past, confirmed, opened, retracted
from headwater.entities.marks import Mark, Marks
from headwater.entities.ordinals import NONE, Ordinals
from headwater.entities.recorded import by_link
from headwater.entities.taint import Facts, closure, tainted
from headwater.entities.walk import Used
from headwater.errors import InvalidStatus, NotFound
from headwater.intake.declared import declared
from headwater.intake.earlier_reads import missed
from headwater.intake.held_marks import windows
from headwater.intake.judgement import WRONG
from headwater.intake.ledger import Ledger
from headwater.store import incidents as store
from headwater.store import status as status_store
from headwater.store.database import Connection, Database

_LOOKED_AT = 200_000
"""Instances of which it is looked up what they had read; of more, what is declared counts."""
_SHOWN = 100
"""Stretches of an entity's instances in an answer: what is wrong of thousands may be cut into millions."""


class Wrong(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Instances of an entity that are wrong."""

    entity: str
    instances: list[str]


class Hit(msgspec.Struct, frozen=True):
    """What is wrong of one entity. `basis`: exact where all of it is known to have used what is wrong, otherwise declared: it could have.

    `more`: stretches of instances that are left out. `depth`: the fewest links from what was named; `because`: the last of them.
    """

    entity: str
    instances: list[str]
    more: int
    count: int
    basis: str
    depth: int
    because: str


class Opened(msgspec.Struct, frozen=True):
    """`id` is null where nothing was written. `hits`: what was named first, then who used it, upstream first. `count`: instances altogether.

    `missing`: of what was named, what does not exist: there is nothing of it that could be wrong.
    """

    id: uuid.UUID | None
    seq: int
    count: int
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
    """These instances, as they are now, are wrong, and so is what used them.

    NotFound and InvalidPeriod for what is not there, InvalidStatus where none of it exists. `dry_run`: only what would be.
    """
    async with database.transaction() as connection:
        ledger = await Ledger.open(connection)
        held = await declared(connection)
        roots = _named(held, wrong)
        for name in roots:
            held.number(name)
        # Who could be reached at all, whatever exists: that is what has to be known.
        reach = await asyncio.to_thread(closure, held.graph, roots)
        hulls = {held.number(name): Ordinals.between(some.first, some.end) for name, some in reach.items()}
        await ledger.marks.more(connection, windows(hulls))
        known = {name: ledger.marks.of(held.number(name)) for name in reach}
        missing = {name: some - known[name].exist for name, some in roots.items()}
        if all(missing[name] == some for name, some in roots.items()):
            raise InvalidStatus(
                "none of these instances exist, so that nothing can be wrong of them; say what was produced"
            )
        there = {name: some & (known[name].exist | known[name].of("deleted")) for name, some in reach.items()}
        facts, past, codes = await _facts(connection, held, there, ledger.seq, roots)
        id_ = uuid.UUID(run_id())
        # Of thousands of entities each takes seconds, in which others are answered.
        found = await asyncio.to_thread(opened, held.graph, str(id_), roots, known, facts, past)
        reached = await asyncio.to_thread(
            tainted,
            held.graph,
            {name: some & known[name].exist for name, some in roots.items()},
            facts._replace(exist=lambda n: known[n].exist if n in known else NONE),
        )
        hits = [
            Hit(
                name,
                *_some(held, name, hit.instances),
                hit.instances.count,
                hit.basis,
                hit.depth,
                str(hit.witness or ""),
            )
            for name, hit in reached.hits.items()
        ]
        if not dry_run:
            await store.open_(connection, id_, ledger.seq + 1, ledger.now, actor, reason)
            await store.condemn(
                connection,
                [
                    store.Root(id_, held.number(name), code, start, end)
                    for name, some in roots.items()
                    for code, those in _by_code(some & known[name].exist, codes.get(name, [])).items()
                    for start, end in those
                ],
            )
            await asyncio.to_thread(_write, ledger, held, found, "opened", str(id_), actor, reason)
            await ledger.flush()
        return Opened(
            None if dry_run else id_,
            ledger.seq,
            sum(hit.count for hit in hits),
            hits,
            [Wrong(name, ranges.written(held.instances(name), some)) for name, some in missing.items() if some],
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
        known = await _known(connection, ledger, held, incident.id)
        found = retracted(str(incident.id), known)
        changed = await asyncio.to_thread(_write, ledger, held, found, "retracted", str(incident.id), actor, note)
        await store.retracted(connection, incident.id, ledger.now, actor, note)
        await ledger.flush()
        return Settled(incident.id, "retracted", ledger.seq, _shown(held, changed))


async def confirm(database: Database, id_: uuid.UUID, right: Sequence[Wrong], actor: str, *, note: str = "") -> Settled:
    """Somebody looked: these instances, as they are now, are not wrong because of the incident; nor is who was wrong only because of them."""
    async with database.transaction() as connection:
        ledger = await Ledger.open(connection)
        held = await declared(connection)
        incident = await _holds(connection, id_)
        known = await _known(connection, ledger, held, incident.id)
        wrong = {name: marks.get(Mark("inherited", str(incident.id)), NONE) for name, marks in known.items()}
        facts, _, _ = await _facts(connection, held, wrong, ledger.seq, {})
        found = confirmed(held.graph, str(incident.id), _named(held, right), known, facts)
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
    await ledger.marks.more_by_ref(connection, (*WRONG, "suspect"), str(id_))
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


async def _facts(
    connection: Connection, held: Held, there: Mapping[str, Ordinals], seq: int, roots: Mapping[str, Ordinals]
) -> tuple[Facts, Past, dict[str, list[tuple[Ordinals, str]]]]:
    """What is recorded of these instances: what they had read, which were made more than once, who read none of the current `roots`, and by which
    code they were made.
    """
    if sum(some.count for some in there.values()) > _LOOKED_AT:
        return Facts(), Past(lambda _: NONE), {}
    numbers = {held.number(name): some for name, some in there.items()}
    versions = await status_store.versions(connection, windows(numbers), seq)
    reads = await status_store.reads(connection, [version.seq for version in versions])
    made: dict[int, list[status_store.Version]] = {}
    for version in versions:
        made.setdefault(version.seq, []).append(version)
    complete: dict[str, Ordinals] = {}
    again: dict[str, Ordinals] = {}
    content: dict[tuple[str, str], Ordinals] = {}
    seen: dict[str, Ordinals] = {}
    codes: dict[str, list[tuple[Ordinals, str]]] = {}
    for version in versions:
        name = held.names.get(version.entity_id)
        if name is None:
            continue
        stretch = Ordinals.between(version.start_, version.end_)
        codes.setdefault(name, []).append((stretch, version.code or ""))
        same = content.get((name, version.fingerprint), NONE) if version.fingerprint is not None else NONE
        again[name] = again.get(name, NONE) | ((stretch & seen.get(name, NONE)) - same)
        seen[name] = seen.get(name, NONE) | stretch
        if version.fingerprint is not None:
            content[name, version.fingerprint] = same | stretch
        # Of an instance all of whose versions have a record what they used is known.
        held_ = complete.get(name, NONE)
        complete[name] = held_ | (stretch - again[name]) if version.complete else held_ - stretch
    rows: dict[tuple[str, str], list[tuple[int, int, int, int]]] = {}
    for read in reads:
        upstream = held.names.get(read.upstream_id)
        for version in made[read.seq]:
            name = held.names.get(version.entity_id)
            if name is not None and upstream is not None:
                rows.setdefault((name, upstream), []).append((version.start_, version.end_, read.start_, read.end_))
    links = [link for name in there for link in held.graph.upstream(name)]
    used = by_link(links, complete, rows)

    def recorded(link: Link) -> Used | None:
        return used.get(id(link))

    return Facts(used=recorded), Past(lambda name: again.get(name, NONE), missed(held, roots, versions, reads)), codes


def _by_code(some: Ordinals, made: Sequence[tuple[Ordinals, str]]) -> dict[str, Ordinals]:
    """Instances by the code of their last version; of none of which anything is known, `""`."""
    found: dict[str, Ordinals] = {"": some}
    for stretch, code in made:
        here = stretch & some
        found = {each: those - here for each, those in found.items()}
        found[code] = found.get(code, NONE) | here
    return {code: those for code, those in found.items() if those}
