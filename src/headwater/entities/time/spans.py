"""A map from each ordinal to an interval of other ordinals, and back: two directions, the second derived from the
first.

Both bounds never go back as the ordinal grows. That is all the inverse needs: the ordinals whose interval meets [a, b) are those from the first
that ends after a to the last that starts before b, so two bisections find them. No inverse is written by hand.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from headwater.entities.time.ordinals import NONE, Bool, Int, Ordinals

# For each ordinal: low and high, both non-decreasing, and whether the interval counts as empty regardless of both.
Bounds = Callable[[Int], tuple[Int, Int, Bool]]

_PROBES = 256


class _Table(NamedTuple):
    """The map on start ≤ k < end, without the ordinals whose interval is empty."""

    start: int
    end: int
    before: int  # high of the first ordinal, empty or not: no ordinal before it reaches further
    after: int  # low of the last ordinal: none after it starts earlier
    kept: Int
    low: Int
    high: Int
    gaps: Int  # places p with high[p] < low[p + 1]: between the two intervals there is something that neither has
    present: Ordinals  # `kept`, as runs


class Spans:
    """[low(k), high(k)) for first ≤ k < end.

    Bounds are computed where they are asked for and kept as one stretch that grows: 24 bytes an ordinal, shared by every edge that means the same.
    A call reads the stretch and replaces it as a whole, so threads need no lock; the worst that happens is that two compute the same.
    """

    def __init__(self, bounds: Bounds, first: int, end: int) -> None:
        self.bounds = bounds
        self.first = first
        self.end = end
        self._table: _Table | None = None

    def of(self, ordinals: Ordinals) -> Ordinals:
        """Return everything in the interval of any of these; those outside the map's range have none. O(r log n), and the size of the result."""
        asked = ordinals & Ordinals.between(self.first, self.end)
        if not asked:
            return NONE
        table = self._stretch(asked.first, asked.end)
        start = np.searchsorted(table.kept, asked.starts)
        stop = np.searchsorted(table.kept, asked.ends)
        some = start < stop
        start, stop = start[some], stop[some]
        if not table.gaps.size:
            return Ordinals.joined(table.low[start], table.high[stop - 1])
        # A run of ordinals has one run of others unless their intervals leave gaps; then it has one for each piece between two gaps.
        gap = np.searchsorted(table.gaps, start)
        pieces = np.searchsorted(table.gaps, stop - 1) - gap + 1
        run = np.repeat(np.arange(start.size), pieces)
        nth = np.arange(run.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        at = gap[run] + nth
        left = np.where(nth == 0, start[run], table.gaps[np.maximum(at - 1, 0)] + 1)
        right = np.where(nth == pieces[run] - 1, stop[run] - 1, table.gaps[np.minimum(at, table.gaps.size - 1)])
        return Ordinals.joined(table.low[left], table.high[right])

    def hulls(self, starts: Int, ends: Int) -> tuple[Int, Int, Bool]:
        """Return for each run of ordinals the hull of their intervals, and whether these leave no gap in it; (0, 0) if there are none."""
        first, end = np.maximum(starts, self.first), np.minimum(ends, self.end)
        some = first < end
        if not some.any():
            return np.zeros_like(starts), np.zeros_like(starts), np.ones(starts.shape, dtype=np.bool_)
        table = self._stretch(int(first[some].min()), int(end[some].max()))
        start, stop = np.searchsorted(table.kept, first), np.searchsorted(table.kept, end)
        some &= start < stop
        start, stop = np.where(some, start, 0), np.where(some, stop, 1)
        if not table.kept.size:
            return np.zeros_like(starts), np.zeros_like(starts), np.ones(starts.shape, dtype=np.bool_)
        whole = np.searchsorted(table.gaps, start) == np.searchsorted(table.gaps, stop - 1)
        return np.where(some, table.low[start], 0), np.where(some, table.high[stop - 1], 0), whole

    def touching(self, others: Ordinals, among: Ordinals | None = None) -> Ordinals:
        """The ordinals whose interval has any of these: the exact inverse of `of`. `among`: only of those.

        O(r log n) for r runs. Where `among` is given nothing outside its hull is computed.
        """
        first, end = self.first, self.end
        if among is not None:
            if not among:
                return NONE
            first, end = max(first, among.first), min(end, among.end)
        if not others or first >= end:
            return NONE
        table = self._reaching(others.first, others.end, first, end)
        if table is None:
            return NONE
        start = np.searchsorted(table.high, others.starts, "right")
        stop = np.searchsorted(table.low, others.ends, "left")
        some = start < stop
        found = Ordinals.joined(table.kept[start[some]], table.kept[stop[some] - 1] + 1)
        if table.present.runs > 1:
            found &= table.present
        return found if among is None else found & among

    def first_of(self, ordinals: Int, others: Ordinals) -> tuple[Int, Bool]:
        """Return for each ordinal, ascending, the first of `others` in its interval, and whether there is one; if not, the number is arbitrary."""
        low, high, some = self._inside(ordinals)
        if not others:
            return low, np.zeros_like(some)
        run = np.searchsorted(others.ends, low, "right")
        found = np.maximum(low, others.starts[np.minimum(run, others.runs - 1)])
        return found, some & (run < others.runs) & (found < high)

    def last_of(self, ordinals: Int, others: Ordinals) -> tuple[Int, Bool]:
        """The same of the last."""
        low, high, some = self._inside(ordinals)
        if not others:
            return low, np.zeros_like(some)
        run = np.searchsorted(others.starts, high, "left") - 1
        found = np.minimum(others.ends[np.maximum(run, 0)], high) - 1
        return found, some & (run >= 0) & (found >= low)

    def without(self, ordinals: Ordinals) -> "Spans":
        """The same map, but for these, which have nothing."""

        def bounds(asked: Int) -> tuple[Int, Int, Bool]:
            low, high, empty = self.bounds(asked)
            return low, high, empty | ordinals.contains(asked)

        return Spans(bounds, self.first, self.end)

    def _inside(self, ordinals: Int) -> tuple[Int, Int, Bool]:
        """The bounds of each, and whether there is anything between them; of what is outside the map there is nothing."""
        inside = (ordinals >= self.first) & (ordinals < self.end)
        if self.first >= self.end:
            return np.zeros_like(ordinals), np.zeros_like(ordinals), inside
        low, high, empty = self.bounds(np.clip(ordinals, self.first, self.end - 1))
        return low, high, inside & (low < high) & ~empty

    def _reaching(self, low: int, high: int, first: int, end: int) -> _Table | None:
        """A table with every ordinal of first ≤ k < end whose interval may meet [low, high)."""
        table = self._table
        if (
            table is not None
            and (table.start <= first or table.before <= low)
            and (table.end >= end or table.after >= high)
        ):
            return table
        start = self._bisect(first, end, lambda k: self.bounds(k)[1] > low)
        stop = self._bisect(start, end, lambda k: self.bounds(k)[0] >= high)
        return self._stretch(start, stop) if start < stop else None

    def _bisect(self, start: int, end: int, holds: Callable[[Int], Bool]) -> int:
        """The first ordinal that `holds`, which holds from there on; `end` where none does. Many are looked at in one call: calls are what costs."""
        while start < end:
            asked = np.unique(np.linspace(start, end - 1, min(_PROBES, end - start)).astype(np.int64))
            held = holds(asked)
            place = int(np.argmax(held)) if held.any() else asked.size
            if place < asked.size:
                end = int(asked[place])
            if place > 0:
                start = int(asked[place - 1]) + 1
        return start

    def _stretch(self, start: int, end: int) -> _Table:
        table = self._table
        if table is not None and table.start <= start and end <= table.end:
            return table
        # A quarter more on both sides: a walk through time asks a little further each day.
        more = (end - start) // 4 + 16
        start, end = max(self.first, start - more), min(self.end, end + more)
        if table is not None:
            start, end = min(start, table.start), max(end, table.end)
        self._table = table = self._computed(start, end)
        return table

    def _computed(self, start: int, end: int) -> _Table:
        ordinals = np.arange(start, end, dtype=np.int64)
        low, high, empty = self.bounds(ordinals)
        some = (low < high) & ~empty
        before, after = int(high[0]), int(low[-1])
        kept = ordinals
        if not some.all():
            kept, low, high = ordinals[some], low[some], high[some]
        gaps = np.flatnonzero(high[:-1] < low[1:])
        return _Table(start, end, before, after, kept, low, high, gaps, Ordinals.of(kept))
