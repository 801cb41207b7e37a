"""A map of ordinals whose bounds go forth and back: a monotone one (`spans.py`) with some of its pairs taken out, and others put in by hand.

What is taken out are whole rows (ordinals that need what is listed and nothing else) and whole columns (others that affect what is listed and nothing
else). So either direction is that of the monotone map, less what was taken out, and that of the list: still no inverse is written by hand.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from headwater.entities.time.ordinals import NONE, Bool, Int, Ordinals
from headwater.entities.time.spans import Spans


class _Side(NamedTuple):
    """Rectangles in the order in which they start on one side. `reach`: how far any up to here goes."""

    start: Int
    end: Int
    low: Int
    high: Int
    reach: Int

    @classmethod
    def of(cls, start: Int, end: Int, low: Int, high: Int) -> "_Side":
        order = np.argsort(start, kind="stable")
        columns = (column[order] for column in (start, end, low, high))
        return cls._make((*columns, np.maximum.accumulate(end[order])))

    def across(self, some: Ordinals) -> Ordinals:
        """The other side of those that have any of these."""
        if not some:
            return NONE
        near = slice(np.searchsorted(self.reach, some.first, "right"), np.searchsorted(self.start, some.end, "left"))
        met = some.meets(self.start[near], self.end[near])
        return Ordinals.joined(self.low[near][met], self.high[near][met])


class Listed:
    """Pairs of an ordinal and another, as rectangles: each start ≤ k < end with each low ≤ u < high."""

    def __init__(self, rectangles: Iterable[tuple[int, int, int, int]] = ()) -> None:
        """Build the pairs of rectangles (start, end, low, high), none of them empty; they may overlap."""
        start, end, low, high = np.array(list(rectangles), dtype=np.int64).reshape(-1, 4).T
        self._mine, self._theirs = _Side.of(start, end, low, high), _Side.of(low, high, start, end)
        self.ordinals = Ordinals.joined(start, end)

    def of(self, ordinals: Ordinals) -> Ordinals:
        """Return all that these have. O(log n), and the rectangles near them."""
        return self._mine.across(ordinals)

    def touching(self, others: Ordinals) -> Ordinals:
        """Return all that have any of these: the exact inverse of `of`."""
        return self._theirs.across(others)

    def first_of(self, ordinals: Int, others: Ordinals) -> tuple[Int, Bool]:
        """Return the same as `Spans.first_of`."""
        mirrored = Ordinals.joined(1 - others.ends, 1 - others.starts)
        found, some = self._last(ordinals, mirrored, 1 - self._mine.high, 1 - self._mine.low)
        return -found, some

    def last_of(self, ordinals: Int, others: Ordinals) -> tuple[Int, Bool]:
        """Return the same as `Spans.last_of`."""
        return self._last(ordinals, others, self._mine.low, self._mine.high)

    def _last(self, ordinals: Int, others: Ordinals, low: Int, high: Int) -> tuple[Int, Bool]:
        found, some = np.zeros_like(ordinals), np.zeros(ordinals.shape, dtype=np.bool_)
        met = others.meets(low, high)
        if not met.any():
            return found, some
        high = high[met]
        last = np.minimum(others.ends[np.searchsorted(others.starts, high, "left") - 1], high) - 1
        begin, end = (np.searchsorted(ordinals, bound[met]) for bound in (self._mine.start, self._mine.end))
        # The rectangle that reaches furthest is written last, and stays.
        for at in np.argsort(last, kind="stable").tolist():
            found[begin[at] : end[at]] = last[at]
            some[begin[at] : end[at]] = True
        return found, some


class Relation:
    """`base` without the pairs of these `rows` (ordinals) and `columns` (others), and with those that are listed. Answers what `Spans` answers.

    `odd`: all that pairs were taken from, of either side.
    """

    def __init__(self, base: Spans, listed: Listed, rows: Ordinals = NONE, columns: Ordinals = NONE) -> None:
        self.base = base.without(rows) if rows else base
        self.listed = listed
        self.columns = columns
        self.odd = rows | columns

    def of(self, ordinals: Ordinals) -> Ordinals:
        """Return the same as `Spans.of`."""
        return (self.base.of(ordinals) - self.columns) | self.listed.of(ordinals)

    def touching(self, others: Ordinals, among: Ordinals | None = None) -> Ordinals:
        """Return the same as `Spans.touching`."""
        found = self.listed.touching(others)
        return self.base.touching(others - self.columns, among) | (found if among is None else found & among)

    def hulls(self, starts: Int, ends: Int) -> tuple[Int, Int, Bool]:
        """Return the same as `Spans.hulls`. Runs with any pair that is listed are looked at one by one, the others together."""
        low, high, whole = self.base.hulls(starts, ends)
        odd = self.listed.ordinals.meets(starts, ends)
        if self.columns:
            whole = whole & ~self.columns.meets(low, high)
            odd |= (low < high) & (self.columns.contains(low) | self.columns.contains(high - 1))
        for at in np.flatnonzero(odd).tolist():
            found = self.of(Ordinals.between(int(starts[at]), int(ends[at])))
            low[at], high[at] = (found.first, found.end) if found else (0, 0)
            whole[at] = found.runs < 2
        return low, high, whole

    def first_of(self, ordinals: Int, others: Ordinals) -> tuple[Int, Bool]:
        """Return the same as `Spans.first_of`."""
        one, has = self.base.first_of(ordinals, others - self.columns)
        other, too = self.listed.first_of(ordinals, others)
        return np.where(has & (~too | (one < other)), one, other), has | too

    def last_of(self, ordinals: Int, others: Ordinals) -> tuple[Int, Bool]:
        """Return the same as `Spans.last_of`."""
        one, has = self.base.last_of(ordinals, others - self.columns)
        other, too = self.listed.last_of(ordinals, others)
        return np.where(has & (~too | (one > other)), one, other), has | too
