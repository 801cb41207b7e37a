"""The lineage of a dataset or a job at a time, with columns: where it comes from, and what depends on it.

Walks one hop at a time, so the cost follows the size of the answer and not of the graph. Upstream and downstream are
walked apart: a sibling that merely reads the same table is no relative. If explicit lineage says which input feeds
which output, the walk goes only those ways (OpenLineage's rule of precedence).
"""

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

import msgspec

from headwater.answer.lineage import inferred, node
from headwater.answer.lineage.bundles import Bundled
from headwater.answer.lineage.find import row_seen_by
from headwater.answer.lineage.lineage_answer import (
    AnswerColumnEdge,
    AnswerEdge,
    AnswerTransformation,
    Claim,
    FoundObject,
    Hidden,
    Lineage,
)
from headwater.answer.lineage.named_columns import find_column
from headwater.errors import InvalidQuestion
from headwater.graph.explicit import feeds
from headwater.graph.reach import ColumnGraph
from headwater.model.lineage import ColumnEdge, Edge
from headwater.store.database import Connection, Database
from headwater.store.limited import count_left_out
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import names as name_store
from headwater.store.lineage.edges import Ahead, Moment
from headwater.store.lineage.nodes import NodeRow

DIRECTIONS = ("both", "upstream", "downstream")
_MOST_COUNTED = 20_000


class Question(msgspec.Struct, frozen=True):
    """`depth` counts hops from dataset to dataset; `field` narrows the answer to what is connected to one column of the start.

    `bundle`: more than so many nodes that are alike are drawn as one (0: never), but for the bundles that are `opened`.
    """

    node: str
    direction: str = "both"
    depth: int = 3
    columns: bool = False
    field: str | None = None
    max_nodes: int = 2000
    as_of: dt.datetime | None = None
    bundle: int = 0
    opened: tuple[str, ...] = ()


class Walk:
    """The state of a walk: hops by node, edges, and the neighbours it did not enter."""

    def __init__(self, connection: Connection, question: Question, moment: Moment) -> None:
        self.connection, self.question, self.moment = connection, question, moment
        self.hops: dict[uuid.UUID, int] = {}
        self.edges: dict[tuple[uuid.UUID, uuid.UUID, str], Edge] = {}
        self.beyond: dict[str, dict[uuid.UUID, set[uuid.UUID]]] = {
            "upstream": defaultdict(set),
            "downstream": defaultdict(set),
        }
        # Each direction goes on past `max_nodes`: what is left out is counted, and the nearest of both directions stay.
        self.reach = question.max_nodes + min(4 * question.max_nodes, _MOST_COUNTED)
        self.most = self.reach
        self.uncounted = False
        self.left_out: set[uuid.UUID] = set()
        self.bundled: Collection[uuid.UUID] = ()

    def enter(self, id_: uuid.UUID, hop: int) -> None:
        """Add the node to the answer, unless it is there already or more than `most` were met."""
        if id_ not in self.hops:
            if len(self.hops) < self.most:
                self.hops[id_] = hop
            else:
                self.uncounted = True

    async def go(self, direction: str, datasets: set[uuid.UUID], jobs: set[uuid.UUID]) -> None:
        """Walk from these datasets (or from these jobs) to the depth asked for."""
        sign = -1 if direction == "upstream" else 1
        self.most = len(self.hops) + self.reach
        near, far = ("out", "in") if direction == "upstream" else ("in", "out")
        seen: set[uuid.UUID] = set(datasets)
        ahead = None
        if not self.moment.past:
            ahead = await edge_store.ahead(self.connection, datasets, jobs, direction, self.question.depth, self.reach)
        from_jobs: dict[uuid.UUID, set[uuid.UUID] | None] = dict.fromkeys(jobs)
        for hop in range(1, self.question.depth + 1):
            if datasets:
                via: dict[uuid.UUID, set[uuid.UUID]] = {}
                for edge in await self.at_datasets(ahead, datasets, near):
                    self.enter(edge.job, sign * hop)
                    self.keep(edge)
                    via.setdefault(edge.job, set()).add(edge.dataset)
                from_jobs = dict(via)
            found = await self.at_jobs(ahead, from_jobs.keys(), far)
            allowed = await edge_store.explicit_pairs(
                self.connection, {e.job for e in found if e.explicit}, self.moment
            )
            datasets = set()
            for edge in found:
                if not _passes(allowed.get(edge.job), edge, from_jobs[edge.job], direction):
                    continue
                self.enter(edge.dataset, sign * hop)
                self.keep(edge)
                if edge.dataset in self.hops and edge.dataset not in seen:
                    seen.add(edge.dataset)
                    datasets.add(edge.dataset)
            if not datasets:
                return
        for edge in await self.at_datasets(ahead, datasets, near):
            if edge.job not in self.hops:
                self.beyond[direction][edge.dataset].add(edge.job)
            else:
                self.keep(edge)

    async def at_datasets(self, ahead: Ahead | None, ids: Collection[uuid.UUID], direction: str) -> list[Edge]:
        if ahead is not None and ahead.whole:
            return ahead.at_datasets(ids, direction)
        return await edge_store.at_datasets(self.connection, ids, direction, self.moment)

    async def at_jobs(self, ahead: Ahead | None, ids: Collection[uuid.UUID], direction: str) -> list[Edge]:
        if ahead is not None and ahead.whole:
            return ahead.at_jobs(ids, direction)
        return await edge_store.at_jobs(self.connection, ids, direction, self.moment)

    async def merge_names(self, nodes: Mapping[uuid.UUID, node.Node]) -> dict[uuid.UUID, uuid.UUID]:
        """Put the dataset that stands for it in the place of each dataset that reported lineage under another of its names."""
        reporting = {edge.job for edge in self.edges.values() if isinstance(nodes.get(edge.job), node.DatasetNode)}
        other = await name_store.canonical(self.connection, reporting)
        found = {id_: other[id_] for id_ in reporting if other.get(id_, id_) in self.hops and id_ in other}
        for key, edge in [*self.edges.items()] if found else ():
            if edge.job in found:
                del self.edges[key]
                self.keep(msgspec.structs.replace(edge, job=found[edge.job]))
        for id_ in found:
            del self.hops[id_]
        return found

    def keep(self, edge: Edge) -> None:
        if edge.job in self.hops and edge.dataset in self.hops:
            self.edges[edge.dataset, edge.job, edge.direction] = edge

    def leave_out(self, bundled: Collection[uuid.UUID]) -> None:
        """Take nodes out that are shown in a bundle: they are no part of the walk any more, and not hidden either."""
        self.bundled = bundled
        if not bundled:
            return
        self.hops = {id_: hop for id_, hop in self.hops.items() if id_ not in bundled}
        self.edges = {
            key: edge for key, edge in self.edges.items() if edge.source in self.hops and edge.target in self.hops
        }

    def is_hidden(self, id_: uuid.UUID) -> bool:
        return id_ not in self.hops and id_ not in self.bundled

    def cut(self) -> None:
        """Leave out what is farthest from the start, down to `max_nodes`; nodes beside it have it as hidden."""
        if len(self.hops) <= self.question.max_nodes:
            return
        nearest = sorted(self.hops.items(), key=lambda met: abs(met[1]))
        self.left_out = {id_ for id_, _ in nearest[self.question.max_nodes :]}
        self.hops = dict(nearest[: self.question.max_nodes])
        for edge in self.edges.values():
            for here, there in ((edge.source, edge.target), (edge.target, edge.source)):
                if here in self.hops and there in self.left_out:
                    self.beyond["downstream" if here == edge.source else "upstream"][here].add(there)
        self.edges = {
            key: edge for key, edge in self.edges.items() if edge.source in self.hops and edge.target in self.hops
        }


def _passes(
    told: dict[uuid.UUID, set[uuid.UUID]] | None, edge: Edge, via: set[uuid.UUID] | None, direction: str
) -> bool:
    """Return whether explicit lineage lets the walk go through this job between `via` (where it came from) and the
    edge's dataset.

    A dataset that no entry mentions belongs to the job alone: nothing flows to or from it, except what feeds the job
    itself.
    """
    if told is None or via is None:
        return True
    if direction == "upstream":
        return any(feeds(told, edge.job, edge.dataset, target) for target in via)
    return any(feeds(told, edge.job, source, edge.dataset) for source in via)


async def lineage(database: Database, question: Question) -> Lineage:
    """Answer the question. Raises NotFound for an unknown node, InvalidQuestion for a direction or depth that makes no sense."""
    async with database.snapshot(generic=True) as connection:
        return await lineage_in(connection, question)


async def lineage_in(connection: Connection, question: Question) -> Lineage:
    """Answer as `lineage` does, within a snapshot that the caller opened, for answers that ask more of the same moment."""
    check_reach(question.direction, question.depth)
    moment = Moment(question.as_of or "infinity")
    row = await row_seen_by(connection, question.node, question.as_of)
    walk = Walk(connection, question, moment)
    walk.hops[row.id] = 0
    datasets, jobs = await _start(walk, row)
    for direction in ("upstream", "downstream"):
        if question.direction in {"both", direction}:
            await walk.go(direction, set(datasets), set(jobs))
    bundled = Bundled()
    if question.bundle and question.field is None:
        await bundled.find(connection, walk.hops, walk.edges.values(), question.bundle, question.opened)
    walk.leave_out(bundled.of.keys())
    walk.cut()
    columns = await _columns(walk) if question.columns or question.field else []
    if question.field is not None:
        columns = _narrowed(walk, row, await _column(walk, row, question.field, columns), columns)
    nodes = await node.load(connection, walk.hops.keys(), moment.as_of)
    merged = await walk.merge_names(nodes)
    nodes = {id_: one for id_, one in nodes.items() if id_ not in merged}
    if merged:
        columns = [msgspec.structs.replace(one, job=merged.get(one.job, one.job)) for one in columns]
    levels = await inferred.sql_levels(connection, {edge.job for edge in walk.edges.values() if edge.parsed}, moment)
    answer = _answer(question, row, walk, nodes, columns, levels)
    if out_of_sight := await count_left_out(connection, nodes):
        answer.notes.append(
            f"{out_of_sight} jobs next to these are left out: they read or write datasets that you may not see"
            if out_of_sight > 1
            else "one job next to these is left out: it reads or writes a dataset that you may not see"
        )
    if bundled.bundles:
        bundled.count_beyond(walk.beyond, walk.hops.keys())
        answer.bundles = bundled.bundles
        answer.edges += bundled.edges({id_: one.id for id_, one in nodes.items()})
    return answer


def check_reach(direction: str, depth: int, most: int = 100) -> None:
    """Raise InvalidQuestion for a direction or depth that makes no sense."""
    if direction not in DIRECTIONS:
        raise InvalidQuestion(f"direction {direction!r} is not one of {', '.join(DIRECTIONS)}", direction=direction)
    if not 0 <= depth <= most:
        raise InvalidQuestion(f"depth must be from 0 to {most}", depth=depth)


async def _start(walk: Walk, row: NodeRow) -> tuple[set[uuid.UUID], set[uuid.UUID]]:
    """A dataset starts at itself; a job starts at itself and at the jobs below it, which do its work."""
    if row.type == "DATASET":
        return {row.id}, set()
    jobs, level = {row.id}, {row.id}
    while level and len(jobs) < walk.most:
        below = await edge_store.children(walk.connection, level)
        level = {child for children in below.values() for child in children} - jobs
        jobs |= level
    for job in jobs:
        walk.enter(job, 0)
    return set(), jobs


async def _columns(walk: Walk) -> list[ColumnEdge]:
    pairs = {(edge.job, edge.dataset) for edge in walk.edges.values() if edge.direction == "out"}
    pairs |= {(edge.job, edge.job) for edge in walk.edges.values()}
    found = await inferred.column_edges(walk.connection, pairs, walk.moment)
    return [edge for edge in found if edge.source in walk.hops and edge.target in walk.hops]


async def _column(walk: Walk, row: NodeRow, field: str, columns: Iterable[ColumnEdge]) -> str:
    """The column of the start, as it was reported or as SQL names it. NotFound if others are and it is not."""
    ends = {(edge.source, edge.source_field) for edge in columns} | {
        (edge.target, edge.target_field) for edge in columns
    }
    met = {name for id_, name in ends if id_ == row.id and name}
    return await find_column(walk.connection, row, field, walk.moment, met)


def _narrowed(walk: Walk, row: NodeRow, field: str, columns: list[ColumnEdge]) -> list[ColumnEdge]:
    """Return only the column edges connected to one column of the start; the walk keeps the nodes on the way."""
    reach = ColumnGraph(columns, {(e.job, e.dataset) for e in walk.edges.values() if e.direction == "out"})
    up, up_met = reach.upstream((row.id, field))
    down, down_met = reach.downstream((row.id, field))
    kept = {id(edge) for edge in (*up, *down)}
    met = {id_ for id_, _ in up_met | down_met} | {edge.job for edge in (*up, *down)}
    walk.edges = {key: edge for key, edge in walk.edges.items() if edge.job in met and edge.dataset in met}
    walk.hops = {id_: hop for id_, hop in walk.hops.items() if id_ in met}
    return [edge for edge in columns if id(edge) in kept]


def _answer(
    question: Question,
    row: NodeRow,
    walk: Walk,
    nodes: dict[uuid.UUID, node.Node],
    columns: list[ColumnEdge],
    levels: Mapping[uuid.UUID, str],
) -> Lineage:
    for id_, found in nodes.items():
        found.hop = walk.hops[id_]
        found.hidden_upstream = sum(map(walk.is_hidden, walk.beyond["upstream"].get(id_, ())))
        found.hidden_downstream = sum(map(walk.is_hidden, walk.beyond["downstream"].get(id_, ())))
    hidden = {
        other for side in walk.beyond.values() for some in side.values() for other in some if walk.is_hidden(other)
    }
    reason = (
        f"max_nodes={question.max_nodes} reached"
        if walk.left_out
        else (f"depth={question.depth} reached" if hidden else None)
    )
    # A dataset that declares its own lineage has its own id as the job's: that edge leads from it to itself.
    names = {id_: one.id for id_, one in nodes.items()}
    edges = [
        answer_edge(edge, names, levels)
        for edge in walk.edges.values()
        if edge.source in nodes and edge.target in nodes and edge.source != edge.target
    ]
    return Lineage(
        root=row.node_id,
        roots=[row.node_id],
        subject=FoundObject("DATASET" if row.type == "DATASET" else "JOB", row.node_id, row.name),
        direction=question.direction,
        depth=question.depth,
        as_of=question.as_of or dt.datetime.now(dt.UTC),
        nodes=sorted(nodes.values(), key=lambda n: (n.hop, n.id)),
        edges=sorted(edges, key=lambda e: (e.source, e.target)),
        column_edges=column_answers(columns, nodes),
        hidden=Hidden(len(hidden | walk.left_out), reason, walk.uncounted),
    )


def column_answers(columns: list[ColumnEdge], nodes: dict[uuid.UUID, node.Node]) -> list[AnswerColumnEdge]:
    """Return the column edges between nodes of an answer, each with all its transformations."""
    found: dict[tuple[object, ...], AnswerColumnEdge] = {}
    for edge in columns:
        key = (edge.job, edge.source, edge.source_field, edge.target, edge.target_field)
        if key not in found:
            found[key] = AnswerColumnEdge(
                nodes[edge.source].id,
                edge.source_field or None,
                nodes[edge.target].id,
                edge.target_field or None,
                nodes[edge.job].id,
                edge.origin.name,
                [],
            )
        if (t := edge.transformation) is not None:
            found[key].transformations.append(AnswerTransformation(t.type, t.subtype or None, t.masking, t.description))
    return list(found.values())


def answer_edge(edge: Edge, names: Mapping[uuid.UUID, str], levels: Mapping[uuid.UUID, str]) -> AnswerEdge:
    """An edge between two nodes of an answer. `names`: their node ids. `levels`: `sql_levels` of the jobs with parsed edges."""
    origin = "MANUAL" if edge.manual else "PARSED_SQL" if edge.parsed else "DECLARED" if edge.declared else "OBSERVED"
    parsed = f"SQL_{levels[edge.job]}".upper() if edge.job in levels else "UNKNOWN"
    evidence = parsed if edge.parsed else "EXPLICIT" if edge.explicit else "TOLD"
    claim = Claim(origin, evidence, None if edge.manual else names[edge.job], edge.first_seen)
    relation = "READ" if edge.direction == "in" else "WROTE"
    ends = names[edge.source], names[edge.target]
    return AnswerEdge(*ends, origin, edge.first_seen, edge.last_seen, relation, [claim], intermittent=edge.intermittent)
