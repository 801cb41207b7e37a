"""The number of datasets upstream and downstream of each strong component of an acyclic graph: exact, or by HyperLogLog. Pure numpy, in
one task.

Both are the same walk over the levels: each component has a row, which begins with its own members and takes in the rows before it. Exactly, a row is
a set of bits, one a dataset, joined by `or`; estimated, it is a sketch of 2^precision counters, joined by `max`. A walk carries as many columns
of the rows as fit into memory; other columns are another block, of another task, and what they say is summed.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.pipeline.graph_stats.condense import Index, Whole

# Edges that are taken at once.
CHUNK_BYTES = 32 << 20
# In-edges of a component that are taken one after the other, each with those of others; beyond, they are folded.
_ONE_BY_ONE = 16

Rows = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Walk:
    """The nodes and edges that a block is counted over. `members`: nodes; `strong`: of each the number of its strong component; `depth`:
    of each strong component, so
    that it is greater than that of all before it."""

    members: Whole
    strong: Index
    depth: Index
    sources: Index
    targets: Index


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of each strong component, itself included.

    Exact: `up` and `down` are datasets of the block. Estimated: the sums of 2^-counter over the
    block's counters, and `up_zeros`, `down_zeros` how many of these are 0."""

    up: NDArray[np.float64]
    up_zeros: Whole
    down: NDArray[np.float64]
    down_zeros: Whole


def exactly(walk: Walk, block: int, width: int) -> Counted:
    """`width` members, from number `block` × `width` on."""
    begins = block * width
    chosen = np.arange(begins, min(begins + width, walk.members.size))
    count = (chosen.size + 63) // 64
    bit = chosen - begins

    def rows() -> Rows:
        made = np.zeros((walk.depth.size, count), np.uint64)
        np.bitwise_or.at(made, (walk.strong[chosen], bit // 64), np.uint64(1) << (bit % 64).astype(np.uint64))
        return made

    def ones(made: Rows) -> NDArray[np.float64]:
        found = np.zeros(made.shape[0])
        for piece in _pieces(made):
            found[piece] = _BITS[made[piece].view(np.uint16)].sum(axis=1, dtype=np.int64)
        return found

    none = np.zeros(walk.depth.size, np.int64)
    up = ones(_spread(rows(), walk, np.bitwise_or, down=False))
    return Counted(up, none, ones(_spread(rows(), walk, np.bitwise_or, down=True)), none)


def estimated(walk: Walk, block: int, width: int, precision: int) -> Counted:
    """`width` counters of each sketch of 2^precision, from number `block` × `width` on."""
    mixed = _mixed(walk.members)
    counter = (mixed >> np.uint64(64 - precision)).astype(np.int64) - block * width
    mine = (counter >= 0) & (counter < width)
    rest = mixed[mine] << np.uint64(precision)
    # The place of the first 1 in the rest, from 1; the bit below the rest ends it.
    rank = 64 - _length(rest | np.uint64(1 << (precision - 1))) + 1

    def rows() -> Rows:
        made = np.zeros((walk.depth.size, width), np.uint8)
        np.maximum.at(made, (walk.strong[mine], counter[mine]), rank.astype(np.uint8))
        return made

    def sums(made: Rows) -> tuple[NDArray[np.float64], Whole]:
        total, zeros = np.zeros(made.shape[0]), np.zeros(made.shape[0], np.int64)
        for piece in _pieces(made):
            total[piece] = _POWERS[made[piece]].sum(axis=1)
            zeros[piece] = (made[piece] == 0).sum(axis=1)
        return total, zeros

    up = sums(_spread(rows(), walk, np.maximum, down=False))
    return Counted(*up, *sums(_spread(rows(), walk, np.maximum, down=True)))


def cardinality(total: float, zeros: int, precision: int) -> float:
    """Return the estimate of a whole sketch: HyperLogLog's, and where few counters are used, the linear one. Standard error 1.04 /
    √2^precision."""
    counters = float(2**precision)
    if zeros:
        linear = counters * math.log(counters / zeros)
        if linear <= 2.5 * counters:
            return linear
    return 0.7213 / (1 + 1.079 / counters) * counters**2 / total


def _spread(rows: Rows, walk: Walk, joined: np.ufunc, *, down: bool) -> Rows:
    """Each row with those of all before it (`down`: after it), in place."""
    given, taker = (walk.targets, walk.sources) if down else (walk.sources, walk.targets)
    level = walk.depth[taker]
    # A taker's edges are one after the other; `turn` is the place of an edge among them.
    order = np.lexsort((taker, -level if down else level))
    given, taker, level = given[order], taker[order], level[order]
    if not taker.size:
        return rows
    starts = np.flatnonzero(np.r_[True, taker[1:] != taker[:-1]])
    turn = np.arange(taker.size) - np.repeat(starts, np.diff(np.r_[starts, taker.size]))
    turn = np.minimum(turn, _ONE_BY_ONE).astype(np.int32)
    again = np.lexsort((taker, turn, -level if down else level))
    given, taker, level, turn = given[again], taker[again], level[again], turn[again]
    cuts = np.flatnonzero((level[1:] != level[:-1]) | (turn[1:] != turn[:-1])) + 1
    most = max(1, CHUNK_BYTES // rows[0].nbytes)
    for begin, end in zip(np.r_[0, cuts], np.r_[cuts, taker.size], strict=True):
        for first in range(begin, end, most):
            last = min(first + most, end)
            found, into = rows[given[first:last]], taker[first:last]
            if turn[first] == _ONE_BY_ONE:
                heads = np.flatnonzero(np.r_[True, into[1:] != into[:-1]])
                found, into = joined.reduceat(found, heads, axis=0), into[heads]
            rows[into] = joined(rows[into], found)
    return rows


def _pieces(rows: Rows) -> list[slice]:
    most = max(1, CHUNK_BYTES // 8 // max(rows[:1].nbytes, 1))
    return [slice(begin, begin + most) for begin in range(0, rows.shape[0], most)]


def _mixed(values: Whole) -> NDArray[np.uint64]:
    """Numbers of which every bit depends on every bit of the given ones (the finish of splitmix64)."""
    made = values.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    made = (made ^ (made >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    made = (made ^ (made >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return made ^ (made >> np.uint64(31))


def _length(values: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The bits of each number, from its highest 1 on; 0 has none."""
    high = (values >> np.uint64(32)).astype(np.float64)
    low = (values & np.uint64(0xFFFFFFFF)).astype(np.float64)
    return np.where(high > 0, 32 + np.frexp(high)[1], np.frexp(low)[1]).astype(np.int64)


_BITS = np.array([bin(value).count("1") for value in range(1 << 16)], np.uint8)
_POWERS = np.array([2.0**-value for value in range(66)])
