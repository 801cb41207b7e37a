"""Versions that overlap, cut to stretches of instances each of which has one history: what is current, what is past, and since when.

Versions of the same content, one after the other, are one: what read the earlier ones read what is in the last.
"""

from typing import NamedTuple

import numpy as np

from headwater.entities.time.ordinals import Bool, Int


class Pieces(NamedTuple):
    """Stretches start ≤ n < end, and the version (`row`) that is the `current` one there, or a past one.

    since: from which seq on a reader read what is current; 0 if nothing else was. first: from which on there was anything to read.
    """

    row: Int
    start: Int
    end: Int
    current: Bool
    since: Int
    first: Int

    def where(self, some: Bool | Int) -> "Pieces":
        """Return only these pieces."""
        return Pieces._make(column[some] for column in self)


def cut(start: Int, end: Int, produced: Int, seq: Int, content: Int) -> Pieces:
    """Cut versions start ≤ n < end, in the order of `produced` and then `seq`. content: equal numbers are equal, -1 equals nothing.

    Sorted by `start`, current ones and past ones apart. Costs what the pieces cost, and those are few where little was made again.
    """
    several = _overlapping(start, end)
    single = np.flatnonzero(~several)
    none = np.zeros(single.size, dtype=np.int64)
    alone = Pieces(single, start[single], end[single], np.ones(single.size, dtype=np.bool_), none, none)
    rows = np.flatnonzero(several)
    if not rows.size:
        return alone.where(np.argsort(alone.start, kind="stable"))
    bounds = np.unique(np.concatenate((start[rows], end[rows])))
    low, high = np.searchsorted(bounds, start[rows]), np.searchsorted(bounds, end[rows])
    row, place = np.repeat(rows, high - low), ranges(low, high)
    order = np.lexsort((seq[row], produced[row], place))
    row, place = row[order], place[order]
    begins = np.append(True, place[1:] != place[:-1])
    same = (content[row][1:] == content[row][:-1]) & (content[row][1:] >= 0)
    # Versions of a stretch with one content in a row; the last of them stands for all.
    changes = np.flatnonzero(begins | ~np.append(False, same))
    last = np.append(changes[1:], row.size) - 1
    since = np.minimum.reduceat(seq[row], changes)
    first = np.minimum.reduceat(seq[row], np.flatnonzero(begins))[np.cumsum(begins)[last] - 1]
    row, place, opens = row[last], place[last], begins[changes]
    current = np.append(opens[1:], True)
    only = current & opens
    made = Pieces(row, bounds[place], bounds[place + 1], current, np.where(only, 0, since), np.where(only, 0, first))
    both = Pieces._make(np.concatenate(pair) for pair in zip(alone, made, strict=True))
    return both.where(np.argsort(both.start, kind="stable"))


def ranges(low: Int, high: Int) -> Int:
    """Return low ≤ n < high of each pair, one after the other."""
    many = np.maximum(high - low, 0)
    before = np.cumsum(many) - many
    found: Int = np.arange(int(many.sum()), dtype=np.int64) + np.repeat(low - before, many)
    return found


def _overlapping(start: Int, end: Int) -> Bool:
    """Return for each interval whether it overlaps any other."""
    order = np.argsort(start, kind="stable")
    reach = np.maximum.accumulate(end[order]) if order.size else end
    apart = np.append(True, start[order][1:] >= reach[:-1]) if order.size else np.zeros(0, dtype=np.bool_)
    group = np.cumsum(apart) - 1
    found = np.zeros(start.size, dtype=np.bool_)
    found[order] = np.bincount(group)[group] > 1 if order.size else False
    return found
