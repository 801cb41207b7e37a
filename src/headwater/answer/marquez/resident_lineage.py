"""Marquez's graph around a dataset or a job, out of the graph in memory: equal to `marquez.lineage.get`, which answers where jobs are folded."""

import operator
import uuid
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

import msgspec

from headwater.answer.lineage.resident import Passing, ResidentGraph, Root, Unanswerable
from headwater.answer.marquez import annotations, lineage, node_ids, runs
from headwater.graph.adjacency import Missing, Spot
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
_by_text, _by_place = operator.attrgetter("text"), operator.attrgetter("place")


class _Body(msgspec.Struct, frozen=True, gc=False):
    """A node, encoded: its id as text and as JSON, as the origin and as the destination of an edge, and its data around a job's inputs and outputs.
    `place`: a dataset's namespace and name, by which they are sorted; `place_json`: both as JSON.
    """

    text: str
    id: bytes
    origin: bytes
    destination: bytes
    before: bytes
    after: bytes = b""
    place: tuple[str, str] = ("", "")
    place_json: bytes = b""

    @property
    def size(self) -> int:
        return len(self.text) + 4 * len(self.id) + len(self.before) + len(self.after) + len(self.place_json)


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
        met = graph.graph.around(graph.graph.spot(root.row, root.type), self.depth, self.most)
        if isinstance(met, Missing):
            return met
        if not graph.graph.mixed.isdisjoint(met):
            raise Unanswerable
        self._jobs_as = _WHOLE if sum(spot.role == "JOB" for spot in met) <= lineage.WHOLE_RUNS_UP_TO else _OUTLINE
        missing = [spot for spot in met if self._kind(spot) not in spot.bodies]
        return missing or self._assembled(met)

    def _kind(self, spot: Spot) -> str:
        return self._jobs_as if spot.role == "JOB" else _DATASET

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
            body = _Body(text, *_ends(text), _encode(data), b"", (row.namespace, row.name), _encode(data.id))
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
            body = _Body(text, *_ends(text), before, after)
            reads, writes = sides.get((run, id_), (set(), set())) if run is not None else (set(), set())
            _hold(graph, spot, self._jobs_as, None if row.hidden else body, run, reads | writes)

    def _assembled(self, met: Collection[Spot]) -> bytes:
        bodies: dict[Spot, _Body] = {}
        for spot in met:
            body: _Body | None = spot.bodies[self._kind(spot)].shown
            if body is not None:
                bodies[spot] = body
        ordered = sorted(bodies, key=lambda one: bodies[one].text)
        sources, targets = _neighbours(bodies, ordered)
        found = []
        for spot in ordered:
            body, into, out_of = bodies[spot], sources[spot], targets[spot]
            data = body.before
            if spot.role == "JOB":
                data += b'"inputs":[%b],"outputs":[%b]%b' % (_places(into), _places(out_of), body.after)
            found.append(
                b'{"id":%b,"type":"%b","data":%b,"inEdges":[%b],"outEdges":[%b]}'
                % (
                    body.id,
                    spot.role.encode(),
                    data,
                    b",".join([one.origin + body.destination for one in into]),
                    b",".join([body.origin + one.destination for one in out_of]),
                )
            )
        return b'{"graph":[%b]}' % b",".join(found)


def _neighbours(
    bodies: Mapping[Spot, _Body], ordered: Iterable[Spot]
) -> tuple[dict[Spot, list[_Body]], dict[Spot, list[_Body]]]:
    """The nodes before and behind each node, by their ids, of the edges of the jobs: of a dataset at the border, its own edges are not loaded."""
    sources: dict[Spot, list[_Body]] = {spot: [] for spot in bodies}
    targets: dict[Spot, list[_Body]] = {spot: [] for spot in bodies}
    for job in ordered:
        if job.role == "JOB":
            mine = bodies[job]
            for side, before, behind in ((job.into, sources, targets), (job.out_of, targets, sources)):
                met = [one for one in side or () if one in bodies]
                for dataset in met:
                    behind[dataset].append(mine)
                before[job] = sorted([bodies[one] for one in met], key=_by_text)
    return sources, targets


def _ends(text: str) -> tuple[bytes, bytes, bytes]:
    """A node's id as JSON, and as the two halves of an edge."""
    id_ = _encode(text)
    return id_, b'{"origin":%b,"destination":' % id_, id_ + b"}"


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
