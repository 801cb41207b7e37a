"""The subjects of a verdict, as a person names them: runs, versions, contents, and datasets, which are all that they hold."""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from headwater.answer.lineage.find import node_row
from headwater.answer.lineage.named_columns import match_column, named_columns
from headwater.answer.status.declared import declared
from headwater.answer.status.schedules import homes, of_datasets
from headwater.entities.status.marks import by_entity
from headwater.entities.time import ranges
from headwater.errors import InvalidQuestion
from headwater.model import version
from headwater.store.database import Connection, Database
from headwater.store.lineage import run_lineage as run_store
from headwater.store.status import status as status_store
from headwater.store.status import wrong_versions as store
from headwater.store.status.wrong_versions import Origin, OriginKind

_MOST = 10_000
"""The most versions that a verdict on a dataset may be about."""


class Subject(NamedTuple):
    """`ref`: of a RUN or VERSION its id, of a CONTENT its fingerprint, of a DATASET its id. `columns`: only these; empty: all."""

    kind: Literal["RUN", "VERSION", "CONTENT", "DATASET"]
    ref: str
    columns: tuple[str, ...] = ()


class HeldInstances(NamedTuple):
    """Instances of an entity that a dataset holds, as texts, of which these columns are meant; all without any."""

    entity: str
    instances: list[str]
    columns: tuple[str, ...]


class Subjects(NamedTuple):
    origins: list[Origin]
    instances: list[HeldInstances]


async def read_subjects(database: Database, named: Iterable[Subject]) -> Subjects:
    """Return what is meant: for a dataset the versions that it holds now, and the instances of its schedules that exist.

    InvalidQuestion for a text that names none, for a dataset that nothing is recorded of, and for one that holds more than 10,000 versions. NotFound.
    """
    found = Subjects([], [])
    for one in named:
        if one.kind != "DATASET":
            origin = read_origin(one.kind, one.ref, one.columns)
            found.origins.append(origin)
            if one.columns:
                async with database.snapshot() as connection:
                    await _check(
                        connection, await _written(connection, origin), one.columns, f"{one.kind.lower()} {one.ref}"
                    )
            continue
        async with database.snapshot() as connection:
            held, versions = await _of_dataset(connection, one)
        found.instances.extend(held)
        found.origins.extend(versions)
    return found


async def check_columns(database: Database, wrong: Mapping[str, Collection[str]]) -> None:
    """Raise NotFound for a column that an entity has by no report and no need, if any of its columns are known. `wrong`: by entity."""
    async with database.snapshot() as connection:
        of = await declared(connection)
        of_homes = await homes(connection, of, wrong.keys() & of.declared.keys())
        for entity, columns in wrong.items():
            needs = [link.dependency for link in of.graph.downstream(entity) if link.dependency is not None]
            needed = {column for need in needs for column in need.columns}
            await _check(connection, of_homes.get(entity, {}), columns, f"entity {entity}", needed)


async def _check(
    connection: Connection,
    datasets: Collection[uuid.UUID],
    columns: Iterable[str],
    owner: str,
    more: Collection[str] = (),
) -> None:
    """Raise NotFound for a column that none of these datasets has; where no column of theirs is known, any may be one."""
    known = {column for some in (await named_columns(connection, datasets)).values() for column in some}
    for column in columns if known else ():
        match_column(column, known.union(more), owner)


async def _written(connection: Connection, origin: Origin) -> set[uuid.UUID]:
    """The datasets of a version, or of all that a run and those below it wrote."""
    id_ = uuid.UUID(origin.ref)
    if origin.kind == "VERSION":
        return {row.dataset for row in (await run_store.versions(connection, [id_])).values()}
    keys = (await store.run_keys(connection, [id_])).get(id_, set())
    return {row.dataset for _, row in await run_store.versions_written(connection, sorted(keys), "infinity")}


async def _of_dataset(connection: Connection, one: Subject) -> tuple[list[HeldInstances], list[Origin]]:
    row = await node_row(connection, one.ref)
    await _check(connection, [row.id], one.columns, row.node_id)
    versions = await store.held(connection, row.id, _MOST)
    if versions is None:
        raise InvalidQuestion(
            f"{one.ref} may hold more than {_MOST:,} versions, one for each part that a run wrote; name runs or instances",
            field="ref",
        )
    of = await declared(connection)
    entities = [each.entity for each in (await of_datasets(connection, [row.id])).get(row.id, [])]
    marks = by_entity(await status_store.marks_of(connection, [of.number(entity) for entity in entities]))
    found = [
        HeldInstances(entity, ranges.written(of.instances(entity), marks[of.number(entity)].exist), one.columns)
        for entity in entities
        if of.number(entity) in marks and marks[of.number(entity)].exist
    ]
    if not versions and not found:
        raise InvalidQuestion(
            f"no version of {one.ref} is recorded: no run wrote it; name the runs that read it, or the file",
            field="ref",
        )
    return found, [Origin("VERSION", str(id_), one.columns) for id_ in versions]


def read_origin(kind: OriginKind, ref: str, columns: Sequence[str] = ()) -> Origin:
    """Return the origin that a person condemned.

    InvalidQuestion if `ref` is not the id of a version, or no fingerprint, or if a content has columns.
    """
    if kind == "RUN":
        return Origin("RUN", str(version.run_id(ref)[0]), tuple(columns))
    if kind == "VERSION":
        try:
            return Origin("VERSION", str(uuid.UUID(ref)), tuple(columns))
        except ValueError:
            raise InvalidQuestion(
                f"{ref[:100]!r} is not the id of a version; `headwater lineage` shows them", field="ref"
            ) from None
    if (fingerprint := version.fingerprint(ref)) is None:
        raise InvalidQuestion(f"{ref[:100]!r} is no fingerprint; `headwater fingerprint FILE` prints one", field="ref")
    if columns:
        raise InvalidQuestion("columns are of a run or a version; a content is wrong as a whole", field="columns")
    return Origin("CONTENT", fingerprint)
