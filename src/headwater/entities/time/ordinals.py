"""Sets of instances: integers as sorted, disjoint half-open runs.

An entity's instances are numbered, and what is done to them (filled, tainted, planned) is done to stretches of them. So a set costs what its runs
cost, not what its members do: three years of hours without a hole are two integers. Nothing here knows what a number stands for.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Int = NDArray[np.int64]
Bool = NDArray[np.bool_]

# At the top of an hour thousands of entities speak of the same few runs.
_REMEMBERED = 16_384


class Ordinals:
    """An immutable set of int64. `starts` and `ends` are read-only: run i is starts[i] ≤ ordinal < ends[i] and ends[i] < starts[i + 1].

    Equal sets have equal arrays, so equality and hash are those of the set. There is no `len()`: it would be either of `runs` and `count`.
    """

    __slots__ = ("_hash", "ends", "starts")

    starts: Int
    ends: Int

    def __init__(self, runs: Iterable[tuple[int, int]] = ()) -> None:
        """Join half-open (start, end) pairs in any order; they may overlap and touch, and an empty one adds nothing.

        ValueError if an end is before its start.
        """
        pairs = np.array(list(runs), dtype=np.int64).reshape(-1, 2)
        self._become(*_joined(pairs[:, 0], pairs[:, 1]))

    def _become(self, starts: Int, ends: Int) -> None:
        starts.setflags(write=False)
        ends.setflags(write=False)
        self.starts, self.ends = starts, ends
        self._hash: int | None = None

    @classmethod
    def between(cls, start: int, end: int) -> "Ordinals":
        """The one run start ≤ ordinal < end; nothing if end ≤ start."""
        return _run(start, end) if start < end else NONE

    @classmethod
    def joined(cls, starts: ArrayLike, ends: ArrayLike) -> "Ordinals":
        """Return the same as `Ordinals(runs)`, from two arrays."""
        return _sorted(*_joined(np.asarray(starts, dtype=np.int64), np.asarray(ends, dtype=np.int64)))

    @classmethod
    def of(cls, ordinals: ArrayLike) -> "Ordinals":
        """Make a set of members in any order, with repetitions or without."""
        members = np.asarray(ordinals, dtype=np.int64)
        if not members.size:
            return NONE
        steps = np.diff(members)
        if (steps < 1).any():
            members = np.unique(members)
            steps = np.diff(members)
        apart = np.flatnonzero(steps > 1)
        return _sorted(
            members[np.concatenate(([0], apart + 1))], members[np.concatenate((apart, [members.size - 1]))] + 1
        )

    @property
    def runs(self) -> int:
        """The number of runs."""
        return int(self.starts.size)

    @property
    def count(self) -> int:
        """The number of ordinals."""
        return int((self.ends - self.starts).sum())

    @property
    def first(self) -> int:
        """The least ordinal. ValueError if there is none."""
        if not self.starts.size:
            raise ValueError("an empty set has no first ordinal")
        return int(self.starts[0])

    @property
    def end(self) -> int:
        """One more than the greatest ordinal. ValueError if there is none."""
        if not self.ends.size:
            raise ValueError("an empty set has no last ordinal")
        return int(self.ends[-1])

    def members(self) -> Int:
        """Return every ordinal, ascending, to visit one by one. Costs 8 bytes for each."""
        lengths = self.ends - self.starts
        before = np.cumsum(lengths) - lengths
        found: Int = np.arange(self.count, dtype=np.int64) + np.repeat(self.starts - before, lengths)
        return found

    def contains(self, ordinals: ArrayLike) -> Bool:
        """Return for each ordinal of an array whether it is a member."""
        asked = np.asarray(ordinals, dtype=np.int64)
        if not self.starts.size:
            return np.zeros(asked.shape, dtype=np.bool_)
        run = np.searchsorted(self.starts, asked, "right") - 1
        held: Bool = (run >= 0) & (asked < self.ends[run])
        return held

    def meets(self, low: Int, high: Int) -> Bool:
        """Return for each low ≤ ordinal < high of two arrays whether any of it is a member."""
        if not self.starts.size:
            return np.zeros(low.shape, dtype=np.bool_)
        run = np.searchsorted(self.ends, low, "right")
        some: Bool = (run < self.runs) & (self.starts[np.minimum(run, self.runs - 1)] < high) & (low < high)
        return some

    def union(self, *others: "Ordinals") -> "Ordinals":
        """Return the ordinals in any of them. O(r log r) of all runs together; of two, one that is a single run around
        the other is the answer itself."""
        some = [each for each in (self, *others) if each.starts.size]
        if len(some) < 2:
            return some[0] if some else NONE
        if len(some) == 2:
            for one, other in (some, some[::-1]):
                if one.starts.size == 1 and one.starts[0] <= other.starts[0] and other.ends[-1] <= one.ends[0]:
                    return one
            if some[0].starts.size == some[1].starts.size == 1:
                low, high = sorted((each.first, each.end) for each in some)
                return Ordinals.between(low[0], high[1]) if high[0] <= low[1] else _sorted(*zip(low, high, strict=True))
        return Ordinals.joined(
            np.concatenate([each.starts for each in some]), np.concatenate([each.ends for each in some])
        )

    def intersection(self, other: "Ordinals") -> "Ordinals":
        """Return the ordinals in both. O(r log r); if one is a single run, the other is cut to it, and is itself if it lies within."""
        for one, around in ((self, other), (other, self)):
            if not one.starts.size:
                return NONE
            if around.starts.size == 1 and around.starts[0] <= one.starts[0] and one.ends[-1] <= around.ends[0]:
                return one
        for one, around in ((self, other), (other, self)):
            if around.starts.size == 1:
                return one._clipped(int(around.starts[0]), int(around.ends[0]))
        # For each run of ours, those of the other that end after it starts and start before it ends.
        low = np.searchsorted(other.ends, self.starts, "right")
        high = np.searchsorted(other.starts, self.ends, "left")
        each = np.maximum(high - low, 0)
        mine = np.repeat(np.arange(self.runs), each)
        theirs = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each) + np.repeat(low, each)
        # Runs of either set are apart, so these are too: nothing is left to join.
        return _sorted(
            np.maximum(self.starts[mine], other.starts[theirs]), np.minimum(self.ends[mine], other.ends[theirs])
        )

    def _clipped(self, start: int, end: int) -> "Ordinals":
        low, high = int(np.searchsorted(self.ends, start, "right")), int(np.searchsorted(self.starts, end, "left"))
        if low >= high:
            return NONE
        starts, ends = self.starts[low:high].copy(), self.ends[low:high].copy()
        starts[0], ends[-1] = max(start, int(starts[0])), min(end, int(ends[-1]))
        return _sorted(starts, ends)

    def difference(self, other: "Ordinals") -> "Ordinals":
        """Return the ordinals in this one and not in the other."""
        if not self.starts.size or not other.starts.size:
            return self
        if other.starts[0] >= self.ends[-1] or other.ends[-1] <= self.starts[0]:
            return self
        if self is other:
            return NONE
        if other.starts.size == 1:
            start, end = other.first, other.end
            low, high = Ordinals.between(self.first, start), Ordinals.between(end, self.end)
            if self.starts.size == 1 or not (low or high):
                return low.union(high)
        return self.intersection(other.complement(self.first, self.end))

    def complement(self, start: int, end: int) -> "Ordinals":
        """Return the part of start ≤ ordinal < end that is not in the set."""
        if start >= end:
            return NONE
        inside = self.intersection(Ordinals.between(start, end))
        starts = np.concatenate(([start], inside.ends))
        ends = np.concatenate((inside.starts, [end]))
        some = starts < ends
        return _sorted(starts[some], ends[some])

    def shift(self, by: int) -> "Ordinals":
        """Return every ordinal plus `by`."""
        return _sorted(self.starts + by, self.ends + by)

    def __or__(self, other: "Ordinals") -> "Ordinals":
        return self.union(other)

    def __and__(self, other: "Ordinals") -> "Ordinals":
        return self.intersection(other)

    def __sub__(self, other: "Ordinals") -> "Ordinals":
        return self.difference(other)

    def __le__(self, other: "Ordinals") -> bool:
        """Return whether every ordinal is in the other."""
        return self.intersection(other) == self

    def __contains__(self, ordinal: int) -> bool:
        return bool(self.contains([ordinal])[0])

    def __bool__(self) -> bool:
        return bool(self.starts.size)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """The runs, ascending, as (start, end)."""
        return zip(self.starts.tolist(), self.ends.tolist(), strict=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ordinals):
            return NotImplemented
        if self is other:
            return True
        if self.starts.size != other.starts.size:
            return False
        return bool((self.starts == other.starts).all() and (self.ends == other.ends).all())

    def __hash__(self) -> int:
        if self._hash is None:
            if self.starts.size < 64:
                self._hash = hash((self.starts.tobytes(), self.ends.tobytes()))
            else:
                # Sums, not all bytes: sets of thousands of runs are looked up by it.
                self._hash = hash((int(self.starts.sum()), int(self.ends.sum()), int(self.starts @ self.ends)))
        return self._hash

    def __repr__(self) -> str:
        """Write the runs as `{3..7, 9}`: both ends of a run are members; at most eight runs are written."""
        some = [str(start) if end - start == 1 else f"{start}..{end - 1}" for start, end in list(self)[:8]]
        more = f", and {self.runs - 8} runs more" if self.runs > 8 else ""
        return "{" + ", ".join(some) + more + "}"


@lru_cache(_REMEMBERED)
def _run(start: int, end: int) -> Ordinals:
    return _sorted([start], [end])


def _sorted(starts: Any, ends: Any) -> Ordinals:
    """Make a set of runs that are in order and apart already."""
    made = Ordinals.__new__(Ordinals)
    made._become(np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64))
    return made


def _joined(starts: Int, ends: Int) -> tuple[Int, Int]:
    """Return any runs as sorted ones that are apart."""
    if (ends < starts).any():
        wrong = int(np.flatnonzero(ends < starts)[0])
        raise ValueError(f"a run ends before it starts: {starts[wrong]}..{ends[wrong]}")
    some = starts < ends
    if not some.all():
        starts, ends = starts[some], ends[some]
    if starts.size > 1:
        order = np.argsort(starts, kind="stable")
        starts, reach = starts[order], np.maximum.accumulate(ends[order])
        apart = np.ones(starts.size + 1, dtype=np.bool_)
        np.greater(starts[1:], reach[:-1], out=apart[1:-1])
        starts, ends = starts[apart[:-1]], reach[apart[1:]]
    return starts.astype(np.int64, copy=True), ends.astype(np.int64, copy=True)


NONE = Ordinals()
