"""Datasets, jobs and their edges in memory, and the walk over them: what `answer.lineage.lineage` asks of PostgreSQL a hop at a time.

A node holds its edges itself, by the node at the other end, so that a walk hashes no ids. Sides that are not loaded are None; a walk that meets one
says which, and is done again once they are. What is held is not checked here: the caller holds what PostgreSQL has, and removes what changed.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from headwater.graph.explicit import ReportedSources, feeds
from headwater.model.lineage import Edge

Role = Literal["DATASET", "JOB"]
Direction = Literal["upstream", "downstream"]


class Body(NamedTuple):
    """A node as an API shows it, of about `size` bytes. `runs`, `reads`: the runs and datasets beside the node itself that it depends on."""

    shown: Any
    size: int
    runs: tuple[uuid.UUID, ...]
    reads: tuple[uuid.UUID, ...]


class Joined(NamedTuple):
    """All edges of a node as an API shows them: in the node, and behind it."""

    inside: bytes
    behind: bytes


class Spot:
    """A dataset or a job. `into`: its edges by the node they come from; `out_of`: by the node they lead to; None: not loaded.

    `touching`: the datasets whose loaded sides have an edge of this job. `told`: the job's explicit lineage, if any; `level`: how far its
    SQL is understood; both only if `described`, which a new edge undoes. `bodies`: what each API shows of it; `until`: the
    time in seconds up to which that of `/api/v2` holds. `joined`: what an API shows of all its edges together, which a change of any undoes.
    """

    __slots__ = (
        "bodies", "described", "id", "into", "joined", "level", "name", "out_of", "role", "told", "touching", "until",
    )  # fmt: skip

    def __init__(self, id_: uuid.UUID, role: Role) -> None:
        self.id, self.role = id_, role
        self.name = ""
        self.into: dict[Spot, Link] | None = None
        self.out_of: dict[Spot, Link] | None = None
        self.touching: set[Spot] = set()
        self.told: ReportedSources | None = None
        self.level: str | None = None
        self.described = False
        self.bodies: dict[str, Body] = {}
        self.until = float("inf")
        self.joined: Joined | None = None

    def side(self, direction: Direction) -> "dict[Spot, Link] | None":
        """The edges that a walk goes along from here."""
        return self.into if direction == "upstream" else self.out_of

    def links(self) -> "set[Link]":
        """The edges of a job that are held, on its own sides or on those of datasets."""
        found = {*(self.into or {}).values(), *(self.out_of or {}).values()}
        for dataset in self.touching:
            found.update(side[self] for side in (dataset.into, dataset.out_of) if side is not None and self in side)
        return found


class Link:
    """An edge between two nodes. `body`: the encoded edge."""

    __slots__ = ("body", "edge", "source", "target")

    def __init__(self, source: Spot, target: Spot, edge: Edge) -> None:
        self.source, self.target, self.edge = source, target, edge
        self.body: bytes | None = None

    @property
    def job(self) -> Spot:
        return self.target if self.edge.direction == "in" else self.source


class Missing(NamedTuple):
    """Sides that a walk needs and that are not loaded: of datasets, or of jobs. `direction`: None if both are needed. `depth`: the hops
    that are left, as of a walk that begins here.
    """

    spots: list[Spot]
    direction: Direction | None
    depth: int


class Walked(NamedTuple):
    """The outcome of a walk: hops by node (negative: upstream), edges, and in each direction the neighbours beyond the depth by their node."""

    hops: dict[Spot, int]
    links: dict[Link, None]
    beyond: dict[Direction, dict[Spot, set[Spot]]]


class Around(NamedTuple):
    """The nodes around one, and those of them that may have neighbours which were not met, because the walk ended there."""

    met: set[Spot]
    border: set[Spot]


class TooLarge(Exception):
    """A walk met more nodes than it may."""


class Adjacency:
    """The nodes and edges that are held, by id. `mixed`: those whose id stands for a dataset and for a job."""

    def __init__(self) -> None:
        self.mixed: set[Spot] = set()
        self.spots: dict[uuid.UUID, Spot] = {}
        self.links = 0
        self.joined_bytes = 0

    def spot(self, id_: uuid.UUID, role: Role) -> Spot:
        """Return the node with this id, a new one if there is none."""
        found = self.spots.get(id_)
        if found is None:
            found = self.spots[id_] = Spot(id_, role)
        elif found.role != role:
            self.mixed.add(found)
        return found

    def load(self, spot: Spot, direction: Direction, edges: Iterable[Edge]) -> None:
        """Hold these as all the edges on one side of a node, unless the side is loaded."""
        if spot.side(direction) is not None:
            return
        found: dict[Spot, Link] = {}
        for edge in edges:
            link = self._link(edge)
            found[link.source if direction == "upstream" else link.target] = link
            if spot.role == "DATASET":
                link.job.touching.add(spot)
        if direction == "upstream":
            spot.into = found
        else:
            spot.out_of = found
        self.undo_joined(spot)

    def hold_joined(self, spot: Spot, joined: Joined) -> None:
        """Hold what an API shows of all edges of a node, until one changes."""
        self.undo_joined(spot)
        spot.joined = joined
        self.joined_bytes += sum(map(len, joined))

    def undo_joined(self, spot: Spot) -> None:
        if spot.joined is not None:
            self.joined_bytes -= sum(map(len, spot.joined))
            spot.joined = None

    def replace(self, job: uuid.UUID, edges: Sequence[Edge]) -> None:
        """Hold these as all the edges of a job, in place of those held before."""
        held = self.spots.get(job)
        if held is None and not any(self._is_loaded(edge) for edge in edges):
            return
        spot = held or self.spot(job, "JOB")
        self.links -= len(spot.links())
        self.undo_joined(spot)
        for dataset in spot.touching:
            self.undo_joined(dataset)
            for side in (dataset.into, dataset.out_of):
                if side is not None:
                    side.pop(spot, None)
        spot.touching.clear()
        spot.into, spot.out_of, spot.described = {}, {}, False
        for edge in edges:
            link = self._link(edge)
            other = link.source if edge.direction == "in" else link.target
            mine, theirs = (spot.into, other.out_of) if edge.direction == "in" else (spot.out_of, other.into)
            mine[other] = link
            if theirs is not None:
                theirs[spot] = link
                spot.touching.add(other)
                self.undo_joined(other)

    def _is_loaded(self, edge: Edge) -> bool:
        dataset = self.spots.get(edge.dataset)
        return dataset is not None and (dataset.out_of if edge.direction == "in" else dataset.into) is not None

    def _link(self, edge: Edge) -> Link:
        """Return the edge as it is held at its other end, so that one edge is one link."""
        dataset, job = self.spot(edge.dataset, "DATASET"), self.spot(edge.job, "JOB")
        source, target = (dataset, job) if edge.direction == "in" else (job, dataset)
        for side, other in ((source.out_of, target), (target.into, source)):
            if side is not None and other in side:
                return side[other]
        self.links += 1
        job.described = False
        # Of each id there is one object: every row has its own, which together take more than the edge.
        return Link(source, target, msgspec.structs.replace(edge, dataset=dataset.id, job=job.id))

    def walk(
        self, datasets: Sequence[Spot], jobs: Sequence[Spot], directions: Iterable[Direction], depth: int, most: int
    ) -> Walked | Missing:
        """Walk from these datasets, or from these jobs, each direction by itself. Raises TooLarge when it meets more than `most` nodes.

        `depth` counts hops from dataset to dataset. Explicit lineage says which ways go through a job.
        """
        walked = Walked(dict.fromkeys((*datasets, *jobs), 0), {}, {"upstream": {}, "downstream": {}})
        for direction in directions:
            missing = self._go(walked, datasets, jobs, direction, depth, most)
            if missing is not None:
                return missing
        if len(walked.hops) > most:
            raise TooLarge
        return walked

    def around(self, start: Spot, depth: int, most: int) -> Around | Missing:
        """Walk from job to job over any dataset that both touch, whichever way the data flows: Marquez's graph. `depth` counts hops from job to job.

        Raises TooLarge when it meets more than `most` nodes.
        """
        met = {start}
        front = [start]
        for _ in range(2 * depth + (1 if start.role == "JOB" else 2)):
            if missing := [one for one in front if one.into is None or one.out_of is None]:
                return Missing(missing, None, depth)
            found: dict[Spot, None] = {}
            for spot in front:
                for side in (spot.into, spot.out_of):
                    found.update(dict.fromkeys(side or ()))
            front = [one for one in found if one not in met]
            met.update(front)
            if len(met) > most:
                raise TooLarge
            if not front:
                break
        return Around(met, set(front))

    def _go(
        self,
        walked: Walked,
        datasets: Sequence[Spot],
        jobs: Sequence[Spot],
        direction: Direction,
        depth: int,
        most: int,
    ) -> Missing | None:
        front, seen = list(datasets), set(datasets)
        via: Mapping[Spot, list[Spot] | None] = dict.fromkeys(jobs)
        for hop in range(1, depth + 1):
            if front:
                if missing := _unloaded(front, direction):
                    return Missing(missing, direction, depth - hop + 1)
                via = _enter_jobs(walked, front, direction, hop)
            if missing := _unloaded(via, direction):
                return Missing(missing, direction, depth - hop + 1)
            front = [one for one in _enter_datasets(walked, via, direction, hop) if one not in seen]
            seen.update(front)
            if len(walked.hops) > most:
                raise TooLarge
            if not front:
                return None
        if missing := _unloaded(front, direction):
            return Missing(missing, direction, 0)
        for dataset in front:
            for job, link in (dataset.side(direction) or {}).items():
                if job in walked.hops:
                    walked.links[link] = None
                else:
                    walked.beyond[direction].setdefault(dataset, set()).add(job)
        return None


def _unloaded(spots: Iterable[Spot], direction: Direction) -> list[Spot]:
    return [one for one in spots if one.side(direction) is None]


def _enter_jobs(
    walked: Walked, datasets: Iterable[Spot], direction: Direction, hop: int
) -> dict[Spot, list[Spot] | None]:
    """Add the jobs next to these datasets; each with the datasets that it is next to."""
    hops, links, sign = walked.hops, walked.links, -1 if direction == "upstream" else 1
    met: dict[Spot, list[Spot] | None] = {}
    for dataset in datasets:
        for job, link in (dataset.side(direction) or {}).items():
            hops.setdefault(job, sign * hop)
            links[link] = None
            if (through := met.get(job)) is None:
                met[job] = [dataset]
            else:
                through.append(dataset)
    return met


def _enter_datasets(
    walked: Walked, via: Mapping[Spot, list[Spot] | None], direction: Direction, hop: int
) -> dict[Spot, None]:
    """Add the datasets beyond these jobs to which explicit lineage lets the walk go."""
    hops, links, sign = walked.hops, walked.links, -1 if direction == "upstream" else 1
    met: dict[Spot, None] = {}
    for job, through in via.items():
        for dataset, link in (job.side(direction) or {}).items():
            if not link.edge.explicit or _passes(job, dataset, through, direction):
                hops.setdefault(dataset, sign * hop)
                links[link] = None
                met[dataset] = None
    return met


def _passes(job: Spot, dataset: Spot, through: Iterable[Spot] | None, direction: Direction) -> bool:
    """Return whether explicit lineage lets a walk go through this job between where it came from and the dataset."""
    told = job.told
    if told is None or through is None:
        return True
    if direction == "upstream":
        return any(feeds(told, job.id, dataset.id, target.id) for target in through)
    return any(feeds(told, job.id, source.id, dataset.id) for source in through)
