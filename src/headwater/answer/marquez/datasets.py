"""Datasets and their versions, one and many."""

import uuid
from collections.abc import Sequence
from typing import Any

from headwater.answer.lineage import node, run_log
from headwater.answer.marquez import addresses, annotations, columns, hashes, naming, readers, runs, shapes
from headwater.answer.marquez import facets as said_by_facets
from headwater.errors import NotFound
from headwater.store.database import Connection, Database
from headwater.store.history import datasets as dataset_store
from headwater.store.history import facets as facet_store
from headwater.store.history.datasets import VersionRow
from headwater.store.lineage import column_evidence
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage.edges import Moment
from headwater.store.marquez import marquez as rows
from headwater.store.marquez import runs as marquez_runs
from headwater.store.marquez.marquez import CurrentVersion, DatasetRow


async def get(database: Database, namespace: str, name: str) -> shapes.Dataset:
    """Return one dataset by any of its names. Raises NotFound."""
    async with database.snapshot(generic=True) as connection:
        row = await naming.dataset(connection, namespace, name)
        return (await dataset_answers(connection, [row]))[0]


async def check(database: Database, names: Sequence[tuple[str, str]]) -> None:
    """Raises NotFound for the first of these (namespace, name) that is not known."""
    async with database.snapshot() as connection:
        found = await naming.datasets_of(connection, names)
    for namespace, name in names:
        if (namespace, name) not in found:
            raise NotFound(f"Dataset '{name}' not found.")


async def page(database: Database, namespace: str, limit: int, offset: int) -> shapes.Datasets:
    """Datasets of a namespace by name, each once. Raises NotFound for an unknown namespace."""
    async with database.snapshot(generic=True) as connection:
        known = await naming.namespace_of(connection, namespace)
        found, total = await rows.datasets_page(connection, known, limit, offset)
        return shapes.Datasets(datasets=await dataset_answers(connection, found), total_count=total)


async def versions(database: Database, namespace: str, name: str, limit: int, offset: int) -> shapes.DatasetVersions:
    """Versions of a dataset, the latest first; one without a recorded write has one. Raises NotFound."""
    async with database.snapshot(generic=True) as connection:
        row = await naming.dataset(connection, namespace, name)
        total = await rows.version_count(connection, row.id)
        if total:
            found = await dataset_store.versions(connection, row.id, "infinity", limit, offset)
            return shapes.DatasetVersions(versions=await _versions(connection, row, found), total_count=total)
        first = [await _first(connection, row)] if limit and not offset else []
        return shapes.DatasetVersions(versions=list(first), total_count=1)


async def version(database: Database, namespace: str, name: str, wanted: str) -> shapes.DatasetVersion:
    """Return one version of a dataset. Raises NotFound, also if the version is another dataset's."""
    async with database.snapshot(generic=True) as connection:
        row = await naming.dataset(connection, namespace, name)
        try:
            id_ = uuid.UUID(wanted)
        except ValueError:
            raise NotFound(f"Dataset version '{wanted}' not found.") from None
        if id_ == runs.first_version(row.id):
            return await _first(connection, row)
        found = await dataset_store.version(connection, id_)
        if found is None or (await rows.datasets_resolved(connection, [found.dataset_id])).get(found.dataset_id) != row:
            raise NotFound(f"Dataset version '{wanted}' not found.")
        return (await _versions(connection, row, [found]))[0]


async def dataset_answers(connection: Connection, found: Sequence[DatasetRow]) -> list[shapes.Dataset]:
    """Return datasets as Marquez shows them, in a fixed number of statements."""
    ids = [row.id for row in found]
    facets = await facet_store.of_owners(connection, ids)
    spoken = await annotations.of_owners(connection, ids)
    current = await rows.current_versions(connection, ids)
    lineage = await _column_lineage(connection, ids, facets)
    spans: list[readers.Span] = [
        (id_, current[id_].written_at if id_ in current else readers.BEGIN, readers.END) for id_ in ids
    ]
    # The dataset facets of readers are among the dataset's own already.
    for id_, read in zip(ids, await readers.load(connection, spans), strict=True):
        facets[id_] = facets.get(id_, {}) | read.here
    return [
        _dataset(row, facets.get(row.id, {}), spoken.get(row.id) or annotations.nothing(), current.get(row.id), lineage)
        for row in found
    ]


def _dataset(
    row: DatasetRow,
    facets: dict[str, bytes],
    words: annotations.NodeChanges,
    current: CurrentVersion | None,
    lineage: dict[uuid.UUID, list[shapes.ColumnLineage]],
) -> shapes.Dataset:
    lifecycle = current.lifecycle if current else None
    values: dict[str, Any] = {
        "id": shapes.DatasetId(namespace=row.namespace, name=row.name),
        "type": said_by_facets.dataset_type(row.namespace, facets),
        "name": row.name,
        "physical_name": said_by_facets.physical_name(facets) or row.name,
        "created_at": shapes.instant(row.first_seen),
        "updated_at": shapes.instant(row.last_seen),
        "namespace": row.namespace,
        "source_name": said_by_facets.source_name(facets),
        "fields": said_by_facets.fields(facets.get("schema"), facets.get("tags"), words),
        "tags": said_by_facets.tags(facets.get("tags"), words),
        "last_modified_at": shapes.instant(current.written_at) if current and current.written else None,
        "last_lifecycle_state": lifecycle,
        "description": said_by_facets.description(facets, words),
        "current_version": str(current.id if current else runs.first_version(row.id)),
        "column_lineage": lineage.get(row.id),
        "facets": node.verbatim(facets),
        "deleted": lifecycle == "DROP",
    }
    if values["type"] == "STREAM":
        return shapes.StreamDataset(**values, schema_location=addresses.url(said_by_facets.schema_location(facets)))
    return shapes.Dataset(**values)


async def _column_lineage(
    connection: Connection, ids: Sequence[uuid.UUID], facets: dict[uuid.UUID, dict[str, bytes]]
) -> dict[uuid.UUID, list[shapes.ColumnLineage]]:
    """Return what feeds each dataset's columns; datasets without any such evidence are absent."""
    writers = await edge_store.at_datasets(connection, ids, "out", Moment())
    evidence = await column_evidence.load(connection, {(edge.job, edge.dataset) for edge in writers}, Moment())
    sources = await rows.datasets_resolved(connection, evidence.sources())
    graph = columns.FieldGraph(
        evidence,
        {id_: [field.name for field in node.fields_of(facets.get(id_, {}).get("schema"), {})] for id_ in evidence.sets},
    )
    found = {}
    for id_ in evidence.sets:
        number = graph.number(id_)
        told = []
        for name in graph.fields(number):
            inputs = []
            for (place, field), how in graph.inputs((number, name)).items():
                source = sources.get(graph.datasets[place])
                if source is not None and not source.hidden:
                    inputs.append(
                        shapes.ColumnInput(
                            namespace=source.namespace,
                            dataset=source.name,
                            field=field,
                            transformation_description=how.description if how else None,
                            transformation_type=columns.transformation_type(how),
                        )
                    )
            if inputs:
                inputs.sort(key=lambda one: (one.namespace, one.dataset, one.field))
                told.append(
                    shapes.ColumnLineage(
                        name=name,
                        input_fields=inputs,
                        transformation_description=inputs[0].transformation_description,
                        transformation_type=inputs[0].transformation_type,
                    )
                )
        if told:
            found[id_] = told
    return found


async def _first(connection: Connection, row: DatasetRow) -> shapes.DatasetVersion:
    """The one version of a dataset without a recorded write: as its readers described it."""
    facets = (await facet_store.of_owners(connection, [row.id])).get(row.id, {})
    (read,) = await readers.load(connection, [(row.id, readers.BEGIN, readers.END)])
    facets |= read.here
    words = (await annotations.of_owners(connection, [row.id])).get(row.id) or annotations.nothing()
    return _version(row, str(runs.first_version(row.id)), shapes.instant(row.first_seen), facets, words, None, None)


async def _versions(
    connection: Connection, row: DatasetRow, found: Sequence[VersionRow]
) -> list[shapes.DatasetVersion]:
    words = (await annotations.of_owners(connection, [row.id])).get(row.id) or annotations.nothing()
    by_key = await marquez_runs.by_keys(
        connection, [(one.run_id, one.job_id) for one in found if one.run_id and one.job_id]
    )
    logged = await run_log.load(connection, list(by_key.values()))
    made_by = await runs.run_answers(connection, list(by_key.values()), logged=logged)
    told = {key: log.outputs[row.id] for key, log in logged.items() if row.id in log.outputs}
    # Versions without an event in the log are read from the history of facets, which may be long.
    forgotten = len(told) < len(found)
    past = said_by_facets.Past(await rows.facet_history(connection, [row.id] if forgotten else []))
    schemas = await facet_store.bodies(connection, {one.schema_id for one in found if one.schema_id})
    ends = await marquez_runs.ends(connection, [(row.id, one.id) for one in found])
    spans: list[readers.Span] = [(row.id, one.written_at, ends.get(one.id, readers.END)) for one in found]
    made = []
    for one, read in zip(found, await readers.load(connection, spans), strict=True):
        key = (one.run_id, one.job_id) if one.run_id and one.job_id else None
        facets = dict(told[key].facets) if key in told else past.at(row.id, one.written_at)
        if one.schema_id in schemas:
            facets["schema"] = schemas[one.schema_id]
        facets = readers.with_readers(facets, read)
        run = made_by.get(key) if key else None
        made.append(_version(row, str(one.id), shapes.instant(one.first_at), facets, words, one.lifecycle, run))
    return made


def _version(
    row: DatasetRow,
    id_: str,
    created_at: str,
    facets: dict[str, bytes],
    words: annotations.NodeChanges,
    lifecycle: str | None,
    run: shapes.Run | None,
) -> shapes.DatasetVersion:
    name = shapes.DatasetId(namespace=row.namespace, name=row.name)
    fields = said_by_facets.fields(facets.get("schema"), facets.get("tags"), words)
    values: dict[str, Any] = {
        "id": name,
        "type": said_by_facets.dataset_type(row.namespace, facets),
        "name": row.name,
        "physical_name": said_by_facets.physical_name(facets) or row.name,
        "created_at": created_at,
        "version": id_,
        "namespace": row.namespace,
        "source_name": said_by_facets.source_name(facets),
        "fields": fields,
        "tags": said_by_facets.tags(facets.get("tags"), words),
        "lifecycle_state": lifecycle,
        "description": said_by_facets.description(facets, words),
        "current_schema_version": str(hashes.schema_version(name, fields)) if fields else None,
        "created_by_run": run,
        "facets": node.verbatim(facets),
    }
    if values["type"] == "STREAM":
        return shapes.StreamVersion(**values, schema_location=addresses.url(said_by_facets.schema_location(facets)))
    return shapes.DatasetVersion(**values)
