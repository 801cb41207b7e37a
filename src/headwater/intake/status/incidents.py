"""Open, fix, retract and confirm incidents, and update the marks of every instance that they reach.

Each operation is one transaction over all entities it reaches, so no reader sees part of it. Each entity that changes gets a report in the log.
"""

import asyncio
import datetime as dt
import itertools
import uuid
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from headwater.client.event import run_id
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.needs.columns import ALL, Columns, both, named
from headwater.entities.status.incidents import confirmed, opened
from headwater.entities.status.marks import Marks
from headwater.entities.status.propagation import Spread
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidStatus, NotFound
from headwater.intake.status import histories
from headwater.intake.status.condemned_code import roots_by_code
from headwater.intake.status.declared import declared
from headwater.intake.status.incident_columns import Restricted, spared, written
from headwater.intake.status.judgement import WRONG
from headwater.intake.status.ledger import Ledger
from headwater.intake.status.reach import Search, reach
from headwater.model.tags import TEAM
from headwater.store.database import Connection, Database
from headwater.store.status import incidents as store
from headwater.store.status import wrong_versions as origin_store
from headwater.store.status.wrong_versions import Origin

_OF_IT = (*WRONG, "suspect")
"""Kinds of marks that an incident may have set."""
MOST_STRETCHES = 1_000_000
"""The most rows of marks that one incident writes, and as many rows of the log. They take about half of the minute that a statement may run, and no
other report is recorded during that time.
"""
_MOST_LISTED = 100
"""The most stretches of an entity's instances in an answer; an incident may have millions."""

_LONGEST_PATH = 20


class Wrong(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Instances of an entity that are wrong."""

    entity: str
    instances: list[str]


class WrongColumns(Wrong, frozen=True, forbid_unknown_fields=True):
    """`columns`: only these columns are wrong; without any, all are. If an entity is named more than once, the union of its columns."""

    columns: list[str] = []


def listed(held: StoredDeclarations, sets: Mapping[str, Ordinals]) -> list[Wrong]:
    """Write sets of instances as `Wrong`, leaving out entities without any."""
    return [Wrong(name, ranges.written(held.instances(name), some)) for name, some in sets.items() if some]


class Hit(msgspec.Struct, frozen=True):
    """The wrong instances of one entity. `basis`: `exact` if all of them are recorded as users of wrong instances, else `declared`: they may be.

    `more`: how many stretches are left out of `instances`. `depth`: the fewest links from a named instance; `because`: the last of these links.
    `columns`: those that may be wrong, in lower case; null if all may be. `path`: the entities on the way from a named one, the last 20. `owners` and
    `teams` (the tag `team`): of the entity.
    """

    entity: str
    instances: list[str]
    more: int
    count: int
    basis: str
    depth: int
    because: str
    columns: list[str] | None = None
    path: list[str] = []
    owners: list[str] = []
    teams: list[str] = []


class Opened(msgspec.Struct, frozen=True):
    """`id`: null after a dry run. `hits`: the named instances and all that used them, upstream first. `count`: of instances, in total.
    `stretches`: rows of marks, at most `MOST_STRETCHES`.

    `missing`: named instances that do not exist, and so cannot be wrong. `wrong`: all instances of `hits`.
    """

    id: uuid.UUID | None
    seq: int
    count: int
    stretches: int
    hits: list[Hit]
    missing: list[Wrong]
    wrong: dict[str, Ordinals]


class Changed(msgspec.Struct, frozen=True):
    """Instances of an entity whose marks changed. `more`: how many stretches are left out."""

    entity: str
    instances: list[str]
    more: int


class Settled(msgspec.Struct, frozen=True):
    """The incident after an operation. `changed`: by entity; `seq`: of the last report."""

    id: uuid.UUID
    state: str
    seq: int
    changed: list[Changed]


async def open_(
    database: Database,
    wrong: Sequence[Wrong],
    reason: str,
    actor: str,
    *,
    origins: Sequence[Origin] = (),
    search: Search | None = None,
    dry_run: bool = False,
) -> Opened:
    """Open an incident: mark the current versions of these instances as wrong, and all that used them (or their wrong columns).

    `origins`: runs, versions and contents that are wrong, too. `search` finds who used them, and who used by recorded reads what the runs of wrong
    instances wrote. Instances that a run found so made are wrong, and what used those, until nothing new is found. `dry_run`: compute without
    writing. Raises NotFound and InvalidPeriod for unknown names, InvalidStatus if no instance exists or there would be too many marks.
    """
    async with database.transaction() as connection:
        ledger = await Ledger.open(connection)
        held = await declared(connection)
        if search is not None:
            search.begin(connection)
            await search.condemn(origins)
            if not origins and not await origin_store.has_versions(connection):
                search = None  # nothing was recorded that could have been read
        named = _named(held, wrong) if wrong or not origins else {}
        found = await reach(connection, held, _columns(wrong), named, search)
        if not any(found.roots.values()) and not origins:
            raise InvalidStatus(
                "None of these instances exists yet. Report it first: `headwater report ENTITY produced KEY`."
            )
        id_ = uuid.UUID(run_id())
        marks_by_name = await asyncio.to_thread(opened, str(id_), found.roots, found.gone, found.reached)
        hits = await asyncio.to_thread(lambda: list(_hits(held, found.gone, found.reached, found.columns)))
        stretches = sum(some.runs for marks in marks_by_name.values() for some in marks.values())
        if not dry_run:
            if stretches > MOST_STRETCHES:
                raise InvalidStatus(_too_many(stretches), stretches=stretches, most=MOST_STRETCHES)
            await store.open_(connection, id_, ledger.seq + 1, ledger.now, actor, reason)
            await store.condemn(connection, roots_by_code(held, id_, found.roots, found.coded))
            await origin_store.condemn(connection, id_, origins)
            if found.columns is not None:
                await written(connection, held, id_, found.columns)
            rows = await asyncio.to_thread(_report, ledger, held, marks_by_name, str(id_), actor, reason)
            await ledger.flush()
            await store.mark(connection, str(id_), rows)
        if search is not None and (origins or search.found_versions()):
            await search.describe()
        return Opened(
            None if dry_run else id_,
            ledger.seq,
            sum(hit.count for hit in hits),
            stretches,
            hits,
            listed(held, {name: some - found.roots.get(name, NONE) for name, some in named.items()}),
            {name: some - found.gone.get(name, NONE) for name, some in found.reached.current.items()},
        )


async def fix(
    database: Database, id_: uuid.UUID, actor: str, *, at: dt.datetime | None = None, note: str = ""
) -> Settled:
    """Record that the cause is fixed: versions produced from then on (`at`, or now) are right, unless they use wrong instances."""
    async with database.transaction() as connection:
        ledger = await Ledger.open(connection)
        incident = await _require_open(connection, id_)
        await store.fixed(connection, incident.id, at or ledger.now, ledger.now, actor, note)
        return Settled(incident.id, "fixed", ledger.seq, [])


async def retract(database: Database, id_: uuid.UUID, actor: str, *, note: str = "") -> Settled:
    """Retract a false alarm: all that is wrong only because of this incident is right again, without a run."""
    async with database.transaction() as connection:
        ledger = await Ledger.open(connection)
        held = await declared(connection)
        incident = await _require_open(connection, id_)
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
        return Settled(incident.id, "retracted", ledger.seq, await asyncio.to_thread(_changed_instances, held, changed))


async def confirm(database: Database, id_: uuid.UUID, right: Sequence[Wrong], actor: str, *, note: str = "") -> Settled:
    """Confirm as right: the incident does not affect the current versions of these instances, nor those that were wrong only because of them."""
    async with database.transaction() as connection:
        ledger = await Ledger.open(connection)
        held = await declared(connection)
        incident = await _require_open(connection, id_)
        before = await _load_marks(connection, ledger, held, incident.id)
        wrong = {name: marks.of("tainted", "inherited", "repaired") for name, marks in before.items()}
        recorded = await histories.among(connection, held, wrong)
        unaffected = (await spared(connection, held, [incident.id])).get(str(incident.id), frozenset[tuple[str, str]]())
        after = confirmed(held.graph, str(incident.id), _named(held, right), before, recorded, unaffected)
        changed = _write(ledger, held, after, "confirmed", str(incident.id), actor, note)
        await ledger.flush()
        return Settled(incident.id, incident.state, ledger.seq, _changed_instances(held, changed))


def _named(held: StoredDeclarations, some: Sequence[Wrong]) -> dict[str, Ordinals]:
    found: dict[str, Ordinals] = {}
    for one in some:
        instances = ranges.read(held.instances(one.entity), one.instances)
        found[one.entity] = found.get(one.entity, NONE) | instances
    if not any(found.values()):
        raise InvalidStatus('no instance is named; name some, such as {"entity": "reads", "instances": ["2024-03-10"]}')
    return found


async def _require_open(connection: Connection, id_: uuid.UUID) -> store.Incident:
    found = (await store.named(connection, [id_])).get(id_)
    if found is None:
        raise NotFound(
            f"there is no incident {id_}; list the incidents with `headwater incident list`", incident=str(id_)
        )
    if found.state == "retracted":
        raise InvalidStatus(f"incident {id_} was retracted at {found.closed_at}; open a new one", incident=str(id_))
    return found


async def _load_marks(
    connection: Connection, ledger: Ledger, held: StoredDeclarations, id_: uuid.UUID
) -> dict[str, Marks]:
    """Load the marks of all entities that have any of this incident."""
    await ledger.marks.more_of_incident(connection, _OF_IT, str(id_))
    return {held.names[each]: ledger.marks.of(each) for each in ledger.marks.ids() if each in held.names}


def _write(
    ledger: Ledger, held: StoredDeclarations, found: Mapping[str, Marks], what: str, ref: str, actor: str, reason: str
) -> dict[str, Ordinals]:
    """Add a report for each entity that changes. Returns the instances that change, by entity."""
    changed: dict[str, Ordinals] = {}
    for name, marks in found.items():
        number = held.number(name)
        some = ledger.touched(number, marks)
        if some:
            changed[name] = some
            ledger.report(number, what, ref, some, actor=actor, reason=reason)
            ledger.change({number: marks})
    return changed


def _changed_instances(held: StoredDeclarations, some: Mapping[str, Ordinals]) -> list[Changed]:
    return [Changed(name, *_some(held, name, each)) for name, each in some.items()]


def _some(held: StoredDeclarations, name: str, some: Ordinals) -> tuple[list[str], int]:
    """The first stretches as texts, and how many are left out."""
    first = some if some.runs <= _MOST_LISTED else some & Ordinals.between(some.first, int(some.ends[_MOST_LISTED - 1]))
    return ranges.written(held.instances(name), first), max(some.runs - _MOST_LISTED, 0)


def _report(
    ledger: Ledger, held: StoredDeclarations, found: Mapping[str, Marks], id_: str, actor: str, reason: str
) -> list[store.Marked]:
    """Add a report for each entity that gets marks. Returns the marks, each with the seq of its report."""
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
    """The wrong columns by entity; empty if whole instances are wrong in every entity."""
    found: dict[str, Columns] = {}
    for one in wrong:
        some = named(one.columns) if isinstance(one, WrongColumns) and one.columns else ALL
        found[one.entity] = both(found.get(one.entity, frozenset()), some)
    return {} if all(some == ALL for some in found.values()) else found


def _hits(
    held: StoredDeclarations, gone: Mapping[str, Ordinals], reached: Spread, columns: Restricted | None
) -> Iterator[Hit]:
    nearest = reached.nearest()
    # Most entities share a calendar and are wrong in the same periods: write equal instances once.
    texts: dict[tuple[int, Ordinals], tuple[list[str], int]] = {}
    for name in (name for component in held.graph.order for name in component if name in reached.current):
        if some := reached.current[name] - gone.get(name, NONE):
            exact = reached.exact is reached.current or some <= reached.exact.get(name, NONE)
            instances = held.instances(name)
            key = id(instances and instances.calendar), some
            shown = texts.get(key) or texts.setdefault(key, _some(held, name, some))
            some_columns = columns.columns.get(name, ALL) if columns else ALL
            path = [name]
            while len(path) < _LONGEST_PATH and (before := nearest[path[-1]].before):
                path.append(before)
            yield Hit(
                name,
                *shown,
                some.count,
                "exact" if exact else "declared",
                nearest[name].depth,
                nearest[name].because,
                None if some_columns == ALL else sorted(some_columns),
                path[::-1],
                list(held.declared[name].owners),
                list(held.declared[name].tags.get(TEAM, ())),
            )


def _too_many(stretches: int) -> str:
    return (
        f"this would mark {stretches:,} stretches of instances; one incident marks at most {MOST_STRETCHES:,}, so nothing was written. "
        "Name whole stretches, such as a month, if the instances in between are wrong too; or open several incidents with fewer instances each; or "
        "name instances further downstream"
    )
