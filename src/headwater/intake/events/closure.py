"""Keep the closure of correlation as the edges say: the last thing a transaction that brought new edges does.

The closure is a function of the set of edges, so it does not matter in which order and how often they are told. New edges hardly ever
close a loop; whether they do is exact, whatever the distance. If they do, the edges of that loop are decided again in their own order.
"""

import uuid
from collections.abc import Sequence
from typing import Any

from headwater.graph import loops
from headwater.graph.loops import Edge, Pair
from headwater.store.database import Connection
from headwater.store.lineage import correlation as store


async def keep(connection: Connection, edges: Sequence[tuple[Any, ...]], *, bound: int = store.BOUND) -> None:
    """Write edges (parent, child, role, at, digest) and bring the closure up to date. No statement when there are none.

    Holds a lock to the end of the transaction. Edges cost four statements, whatever their number, unless there is a loop.
    """
    if not edges:
        return
    told = await store.write(connection, edges)
    new = [_edge(one) for one in told if one.new and one.parent != one.child]
    # Where an edge that is not refused stands earlier than before, no loop is another; a refused one may have to be taken now.
    earlier = [_edge(one) for one in told if not one.new and one.refused and one.parent != one.child]
    if not new and not earlier:
        return
    layers = None if earlier else await _layers(connection, new, bound)
    if layers is None:
        new = await _decide(connection, new, earlier, bound)
        layers = await _layers(connection, new, bound)
        assert layers is not None
    await _extend(connection, new, layers, bound)


async def _layers(connection: Connection, edges: Sequence[Edge], bound: int) -> list[list[int]] | None:
    """The layers of new edges over what the closure holds; None where there is a loop."""
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
    """Decide the edges of loops again; the edges that are yet to be added to the closure, which none of them closes.

    Costs reading what is both below the new edges and above them, and making again the paths to whatever is below an edge that was taken
    before and is refused now.
    """
    asked = new + earlier
    tangle = await store.tangle(connection, {edge.child for edge in asked}, {edge.parent for edge in asked})
    edges = {(edge.parent, edge.child): _edge(edge) for edge in tangle if edge.parent != edge.child}
    fresh = {(edge.parent, edge.child) for edge in new}
    inside = [edges[pair] for pair in ((edge.parent, edge.child) for edge in asked) if pair in edges]
    changed: dict[Pair, bool] = {}
    if inside:
        since = min(inside, key=lambda edge: edge.place)
        told = loops.decided(edges.values(), since)
        changed = {pair: refused for pair, refused in told.items() if refused != edges[pair].refused}
    await store.decide(connection, changed)
    lost = [pair for pair, refused in changed.items() if refused and pair not in fresh]
    found = {(edge.parent, edge.child) for edge in new} | {pair for pair, refused in changed.items() if not refused}
    found -= {pair for pair, refused in changed.items() if refused}
    if lost:
        await _again(connection, {child for _, child in lost}, found, bound)
    known = {(edge.parent, edge.child): edge for edge in asked} | edges
    return [known[pair] for pair in sorted(found)]


async def _again(connection: Connection, nodes: set[uuid.UUID], but: set[Pair], bound: int) -> None:
    """Make all paths to these nodes and to what is below them again, from the edges that lead there, without some."""
    below = await store.forget(connection, nodes)
    leading = [one for one in await store.leading_to(connection, below) if (one[0], one[1]) not in but]
    layers = loops.layered([(parent, child) for parent, child, _ in leading])
    assert layers is not None
    if layers:
        await store.extend(connection, [[leading[place] for place in layer] for layer in layers], bound=bound)


def _edge(told: store.ToldEdge) -> Edge:
    return Edge(told.parent, told.child, told.weight, told.role, told.at, told.digest, told.refused)
