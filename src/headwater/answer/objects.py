"""Resolve a text to anything that has lineage: a dataset, a column, a job, a run, a version, an instance, an item, a
content.

Refuses to choose: a text that means several things has candidates and no object.
"""

import contextlib
import difflib
from collections.abc import Iterable

import msgspec

from headwater.answer.lineage.find import Resolution, node_row, resolve
from headwater.answer.lineage.lineage_answer import FoundObject, FoundObjects
from headwater.answer.lineage.named_columns import columns_of_edges, match_column, named_columns
from headwater.answer.lineage.runs import parts_of_ids
from headwater.answer.search.search import kind_of
from headwater.answer.status.declared import declared
from headwater.answer.status.schedules import homes, of_datasets
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.time import ranges
from headwater.errors import InvalidPeriod, InvalidQuestion, NotFound
from headwater.model import version
from headwater.store.database import Connection, Database
from headwater.store.lineage import correlation, runs
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage import run_lineage as run_store
from headwater.store.lineage.edges import Moment


async def find_object(database: Database, text: str) -> FoundObjects:
    """Resolve a text. InvalidQuestion for a blank one; InvalidPeriod for `ENTITY@INSTANCE` where the entity has no such instance."""
    text = text.strip()
    if not text:
        raise InvalidQuestion("text must not be blank", parameter="text")
    async with database.snapshot() as connection:
        for reading in (_content, _by_id, _part, _entity):
            if found := await reading(connection, text):
                return _one_of(found)
    named = await resolve(database, text)
    if found := _nodes(named):
        return _one_of(await _with_schedules(database, found))
    if found := await _columns(database, text):
        return _one_of(found)
    async with database.snapshot() as connection:
        entities = (await declared(connection)).declared
        if text in entities:
            return _one_of([FoundObject("ENTITY", text, text, entity=text)])
        if ids := await parts_of_ids(connection, text.removeprefix("run:")):
            return _one_of([each for id_ in ids for each in await _by_id(connection, str(id_)) if each.type == "RUN"])
    near = difflib.get_close_matches(text.partition("@")[0], entities, 3)
    return FoundObjects(None, [], [*near, *(hit.id for hit in named.suggestions)])


async def resolve_name(database: Database, name: str, kind: str | None = None) -> Resolution:
    """Resolve a name as `find.resolve` does; the name of a declared entity is the dataset that holds it, unless only jobs are wanted."""
    found = await resolve(database, name, kind)
    if (found.match is not None and found.match.id == name) or kind_of(kind) == "JOB":
        return found
    async with database.snapshot() as connection:
        held = [one for one in await _entity(connection, name) if kind is None or one.type == "DATASET"]
    hits = [hit for one in held if (hit := (await resolve(database, one.id)).match) is not None]
    if not hits:
        return found
    return Resolution(hits[0], [], []) if len(hits) == 1 else Resolution(None, hits, [])


def _one_of(found: list[FoundObject]) -> FoundObjects:
    return FoundObjects(found[0], [], []) if len(found) == 1 else FoundObjects(None, found, [])


async def _content(connection: Connection, text: str) -> list[FoundObject]:
    fingerprint = version.fingerprint(text)
    if fingerprint is None or not await correlation.of_version(connection, fingerprint):
        return []
    return [FoundObject("CONTENT", fingerprint, fingerprint)]


async def _by_id(connection: Connection, text: str) -> list[FoundObject]:
    """Find runs, by the id of their events or of their scheduler; items and versions."""
    id_, _ = version.run_id(text.removeprefix("run:"))
    found = []
    rows = await runs.by_run_id(connection, id_)
    names = await node_store.by_ids(connection, {row.job_id for row in rows})
    if rows:
        jobs = ", ".join(names[row.job_id].name for row in rows)
        label = f"run of {jobs}, {rows[0].began:%Y-%m-%d %H:%M:%S} UTC"
        found.append(FoundObject("RUN", str(id_), label, node=names[rows[0].job_id].node_id))
    found += [
        FoundObject("ITEM", str(row.id), f"item {row.id}")
        for row in await correlation.nodes(connection, [id_])
        if row.kind == "ITEM"
    ]
    return [*found, *await _versions(connection, (await run_store.versions(connection, [id_])).values())]


async def _versions(connection: Connection, rows: Iterable[run_store.VersionRow]) -> list[FoundObject]:
    rows = list(rows)
    names = await node_store.by_ids(connection, {row.dataset for row in rows})
    return [
        FoundObject(
            "VERSION",
            str(row.id),
            f"{names[row.dataset].name}@{row.external_version or row.written_at.isoformat()}",
            node=names[row.dataset].node_id,
            run=str(row.run_id) if row.run_id else None,
        )
        for row in rows
    ]


async def _part(connection: Connection, text: str) -> list[FoundObject]:
    """Find `ENTITY@INSTANCE` or `ENTITY@INSTANCE,INSTANCE`, or `DATASET@VERSION` by the version's name in its storage."""
    name, at, part = text.rpartition("@")
    if not at or not name or not part:
        return []
    held = await declared(connection)
    if name in held.declared:
        datasets = (await homes(connection, held, [name]))[name]
        nodes = [row.node_id for row in (await node_store.by_ids(connection, datasets)).values()]
        try:
            return _instances(held, name, part, nodes[0] if len(nodes) == 1 else None)
        except InvalidPeriod:
            if found := await _versions(connection, await run_store.versions_by_name(connection, datasets, part)):
                return found
            raise
    hits = {hit.id: hit for hit in await node_store.ending_with(connection, name) if hit.type == "DATASET"}
    found = await _versions(connection, await run_store.versions_by_name(connection, hits, part))
    if found:
        return found
    scheduled = await of_datasets(connection, hits)
    refused: InvalidPeriod | None = None
    for id_, schedules in scheduled.items():
        for schedule in schedules:
            try:
                found += _instances(held, schedule.entity, part, hits[id_].node_id)
            except InvalidPeriod as error:
                refused = error
    if refused is not None and not found:
        raise refused
    return found


def _instances(held: StoredDeclarations, entity: str, part: str, node: str | None) -> list[FoundObject]:
    of = held.instances(entity)
    return [
        FoundObject("INSTANCE", f"{entity}@{each}", f"{entity} {each}", node=node, entity=entity, instance=each)
        for each in ranges.written(of, ranges.read(of, part.split(",")))
    ]


async def _entity(connection: Connection, text: str) -> list[FoundObject]:
    """A declared entity is the dataset that holds it; beside it other datasets of exactly this name."""
    held = await declared(connection)
    if text not in held.declared:
        return []
    datasets = (await homes(connection, held, [text]))[text]
    rows = list((await node_store.by_ids(connection, datasets)).values())
    if not rows:
        return []
    others = [
        hit
        for hit in await node_store.ending_with(connection, text)
        if hit.told_name == text and hit.id not in datasets
    ]
    return [FoundObject("DATASET", row.node_id, row.name, entity=text) for row in rows] + [
        FoundObject("DATASET" if hit.type == "DATASET" else "JOB", hit.node_id, hit.name) for hit in others
    ]


async def _with_schedules(database: Database, found: list[FoundObject]) -> list[FoundObject]:
    """The datasets with the entity that each holds, if it is one."""
    async with database.snapshot() as connection:
        rows = {one.id: await node_row(connection, one.id) for one in found if one.type == "DATASET"}
        schedules = await of_datasets(connection, [row.id for row in rows.values()])
    entities = {id_: schedules.get(row.id, []) for id_, row in rows.items()}
    return [
        msgspec.structs.replace(one, entity=mine[0].entity) if len(mine := entities.get(one.id, [])) == 1 else one
        for one in found
    ]


def _nodes(named: Resolution) -> list[FoundObject]:
    hits = [named.match] if named.match is not None else named.candidates
    return [FoundObject("DATASET" if hit.type == "DATASET" else "JOB", hit.id, hit.name) for hit in hits]


async def _columns(database: Database, text: str) -> list[FoundObject]:
    """Find `NAME.COLUMN`, and `NAME.STRUCT.FIELD`: a column that a report names; the longest matching name counts."""
    name = text
    while "." in name:
        name, _, _ = name.rpartition(".")
        column = text[len(name) + 1 :]
        if not name or not column:
            return []
        named = await resolve(database, name, "dataset")
        hits = [(hit, await _reported_column(database, hit.id, column)) for hit in _nodes(named)]
        found = [
            FoundObject("COLUMN", f"{hit.id}#{name_}", f"{hit.label}.{name_}", node=hit.id, column=name_)
            for hit, name_ in hits
            if name_ is not None
        ]
        if found:
            return found
    return []


async def _reported_column(database: Database, dataset: str, column: str) -> str | None:
    """The column as it was reported; None if no report names it."""
    async with database.snapshot() as connection:
        row = await node_row(connection, dataset)
        columns = (await named_columns(connection, [row.id])).get(row.id, set())
        columns |= await columns_of_edges(connection, row.id, Moment())
    with contextlib.suppress(NotFound):
        return match_column(column, columns, dataset)
    return None
