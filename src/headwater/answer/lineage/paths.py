"""The shortest paths between two datasets, jobs or columns, and the jobs they lead through.

Searched from both ends at once, always from the one with less to look at, so a huge graph does not matter; two or three
statements a level. A job stands for the jobs below it too. Explicit lineage applies: no path leads through a job from
an input to an output that it says the input does not feed.
"""

import datetime as dt
import itertools
import uuid
from collections.abc import Collection

import msgspec

from headwater.answer.lineage import inferred, node
from headwater.answer.lineage.find import row_seen_by
from headwater.answer.lineage.lineage import answer_edge
from headwater.answer.lineage.lineage_answer import AnswerEdge
from headwater.errors import InvalidQuestion
from headwater.graph.explicit import feeds_unmentioned
from headwater.graph.paths import Place, Search, Step
from headwater.model.lineage import ColumnEdge, Edge
from headwater.store.database import Connection, Database
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage.edges import Moment
from headwater.store.lineage.nodes import NodeRow

DIRECTIONS = ("both", "downstream", "upstream")
# Stands for the targets that a job's explicit lineage does not mention.
_OTHERS = "*"


class Question(msgspec.Struct, frozen=True):
    """`max_length` counts edges: a job between two datasets makes two. `direction` is seen from `start`; `both` tries downstream first."""

    start: str
    end: str
    start_field: str | None = None
    end_field: str | None = None
    direction: str = "both"
    limit: int = 10
    max_length: int = 40
    max_places: int = 100_000
    as_of: dt.datetime | None = None


class PathStep(msgspec.Struct):
    """From a node to the next through a job; where a path begins or ends at a job, that is the source or target itself."""

    source: str
    source_field: str | None
    job: str
    target: str
    target_field: str | None


class Path(msgspec.Struct):
    """Along the flow of the data. `nodes` has the jobs between."""

    length: int
    nodes: list[str]
    steps: list[PathStep]


class Paths(msgspec.Struct):
    """`direction`: `downstream` when the data flows from `source` to `target`, `upstream` when it flows back; null when no path was found.

    `total`: how many paths there are of that length. `met`: how many places the search met. `reason`: why it gave up, if it did.
    """

    source: str
    target: str
    direction: str | None
    as_of: dt.datetime
    length: int | None
    total: int
    paths: list[Path]
    nodes: list[node.Node]
    edges: list[AnswerEdge]
    met: int
    reason: str | None


async def paths(database: Database, question: Question) -> Paths:
    """Answer the question. Raises NotFound for an unknown node, InvalidQuestion for one that makes no sense."""
    if question.direction not in DIRECTIONS:
        raise InvalidQuestion(f"direction {question.direction!r} is not one of {', '.join(DIRECTIONS)}")
    moment = Moment(question.as_of or "infinity")
    async with database.snapshot() as connection:
        start, end = (
            await row_seen_by(connection, question.start, question.as_of),
            await row_seen_by(connection, question.end, question.as_of),
        )
        for row, field, name in ((start, question.start_field, "from"), (end, question.end_field, "to")):
            if field is not None and row.type == "JOB":
                raise InvalidQuestion(f"{row.node_id} is a job and has no columns", parameter=f"{name}_field")
        if start.id == end.id and question.start_field == question.end_field:
            raise InvalidQuestion("from and to are the same", parameter="to")
        columns = question.start_field is not None or question.end_field is not None
        sides = [(start, question.start_field), (end, question.end_field)]
        ends = [await _ends(connection, row, field) for row, field in sides]
        met, reason = 0, None
        for direction in ("downstream", "upstream"):
            if question.direction not in {"both", direction}:
                continue
            first, last = ends if direction == "downstream" else reversed(ends)
            expand = (_Columns if columns else _Datasets)(connection, moment, first, last)
            search = Search(
                first,
                last,
                max_length=question.max_length // (2 if columns else 1),
                max_places=question.max_places,
            )
            while wanted := search.wants():
                search.feed(wanted[0], await expand.steps(*wanted))
            met += search.places
            if search.found:
                return await _answer(question, (start, end), direction, search, expand.edges, connection, moment)
            if search.cut is not None:
                value = question.max_length if search.cut == "max_length" else question.max_places
                reason = f"{search.cut}={value} reached"
    now = question.as_of or dt.datetime.now(dt.UTC)
    return Paths(start.node_id, end.node_id, None, now, None, 0, [], [], [], met, reason)


async def _ends(connection: Connection, row: NodeRow, field: str | None) -> frozenset[Place]:
    """The place of a dataset or column; those of a job and of the jobs below it."""
    found, level = {row.id}, {row.id} if row.type == "JOB" else set()
    while level:
        below = await edge_store.children(connection, level)
        level = {child for children in below.values() for child in children} - found
        found |= level
    return frozenset((id_, field or "") for id_ in found)


class _Datasets:
    """Steps between datasets and jobs.

    A place of a job with explicit lineage is (job, target): what leads there feeds that target, or those that no entry is about.
    """

    def __init__(
        self, connection: Connection, moment: Moment, starts: frozenset[Place], ends: frozenset[Place]
    ) -> None:
        self.connection, self.moment = connection, moment
        self.starts, self.ends = starts, ends
        self.jobs: set[Place] = set(starts | ends)
        # Datasets that declare their own lineage, and jobs that feed jobs: one id is the job and the dataset.
        self.declaring: set[uuid.UUID] = set()
        self.edges: dict[tuple[uuid.UUID, uuid.UUID], Edge] = {}

    async def steps(self, direction: str, places: Collection[Place]) -> list[Step]:
        near, far = ("in", "out") if direction == "downstream" else ("out", "in")
        # Ends may be jobs or datasets: each is asked both ways, and only one has an answer.
        ends = self.starts | self.ends
        datasets = {p[0] for p in places if p not in self.jobs or p in ends or p[0] in self.declaring}
        at_datasets = await edge_store.at_datasets(self.connection, datasets, near, self.moment)
        self.declaring |= {edge.job for edge in at_datasets if edge.job == edge.dataset}
        jobs = {place[0] for place in places if place in self.jobs or place[0] in self.declaring}
        at_jobs = await edge_store.at_jobs(self.connection, jobs, far, self.moment)
        # A job that feeds a job stands in a dataset's place: from here on it is asked as both.
        feeding = {edge.job for edge in at_jobs if edge.job == edge.dataset} - datasets
        at_datasets += await edge_store.at_datasets(self.connection, feeding, near, self.moment)
        self.declaring |= feeding
        self.edges |= {(edge.source, edge.target): edge for edge in (*at_datasets, *at_jobs)}
        told = await edge_store.explicit_pairs(
            self.connection, {e.job for e in (*at_datasets, *at_jobs) if e.explicit}, self.moment
        )
        self.declaring |= {e.job for e in (*at_datasets, *at_jobs) if e.explicit and e.job not in told}
        found = []
        fields = self._fields(places)
        for edge in at_datasets:
            for place in self._through(edge, told.get(edge.job)):
                found.append(_step((edge.dataset, ""), edge.job, place, direction))
        for edge in at_jobs:
            through = set(self._through(edge, told.get(edge.job))) | {(edge.job, "")}
            for place in through & fields.get(edge.job, set()):
                found.append(_step(place, edge.job, (edge.dataset, ""), direction))
        return found

    def _fields(self, places: Collection[Place]) -> dict[uuid.UUID, set[Place]]:
        found: dict[uuid.UUID, set[Place]] = {}
        for place in places:
            found.setdefault(place[0], set()).add(place)
        return found

    def _through(self, edge: Edge, told: dict[uuid.UUID, set[uuid.UUID]] | None) -> list[Place]:
        """The places of the edge's job that the edge leads to, or comes from."""
        if told is None:
            found = [(edge.job, "")]
        elif edge.direction == "out":
            found = [(edge.job, str(edge.dataset) if edge.dataset in told else _OTHERS)]
        else:
            found = [(edge.job, str(target)) for target in told if edge.dataset in told[target]]
            if feeds_unmentioned(told, edge.job, edge.dataset):
                found.append((edge.job, _OTHERS))
        if (edge.job, "") in self.starts | self.ends:
            found.append((edge.job, ""))
        self.jobs.update(found)
        return found


def _step(near: Place, job: uuid.UUID, far: Place, direction: str) -> Step:
    return Step(near, job, far) if direction == "downstream" else Step(far, job, near)


class _Columns:
    """Steps between columns: column evidence, and the rule that columns which feed a job feed what it writes without evidence of its own."""

    def __init__(
        self, connection: Connection, moment: Moment, _starts: frozenset[Place], _ends: frozenset[Place]
    ) -> None:
        self.connection, self.moment = connection, moment
        self.edges: dict[tuple[uuid.UUID, uuid.UUID], Edge] = {}

    async def steps(self, direction: str, places: Collection[Place]) -> list[Step]:
        nodes = {place[0] for place in places}
        near = "in" if direction == "downstream" else "out"
        met = await edge_store.at_datasets(self.connection, nodes, near, self.moment)
        jobs = {edge.job for edge in met} | nodes
        writes = await edge_store.at_jobs(self.connection, jobs, "out", self.moment)
        self.edges |= {(edge.source, edge.target): edge for edge in (*met, *writes)}
        pairs = {(edge.job, edge.dataset) for edge in writes} | {(job, job) for job in jobs}
        columns = await inferred.column_edges(self.connection, pairs, self.moment)
        told = {(edge.job, edge.target) for edge in columns}
        found = [_column_step(edge) for edge in columns]
        for edge in writes:
            if (edge.job, edge.job) in told and (edge.job, edge.dataset) not in told:
                found.append(Step((edge.job, ""), edge.job, (edge.dataset, "")))
        return found


def _column_step(edge: ColumnEdge) -> Step:
    return Step((edge.source, edge.source_field), edge.job, (edge.target, edge.target_field))


async def _answer(
    question: Question,
    ends: tuple[NodeRow, NodeRow],
    direction: str,
    search: Search,
    edges: dict[tuple[uuid.UUID, uuid.UUID], Edge],
    connection: Connection,
    moment: Moment,
) -> Paths:
    ways, total = search.ways(question.limit)
    stops = [_stops(way) for way in ways]
    nodes = await node.load(connection, {id_ for way in stops for id_ in way}, moment.as_of)
    used = {pair: edges[pair] for way in stops for pair in itertools.pairwise(way) if pair in edges}
    levels = await inferred.sql_levels(connection, {edge.job for edge in used.values() if edge.parsed}, moment)
    names_of_nodes = {id_: one.id for id_, one in nodes.items()}
    told = [
        Path(len(way) - 1, [nodes[id_].id for id_ in way], _dataset_steps(steps, nodes))
        for way, steps in zip(stops, ways, strict=True)
    ]
    return Paths(
        source=ends[0].node_id,
        target=ends[1].node_id,
        direction=direction,
        as_of=question.as_of or dt.datetime.now(dt.UTC),
        length=told[0].length if told else None,
        total=total,
        paths=told,
        nodes=sorted(nodes.values(), key=lambda n: n.id),
        edges=[answer_edge(edge, names_of_nodes, levels) for _, edge in sorted(used.items())],
        met=search.places,
        reason=None,
    )


def _stops(way: tuple[Step, ...]) -> list[uuid.UUID]:
    """Return every node of a way in order, with the jobs between."""
    found = [way[0].source[0]]
    for id_ in (id_ for step in way for id_ in (step.job, step.target[0])):
        if id_ != found[-1]:
            found.append(id_)
    return found


def _dataset_steps(way: tuple[Step, ...], nodes: dict[uuid.UUID, node.Node]) -> list[PathStep]:
    """Return the steps from dataset to dataset: the two halves of a step through a job are one."""
    merged: list[Step] = []
    for step in way:
        last = merged[-1] if merged else None
        if last is not None and last.target[0] == last.job == step.job == step.source[0]:
            merged[-1] = Step(last.source, step.job, step.target)
        else:
            merged.append(step)
    return [
        PathStep(
            nodes[step.source[0]].id,
            _field(step.source, step.job),
            nodes[step.job].id,
            nodes[step.target[0]].id,
            _field(step.target, step.job),
        )
        for step in merged
    ]


def _field(place: Place, job: uuid.UUID) -> str | None:
    """The column; a job has none (what stands in its place says which of its targets is meant)."""
    return None if place[0] == job else place[1] or None
