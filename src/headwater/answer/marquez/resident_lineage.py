"""Marquez's graph around a dataset or a job, out of the graph in memory: equal to `marquez.lineage.get`, which answers where jobs are folded."""

import operator
import uuid
from collections.abc import Collection, Hashable, Mapping, Sequence

import msgspec

from headwater.answer.lineage.resident import Passing, ResidentGraph, Root, Unanswerable
from headwater.answer.marquez import annotations, lineage, node_ids, runs
from headwater.graph.adjacency import Adjacency, Around, Joined, Missing, Spot
from headwater.store.database import Connection
from headwater.store.history import facets as facet_store
from headwater.store.lineage import names
from headwater.store.marquez import marquez as rows
from headwater.store.marquez import runs as marquez_runs
from headwater.store.marquez.marquez import JobRow

_MOST = 100_000
_DATASET, _WHOLE, _OUTLINE = "v1 dataset", "v1 job", "v1 job without its run's data"
_SIDES = b'"inputs":[],"outputs":[]'
_encode = msgspec.json.Encoder().encode
_by_id, _by_place = operator.attrgetter("text"), operator.attrgetter("place")


class _Body(msgspec.Struct, frozen=True, gc=False):
    """A node, encoded: its id as text, as the origin and as the destination of an edge, and what comes before and after a job's inputs and outputs.
    `place`: a dataset's namespace and name, by which they are sorted; `place_json`: both as JSON.
    """

    text: str
    origin: bytes
    destination: bytes
    before: bytes
    after: bytes = b""
    place: tuple[str, str] = ("", "")
    place_json: bytes = b""

    @property
    def size(self) -> int:
        return sum(map(len, (self.text, self.origin, self.destination, self.before, self.after, self.place_json)))


async def get(graph: ResidentGraph, node_id: str, depth: int) -> bytes | None:
    """Return the encoded graph around a node (`shapes.Lineage`); None: ask the reference. Raises NotFound."""
    if not node_id.startswith(("dataset:", "job:")) or "#" in node_id:
        return None
    return await graph.answer(_GraphFace(node_id, max(depth, 0)))


class _GraphFace:
    def __init__(self, node_id: str, depth: int) -> None:
        self.node_id, self.depth, self.most = node_id, depth, _MOST
        self._jobs_as = _WHOLE

    @property
    def key(self) -> Hashable:
        return self.node_id, self.depth

    @property
    def root(self) -> Hashable:
        return "v1", self.node_id

    async def find_root(self, connection: Connection) -> Root:
        row = await node_ids.dataset_or_job(connection, node_ids.parsed(self.node_id))
        return Root(row.id, "JOB" if isinstance(row, JobRow) else "DATASET")

    def attempt(self, graph: ResidentGraph, root: Root, _passing: Passing) -> bytes | Missing | list[Spot]:
        around = graph.graph.around(graph.graph.spot(root.row, root.type), self.depth, self.most)
        if isinstance(around, Missing):
            return around
        if not graph.graph.mixed.isdisjoint(around.met):
            raise Unanswerable
        jobs = [spot for spot in around.met if spot.role == "JOB"]
        self._jobs_as = _WHOLE if len(jobs) <= lineage.WHOLE_RUNS_UP_TO else _OUTLINE
        missing = [spot for spot in jobs if self._jobs_as not in spot.bodies]
        missing += [spot for spot in around.met if spot.role == "DATASET" and _DATASET not in spot.bodies]
        return missing or self._assembled(graph.graph, around)

    async def load_bodies(
        self, connection: Connection, graph: ResidentGraph, spots: list[Spot], _passing: Passing
    ) -> None:
        await self._load_datasets(connection, graph, {spot.id: spot for spot in spots if spot.role == "DATASET"})
        await self._load_jobs(connection, graph, {spot.id: spot for spot in spots if spot.role == "JOB"})

    async def _load_datasets(
        self, connection: Connection, graph: ResidentGraph, spots: Mapping[uuid.UUID, Spot]
    ) -> None:
        found = {row.id: row for row in (await rows.datasets_resolved(connection, spots)).values()}
        facets = await facet_store.of_owners(connection, spots, lineage.OF_DATASETS)
        spoken = await annotations.of_owners(connection, spots)
        current = await rows.current_versions(connection, spots)
        graph.hold_aliases(await names.members(connection, spots))
        for id_, spot in spots.items():
            row = found.get(id_)
            if row is None:
                graph.graph.mixed.add(spot)
                continue
            words = spoken.get(id_) or annotations.nothing()
            data = lineage.dataset_data(row, facets.get(id_, {}), words, current.get(id_))
            text = node_ids.of_dataset(row.namespace, row.name)
            place = (row.namespace, row.name)
            body = _Body(text, *_ends(text), _begin(spot, text, _encode(data)), b"", place, _encode(data.id))
            _hold(graph, spot, _DATASET, None if row.hidden else body)

    async def _load_jobs(self, connection: Connection, graph: ResidentGraph, spots: Mapping[uuid.UUID, Spot]) -> None:
        jobs = await rows.jobs_by_ids(connection, spots)
        facets = await facet_store.of_owners(connection, spots, lineage.OF_JOBS)
        spoken = await annotations.of_owners(connection, spots)
        latest = [some[0] for some in (await marquez_runs.latest(connection, spots, 1)).values()]
        whole = self._jobs_as == _WHOLE
        shown = await (runs.run_answers if whole else runs.outlined)(connection, latest)
        of_runs = {run.job_id: (run.run_id, shown[run.run_id, run.job_id]) for run in latest}
        keys = [(run.run_id, run.job_id) for run in latest]
        sides = await marquez_runs.run_datasets(connection, keys) if whole else {}
        for id_, spot in spots.items():
            row = jobs.get(id_)
            if row is None:
                graph.graph.mixed.add(spot)
                continue
            run, answer = of_runs.get(id_, (None, None))
            words = spoken.get(id_) or annotations.nothing()
            data = lineage.job_data(row, facets.get(id_, {}), words, [], [], answer)
            before, place, after = _encode(data).partition(_SIDES)
            assert place
            text = node_ids.of_job(row.namespace, row.full_name)
            body = _Body(text, *_ends(text), _begin(spot, text, before), after)
            reads, writes = sides.get((run, id_), (set(), set())) if run is not None else (set(), set())
            _hold(graph, spot, self._jobs_as, None if row.hidden else body, run, reads | writes)

    def _assembled(self, graph: Adjacency, around: Around) -> bytes:
        kinds = {"JOB": self._jobs_as, "DATASET": _DATASET}
        shown: dict[Spot, _Body] = {}
        for spot in around.met:
            body: _Body | None = spot.bodies[kinds[spot.role]].shown
            if body is not None:
                shown[spot] = body
        at_border = _jobs_of(around.border, shown) if around.border else {}
        parts: list[bytes] = []
        for spot in sorted(shown, key=lambda one: shown[one].text):
            body = shown[spot]
            if spot in at_border:
                joined = _join(spot, body, *at_border[spot])
            elif spot.joined is not None:
                joined = spot.joined
            else:
                # All its neighbours are met, in this answer and in any other in which it is not at the border.
                before, behind = (
                    [shown[one] for one in side or () if one in shown] for side in (spot.into, spot.out_of)
                )
                joined = _join(spot, body, before, behind)
                graph.hold_joined(spot, joined)
            parts += (body.before, joined.inside, body.after, joined.behind)
        return b'{"graph":[%b]}' % b"".join(parts)[1:]


def _jobs_of(border: Collection[Spot], shown: Mapping[Spot, _Body]) -> dict[Spot, tuple[list[_Body], list[_Body]]]:
    """The jobs of the answer before and behind each of these datasets, by the jobs' edges: the datasets' own need not be loaded."""
    found: dict[Spot, tuple[list[_Body], list[_Body]]] = {spot: ([], []) for spot in border}
    for spot, body in shown.items():
        if spot.role == "JOB":
            for side, place in ((spot.out_of, 0), (spot.into, 1)):
                for dataset in side or ():
                    if dataset in found:
                        found[dataset][place].append(body)
    return found


def _join(spot: Spot, own: _Body, before: Sequence[_Body], behind: Sequence[_Body]) -> Joined:
    """Return the edges of a node, by the ids of the nodes before and behind it; a job's inputs and outputs by their names."""
    into = b",".join([one.origin + own.destination for one in sorted(before, key=_by_id)])
    out_of = b",".join([own.origin + one.destination for one in sorted(behind, key=_by_id)])
    inside = b'"inputs":[%b],"outputs":[%b]' % (_places(before), _places(behind)) if spot.role == "JOB" else b""
    return Joined(inside, b',"inEdges":[%b],"outEdges":[%b]}' % (into, out_of))


def _ends(text: str) -> tuple[bytes, bytes]:
    """A node's id as the two halves of an edge."""
    id_ = _encode(text)
    return b'{"origin":%b,"destination":' % id_, id_ + b"}"


def _begin(spot: Spot, text: str, data: bytes) -> bytes:
    """A node of a list, up to what its edges are shown in."""
    return b',{"id":%b,"type":"%b","data":%b' % (_encode(text), spot.role.encode(), data)


def _places(datasets: Sequence[_Body]) -> bytes:
    return b",".join([one.place_json for one in sorted(datasets, key=_by_place)])


def _hold(
    graph: ResidentGraph,
    spot: Spot,
    kind: str,
    body: _Body | None,
    run: uuid.UUID | None = None,
    reads: Collection[uuid.UUID] = (),
) -> None:
    """Hold a node; None: it is hidden."""
    graph.hold_body(spot, kind, body, 0 if body is None else body.size, runs=() if run is None else (run,), reads=reads)
