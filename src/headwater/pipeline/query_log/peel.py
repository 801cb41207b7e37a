"""Find the unneeded nodes of a graph, and an order in which they can be removed.

A node is alive if it is used or feeds an alive node; nodes that only feed each other are not alive. The others are removed in waves,
consumers first. Where only loops and what leads to and between them are left, the loops (with what lies between two of them) go as one wave.

One task holds the whole graph, as numbers: it has as many nodes as a warehouse has tables, for a log of any length.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

if TYPE_CHECKING:
    import pyarrow as pa

WAVES: Final = "id long, wave int, looped boolean, confidence double"


class Peeled(NamedTuple):
    """A node that may be removed. `wave`: from 1; `looped`: only with others of its wave; `confidence`: the least of its own and of the nodes it
    feeds that are removed before it."""

    node: int
    wave: int
    looped: bool
    confidence: float


def peel(nodes: DataFrame, edges: DataFrame) -> DataFrame:
    """WAVES of removable nodes. `nodes`: id, used (boolean), confidence. `edges`: source, target, both ids; those that are no nodes are left out."""
    kinds = {"id": "long", "used": "boolean", "confidence": "double", "source": "long", "target": "long"}
    both = nodes.select("id", "used", "confidence").unionByName(edges.select("source", "target"), True)
    typed = both.select(*(F.col(name).cast(kind).alias(name) for name, kind in kinds.items()))
    return typed.repartition(1).mapInArrow(_peel_batches, WAVES)


def _peel_batches(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
    import pyarrow as pa
    import pyarrow.compute as pc

    # A batch of the union's columns at a time, so only numbers are ever held.
    table = pa.Table.from_batches(list(batches))
    nodes, edges = table.filter(pc.is_valid(table["id"])), table.filter(pc.is_null(table["id"]))
    ids = nodes["id"].combine_chunks()
    source, target = (pc.index_in(edges[end], value_set=ids) for end in ("source", "target"))
    known = pc.and_(pc.is_valid(source), pc.is_valid(target))
    ends = [end.filter(known).to_pylist() for end in (source, target)]
    found = peeled(nodes["used"].to_pylist(), nodes["confidence"].to_pylist(), *ends)
    columns = list(zip(*((ids[one.node].as_py(), *one[1:]) for one in found), strict=True)) or [(), (), (), ()]
    kinds = {"id": pa.int64(), "wave": pa.int32(), "looped": pa.bool_(), "confidence": pa.float64()}
    yield pa.RecordBatch.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, kinds.values(), strict=True)], names=list(kinds)
    )


def peeled(
    used: Sequence[bool], confidence: Sequence[float], source: Sequence[int], target: Sequence[int]
) -> list[Peeled]:
    """The removable ones of the nodes 0 … len(used) - 1. A repeated edge counts once, a loop of one node not at all."""
    pairs = sorted({(one, other) for one, other in zip(source, target, strict=True) if one != other})
    feeds = _Lists(len(used), pairs)
    fed = _Lists(len(used), sorted((other, one) for one, other in pairs))
    alive = list(used)
    waiting = [node for node, is_used in enumerate(used) if is_used]
    while waiting:
        for one in fed.of(waiting.pop()):
            if not alive[one]:
                alive[one] = True
                waiting.append(one)
    return _waves(alive, list(confidence), feeds, fed)


class _Lists:
    """The neighbours of each node, one after another in one list."""

    def __init__(self, nodes: int, pairs: Sequence[tuple[int, int]]) -> None:
        counts = [0] * (nodes + 1)
        for one, _ in pairs:
            counts[one + 1] += 1
        self._starts = list(accumulate(counts))
        self._ends = [other for _, other in pairs]

    def of(self, node: int) -> list[int]:
        return self._ends[self._starts[node] : self._starts[node + 1]]


def _waves(gone: list[bool], sure: list[float], feeds: _Lists, fed: _Lists) -> list[Peeled]:
    """`gone`: of each node whether it needs no wave (it is alive) or had it. A node that leads to something alive is alive, so none here does."""
    left = [0 if done else len(feeds.of(node)) for node, done in enumerate(gone)]
    heads = [node for node, done in enumerate(gone) if not done and left[node] == 0]
    found: list[Peeled] = []
    wave, looped = 1, False
    while True:
        if not heads:
            heads, looped = _core(gone, feeds, fed), True
            if not heads:
                return found
        for node in heads:
            gone[node] = True
            found.append(Peeled(node, wave, looped, sure[node]))
        freed = []
        for node in heads:
            for one in fed.of(node):
                if not gone[one]:
                    sure[one] = min(sure[one], sure[node])
                    left[one] -= 1
                    if left[one] == 0:
                        freed.append(one)
        heads, looped, wave = freed, False, wave + 1


def _core(gone: list[bool], feeds: _Lists, fed: _Lists) -> list[int]:
    """Return the nodes left when those that nothing leads to are removed again and again: loops, and the nodes between them."""
    into = [sum(not gone[one] for one in fed.of(node)) for node in range(len(gone))]
    outside = list(gone)
    tails = [node for node, done in enumerate(gone) if not done and into[node] == 0]
    while tails:
        node = tails.pop()
        outside[node] = True
        for one in feeds.of(node):
            if not outside[one]:
                into[one] -= 1
                if into[one] == 0:
                    tails.append(one)
    return [node for node, done in enumerate(outside) if not done]
