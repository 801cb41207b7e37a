"""Which columns a column comes from, and which it feeds: up from the roots, and down from them when asked, each column once.

Datasets are walked first, then all column evidence is loaded at once and columns are walked in memory.
"""

import uuid
from collections.abc import Collection

from headwater.answer import node as shown_node
from headwater.answer.marquez import columns, jobs, neighbours, node_ids, shapes
from headwater.answer.marquez.columns import FieldKey, Inputs
from headwater.answer.marquez.node_ids import NodeId
from headwater.answer.marquez.runs import first_version
from headwater.errors import InvalidQuestion, NotFound
from headwater.store import column_evidence
from headwater.store import datasets as dataset_store
from headwater.store import edges as edge_store
from headwater.store import facets as facet_store
from headwater.store import marquez as rows
from headwater.store.column_evidence import Evidence
from headwater.store.database import Connection, Database
from headwater.store.edges import Moment
from headwater.store.marquez import DatasetRow, JobRow


async def get(database: Database, node_id: str, depth: int, with_downstream: bool) -> shapes.Lineage:
    """The graph of columns around a dataset, one of its columns, or what a job writes; `#version` looks back to when that was.

    Columns that nothing feeds and that feed nothing are not in it. Raises NotFound, and InvalidQuestion for a version with downstream.
    """
    node = node_ids.parsed(node_id)
    if node.kind == "run":
        raise NotFound("Could not find node")
    if node.version is not None and with_downstream:
        raise InvalidQuestion("Node version cannot be specified when withDownstream is true")
    async with database.snapshot() as connection:
        datasets, field, moment = await _roots(connection, node)
        depth = max(depth, 0)
        evidence = await _evidence(connection, datasets.keys(), depth, with_downstream, moment)
        fields = await _fields(connection, datasets.keys() | evidence.sets.keys(), moment)
        graph = columns.FieldGraph(evidence, {id_: told.keys() for id_, told in fields.items()})
        roots = _root_fields(graph, datasets, field, fields)
        edges = columns.upstream(graph, roots, depth)
        if with_downstream:
            for key, inputs in columns.downstream(graph, roots, depth).items():
                edges[key] = {**inputs, **edges.get(key, {})}
        return await _graph(connection, edges, fields, moment, versioned=node.version is not None)


async def _roots(connection: Connection, node: NodeId) -> tuple[dict[uuid.UUID, list[str]], bool, Moment]:
    """Datasets to begin at, each with the columns that the id may mean; whether it means a column at all; and the moment."""
    if node.kind == "datasetField":
        readings = await node_ids.fields_of(connection, node)
        found: dict[uuid.UUID, list[str]] = {}
        for dataset, name in readings:
            found.setdefault(dataset.id, []).append(name)
        return found, True, await _moment(connection, node, readings[0][0])
    row = await node_ids.dataset_or_job(connection, node)
    moment = await _moment(connection, node, row)
    if isinstance(row, JobRow):
        written = await edge_store.at_jobs(connection, [row.id], "out", moment)
        return {edge.dataset: [] for edge in written}, False, moment
    return {row.id: []}, False, moment


async def _moment(connection: Connection, node: NodeId, row: DatasetRow | JobRow) -> Moment:
    """When the version was there; now, when none is given. Raises NotFound for a version of something else."""
    if node.version is None:
        return Moment()
    if isinstance(row, JobRow):
        times = await jobs.version_times(connection, row)
        if str(node.version) in times:
            return Moment(times[str(node.version)])
    else:
        if node.version == first_version(row.id):
            return Moment(row.first_seen)
        found = await dataset_store.version(connection, node.version)
        if found and (await rows.datasets_resolved(connection, [found.dataset_id])).get(found.dataset_id) == row:
            return Moment(found.written_at)
    raise NotFound("Could not find node")


async def _evidence(
    connection: Connection, start: Collection[uuid.UUID], depth: int, with_downstream: bool, moment: Moment
) -> Evidence:
    """All evidence within reach. What evidence names and no edge leads to is walked from in turn."""
    below: set[tuple[uuid.UUID, uuid.UUID]] = set()
    if with_downstream:
        below, _ = await neighbours.datasets_beyond(connection, start, up=False, depth=depth, moment=moment)
    above: set[tuple[uuid.UUID, uuid.UUID]] = set()
    met: set[uuid.UUID] = set()
    front = set(start)
    while True:
        pairs, seen = await neighbours.datasets_beyond(connection, front, up=True, depth=depth, moment=moment)
        above |= pairs
        met |= seen
        evidence = await column_evidence.load(connection, above | below, moment)
        front = evidence.sources({dataset for _, dataset in above}) - met
        if not front or depth < 2:
            return evidence


async def _fields(
    connection: Connection, datasets: set[uuid.UUID], moment: Moment
) -> dict[uuid.UUID, dict[str, str | None]]:
    """dataset → column → type, of those the evidence may speak of."""
    facets = await facet_store.of_owners(connection, datasets, ["schema"], moment.as_of)
    return {
        id_: {field.name: field.type for field in shown_node.fields_of(told.get("schema"), {})}
        for id_, told in facets.items()
    }


def _root_fields(
    graph: columns.FieldGraph,
    datasets: dict[uuid.UUID, list[str]],
    field: bool,
    fields: dict[uuid.UUID, dict[str, str | None]],
) -> list[FieldKey]:
    if not field:
        roots = [(id_, name) for id_ in datasets for name in graph.fields(id_)]
        if not roots and not datasets:
            raise NotFound("Could not find node")
        return roots
    for id_, names in datasets.items():
        for name in names:
            if name in fields.get(id_, {}) or name in graph.fields(id_) or graph.outputs((id_, name)):
                return [(id_, name)]
    raise NotFound("Could not find node")


async def _graph(
    connection: Connection,
    edges: dict[FieldKey, Inputs],
    fields: dict[uuid.UUID, dict[str, str | None]],
    moment: Moment,
    *,
    versioned: bool,
) -> shapes.Lineage:
    keys = {key for key, inputs in edges.items() if inputs} | {one for inputs in edges.values() for one in inputs}
    ids = {id_ for id_, _ in keys}
    found = await rows.datasets_resolved(connection, ids)
    datasets = {id_: row for id_, row in found.items() if not row.hidden}
    current = await rows.current_versions(connection, datasets.keys(), moment.as_of)
    if missing := ids - fields.keys():
        fields = fields | await _fields(connection, missing, moment)
    versions = {id_: str(current[id_].id if id_ in current else first_version(id_)) for id_ in datasets}
    names = {
        (id_, name): node_ids.of_field(
            datasets[id_].namespace, datasets[id_].name, name, versions[id_] if versioned else None
        )
        for id_, name in keys
        if id_ in datasets
    }
    out_of: dict[FieldKey, list[str]] = {}
    for key, inputs in edges.items():
        if key in names:
            for one in inputs:
                out_of.setdefault(one, []).append(names[key])
    graph = []
    for key in sorted(names, key=names.__getitem__):
        told = [
            shapes.FieldInput(
                namespace=datasets[one[0]].namespace,
                dataset=datasets[one[0]].name,
                dataset_version=versions[one[0]],
                field=one[1],
                transformation_description=how.description if how else None,
                transformation_type=columns.told_type(how),
            )
            for one, how in sorted(edges.get(key, {}).items(), key=lambda item: names.get(item[0], ""))
            if one in names
        ]
        graph.append(
            shapes.Node(
                id=names[key],
                type="DATASET_FIELD",
                data=shapes.FieldData(
                    namespace=datasets[key[0]].namespace,
                    dataset=datasets[key[0]].name,
                    dataset_version=versions[key[0]],
                    field=key[1],
                    field_type=fields.get(key[0], {}).get(key[1]),
                    transformation_description=told[0].transformation_description if told else None,
                    transformation_type=told[0].transformation_type if told else None,
                    input_fields=told,
                ),
                # Marquez has the ends of what comes in the wrong way round, and its page counts on it.
                in_edges=[
                    shapes.Edge(origin=names[key], destination=names[one])
                    for one in sorted(edges.get(key, {}), key=lambda one: names.get(one, ""))
                    if one in names
                ],
                out_edges=[shapes.Edge(origin=names[key], destination=other) for other in sorted(out_of.get(key, ()))],
            )
        )
    return shapes.Lineage(graph=graph)
