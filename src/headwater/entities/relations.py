"""A map of ordinals whose bounds go forth and back: a monotone one (`spans.py`) with some of its pairs taken out, and others put in by hand.

What is taken out are whole rows (ordinals that need what is listed and nothing else) and whole columns (others that affect what is listed and nothing
else). So either direction is that of the monotone map, less what was taken out, and that of the list: still nobody writes an inverse.
"""

from collections.abc import Iterable

import numpy as np

from headwater.entities.ordinals import NONE, Bool, Int, Ordinals
from headwater.entities.spans import Spans


class Listed:
    """Pairs of an ordinal and another, as rectangles: each start ≤ k < end with each low ≤ u < high. An operation costs what rectangles there are."""

    def __init__(self, rectangles: Iterable[tuple[int, int, int, int]] = ()) -> None:
        """Of (start, end, low, high), none of them empty; they may overlap."""
        self._start, self._end, self._low, self._high = np.array(list(rectangles), dtype=np.int64).reshape(-1, 4).T
        self.ordinals = Ordinals.joined(self._start, self._end)

    def of(self, ordinals: Ordinals) -> Ordinals:
        """All that these have."""
        some = ordinals.meets(self._start, self._end)
        return Ordinals.joined(self._low[some], self._high[some])

    def touching(self, others: Ordinals) -> Ordinals:
        """All that have any of these."""
        some = others.meets(self._low, self._high)
        return Ordinals.joined(self._start[some], self._end[some])

    def first_of(self, ordinals: Int, others: Ordinals) -> tuple[Int, Bool]:
        """As `Spans.first_of`."""
        found, some = self._last(
            ordinals, Ordinals.joined(1 - others.ends, 1 - others.starts), -self._high + 1, -self._low + 1
        )
        return -found, some

    def last_of(self, ordinals: Int, others: Ordinals) -> tuple[Int, Bool]:
        """As `Spans.last_of`."""
        return self._last(ordinals, others, self._low, self._high)

    def _last(self, ordinals: Int, others: Ordinals, low: Int, high: Int) -> tuple[Int, Bool]:
        found, some = np.zeros_like(ordinals), np.zeros(ordinals.shape, dtype=np.bool_)
        use = others.meets(low, high)
        if not use.any():
            return found, some
        low, high = low[use], high[use]
        last = np.minimum(others.ends[np.searchsorted(others.starts, high, "left") - 1], high) - 1
        begin, end = (np.searchsorted(ordinals, bound[use]) for bound in (self._start, self._end))
        # What reaches furthest is written last, and stays.
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
        """As `Spans.of`."""
        return (self.base.of(ordinals) - self.columns) | self.listed.of(ordinals)

    def touching(self, others: Ordinals, among: Ordinals | None = None) -> Ordinals:
        """As `Spans.touching`."""
        found = self.listed.touching(others)
        return self.base.touching(others - self.columns, among) | (found if among is None else found & among)

    def hulls(self, starts: Int, ends: Int) -> tuple[Int, Int, Bool]:
        """As `Spans.hulls`. Runs with any pair that is listed are looked at one by one, the others together."""
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
        """As `Spans.first_of`."""
        one, has = self.base.first_of(ordinals, others - self.columns)
        other, too = self.listed.first_of(ordinals, others)
        return np.where(has & (~too | (one < other)), one, other), has | too

    def last_of(self, ordinals: Int, others: Ordinals) -> tuple[Int, Bool]:
        """As `Spans.last_of`."""
        one, has = self.base.last_of(ordinals, others - self.columns)
        other, too = self.listed.last_of(ordinals, others)
        return np.where(has & (~too | (one > other)), one, other), has | too
