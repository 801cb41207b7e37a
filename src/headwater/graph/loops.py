"""Edges of a graph that must have no loops: in which order they continue each other, and which of them close a loop. Pure."""

import datetime as dt
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence

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
        """The order in which edges of a loop are taken. It does not depend on their order of arrival."""
        return self.at, self.digest, self.role, self.parent, self.child


def components(after: Mapping[uuid.UUID, Collection[uuid.UUID]]) -> list[list[uuid.UUID]]:
    """Return the nodes in groups, those that lead to each other in one; the groups to which a node leads come before its own. `after`: the nodes to
    which each leads, of which all are keys."""
    order: dict[uuid.UUID, int] = {}
    lowest: dict[uuid.UUID, int] = {}
    open_: dict[uuid.UUID, None] = {}
    found: list[list[uuid.UUID]] = []
    for start in after:
        stack = [] if start in order else [(start, iter(after[start]))]
        if stack:
            order[start] = lowest[start] = len(order)
            open_[start] = None
        while stack:
            node, others = stack[-1]
            for one in others:
                if one not in order:
                    order[one] = lowest[one] = len(order)
                    open_[one] = None
                    stack.append((one, iter(after[one])))
                    break
                if one in open_:
                    lowest[node] = min(lowest[node], order[one])
            else:
                stack.pop()
                if stack:
                    lowest[stack[-1][0]] = min(lowest[stack[-1][0]], lowest[node])
                if lowest[node] == order[node]:
                    group: list[uuid.UUID] = []
                    while not group or group[-1] != node:
                        group.append(open_.popitem()[0])
                    found.append(group)
    return found


def layered(edges: Sequence[Pair], bridges: Iterable[Pair] = ()) -> list[list[int]] | None:
    """Places of the edges, in layers: what continues an edge is in a later one. None where there is a loop.

    `bridges`: (one, other) where other edges lead from the one to the other; nodes of no edge may be between.
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
    """Return whether each edge is refused: taken in order, an edge is refused if it closes a loop over those before it that are not.

    `since` is the first edge that is new or has moved. Edges before it keep their stored `refused`.
    """
    ordered = sorted(edges, key=lambda edge: edge.place)
    start = since.place
    believed = {(edge.parent, edge.child) for edge in ordered if edge.refused and edge.place < start}
    order = _Order([pair for edge in ordered if (pair := (edge.parent, edge.child)) not in believed])
    return {
        (pair := (edge.parent, edge.child)): pair in believed or not order.take(edge.parent, edge.child)
        for edge in ordered
    }


class _Order:
    """Nodes numbered so that every edge taken leads to a higher number (Pearce and Kelly, 2006).

    An edge that leads upwards already costs nothing; another costs a look at what has a number between its ends, not at the whole graph.
    """

    def __init__(self, edges: Sequence[Pair]) -> None:
        """None of these edges is taken yet; the first numbers are such that few of them will lead downwards."""
        self._below: dict[uuid.UUID, list[uuid.UUID]] = {}
        self._above: dict[uuid.UUID, list[uuid.UUID]] = {}
        onward: dict[uuid.UUID, list[uuid.UUID]] = {}
        for parent, child in edges:
            onward.setdefault(parent, []).append(child)
        left: list[uuid.UUID] = []  # nodes as a walk in depth leaves them: what is below a node before it
        seen: set[uuid.UUID] = set()
        for root, first in onward.items():
            if root in seen:
                continue
            seen.add(root)
            way = [(root, iter(first))]
            while way:
                node, children = way[-1]
                for child in children:
                    if child not in seen:
                        seen.add(child)
                        way.append((child, iter(onward.get(child, ()))))
                        break
                else:
                    left.append(node)
                    way.pop()
        self._number = {node: number for number, node in enumerate(reversed(left))}

    def take(self, parent: uuid.UUID, child: uuid.UUID) -> bool:
        """Add the edge; False, and nothing changes, when it closes a loop."""
        number = self._number
        low, high = number[child], number[parent]
        if low <= high:
            up = self._between(self._above, parent, low, high, child)
            if child in up:
                return False
            down = self._between(self._below, child, low, high)
            moved = [*sorted(up, key=number.__getitem__), *sorted(down, key=number.__getitem__)]
            number.update(zip(moved, sorted(number[node] for node in moved), strict=True))
        self._below.setdefault(parent, []).append(child)
        self._above.setdefault(child, []).append(parent)
        return True

    def _between(
        self,
        onward: dict[uuid.UUID, list[uuid.UUID]],
        start: uuid.UUID,
        low: int,
        high: int,
        end: uuid.UUID | None = None,
    ) -> set[uuid.UUID]:
        """Return the nodes reached from a node over nodes with numbers from `low` to `high`, until `end` is reached.

        In depth first: where a loop is closed again and again, the first way is as good as any.
        """
        seen, way = {start}, [iter(onward.get(start, ()))]
        while way and end not in seen:
            for node in way[-1]:
                if node not in seen and low <= self._number[node] <= high:
                    seen.add(node)
                    way.append(iter(onward.get(node, ())))
                    break
            else:
                way.pop()
        return seen
