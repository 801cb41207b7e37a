"""Edges of a graph that must have no loops: in which order they continue each other, and which of them close a loop. Pure."""

import datetime as dt
import uuid
from collections.abc import Collection, Iterable, Sequence

import msgspec

Pair = tuple[uuid.UUID, uuid.UUID]


class Edge(msgspec.Struct, frozen=True):
    """An edge with what it is ordered by."""

    parent: uuid.UUID
    child: uuid.UUID
    weight: int
    role: int
    at: dt.datetime
    digest: bytes
    refused: bool = False

    @property
    def place(self) -> tuple[dt.datetime, bytes, int, uuid.UUID, uuid.UUID]:
        """Edges of a loop are taken in this order; whatever arrived when, it is the same."""
        return self.at, self.digest, self.role, self.parent, self.child


def layered(edges: Sequence[Pair], bridges: Iterable[Pair] = ()) -> list[list[int]] | None:
    """Places of the edges, in layers: what continues an edge is in a later one. None where there is a loop.

    `bridges`: (child of an edge, parent of an edge) where other edges lead from the one to the other.
    """
    out: dict[uuid.UUID, list[tuple[uuid.UUID, int]]] = {}
    waiting: dict[uuid.UUID, int] = {}
    for pairs, step in ((edges, 1), (bridges, 0)):
        for parent, child in pairs:
            out.setdefault(parent, []).append((child, step))
            waiting[child] = waiting.get(child, 0) + 1
    level = dict.fromkeys(out.keys() - waiting.keys(), 0)
    ready = list(level)
    done = len(ready)
    while ready:
        node = ready.pop()
        for child, step in out.get(node, ()):
            level[child] = max(level.get(child, 0), level[node] + step)
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
                done += 1
    if done < len(out.keys() | waiting.keys()):
        return None
    found: dict[int, list[int]] = {}
    for place, (_, child) in enumerate(edges):
        found.setdefault(level[child], []).append(place)
    return [found[number] for number in sorted(found)]


def decided(edges: Collection[Edge], since: Edge) -> dict[Pair, bool]:
    """Whether each edge is refused: taken in order, an edge that closes a loop over those before it that are not.

    Whatever is before `since`, the first edge that is new or in another place than before, is as it says it is: nothing before it changed.
    """
    ordered = sorted(edges, key=lambda edge: edge.place)
    below: dict[uuid.UUID, list[uuid.UUID]] = {}
    found: dict[Pair, bool] = {}
    for edge in ordered:
        refused = edge.refused if edge.place < since.place else _reaches(below, edge.child, edge.parent)
        found[edge.parent, edge.child] = refused
        if not refused:
            below.setdefault(edge.parent, []).append(edge.child)
    return found


def _reaches(below: dict[uuid.UUID, list[uuid.UUID]], start: uuid.UUID, end: uuid.UUID) -> bool:
    """Whether there is a way from one node to the other, none being a way from a node to itself."""
    seen, ready = {start}, [start]
    while ready:
        node = ready.pop()
        if node == end:
            return True
        for child in below.get(node, ()):
            if child not in seen:
                seen.add(child)
                ready.append(child)
    return False
