"""The lineage of datasets and jobs at present, and pages of jobs, out of a graph that this process holds. PostgreSQL is the reference, and answers
the rest.

The graph holds what questions have met: nodes and edges as PostgreSQL has them, each encoded once. Before each answer it is brought up to the end
of the log: what new events are about is dropped or read again, so an answer shows every event that was acknowledged before the question. Changes by
people, a rebuild and retention empty it. If nothing has arrived since the last question, a question whose nodes are held costs one statement.

Refuses what it cannot answer exactly as the reference does, and leaves it to the reference. An API's answer is a `Face`: it walks, encodes nodes and
puts the answer together; the graph holds what it made.
"""

import asyncio
import datetime as dt
import uuid
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar, cast

import msgspec

from headwater import telemetry
from headwater.answer.lineage import inferred, resident_columns
from headwater.graph.adjacency import Adjacency, Body, Direction, Link, Missing, Role, Spot, TooLarge
from headwater.graph.held_columns import HeldColumns, MissingColumns
from headwater.model.lineage import Edge
from headwater.model.touched import Touched
from headwater.store.database import Connection, Database
from headwater.store.events.arrivals import CHANGES, Horizon
from headwater.store.limited import is_limited
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import resident
from headwater.store.lineage.edges import Ahead, Moment

_MOST_EVENTS = 2000
"""Events since the last question that are followed one by one; after more, the graph begins empty."""

_MOST_JOBS = 1000
_MOST_REFUSED = 10_000
_ROUNDS = 300
"""Times that a walk may begin again for want of a part of the graph: each hop may lead to nodes that are not held."""

# About the bytes that Python takes for a node and for an edge, besides what is encoded.
_SPOT_BYTES, _LINK_BYTES = 900, 450
# The same for an event's run or dataset that a node is to be dropped for, and for a node of a page.
_MENTION_BYTES = 250
_OTHER_WAY = {"in": "out", "out": "in"}


Passing = dict[Spot, Any]


class EventTargets(Protocol):
    """Tells which nodes events are about (`intake.events.touched`)."""

    def recent(self, digest: bytes) -> Touched | None: ...

    async def project(
        self, connection: Connection, generation: int, events: Sequence[tuple[dt.datetime, bytes, bytes]]
    ) -> list[Touched]: ...


class Unanswerable(Exception):
    """The reference has to answer."""


class Root(msgspec.Struct, frozen=True):
    """The beginning of a walk: a dataset, or a job with the jobs below it. `columns`: those of the dataset, where one is asked about."""

    row: uuid.UUID
    type: Role
    jobs: tuple[uuid.UUID, ...] = ()
    columns: frozenset[str] = frozenset()


R = TypeVar("R")


class Face(Protocol[R]):
    """A question about the present in the shape of one API. `R`: where its answer begins: a `Root`, or the jobs of a page.
    `most`: the nodes that a walk may meet.
    """

    most: int

    @property
    def key(self) -> Hashable:
        """All that the answer depends on, besides the graph."""

    @property
    def root(self) -> Hashable:
        """The kind of names, and the name at which the walk begins; or all that the jobs of a page depend on."""

    async def find_root(self, connection: Connection) -> R:
        """Find where the answer begins, which holds until an event arrives.

        Raises NotFound, and Unanswerable if the name is not the one that the answer shows.
        """

    def attempt(
        self, graph: "ResidentGraph", root: R, passing: Passing
    ) -> bytes | Missing | MissingColumns | list[Spot]:
        """Return the answer; or the sides, the columns, or the nodes whose bodies, are missing. Raises Unanswerable, TooLarge."""

    async def load_bodies(
        self, connection: Connection, graph: "ResidentGraph", spots: list[Spot], passing: Passing
    ) -> None:
        """Encode nodes: those that change with time or with other events than their own into `passing`, for this answer alone."""


class ResidentGraph:
    """The graph of one process. `most_bytes` bounds it; 0: nothing is held, and PostgreSQL answers everything."""

    def __init__(self, database: Database, targets: EventTargets, most_bytes: int) -> None:
        self._database, self._targets, self._most_bytes = database, targets, most_bytes
        self._horizon = Horizon(database, CHANGES)
        self._changing = asyncio.Lock()
        self._at: resident.Position | None = None
        """All that arrived up to here is in the graph; what arrived later, and is, too, is in `_ahead`."""
        self._ahead: frozenset[int] = frozenset()
        self._empty()

    def _empty(self) -> None:
        self.graph = Adjacency()
        self.columns = HeldColumns()
        self._roots: dict[Hashable, Any] = {}
        # Questions whose answers are cut: the reference walks for them, so they are not walked for twice.
        self._refused: set[Hashable] = set()
        self._aliases: dict[uuid.UUID, uuid.UUID] = {}
        self._of_runs: dict[uuid.UUID, set[Spot]] = {}
        self._readers: dict[uuid.UUID, set[Spot]] = {}
        self._encoded_bytes = 0

    @property
    def size(self) -> int:
        """About how many bytes the graph takes."""
        graph = self.graph
        encoded = self._encoded_bytes + graph.joined_bytes + self.columns.size
        return encoded + _SPOT_BYTES * len(graph.spots) + _LINK_BYTES * graph.links

    @property
    def room(self) -> int:
        """About how many bytes more may be held."""
        return self._most_bytes - self.size

    async def answer(self, face: Face[R]) -> bytes | None:
        """Return the encoded answer; None: ask the reference. Raises NotFound for an unknown node."""
        if not self._most_bytes or is_limited():
            return None
        answer, how = None, "postgresql"
        if face.key not in self._refused:
            try:
                answer, how = await self._answer(face)
            except TooLarge:
                if len(self._refused) >= _MOST_REFUSED:
                    self._refused.clear()
                self._refused.add(face.key)
            except Unanswerable:
                pass
        telemetry.measure(telemetry.LineageAnswered(how, self.size))
        return answer

    async def _answer(self, face: Face[R]) -> tuple[bytes, str]:
        async with self._database.connection() as connection:
            now = await resident.position(connection)
        # Between here and the answer nothing is awaited, so the graph is of one moment.
        if now == self._at and not self._changing.locked() and (root := self._roots.get(face.root)) is not None:
            found = face.attempt(self, root, {})
            if isinstance(found, bytes):
                return found, "resident"
        if self._changing.locked():
            # Another question brings the graph up to date; the reference does not wait for it.
            raise Unanswerable
        async with self._changing:
            return await self._answer_after_loading(face)

    async def _answer_after_loading(self, face: Face[R]) -> tuple[bytes, str]:
        # Numbers up to `safe` are of transactions that had ended before the snapshot, so it has all of them.
        await self._horizon.look()
        async with self._database.snapshot(generic=True) as connection:
            await self._catch_up(connection)
            root = self._roots.get(face.root)
            if root is None:
                root = self._roots[face.root] = await face.find_root(connection)
            passing: Passing = {}
            for _ in range(_ROUNDS):
                found = face.attempt(self, root, passing)
                if isinstance(found, bytes):
                    if self.size > self._most_bytes:
                        self._empty()
                    return found, "loaded"
                if isinstance(found, Missing):
                    await self._load_sides(connection, found, face.most)
                elif isinstance(found, MissingColumns):
                    await self._load_columns(connection, found)
                else:
                    await face.load_bodies(connection, self, found, passing)
        raise Unanswerable

    # -- up to the end of the log --

    async def _catch_up(self, connection: Connection) -> None:
        """Bring the graph to this snapshot. Cut short, it is followed again from where it was."""
        now, safe = await resident.position(connection), self._horizon.safe
        held = self._at
        if held is None or (held.generation, held.parsed_sql) != (now.generation, now.parsed_sql) or now.top < held.top:
            self._empty()
            held = resident.Position(min(safe, now.top), now.generation, now.parsed_sql)
        if now.top == held.top:
            self._at, self._ahead = held, frozenset()
            return
        logged = await resident.arrived(connection, held.top, _MOST_EVENTS + 1)
        changes = await resident.changed(connection, held.top)
        numbers = {event.arrived for event in logged} | set(changes)
        if len(logged) > _MOST_EVENTS:
            self._at = None
            raise Unanswerable
        if held is not self._at or set(changes) - self._ahead:
            self._empty()
        elif new := [event for event in logged if event.arrived not in self._ahead]:
            await self._follow(connection, now.generation, new)
        self._at = msgspec.structs.replace(held, top=max(held.top, safe))
        self._ahead = frozenset(number for number in numbers if number > self._at.top)

    async def _follow(self, connection: Connection, generation: int, new: list[resident.LoggedEvent]) -> None:
        """Drop, and read again, what these events are about."""
        told = [self._targets.recent(event.digest) for event in new]
        found = [one for one in told if one is not None]
        if unknown := [event for event, one in zip(new, told, strict=True) if one is None]:
            bodies = await resident.bodies(connection, unknown)
            if len(bodies) < len(unknown):
                self._empty()
                return
            found += await self._targets.project(connection, generation, bodies)
        touched = Touched.of_all(found)
        canonical = await resident.canonical(connection, touched.datasets)
        if any(self._is_regrouped(id_, other) for id_, other in canonical.items()):
            self._empty()
            return
        jobs = touched.jobs | await resident.affected_jobs(connection, touched.jobs)
        if len(jobs) > _MOST_JOBS:
            self._empty()
            return
        edges = await resident.edges_of(connection, jobs)
        for job in jobs:
            self.graph.replace(job, edges.get(job, ()))
        datasets = touched.datasets | await resident.affected_datasets(connection, touched.runs)
        shown = {*jobs, *datasets, *(canonical.get(one, one) for one in datasets)}
        spots = [self.graph.spots[id_] for id_ in shown if id_ in self.graph.spots]
        self._forget(spots)
        self.columns.drop(spots)
        for run in touched.runs:
            self._forget(self._of_runs.pop(run, ()))
        for dataset in shown:
            self._forget(self._readers.pop(dataset, ()))
        # A name may have another reading now, and a job another job below it.
        self._roots.clear()

    def _is_regrouped(self, dataset: uuid.UUID, canonical: uuid.UUID) -> bool:
        """Return whether a dataset has come to stand under another name than the graph holds it under."""
        spots = self.graph.spots
        held = self._aliases.get(dataset, dataset)
        return held != canonical and (dataset in self._aliases or dataset in spots or canonical in spots)

    def _forget(self, spots: Iterable[Spot]) -> None:
        for spot in spots:
            for body in spot.bodies.values():
                self._encoded_bytes -= body.size
                for held, ids in ((self._of_runs, body.runs), (self._readers, body.reads)):
                    for id_ in ids:
                        if id_ in held:
                            held[id_].discard(spot)
                            if not held[id_]:
                                del held[id_]
            spot.bodies.clear()

    # -- parts that are not held yet --

    async def _load_sides(self, connection: Connection, missing: Missing, most: int) -> None:
        """Load the edges that the rest of a walk needs: in one direction in one journey, around nodes a hop at a time."""
        ids = [spot.id for spot in missing.spots]
        of_datasets = missing.spots[0].role == "DATASET"
        if missing.direction is None:
            ask = edge_store.at_datasets if of_datasets else edge_store.at_jobs
            for direction, way in (("upstream", "out"), ("downstream", "in")):
                edges: dict[uuid.UUID, list[Edge]] = {}
                for edge in await ask(connection, ids, way if of_datasets else _OTHER_WAY[way], Moment()):
                    edges.setdefault(edge.dataset if of_datasets else edge.job, []).append(edge)
                for spot in missing.spots:
                    self.graph.load(spot, cast("Direction", direction), edges.get(spot.id, ()))
            return
        datasets, jobs = (ids, []) if of_datasets else ([], ids)
        # More than the answer may have, because what is held already is met again on the way.
        ahead = await edge_store.ahead(connection, datasets, jobs, missing.direction, missing.depth, 4 * most)
        if not ahead.whole:
            raise TooLarge
        await self.describe(connection, self._hold(ahead, datasets, jobs, missing.direction, missing.depth))

    def _hold(
        self, ahead: Ahead, datasets: Iterable[uuid.UUID], jobs: Iterable[uuid.UUID], direction: Direction, depth: int
    ) -> list[Spot]:
        """Hold the edges of a walk; the jobs whose edges were met."""
        near, far = ("out", "in") if direction == "upstream" else ("in", "out")
        graph, seen = self.graph, set(datasets)
        front, via, met = list(seen), set(jobs), set[uuid.UUID](jobs)
        for hop in range(depth + 1):
            if front:
                via = set()
                for dataset in front:
                    edges = ahead.at_datasets([dataset], near)
                    graph.load(graph.spot(dataset, "DATASET"), direction, edges)
                    via.update(edge.job for edge in edges)
                if hop == depth:
                    break
            via -= met if hop else set()
            met |= via
            front = []
            for job in via:
                edges = ahead.at_jobs([job], far)
                graph.load(graph.spot(job, "JOB"), direction, edges)
                for edge in edges:
                    if edge.dataset not in seen:
                        seen.add(edge.dataset)
                        front.append(edge.dataset)
            if not front:
                break
        return [graph.spots[job] for job in met]

    async def _load_columns(self, connection: Connection, missing: MissingColumns) -> None:
        others = await resident_columns.load(connection, self.graph, self.columns, missing.pairs)
        self.hold_aliases(others)

    async def describe(self, connection: Connection, jobs: Iterable[Spot]) -> None:
        """Load the explicit lineage of jobs that have some, and how far their SQL is understood."""
        new = [job for job in jobs if not job.described]
        edges = {job: [link.edge for link in job.links()] for job in new}
        explicit = {job.id for job in new if any(edge.explicit for edge in edges[job])}
        told = await edge_store.explicit_pairs(connection, explicit, Moment())
        parsed = {job.id for job in new if any(edge.parsed for edge in edges[job])}
        levels = await inferred.sql_levels(connection, parsed, Moment())
        for job in new:
            job.told, job.level, job.described = told.get(job.id), levels.get(job.id), True

    def hold_body(
        self,
        spot: Spot,
        kind: str,
        shown: Any,
        size: int,
        *,
        runs: Collection[uuid.UUID] = (),
        reads: Collection[uuid.UUID] = (),
    ) -> None:
        """Hold what an API shows of a node, of about `size` bytes, until an event touches the node, one of these runs or one of these datasets."""
        if kind in spot.bodies:
            self._forget([spot])
        body = Body(shown, size + _MENTION_BYTES * (len(runs) + len(reads)), tuple(runs), tuple(reads))
        spot.bodies[kind] = body
        self._encoded_bytes += body.size
        for run in runs:
            self._of_runs.setdefault(run, set()).add(spot)
        for dataset in reads:
            self._readers.setdefault(dataset, set()).add(spot)

    def grow_body(self, spot: Spot, kind: str, size: int) -> None:
        """Count so many bytes more of what is held of a node."""
        body = spot.bodies[kind]
        spot.bodies[kind] = body._replace(size=body.size + size)
        self._encoded_bytes += size

    def hold_edge(self, link: Link, body: bytes) -> None:
        link.body = body
        self._encoded_bytes += len(body)

    def hold_aliases(self, others: Mapping[uuid.UUID, Iterable[uuid.UUID]]) -> None:
        """Remember under which names datasets stand: canonical id → the other ids."""
        for canonical, ids in others.items():
            self._aliases |= dict.fromkeys(ids, canonical)
