"""The columns that a column comes from, and those it feeds: up from the roots, and down from them when asked, each
column once.

Datasets are walked first, then all column evidence is loaded at once and columns are walked in memory.
"""

import uuid
from collections.abc import Collection, Mapping

import msgspec

from headwater.answer.lineage import inferred
from headwater.answer.lineage import node as shown_node
from headwater.answer.marquez import columns, jobs, neighbours, node_ids, shapes
from headwater.answer.marquez.columns import FieldKey, Inputs, P
from headwater.answer.marquez.node_ids import NodeId
from headwater.answer.marquez.runs import first_version
from headwater.errors import Ambiguous, InvalidQuestion, NotFound
from headwater.model.lineage import ColumnEdge, Transformation
from headwater.store.database import Connection, Database
from headwater.store.history import datasets as dataset_store
from headwater.store.history import facets as facet_store
from headwater.store.lineage import column_evidence
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage.column_evidence import Evidence
from headwater.store.lineage.edges import Moment
from headwater.store.marquez import marquez as rows
from headwater.store.marquez.marquez import DatasetRow, JobRow


async def get(database: Database, node_id: str, depth: int, with_downstream: bool) -> shapes.ColumnGraph:
    """The graph of columns around a dataset, one of its columns, or what a job writes; `#version` looks back to when that was.

    Columns that nothing feeds and that feed nothing are not in it. Raises NotFound, and InvalidQuestion for a version with downstream.
    """
    node = node_ids.parsed(node_id)
    if node.kind == "run":
        raise NotFound("Could not find node")
    if node.version is not None and with_downstream:
        raise InvalidQuestion("Node version cannot be specified when withDownstream is true")
    async with database.snapshot(generic=True) as connection:
        datasets, field, moment = await find_roots(connection, node)
        depth = max(depth, 0)
        evidence = await _evidence(connection, datasets.keys(), depth, with_downstream, moment)
        # Columns that evidence does not name matter where it feeds datasets as a whole.
        whole = {id_ for id_, sets in evidence.sets.items() if any("" in one.feeds for one in sets)}
        fields = await _fields(connection, datasets.keys() | whole, moment)
        graph = columns.FieldGraph(evidence, {id_: told.keys() for id_, told in fields.items()})
        roots = root_fields(graph, datasets, field, fields)
        if field and len(roots) > 1:
            raise await _ambiguous(connection, node, {(graph.datasets[number], name) for number, name in roots})
        edges = walk_fields(graph, roots, depth, with_downstream)
        return await _graph(connection, graph, edges, moment, versioned=node.version is not None)


async def find_roots(connection: Connection, node: NodeId) -> tuple[dict[uuid.UUID, list[str]], bool, Moment]:
    """Return the datasets to begin at, each with the columns that the id may mean; whether it means a column at all; and the moment."""
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
    """Return the moment when the version was current; now if the id has none. Raises NotFound for a version of something else."""
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
    """Load all evidence within reach. A dataset that evidence names and no edge leads to is walked from in turn."""
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
            break
    # A job's SQL names only datasets that the job touches, which the walk has met.
    column_evidence.add_edges(
        evidence, [_marked(edge) for edge in await inferred.sql_edges(connection, above | below, moment)]
    )
    return evidence


def _marked(edge: ColumnEdge) -> ColumnEdge:
    """Say the origin in the description: Marquez's shape has no other place for it."""
    how = edge.transformation or Transformation("DIRECT", "", False, None)
    words = f"PARSED_SQL; {how.description}" if how.description else "PARSED_SQL"
    return msgspec.structs.replace(edge, transformation=msgspec.structs.replace(how, description=words))


async def _fields(
    connection: Connection, datasets: set[uuid.UUID], moment: Moment
) -> dict[uuid.UUID, dict[str, str | None]]:
    """Return the type of each column that the evidence may mention, by dataset."""
    facets = await facet_store.of_owners(connection, datasets, ["schema"], moment.as_of)
    return {
        id_: {field.name: field.type for field in shown_node.fields_of(told.get("schema"), {})}
        for id_, told in facets.items()
    }


def walk_fields(
    graph: columns.Fields[P], roots: Collection[tuple[P, str]], depth: int, with_downstream: bool
) -> dict[tuple[P, str], dict[tuple[P, str], Transformation | None]]:
    """Return the columns around the roots, each with those of its inputs that the answer shows."""
    edges = columns.upstream(graph, roots, depth)
    if with_downstream:
        for key, inputs in columns.downstream(graph, roots, depth).items():
            edges[key] = {**inputs, **edges.get(key, {})}
    return edges


def root_fields(
    graph: columns.Fields[P],
    datasets: Mapping[uuid.UUID, Collection[str]],
    field: bool,
    fields: Mapping[uuid.UUID, Mapping[str, str | None]],
) -> list[tuple[P, str]]:
    """Return the columns at which the walk begins. `fields`: of datasets with a schema. Raises NotFound."""
    if not field:
        if not datasets:
            raise NotFound("Could not find node")
        numbers = [graph.number(id_) for id_ in datasets]
        return [(number, name) for number in numbers for name in graph.fields(number)]
    found = [
        (graph.number(id_), name)
        for id_, names in datasets.items()
        for name in names
        if name in fields.get(id_, {})
        or name in graph.fields(graph.number(id_))
        or graph.outputs((graph.number(id_), name))
    ]
    if found:
        return found
    for id_, names in datasets.items():
        if id_ not in fields:
            # Its columns are unknown: the requested one may be among them.
            return [(graph.number(id_), next(iter(names)))]
    raise NotFound("Could not find node")


async def _ambiguous(connection: Connection, node: NodeId, meant: set[tuple[uuid.UUID, str]]) -> Ambiguous:
    readings = await node_ids.fields_of(connection, node)
    return node_ids.ambiguous(
        node, [(row.namespace, row.name, name) for row, name in readings if (row.id, name) in meant]
    )


async def _graph(
    connection: Connection,
    graph: columns.FieldGraph,
    edges: dict[FieldKey, Inputs],
    moment: Moment,
    *,
    versioned: bool,
) -> shapes.ColumnGraph:
    keys = {key for key, inputs in edges.items() if inputs}.union(*edges.values())
    numbers = {number for number, _ in keys}
    ids = {graph.datasets[number] for number in numbers}
    found = await rows.datasets_resolved(connection, ids)
    current = await rows.current_versions(connection, ids, moment.as_of)
    fields = await _fields(connection, ids, moment)
    datasets: dict[int, tuple[DatasetRow, str, dict[str, str | None], str]] = {}
    for number in numbers:
        id_ = graph.datasets[number]
        if id_ in found and not found[id_].hidden:
            row = found[id_]
            version = str(current[id_].id if id_ in current else first_version(id_))
            prefix = node_ids.of_field(row.namespace, row.name, "")
            datasets[number] = (row, version, fields.get(id_, {}), prefix)
    names = {
        key: f"{datasets[key[0]][3]}{key[1]}#{datasets[key[0]][1]}" if versioned else datasets[key[0]][3] + key[1]
        for key in keys
        if key[0] in datasets
    }
    out_of: dict[FieldKey, list[str]] = {}
    for key, inputs in edges.items():
        if key in names:
            for one in inputs:
                out_of.setdefault(one, []).append(names[key])
    made = []
    for key in sorted(names, key=names.__getitem__):
        me = names[key]
        row, version, types, _ = datasets[key[0]]
        told = sorted(
            ((names[one], one, how) for one, how in edges.get(key, {}).items() if one in names),
            key=lambda item: item[0],
        )
        first = told[0][2] if told else None
        made.append(
            shapes.FieldNode(
                id=me,
                type="DATASET_FIELD",
                data=shapes.FieldData(
                    namespace=row.namespace,
                    dataset=row.name,
                    dataset_version=version,
                    field=key[1],
                    field_type=types.get(key[1]) or "",
                    transformation_description=first.description if first else None,
                    transformation_type=columns.transformation_type(first),
                    input_fields=[
                        shapes.FieldInput(
                            namespace=datasets[one[0]][0].namespace,
                            dataset=datasets[one[0]][0].name,
                            dataset_version=datasets[one[0]][1],
                            field=one[1],
                            transformation_description=how.description if how else None,
                            transformation_type=columns.transformation_type(how),
                        )
                        for _, one, how in told
                    ],
                ),
                # Marquez has the ends of what comes in the wrong way round, and its page counts on it.
                in_edges=[shapes.Edge(origin=me, destination=other) for other, _, _ in told],
                out_edges=[shapes.Edge(origin=me, destination=other) for other in sorted(out_of.get(key, ()))],
            )
        )
    return shapes.ColumnGraph(graph=made)
