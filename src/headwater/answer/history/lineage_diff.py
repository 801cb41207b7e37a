"""The changes in the graph between two times: around a dataset or job, or in a whole namespace.

The graph is loaded as it was at each time, and the two pictures are compared: nodes and edges that came and went,
columns that feed others otherwise than before, schemas that changed. Refuses to guess: if a picture was cut (by depth
or by the most nodes), the answer says that the difference covers only what is in the pictures.
"""

import datetime as dt
from collections.abc import Iterable

import msgspec

from headwater.answer.lineage import inferred, lineage, node
from headwater.answer.lineage.find import first_seen, node_row
from headwater.answer.lineage.lineage_answer import AnswerColumnEdge, AnswerEdge, AnswerTransformation, Hidden
from headwater.errors import InvalidQuestion
from headwater.graph.difference import columns_difference, difference
from headwater.model.lineage import Edge
from headwater.model.statement_jobs import is_named_after
from headwater.store.database import Connection, Database
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.edges import Moment


class Question(msgspec.Struct, frozen=True):
    """`node`, or a `namespace` (None: all of them). `depth` counts hops from dataset to dataset around a node. `children`: jobs that are one
    statement of another, too; else they are that other.
    """

    before: dt.datetime
    after: dt.datetime
    node: str | None = None
    namespace: str | None = None
    direction: str = "both"
    depth: int = 3
    columns: bool = False
    max_nodes: int = 5000
    children: bool = False


class Picture(msgspec.Struct):
    """One of the two states: how much it has, and what it left out."""

    nodes: int
    edges: int
    column_edges: int
    hidden: Hidden


class Nodes(msgspec.Struct):
    added: list[node.Node]
    removed: list[node.Node]


class ChangedEdge(msgspec.Struct):
    """An edge that others speak for now: it was declared and has been observed, or the other way round."""

    source: str
    target: str
    origin_before: str
    origin_after: str


class Edges(msgspec.Struct):
    added: list[AnswerEdge]
    removed: list[AnswerEdge]
    changed: list[ChangedEdge]


class ChangedColumnEdge(msgspec.Struct):
    """A column that feeds the same column as before, but otherwise."""

    source: str
    source_field: str | None
    target: str
    target_field: str | None
    job: str
    before: list[AnswerTransformation]
    after: list[AnswerTransformation]


class ColumnEdges(msgspec.Struct):
    added: list[AnswerColumnEdge]
    removed: list[AnswerColumnEdge]
    changed: list[ChangedColumnEdge]


class Column(msgspec.Struct):
    name: str
    type: str | None


class RetypedColumn(msgspec.Struct):
    name: str
    type_before: str | None
    type_after: str | None


class SchemaChange(msgspec.Struct):
    """`reordered`: the columns that stayed stand in another order."""

    dataset: str
    added: list[Column]
    removed: list[Column]
    retyped: list[RetypedColumn]
    reordered: bool


class GraphDifference(msgspec.Struct, kw_only=True, rename={"from_": "from"}):
    """`known_before`: whether the node existed at the earlier time; if not, all there is now was added. `complete`: no picture was cut."""

    root: str | None
    namespace: str | None
    direction: str
    depth: int
    from_: dt.datetime
    to: dt.datetime
    known_before: bool
    before: Picture
    after: Picture
    complete: bool
    nodes: Nodes
    edges: Edges
    column_edges: ColumnEdges
    schemas: list[SchemaChange]


class _Graph(msgspec.Struct):
    nodes: list[node.Node]
    edges: list[AnswerEdge]
    column_edges: list[AnswerColumnEdge]
    hidden: Hidden

    @property
    def picture(self) -> Picture:
        return Picture(len(self.nodes), len(self.edges), len(self.column_edges), self.hidden)


async def lineage_diff(database: Database, question: Question) -> GraphDifference:
    """Answer the question. Raises NotFound for a node that is not known at the later time, InvalidQuestion when `to` is before `from`."""
    if question.after < question.before:
        raise InvalidQuestion("to is before from", parameter="to")
    if question.node is not None and question.namespace is not None:
        raise InvalidQuestion("give a node or a namespace, not both", parameter="namespace")
    root, known = None, True
    if question.node is not None:
        after = await _around(database, question, question.after)
        async with database.connection() as connection:
            row = await node_row(connection, question.node)
            known = await first_seen(connection, row, question.before) <= question.before
        root = row.node_id
        before = await _around(database, question, question.before) if known else _Graph([], [], [], Hidden(0, None))
    else:
        before, after = await _namespace(database, question)
    if not question.children:
        before, after = (_fold_statements(graph, root) for graph in (before, after))
    return _compared(question, root, known, before, after)


def _fold_statements(graph: _Graph, root: str | None) -> _Graph:
    """Return the picture with each statement's edges at the job above it, where the picture has that job."""
    nodes = {one.id: one for one in graph.nodes}
    parents = {
        id_: one.parent
        for id_, one in nodes.items()
        if isinstance(one, node.JobNode) and one.parent in nodes and id_ != root and is_named_after(id_, one.parent)
    }
    if not parents:
        return graph
    edges: dict[tuple[str, str], AnswerEdge] = {}
    for edge in graph.edges:
        ends = parents.get(edge.source, edge.source), parents.get(edge.target, edge.target)
        edges.setdefault(ends, msgspec.structs.replace(edge, source=ends[0], target=ends[1]))
    columns = [msgspec.structs.replace(one, job=parents.get(one.job, one.job)) for one in graph.column_edges]
    kept = [one for id_, one in nodes.items() if id_ not in parents]
    return _Graph(kept, list(edges.values()), columns, graph.hidden)


async def _around(database: Database, question: Question, at: dt.datetime) -> _Graph:
    asked = lineage.Question(
        question.node or "", question.direction, question.depth, question.columns, None, question.max_nodes, at
    )
    found = await lineage.lineage(database, asked)
    return _Graph(found.named_nodes(), found.edges, found.column_edges, found.hidden)


async def _namespace(database: Database, question: Question) -> tuple[_Graph, _Graph]:
    """The edges of everything in the namespace, the nodes at both ends of them, and nodes that never had any."""
    async with database.snapshot() as connection:
        rows: dict[str, list[node_store.NodeRow]] = {}
        total = 0
        for kind in ("datasets", "jobs"):
            rows[kind], count = await node_store.page(
                connection, kind, namespace=question.namespace, words=None, limit=question.max_nodes, offset=0
            )
            total += count
        if sum(map(len, rows.values())) > question.max_nodes:
            half = question.max_nodes // 2
            rows = {kind: some[: max(half, question.max_nodes - len(other))] for kind, some, other in (
                ("datasets", rows["datasets"], rows["jobs"]), ("jobs", rows["jobs"], rows["datasets"]),
            )}  # fmt: skip
        left_out = total - sum(map(len, rows.values()))
        hidden = Hidden(left_out, f"max_nodes={question.max_nodes} reached" if left_out else None)
        before, after = [await _edges(connection, rows, Moment(at)) for at in (question.before, question.after)]
        ever = {id_ for edge in (*before, *after) for id_ in (edge.source, edge.target)}
        alone = [row for some in rows.values() for row in some if row.id not in ever]
        graphs = []
        for at, edges in ((question.before, before), (question.after, after)):
            ids = {id_ for edge in edges for id_ in (edge.source, edge.target)}
            ids |= {row.id for row in alone if row.first_seen <= at}
            nodes = await node.load(connection, ids, at)
            levels = await inferred.sql_levels(connection, {edge.job for edge in edges if edge.parsed}, Moment(at))
            columns = []
            if question.columns:
                pairs = {(edge.job, edge.dataset) for edge in edges if edge.direction == "out"}
                pairs |= {(edge.job, edge.job) for edge in edges}
                found = await inferred.column_edges(connection, pairs, Moment(at))
                columns = [e for e in found if e.source in nodes and e.target in nodes and e.job in nodes]
            names_of_nodes = {id_: one.id for id_, one in nodes.items()}
            graphs.append(
                _Graph(
                    list(nodes.values()),
                    [
                        lineage.answer_edge(edge, names_of_nodes, levels)
                        for edge in edges
                        if edge.source in nodes and edge.target in nodes
                    ],
                    lineage.column_answers(columns, nodes),
                    hidden,
                )
            )
    return graphs[0], graphs[1]


async def _edges(connection: Connection, rows: dict[str, list[node_store.NodeRow]], moment: Moment) -> list[Edge]:
    found = {}
    for direction in ("in", "out"):
        for edge in (
            *await edge_store.at_datasets(connection, [row.id for row in rows["datasets"]], direction, moment),
            *await edge_store.at_jobs(connection, [row.id for row in rows["jobs"]], direction, moment),
        ):
            found[edge.source, edge.target] = edge
    return list(found.values())


def _compared(question: Question, root: str | None, known: bool, before: _Graph, after: _Graph) -> GraphDifference:
    nodes = difference({n.id: n for n in before.nodes}, {n.id: n for n in after.nodes})
    edges = difference(
        {(e.source, e.target): e.origin for e in before.edges}, {(e.source, e.target): e.origin for e in after.edges}
    )
    columns = difference(_column_keys(before.column_edges), _column_keys(after.column_edges))
    return GraphDifference(
        root=root,
        namespace=question.namespace,
        direction=question.direction,
        depth=question.depth,
        from_=question.before,
        to=question.after,
        known_before=known,
        before=before.picture,
        after=after.picture,
        complete=not before.hidden.nodes and not after.hidden.nodes,
        nodes=Nodes(
            sorted(nodes.added.values(), key=lambda n: n.id), sorted(nodes.removed.values(), key=lambda n: n.id)
        ),
        edges=Edges(
            _sorted(e for e in after.edges if (e.source, e.target) in edges.added),
            _sorted(e for e in before.edges if (e.source, e.target) in edges.removed),
            [ChangedEdge(*key, *origins) for key, origins in sorted(edges.changed.items())],
        ),
        column_edges=ColumnEdges(
            [e for e in after.column_edges if _column_key(e) in columns.added],
            [e for e in before.column_edges if _column_key(e) in columns.removed],
            [ChangedColumnEdge(*key, *values) for key, values in columns.changed.items()],
        ),
        schemas=_schemas(before, after),
    )


def _sorted(edges: Iterable[AnswerEdge]) -> list[AnswerEdge]:
    return sorted(edges, key=lambda edge: (edge.source, edge.target))


_ColumnKey = tuple[str, str | None, str, str | None, str]


def _column_key(edge: AnswerColumnEdge) -> _ColumnKey:
    return edge.source, edge.source_field, edge.target, edge.target_field, edge.job


def _column_keys(edges: list[AnswerColumnEdge]) -> dict[_ColumnKey, list[AnswerTransformation]]:
    return {
        _column_key(edge): sorted(edge.transformations, key=lambda t: (t.type, t.subtype or "", t.description or ""))
        for edge in edges
    }


def _schemas(before: _Graph, after: _Graph) -> list[SchemaChange]:
    """Return the changes of datasets in both pictures; a dataset without a schema at one of the times has not changed it."""
    earlier = {n.id: n.fields for n in before.nodes if isinstance(n, node.DatasetNode)}
    found = []
    for now in sorted(after.nodes, key=lambda n: n.id):
        if not isinstance(now, node.DatasetNode) or not now.fields or not earlier.get(now.id):
            continue
        change = columns_difference([(f.name, f.type) for f in earlier[now.id]], [(f.name, f.type) for f in now.fields])
        if change:
            found.append(
                SchemaChange(
                    now.id,
                    [Column(*column) for column in change.added],
                    [Column(*column) for column in change.removed],
                    [RetypedColumn(*column) for column in change.retyped],
                    change.reordered,
                )
            )
    return found
