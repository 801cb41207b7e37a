"""Update the closure of the correlation graph: the last step of a transaction that adds correlation edges.

The closure is a function of the set of edges, so their order and repetition do not matter. New edges rarely close a loop; detection is
exact at any distance. If they do, each edge of that loop is accepted or refused again, in the edges' own order.
"""

import uuid
from collections.abc import Sequence

from headwater.graph import loops
from headwater.graph.loops import Edge, Pair
from headwater.store.database import Connection
from headwater.store.events.rows import CorrelationEdgeRow
from headwater.store.lineage import correlation as store


async def update_closure(
    connection: Connection, edges: Sequence[CorrelationEdgeRow], *, bound: int = store.BOUND
) -> None:
    """Write edges and bring the closure up to date. Without edges, sends no statement.

    Holds a lock until the transaction ends. Any number of edges costs four statements, unless they close a loop.
    """
    if not edges:
        return
    written = await store.write(connection, edges)
    new = [_edge(edge) for edge in written if edge.new and edge.parent != edge.child]
    # An accepted edge that moves to an earlier place changes no loop. A refused edge that does may now be accepted.
    earlier = [_edge(edge) for edge in written if not edge.new and edge.refused and edge.parent != edge.child]
    if not new and not earlier:
        return
    layers = None if earlier else await _layers(connection, new, bound)
    if layers is None:
        new = await _decide(connection, new, earlier, bound)
        layers = await _layers(connection, new, bound)
        assert layers is not None
    await _extend(connection, new, layers, bound)


async def _layers(connection: Connection, edges: Sequence[Edge], bound: int) -> list[list[int]] | None:
    """The new edges in layers, each after the edges it extends; None if they close a loop."""
    if not edges:
        return []
    children, parents = {edge.child for edge in edges}, {edge.parent for edge in edges}
    bridges = await store.bridges(connection, children, parents, bound=bound)
    return loops.layered([(edge.parent, edge.child) for edge in edges], bridges)


async def _extend(connection: Connection, edges: Sequence[Edge], layers: list[list[int]], bound: int) -> None:
    ordered = [[(edges[place].parent, edges[place].child, edges[place].weight) for place in layer] for layer in layers]
    if ordered:
        await store.extend(connection, ordered, bound=bound)


async def _decide(connection: Connection, new: list[Edge], earlier: list[Edge], bound: int) -> list[Edge]:
    """Accept or refuse the edges of loops again. Returns the edges to add to the closure; these close no loop.

    Reads the nodes that are both below and above the new edges. Rebuilds the paths to the nodes below each edge that was accepted before
    and is refused now.
    """
    candidates = new + earlier
    tangle = await store.tangle(connection, {edge.child for edge in candidates}, {edge.parent for edge in candidates})
    edges = {(edge.parent, edge.child): _edge(edge) for edge in tangle if edge.parent != edge.child}
    fresh = {(edge.parent, edge.child) for edge in new}
    inside = [edges[pair] for pair in ((edge.parent, edge.child) for edge in candidates) if pair in edges]
    changed: dict[Pair, bool] = {}
    if inside:
        since = min(inside, key=lambda edge: edge.place)
        decisions = loops.decided(edges.values(), since)
        changed = {pair: refused for pair, refused in decisions.items() if refused != edges[pair].refused}
    await store.decide(connection, changed)
    lost = [pair for pair, refused in changed.items() if refused and pair not in fresh]
    accepted = fresh | {pair for pair, refused in changed.items() if not refused}
    accepted -= {pair for pair, refused in changed.items() if refused}
    if lost:
        await _rebuild_paths(connection, {child for _, child in lost}, accepted, bound)
    by_pair = {(edge.parent, edge.child): edge for edge in candidates} | edges
    return [by_pair[pair] for pair in sorted(accepted)]


async def _rebuild_paths(connection: Connection, nodes: set[uuid.UUID], excluded: set[Pair], bound: int) -> None:
    """Rebuild all paths to these nodes and to the nodes below them from the edges that lead there, except the excluded edges."""
    below = await store.forget(connection, nodes)
    leading = [edge for edge in await store.leading_to(connection, below) if (edge[0], edge[1]) not in excluded]
    layers = loops.layered([(parent, child) for parent, child, _ in leading])
    assert layers is not None
    if layers:
        await store.extend(connection, [[leading[place] for place in layer] for layer in layers], bound=bound)


def _edge(row: store.WrittenEdge) -> Edge:
    return Edge(row.parent, row.child, row.weight, row.role, row.at, row.digest, row.refused)
