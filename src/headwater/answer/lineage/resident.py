"""The lineage of datasets and jobs at present, out of a graph that this process holds; PostgreSQL's walk is the reference, and answers the rest.

The graph holds what questions have met: nodes and edges as PostgreSQL has them, each encoded once. Before each answer it is brought up to the end
of the log: what new events are about is dropped or read again, so an answer shows every event that was acknowledged before the question. Changes by
people, a rebuild and retention empty it. If nothing has arrived since the last question, a question whose nodes are held costs one statement.

Refuses what it cannot answer exactly as the reference does, and leaves it to the reference: the past, columns, answers that are cut.
"""

import asyncio
import datetime as dt
import uuid
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

import msgspec

from headwater import telemetry
from headwater.answer.lineage import inferred, liveness, node
from headwater.answer.lineage.find import node_row
from headwater.answer.lineage.lineage import Question, answer_edge, check_reach
from headwater.answer.lineage.lineage_answer import FoundObject, Hidden, Lineage
from headwater.graph.adjacency import Adjacency, Direction, Link, Missing, Role, Spot, TooLarge, Walked
from headwater.model.touched import Touched
from headwater.store.database import Connection, Database
from headwater.store.events.arrivals import CHANGES, Horizon
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import names, resident
from headwater.store.lineage import runs as run_store
from headwater.store.lineage.edges import Ahead, Moment

_MOST_EVENTS = 2000
"""Events since the last question that are followed one by one; after more, the graph begins empty."""

_MOST_JOBS = 1000
_ROUNDS = 300
"""Times that a walk may begin again for want of a part of the graph: each hop may lead to nodes that are not held."""

# About the bytes that Python takes for a node and for an edge, besides what is encoded.
_SPOT_BYTES, _LINK_BYTES = 900, 450
_TAIL = ',"hop":{},"hidden_upstream":{},"hidden_downstream":{}}}'
_PLAIN_TAIL = _TAIL.format(0, 0, 0).encode()
_PLACE = b'"nodes":[],"edges":[]'
_encode = msgspec.json.Encoder().encode


class EventTargets(Protocol):
    """Tells which nodes events are about (`intake.events.touched`)."""

    def recent(self, digest: bytes) -> Touched | None: ...

    async def project(
        self, connection: Connection, generation: int, events: Sequence[tuple[dt.datetime, bytes, bytes]]
    ) -> list[Touched]: ...


class _Unanswerable(Exception):
    """The reference has to answer. The argument says why, for the metrics."""


class _Root(msgspec.Struct, frozen=True):
    """The beginning of a walk: a dataset, or a job with the jobs below it."""

    row: uuid.UUID
    name: str
    type: Role
    label: str
    jobs: tuple[uuid.UUID, ...]


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
        self._graph = Adjacency()
        self._roots: dict[str, _Root] = {}
        self._aliases: dict[uuid.UUID, uuid.UUID] = {}
        self._of_runs: dict[uuid.UUID, set[Spot]] = {}
        self._encoded_bytes = 0

    @property
    def size(self) -> int:
        """About how many bytes the graph takes."""
        graph = self._graph
        return self._encoded_bytes + _SPOT_BYTES * len(graph.spots) + _LINK_BYTES * graph.links

    async def lineage(self, question: Question) -> bytes | None:
        """Return the encoded answer (a `Lineage`); None: ask the reference.

        Raises NotFound for an unknown node, InvalidQuestion for a direction or depth that makes no sense.
        """
        if not self._most_bytes or question.as_of is not None or question.columns or question.field is not None:
            return None
        check_reach(question.direction, question.depth)
        try:
            answer, how = await self._answer(question)
        except (_Unanswerable, TooLarge):
            answer, how = None, "postgresql"
        telemetry.measure(telemetry.LineageAnswered(how, self.size))
        return answer

    async def _answer(self, question: Question) -> tuple[bytes, str]:
        async with self._database.connection() as connection:
            now = await resident.position(connection)
        # Between here and the answer nothing is awaited, so the graph is of one moment.
        if now == self._at and not self._changing.locked():
            found = self._attempt(question, {})
            if isinstance(found, bytes):
                return found, "resident"
        if self._changing.locked():
            # Another question brings the graph up to date; the reference does not wait for it.
            raise _Unanswerable
        async with self._changing:
            return await self._answer_after_loading(question)

    async def _answer_after_loading(self, question: Question) -> tuple[bytes, str]:
        # Numbers up to `safe` are of transactions that had ended before the snapshot, so it has all of them.
        await self._horizon.look()
        async with self._database.snapshot(generic=True) as connection:
            await self._catch_up(connection)
            passing: dict[Spot, bytes] = {}
            for _ in range(_ROUNDS):
                found = self._attempt(question, passing)
                if isinstance(found, bytes):
                    if self.size > self._most_bytes:
                        self._empty()
                    return found, "loaded"
                if isinstance(found, Missing):
                    await self._load_sides(connection, found, question)
                elif found is None:
                    await self._load_root(connection, question.node)
                else:
                    await self._load_bodies(connection, found, passing)
        raise _Unanswerable

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
            raise _Unanswerable
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
            self._graph.replace(job, edges.get(job, ()))
        datasets = touched.datasets | await resident.affected_datasets(connection, touched.runs)
        for id_ in (*jobs, *datasets, *(canonical.get(one, one) for one in datasets)):
            if (spot := self._graph.spots.get(id_)) is not None:
                self._forget_body(spot)
        for run in touched.runs:
            for spot in self._of_runs.pop(run, ()):
                self._forget_body(spot)
        # A name may have another reading now, and a job another job below it.
        self._roots.clear()

    def _is_regrouped(self, dataset: uuid.UUID, canonical: uuid.UUID) -> bool:
        """Return whether a dataset has come to stand under another name than the graph holds it under."""
        spots = self._graph.spots
        held = self._aliases.get(dataset, dataset)
        return held != canonical and (dataset in self._aliases or dataset in spots or canonical in spots)

    def _forget_body(self, spot: Spot) -> None:
        if spot.body is not None:
            self._encoded_bytes -= len(spot.body)
            spot.body = None

    # -- parts that are not held yet --

    async def _load_root(self, connection: Connection, text: str) -> None:
        row = await node_row(connection, text)
        if row.node_id != text:
            raise _Unanswerable  # another spelling
        jobs: set[uuid.UUID] = set()
        if row.type == "JOB":
            level = jobs = {row.id}
            while level:
                below = await edge_store.children(connection, level)
                level = {child for children in below.values() for child in children} - jobs
                jobs = jobs | level
        self._roots[text] = _Root(
            row.id, row.name, "DATASET" if row.type == "DATASET" else "JOB", row.node_id, tuple(jobs)
        )

    async def _load_sides(self, connection: Connection, missing: Missing, question: Question) -> None:
        """Load the edges that the rest of a walk needs, in one journey."""
        ids = [spot.id for spot in missing.spots]
        datasets, jobs = (ids, []) if missing.spots[0].role == "DATASET" else ([], ids)
        direction, depth = missing.direction, missing.depth
        # More than the answer may have, because what is held already is met again on the way.
        most = 4 * question.max_nodes
        ahead = await edge_store.ahead(connection, datasets, jobs, direction, depth, most)
        if not ahead.whole:
            raise _Unanswerable
        loaded = self._hold(ahead, datasets, jobs, direction, depth)
        await self._describe(connection, loaded)

    def _hold(
        self, ahead: Ahead, datasets: Iterable[uuid.UUID], jobs: Iterable[uuid.UUID], direction: Direction, depth: int
    ) -> list[Spot]:
        """Hold the edges of a walk; the jobs whose edges were met."""
        near, far = ("out", "in") if direction == "upstream" else ("in", "out")
        graph, seen = self._graph, set(datasets)
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

    async def _describe(self, connection: Connection, jobs: Iterable[Spot]) -> None:
        """Load the explicit lineage of jobs that have some, and how far their SQL is understood."""
        new = [job for job in jobs if not job.described]
        edges = {job: [link.edge for link in job.links()] for job in new}
        explicit = {job.id for job in new if any(edge.explicit for edge in edges[job])}
        told = await edge_store.explicit_pairs(connection, explicit, Moment())
        parsed = {job.id for job in new if any(edge.parsed for edge in edges[job])}
        levels = await inferred.sql_levels(connection, parsed, Moment())
        for job in new:
            job.told, job.level, job.described = told.get(job.id), levels.get(job.id), True

    async def _load_bodies(self, connection: Connection, spots: Collection[Spot], passing: dict[Spot, bytes]) -> None:
        """Encode nodes. `passing` gets those that change with time or with other events than their own: they are loaded for each answer."""
        await self._describe(connection, [spot for spot in spots if spot.role == "JOB"])
        ids = [spot.id for spot in spots]
        nodes = await node.load(connection, ids)
        latest = await run_store.latest_of_jobs(connection, [s.id for s in spots if s.role == "JOB"], "infinity")
        below = await run_store.below(connection, [run.run_id for run in latest.values()])
        for canonical, others in (await names.members(connection, ids)).items():
            self._aliases |= dict.fromkeys(others, canonical)
        now = dt.datetime.now(dt.UTC)
        for spot in spots:
            shown = nodes.get(spot.id)
            if shown is None or (isinstance(shown, node.JobNode) != (spot.role == "JOB")):
                spot.mixed = True
                continue
            self._forget_body(spot)
            spot.name = shown.id
            encoded = _encode(shown)
            assert encoded.endswith(_PLAIN_TAIL)
            body = encoded[: -len(_PLAIN_TAIL)]
            run = latest.get(spot.id)
            streaming = isinstance(shown, node.JobNode) and shown.streaming
            until = None if run is None else liveness.unchanged_until(run, streaming=streaming)
            if run is not None and (run.run_id in below or (until is not None and until <= now)):
                passing[spot] = body
                continue
            self._encoded_bytes += len(body)
            spot.body = body
            spot.until = float("inf") if until is None else until.timestamp()
            if run is not None:
                self._of_runs.setdefault(run.run_id, set()).add(spot)

    # -- the answer --

    def _attempt(self, question: Question, passing: dict[Spot, bytes]) -> bytes | Missing | list[Spot] | None:
        """Return the answer; or the sides, or the nodes whose bodies, are missing; None if the root is."""
        root = self._roots.get(question.node)
        if root is None:
            return None
        graph = self._graph
        datasets = [graph.spot(root.row, "DATASET")] if root.type == "DATASET" else []
        jobs = [graph.spot(job, "JOB") for job in root.jobs]
        directions: list[Direction] = ["upstream", "downstream"]
        if question.direction != "both":
            directions = [one for one in directions if one == question.direction]
        walked = graph.walk(datasets, jobs, directions, question.depth, question.max_nodes)
        if isinstance(walked, Missing):
            return walked
        now = dt.datetime.now(dt.UTC)
        second = now.timestamp()
        missing = [spot for spot in walked.hops if (spot.body is None or spot.until <= second) and spot not in passing]
        if any(spot.mixed for spot in walked.hops):
            raise _Unanswerable
        if undescribed := [link.job for link in walked.links if link.body is None and not link.job.described]:
            missing += undescribed
        return missing or self._assembled(question, root, walked, passing, now)

    def _assembled(
        self, question: Question, root: _Root, walked: Walked, passing: dict[Spot, bytes], now: dt.datetime
    ) -> bytes:
        hops, beyond = walked.hops, walked.beyond
        hidden = {other for side in beyond.values() for some in side.values() for other in some} - hops.keys()
        head = Lineage(
            root=root.label,
            roots=[root.label],
            subject=FoundObject(root.type, root.label, root.label),
            direction=question.direction,
            depth=question.depth,
            as_of=now,
            nodes=[],
            edges=[],
            column_edges=[],
            hidden=Hidden(len(hidden), f"depth={question.depth} reached" if hidden else None),
        )
        before, _, after = _encode(head).partition(_PLACE)
        nodes = b",".join(self._nodes(walked, passing))
        return b'%b"nodes":[%b],"edges":[%b]%b' % (before, nodes, b",".join(self._edges(walked)), after)

    def _nodes(self, walked: Walked, passing: dict[Spot, bytes]) -> list[bytes]:
        """The nodes by hop and id, with how many neighbours beyond the depth each has."""
        hops, upstream, downstream = walked.hops, walked.beyond["upstream"], walked.beyond["downstream"]
        tails = {hop: _TAIL.format(hop, 0, 0).encode() for hop in set(hops.values())}
        found = []
        for spot in sorted(hops, key=lambda one: (hops[one], one.name)):
            body = passing.get(spot) or spot.body
            assert body is not None
            if spot in upstream or spot in downstream:
                counts = (sum(other not in hops for other in side.get(spot, ())) for side in (upstream, downstream))
                found.append(body + _TAIL.format(hops[spot], *counts).encode())
            else:
                found.append(body + tails[hops[spot]])
        return found

    def _edges(self, walked: Walked) -> list[bytes]:
        """The edges by the ids of their ends."""
        rank = {spot: place for place, spot in enumerate(sorted(walked.hops, key=lambda one: one.name))}
        ordered = sorted(walked.links, key=lambda link: (rank[link.source], rank[link.target]))
        return [link.body or self._encode_link(link) for link in ordered]

    def _encode_link(self, link: Link) -> bytes:
        names_of_ends = {link.source.id: link.source.name, link.target.id: link.target.name}
        level = link.job.level
        edge = answer_edge(link.edge, names_of_ends, {} if level is None else {link.job.id: level})
        link.body = _encode(edge)
        self._encoded_bytes += len(link.body)
        return link.body
