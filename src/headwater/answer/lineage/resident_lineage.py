"""`/api/v2`'s lineage out of the graph in memory: equal to `lineage.lineage`, which answers the rest: the past, answers that are cut."""

import datetime as dt
import operator
from collections.abc import Hashable, Iterable, Sequence

import msgspec

from headwater.answer.lineage import liveness, node, resident_columns
from headwater.answer.lineage.find import node_row
from headwater.answer.lineage.lineage import Question, answer_edge, check_reach
from headwater.answer.lineage.lineage_answer import FoundObject, Hidden, Lineage
from headwater.answer.lineage.named_columns import match_column, named_columns
from headwater.answer.lineage.resident import Passing, ResidentGraph, Root, Unanswerable
from headwater.errors import NotFound
from headwater.graph import held_columns
from headwater.graph.adjacency import Direction, Link, Missing, Spot, Walked
from headwater.graph.held_columns import ColumnLink, MissingColumns, WalkedColumns
from headwater.store.database import Connection
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import names
from headwater.store.lineage import runs as run_store

_TAIL = ',"hop":{},"hidden_upstream":{},"hidden_downstream":{}}}'
_PLAIN_TAIL = _TAIL.format(0, 0, 0).encode()
_PLACE = b'"nodes":[],"edges":[],"column_edges":[]'
_KIND = "v2"
_MOST_BELOW = 200
"""Runs below a job's latest run that are followed; a job with more is loaded for each answer."""
_encode = msgspec.json.Encoder().encode
_by_name = operator.attrgetter("name")


async def lineage(graph: ResidentGraph, question: Question) -> bytes | None:
    """Return the encoded answer (a `Lineage`); None: ask the reference.

    Raises NotFound for an unknown node, InvalidQuestion for a direction or depth that makes no sense.
    """
    if question.as_of is not None or question.field == "":
        return None
    check_reach(question.direction, question.depth)
    return await graph.answer(_LineageFace(question))


class _LineageFace:
    def __init__(self, question: Question) -> None:
        self.question, self.most = question, question.max_nodes
        if question.bundle and question.field is None:
            # Up to so many nodes there is no bundle; what has more, the reference draws together.
            self.most = min(self.most, question.bundle)

    @property
    def key(self) -> Hashable:
        return self.question

    @property
    def root(self) -> Hashable:
        return _KIND, self.question.node, self.question.field is not None

    async def find_root(self, connection: Connection) -> Root:
        row = await node_row(connection, self.question.node)
        if row.node_id != self.question.node:
            raise Unanswerable
        if row.type == "DATASET":
            names = await named_columns(connection, [row.id]) if self.question.field is not None else {}
            return Root(row.id, "DATASET", columns=frozenset(names.get(row.id, ())))
        level = jobs = {row.id}
        while level:
            below = await edge_store.children(connection, level)
            level = {child for children in below.values() for child in children} - jobs
            jobs = jobs | level
        return Root(row.id, "JOB", tuple(jobs))

    def attempt(
        self, graph: ResidentGraph, root: Root, passing: Passing
    ) -> bytes | Missing | MissingColumns | list[Spot]:
        held = graph.graph
        datasets = [held.spot(root.row, "DATASET")] if root.type == "DATASET" else []
        jobs = [held.spot(job, "JOB") for job in root.jobs]
        directions: list[Direction] = ["upstream", "downstream"]
        if self.question.direction != "both":
            directions = [one for one in directions if one == self.question.direction]
        walked = held.walk(datasets, jobs, directions, self.question.depth, self.most)
        if isinstance(walked, Missing):
            return walked
        if not held.mixed.isdisjoint(walked.hops):
            raise Unanswerable
        column_links: Iterable[ColumnLink] = ()
        if self.question.columns or self.question.field:
            # Explicit lineage decides about columns, too.
            if undescribed := [link.job for link in walked.links if link.edge.explicit and not link.job.described]:
                return undescribed
            if unheld := held_columns.missing(graph.columns, walked.links):
                return unheld
            columns = WalkedColumns(graph.columns, walked)
            if not columns.complete:
                raise Unanswerable
            column_links = columns.all_links()
            if self.question.field:
                walked, column_links = self._narrowed(walked, columns, held.spot(root.row, root.type), root.columns)
        now = dt.datetime.now(dt.UTC)
        missing = unloaded(walked.hops, passing, now)
        missing += [link.job for link in walked.links if link.body is None and not link.job.described]
        return missing or self._assembled(graph, walked, column_links, passing, now)

    def _narrowed(
        self, walked: Walked, columns: WalkedColumns, start: Spot, names: frozenset[str]
    ) -> tuple[Walked, Iterable[ColumnLink]]:
        """Return what is connected to one column of the start. Raises Unanswerable for a column that no report names."""
        field = self.question.field
        assert field
        if names and field not in names:
            try:
                field = match_column(field, names | columns.names_at(start), self.question.node)
            except NotFound:
                raise Unanswerable from None  # a rename may imply it
        links, met = columns.upstream((start, field))
        below, met_below = columns.downstream((start, field))
        links |= below
        met |= met_below | {link.block.job for link in links}
        hops = {spot: hop for spot, hop in walked.hops.items() if spot in met}
        edges = {link: None for link in walked.links if link.source in met and link.target in met}
        return Walked(hops, edges, walked.beyond), links

    async def load_bodies(
        self, connection: Connection, graph: ResidentGraph, spots: list[Spot], passing: Passing
    ) -> None:
        spots = list(dict.fromkeys(spots))
        await graph.describe(connection, [spot for spot in spots if spot.role == "JOB"])
        await load_nodes(connection, graph, spots, passing)

    def _assembled(
        self,
        graph: ResidentGraph,
        walked: Walked,
        column_links: Iterable[ColumnLink],
        passing: Passing,
        now: dt.datetime,
    ) -> bytes:
        hops, beyond, question = walked.hops, walked.beyond, self.question
        hidden = {other for side in beyond.values() for some in side.values() for other in some} - hops.keys()
        head = Lineage(
            root=question.node,
            roots=[question.node],
            subject=FoundObject(
                "DATASET" if question.node.startswith("dataset:") else "JOB", question.node, question.node
            ),
            direction=question.direction,
            depth=question.depth,
            as_of=now,
            nodes=[],
            edges=[],
            column_edges=[],
            hidden=Hidden(len(hidden), f"depth={question.depth} reached" if hidden else None),
        )
        before, _, after = _encode(head).partition(_PLACE)
        by_name = sorted(hops, key=_by_name)
        nodes, edges = _nodes(walked, by_name, passing), _edges(graph, walked, by_name)
        columns = resident_columns.encoded_links(graph.columns, column_links)
        parts = (before, b",".join(nodes), b",".join(edges), b",".join(columns), after)
        return b'%b"nodes":[%b],"edges":[%b],"column_edges":[%b]%b' % parts


def unloaded(spots: Iterable[Spot], passing: Passing, now: dt.datetime) -> list[Spot]:
    """Return the nodes whose bodies `load_nodes` has to load."""
    second = now.timestamp()
    return [spot for spot in spots if (_KIND not in spot.bodies or spot.until <= second) and spot not in passing]


async def load_nodes(connection: Connection, graph: ResidentGraph, spots: Sequence[Spot], passing: Passing) -> None:
    """Encode nodes without their hops: into `passing` those that change with time, or with more runs than can be followed."""
    # Before the nodes are read: a body is held for no longer than its words hold.
    asked = dt.datetime.now(dt.UTC)
    ids, jobs = [spot.id for spot in spots], [spot.id for spot in spots if spot.role == "JOB"]
    nodes = await node.load(connection, ids)
    latest = await run_store.latest_of_jobs(connection, jobs, "infinity")
    # A run shows how the runs below it fare: an event that begins, ends or moves one of those is about it, and about the run above it.
    below = await run_store.ids_below(connection, [run.run_id for run in latest.values()])
    graph.hold_aliases(await names.members(connection, ids))
    now = dt.datetime.now(dt.UTC)
    for spot in spots:
        shown = nodes.get(spot.id)
        if shown is None or (isinstance(shown, node.JobNode) != (spot.role == "JOB")):
            graph.graph.mixed.add(spot)
            continue
        spot.name = shown.id
        encoded = _encode(shown)
        assert encoded.endswith(_PLAIN_TAIL)
        body = encoded[: -len(_PLAIN_TAIL)]
        run = latest.get(spot.id)
        runs = [] if run is None else [run.run_id, *below.get(run.run_id, ())]
        until = None
        if run is not None and isinstance(shown, node.JobNode):
            stalled = shown.last_run is not None and shown.last_run.stalled
            until = liveness.unchanged_until(run, asked, streaming=shown.streaming, stalled=stalled)
        if len(runs) > _MOST_BELOW or (until is not None and until <= now):
            passing[spot] = body
            continue
        spot.until = float("inf") if until is None else until.timestamp()
        graph.hold_body(spot, _KIND, body, len(body), runs=runs)


def encoded_node(spot: Spot, passing: Passing, tail: bytes = _PLAIN_TAIL) -> bytes:
    """Return a node that is loaded, with its hop and what is hidden beyond it."""
    body: bytes = passing[spot] if spot in passing else spot.bodies[_KIND].shown
    return body + tail


def _nodes(walked: Walked, by_name: list[Spot], passing: Passing) -> list[bytes]:
    """The nodes by hop and id, with how many neighbours beyond the depth each has."""
    hops, upstream, downstream = walked.hops, walked.beyond["upstream"], walked.beyond["downstream"]
    tails = {hop: _TAIL.format(hop, 0, 0).encode() for hop in set(hops.values())}
    found = []
    for spot in sorted(by_name, key=hops.__getitem__):
        tail = tails[hops[spot]]
        if spot in upstream or spot in downstream:
            counts = (sum(other not in hops for other in side.get(spot, ())) for side in (upstream, downstream))
            tail = _TAIL.format(hops[spot], *counts).encode()
        found.append(encoded_node(spot, passing, tail))
    return found


def _edges(graph: ResidentGraph, walked: Walked, by_name: list[Spot]) -> list[bytes]:
    """The edges by the ids of their ends."""
    rank, most = {spot: place for place, spot in enumerate(by_name)}, len(by_name)
    ordered = sorted(walked.links, key=lambda link: rank[link.source] * most + rank[link.target])
    return [link.body or _encode_link(graph, link) for link in ordered]


def _encode_link(graph: ResidentGraph, link: Link) -> bytes:
    ends = {link.source.id: link.source.name, link.target.id: link.target.name}
    level = link.job.level
    body = _encode(answer_edge(link.edge, ends, {} if level is None else {link.job.id: level}))
    graph.hold_edge(link, body)
    return body
