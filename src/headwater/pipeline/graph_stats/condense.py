"""A directed graph without its loops: strong components, the acyclic graph of them, its levels and longest chains. Pure numpy, in one task.

Nodes are any 64-bit numbers. Memory: about 60 bytes an edge at the peak. Nothing here depends on the order of the edges.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Index = NDArray[np.int32]


class Adjacency:
    """The edges of nodes 0…count-1 by their first end."""

    def __init__(self, count: int, sources: Index, targets: Index) -> None:
        self.begins = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(sources, minlength=count), out=self.begins[1:])
        self.targets = targets[np.argsort(sources, kind="stable")]

    def of(self, nodes: NDArray[Any]) -> Index:
        """The second ends of all edges of these nodes, one after the other."""
        first = self.begins[nodes]
        counts = self.begins[nodes + 1] - first
        ends = np.cumsum(counts)
        if ends.size == 0 or ends[-1] == 0:
            return self.targets[:0]
        found: Index = self.targets[np.repeat(first - ends + counts, counts) + np.arange(ends[-1])]
        return found


@dataclass(frozen=True, slots=True)
class Condensed:
    """`ids`: the nodes, sorted. `strong`: of each the number of its strong component. `sources`, `targets`: the distinct edges between strong
    components. `depth`, `height`: of each of these the edges of the longest way that leads to it, and from it."""

    ids: Whole
    strong: Index
    sources: Index
    targets: Index
    depth: Index
    height: Index


def condensed(sources: Whole, targets: Whole) -> Condensed:
    """Condense the edges `sources[i]` → `targets[i]`; equal ones and those from a node to itself change nothing but which nodes there are."""
    ids, ends = np.unique(np.concatenate([sources, targets]), return_inverse=True)
    ends = ends.astype(np.int32)
    source, target = ends[: len(sources)], ends[len(sources) :]
    kept = source != target
    source, target = source[kept], target[kept]
    strong = strong_components(ids.size, source, target)
    count = int(strong.max()) + 1 if strong.size else 0
    source, target = strong[source], strong[target]
    between = np.unique((source.astype(np.int64) * count + target)[source != target])
    givers: Index = (between // max(count, 1)).astype(np.int32)
    takers: Index = (between % max(count, 1)).astype(np.int32)
    return Condensed(ids, strong, givers, takers, levels(count, givers, takers), levels(count, takers, givers))


def levels(count: int, sources: Index, targets: Index) -> Index:
    """The edges of the longest way to each node; -1 for what is in a loop or behind one."""
    after = Adjacency(count, sources, targets)
    waiting = np.bincount(targets, minlength=count)
    level = np.full(count, -1, np.int32)
    front, at = np.flatnonzero(waiting == 0), 0
    while front.size:
        level[front] = at
        met, times = np.unique(after.of(front), return_counts=True)
        waiting[met] -= times
        front, at = met[waiting[met] == 0], at + 1
    return level


def strong_components(count: int, sources: Index, targets: Index) -> Index:
    """A number for each node, the same exactly for nodes that lead to each other; numbered on by the least node of each."""
    least = np.arange(count, dtype=np.int32)
    # A node that no loop leads to, or that leads to none, is alone. In most lineage few or no others are left.
    doubtful = (levels(count, sources, targets) < 0) & (levels(count, targets, sources) < 0)
    if doubtful.any():
        core = np.flatnonzero(doubtful).astype(np.int32)
        place = np.full(count, -1, np.int32)
        place[core] = np.arange(core.size, dtype=np.int32)
        within = doubtful[sources] & doubtful[targets]
        found = _tarjan(Adjacency(core.size, place[sources[within]], place[targets[within]]), core.size)
        first = np.full(core.size, count, np.int64)
        np.minimum.at(first, found, core)
        least[core] = first[found]
    return np.unique(least, return_inverse=True)[1].astype(np.int32)


def _tarjan(after: Adjacency, count: int) -> Index:
    """Tarjan's walk, without recursion. Edges are looked at in place: no list of them is made."""
    begins, targets = after.begins.data, after.targets.data
    seen, low, component = [0] * count, [0] * count, [-1] * count
    following = list(begins[:count])
    clock = components = 0
    open_: list[int] = []
    for root in range(count):
        if seen[root]:
            continue
        clock += 1
        seen[root] = low[root] = clock
        open_.append(root)
        path = [root]
        while path:
            node = path[-1]
            edge = following[node]
            if edge < begins[node + 1]:
                following[node] = edge + 1
                target = targets[edge]
                if not seen[target]:
                    clock += 1
                    seen[target] = low[target] = clock
                    open_.append(target)
                    path.append(target)
                elif component[target] < 0 and seen[target] < low[node]:
                    low[node] = seen[target]
                continue
            path.pop()
            if path and low[node] < low[path[-1]]:
                low[path[-1]] = low[node]
            if low[node] == seen[node]:
                while True:
                    member = open_.pop()
                    component[member] = components
                    if member == node:
                        break
                components += 1
    return np.array(component, np.int32)


def connected(sources: Whole, targets: Whole) -> tuple[Whole, Whole]:
    """The nodes of the edges, sorted, and for each the least node of its weakly connected component."""
    ids, ends = np.unique(np.concatenate([sources, targets]), return_inverse=True)
    one, other = ends[: len(sources)], ends[len(sources) :]
    least = np.arange(ids.size)
    while one.size:
        low, high = np.minimum(least[one], least[other]), np.maximum(least[one], least[other])
        apart = low != high
        # Nodes that are together already add nothing more.
        one, other = one[apart], other[apart]
        np.minimum.at(least, high[apart], low[apart])
        while not np.array_equal(least, further := least[least]):
            least = further
    return ids, ids[least]


def chains(graph: Condensed, most: int) -> Iterator[list[int]]:
    """The longest ways through the graph, the longest first: one for each strong component that nothing follows, `most` of them.

    Each is the least node of each strong component on it. Of equally long ones, the one whose nodes are least, from its end on.
    """
    _, first = np.unique(graph.strong, return_index=True)
    face = graph.ids[first]
    before = Adjacency(graph.depth.size, graph.targets, graph.sources)
    ends = np.flatnonzero((graph.height == 0) & (graph.depth > 0))
    for end in ends[np.lexsort((face[ends], -graph.depth[ends]))][:most]:
        way = [int(end)]
        while graph.depth[way[-1]]:
            near = before.of(np.array(way[-1:]))
            near = near[graph.depth[near] == graph.depth[way[-1]] - 1]
            way.append(int(near[np.argmin(face[near])]))
        yield [int(face[at]) for at in reversed(way)]
