"""The schedule of a dataset: the declared entity that it holds, and how that is known. The one place that connects datasets with entities.

| basis | the dataset holds the entity because |
|---|---|
| declared | the declaration says so (`stored_in`) |
| package | the package that writes it says so (`entity` in its dk.yaml) |
| lineage | the job that makes the entity writes it: nothing else, or it is the one of the entity's name |

A statement excludes the rest: what is derived counts only where `stored_in` says nothing. Where several outputs could hold an entity, none does.
"""

import uuid
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from headwater.answer.status.declared import declared
from headwater.entities.declaration.producer_names import readings, spellings
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.status.marks import by_entity
from headwater.entities.time import keys
from headwater.model import version
from headwater.model.identity import Identity
from headwater.model.names import DatasetName, JobName, short
from headwater.store.database import Connection, Database
from headwater.store.events import server_state
from headwater.store.history import facets as facet_store
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import names as name_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.edges import Moment
from headwater.store.lineage.nodes import NodeRow
from headwater.store.status import schedules as store
from headwater.store.status import status as status_store

DECLARED, PACKAGE, LINEAGE = "declared", "package", "lineage"
_FACET = "headwater_entity"
# A package's job is above that of its Spark program, a DAG's above that of its task.
_LEVELS = 3


class Schedule(msgspec.Struct, frozen=True):
    """`period`: such as `day, Europe/Paris`; null for a static one. `latest`: the newest instance that exists; `wrong`: how many are.

    `basis`: declared, package or lineage.
    """

    entity: str
    kind: str
    period: str | None
    states: list[str]
    latest: str | None
    wrong: int
    basis: str


class Home(msgspec.Struct, frozen=True):
    """A dataset that holds an entity."""

    dataset: str
    basis: str


async def of_datasets(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, list[Schedule]]:
    """The schedules of these datasets, by the ids that stand for them; those without one are absent. A fixed number of statements."""
    held = await declared(connection)
    if not held.declared or not ids:
        return {}
    found = await _stated(connection, held, ids)
    facets = await facet_store.of_owners(connection, ids, [_FACET])
    for id_ in ids:
        entity = _package_entity(facets.get(id_, {}).get(_FACET))
        if entity in held.declared and not held.declared[entity].stored_in:
            found.setdefault(id_, {}).setdefault(entity, PACKAGE)
    for id_, entities in (await _by_writers(connection, held, ids)).items():
        for entity in entities:
            found.setdefault(id_, {}).setdefault(entity, LINEAGE)
    numbers = {held.ids[entity] for entities in found.values() for entity in entities}
    marks = by_entity(await status_store.marks_of(connection, list(numbers))) if numbers else {}
    return {
        id_: [_schedule(held, entity, basis, marks) for entity, basis in sorted(entities.items())]
        for id_, entities in found.items()
    }


async def homes(
    connection: Connection, held: StoredDeclarations, entities: Collection[str]
) -> dict[str, dict[uuid.UUID, str]]:
    """Return the datasets that hold each entity, each with its basis. A fixed number of statements."""
    found: dict[str, dict[uuid.UUID, str]] = {name: {} for name in entities}
    placed = await _placed(connection, held)
    canonical = await name_store.canonical(
        connection, [id_ for id_, those in placed.items() if not those.isdisjoint(entities)]
    )
    for id_, those in placed.items():
        for entity in those & found.keys():
            found[entity][canonical.get(id_, id_)] = DECLARED
    known = await node_store.by_ids(connection, {id_ for those in found.values() for id_ in those})
    found = {entity: {id_: basis for id_, basis in those.items() if id_ in known} for entity, those in found.items()}
    silent = [name for name in entities if not held.declared[name].stored_in]
    for entity, datasets in (await outputs(connection, held, silent)).items():
        found[entity] |= datasets
    return found


async def outputs(
    connection: Connection, held: StoredDeclarations, entities: Collection[str]
) -> dict[str, dict[uuid.UUID, str]]:
    """Return for each entity the datasets that its jobs write and that hold it, regardless of `stored_in`."""
    makers = await _makers(connection, held, entities)
    written = await _written(connection, {job for jobs in makers.values() for job in jobs})
    every = {id_ for those in written.values() for id_ in those}
    rows = await node_store.by_ids(connection, every)
    facets = await facet_store.of_owners(connection, every, [_FACET])
    named = {id_: _package_entity(facets.get(id_, {}).get(_FACET)) for id_ in every}
    found: dict[str, dict[uuid.UUID, str]] = {}
    for entity, jobs in makers.items():
        those = {id_ for job in jobs for id_ in written.get(job, ())}
        packed = {id_: PACKAGE for id_ in those if named[id_] == entity}
        found[entity] = packed or dict.fromkeys(_chosen(entity, those, rows), LINEAGE)
    return found


async def _makers(
    connection: Connection, held: StoredDeclarations, entities: Collection[str]
) -> dict[str, set[uuid.UUID]]:
    """The jobs that made the last instances of each entity, and those that its declaration names."""
    by_runs = await store.makers(connection, [held.ids[name] for name in entities])
    stated = {
        name: {version.job_id(job) for each in held.declared[name].produced_by for job in readings(each.job)}
        for name in entities
    }
    return {name: {*by_runs.get(held.ids[name], ()), *stated[name]} for name in entities}


async def _written(connection: Connection, jobs: Collection[uuid.UUID]) -> dict[uuid.UUID, set[uuid.UUID]]:
    """Return for each job the datasets that it writes, or that jobs below it do."""
    above = {job: {job} for job in jobs}
    level = set(jobs)
    for _ in range(_LEVELS):
        below = await edge_store.children(connection, level) if level else {}
        level = {child for children in below.values() for child in children} - above.keys()
        for parent, children in below.items():
            for child in children:
                above.setdefault(child, set()).update(above.get(parent, ()))
    found: dict[uuid.UUID, set[uuid.UUID]] = {}
    for edge in await edge_store.at_jobs(connection, list(above), "out", Moment()) if above else ():
        for job in above[edge.job]:
            found.setdefault(job, set()).add(edge.dataset)
    return found


async def _by_writers(
    connection: Connection, held: StoredDeclarations, ids: Collection[uuid.UUID]
) -> dict[uuid.UUID, set[str]]:
    """The entities that the writers of these datasets make and that are stored nowhere else by declaration."""
    written = await edge_store.at_datasets(connection, list(ids), "out", Moment())
    rows = await node_store.by_ids(connection, {edge.job for edge in written})
    for _ in range(_LEVELS):
        parents = {row.parent_id for row in rows.values() if row.parent_id} - rows.keys()
        rows |= await node_store.by_ids(connection, parents)
    by_runs = await store.made_by(connection, rows.keys())
    by_job = _by_producer(held)
    makes: dict[uuid.UUID, set[str]] = {}
    for job, row in rows.items():
        stated = {name for text in spellings(JobName(row.namespace, row.name)) for name in by_job.get(text, ())}
        makes[job] = stated | {held.names[number] for number in by_runs.get(job, ()) if number in held.names}
    candidates = {name for names in makes.values() for name in names if not held.declared[name].stored_in}
    if not candidates:
        return {}
    holds = await outputs(connection, held, sorted(candidates))
    return {id_: {entity for entity, those in holds.items() if id_ in those} for id_ in ids}


def _chosen(entity: str, datasets: Collection[uuid.UUID], rows: Mapping[uuid.UUID, NodeRow]) -> list[uuid.UUID]:
    """The only dataset, or the only one of the entity's name."""
    if len(datasets) == 1:
        return list(datasets)
    alike = [id_ for id_ in datasets if id_ in rows and short(rows[id_].name) == entity]
    return alike if len(alike) == 1 else []


def _package_entity(body: bytes | None) -> str:
    try:
        found = msgspec.json.decode(body or b"{}", type=_EntityFacet).entity
    except msgspec.DecodeError:
        return ""
    return found or ""


class _EntityFacet(msgspec.Struct):
    """The facet by which the package that writes a dataset says which entity it holds."""

    entity: str | None = None


async def _stated(
    connection: Connection, held: StoredDeclarations, ids: Collection[uuid.UUID]
) -> dict[uuid.UUID, dict[str, str]]:
    placed = await _placed(connection, held)
    members = await name_store.members(connection, ids)
    found: dict[uuid.UUID, dict[str, str]] = {}
    for id_ in ids:
        for member in (id_, *members.get(id_, ())):
            for entity in placed.get(member, ()):
                found.setdefault(id_, {})[entity] = DECLARED
    return found


_PLACED: OrderedDict[tuple[Any, Any], dict[uuid.UUID, set[str]]] = OrderedDict()
"""By the state of the declarations and of the rules about names: thousands of ids take tens of milliseconds to derive."""


async def _placed(connection: Connection, held: StoredDeclarations) -> dict[uuid.UUID, set[str]]:
    """Return the entities that are declared to be stored under each name, by the name's id."""
    rules = (await server_state.read(connection)).rules
    key = held.id, rules
    if key not in _PLACED:
        identity = Identity(rules)
        found: dict[uuid.UUID, set[str]] = {}
        for one in held.declared.values():
            for place in one.stored_in:
                found.setdefault(version.dataset_id(identity.place(DatasetName(*place)).name), set()).add(one.name)
        _PLACED[key] = found
        while len(_PLACED) > 2:
            _PLACED.popitem(last=False)
    return _PLACED[key]


def _by_producer(held: StoredDeclarations) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in held.declared.values():
        for producer in one.produced_by:
            found.setdefault(producer.job, []).append(one.name)
    return found


def _schedule(held: StoredDeclarations, entity: str, basis: str, marks: Any) -> Schedule:
    one = held.declared[entity].entity
    known = marks.get(held.ids[entity])
    latest = known.exist.end - 1 if known is not None and known.exist else None
    calendar = one.instances.calendar if one.instances is not None else None
    return Schedule(
        entity,
        type(one.kind).__name__.lower(),
        f"{calendar.every_text}, {calendar.spec.zone}" if calendar is not None else None,
        list(one.states),
        keys.key(calendar, latest) if calendar is not None and latest is not None else None,
        known.wrong.count if known is not None else 0,
        basis,
    )


class Contradiction(msgspec.Struct, frozen=True):
    """`field`: `stored_in` or `produced_by` of the entity's declaration. `text` names what it says and what runs say."""

    entity: str
    field: str
    text: str


class Contradictions(msgspec.Struct, frozen=True):
    """The contradictions between declarations and runs, by entity."""

    contradictions: list[Contradiction]


async def contradictions(database: Database) -> Contradictions:
    """Declarations that name a place or a producer, where the last runs show another."""
    async with database.snapshot() as connection:
        held = await declared(connection)
        placed = [name for name, one in held.declared.items() if one.stored_in]
        stated = await homes(connection, held, placed)
        derived = await outputs(connection, held, placed)
        makers = await store.makers(
            connection, [held.ids[name] for name, one in held.declared.items() if one.produced_by]
        )
        named = {
            held.ids[name]: {version.job_id(job) for each in one.produced_by for job in readings(each.job)}
            for name, one in held.declared.items()
        }
        ids = {id_ for those in derived.values() for id_ in those} | {job for jobs in makers.values() for job in jobs}
        rows = await node_store.by_ids(connection, ids | {job for jobs in named.values() for job in jobs})
    found = [
        Contradiction(
            name, "stored_in",
            f"is {_list(f'{each.namespace}:{each.name}' for each in held.declared[name].stored_in)}, and its runs write "
            f"{_list(_name(rows[id_]) for id_ in those)}: correct it, or leave it out",
        )
        for name, those in derived.items()
        if those and those.keys().isdisjoint(stated[name])
    ]  # fmt: skip
    for number, jobs in makers.items():
        # A producer that is no job by that name, as `package:NAME`, cannot be compared.
        said = [each.job for each in held.declared[held.names[number]].produced_by]
        if not named[number] & rows.keys() or named[number] & _with_parents(jobs, rows):
            continue
        made = _list(_name(rows[job]) for job in jobs if job in rows)
        text = f"is {_list(said)}, and its last instances were made by {made}: correct it, or leave it out"
        found.append(Contradiction(held.names[number], "produced_by", text))
    return Contradictions(sorted(found, key=lambda one: (one.entity, one.field)))


def _with_parents(jobs: Iterable[uuid.UUID], rows: Mapping[uuid.UUID, NodeRow]) -> set[uuid.UUID]:
    return {each for job in jobs for each in (job, rows[job].parent_id if job in rows else None) if each is not None}


def _name(row: NodeRow) -> str:
    return row.node_id.partition(":")[2]


def _list(texts: Iterable[str]) -> str:
    return ", ".join(sorted(texts))
