"""Sets of instances of thousands of entities as one set: what is done to all of them is done once, and not thousands of times.

Each entity has a stretch of numbers of its own, wide enough for every calendar. Unions and differences of such sets are those of every entity.
"""

import itertools
from collections.abc import Iterable, Mapping

import numpy as np

from headwater.entities.time.ordinals import NONE, Int, Ordinals

_WIDTH = 40
_MIDDLE = 1 << (_WIDTH - 1)  # ordinals may be negative; those of seconds from 1950 to 2149 are far less than this


class Together:
    """`rank`: the place of each entity among `names`."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self.rank = {name: place for place, name in enumerate(self.names)}

    def at(self, ranks: Int, ordinals: Int) -> Int:
        """The numbers of instances of entities, by rank."""
        found: Int = (ranks << _WIDTH) + _MIDDLE + ordinals
        return found

    def ordinals(self, numbers: Int) -> tuple[Int, Int]:
        """The ranks and ordinals of numbers: the inverse of `at`."""
        return numbers >> _WIDTH, (numbers & ((1 << _WIDTH) - 1)) - _MIDDLE

    def union(self, sets: Mapping[str, Ordinals]) -> Ordinals:
        """Return all of them as one set. KeyError for a name that has no rank."""
        some = sorted((self.rank[name], each) for name, each in sets.items() if each)
        if not some:
            return NONE
        ranks = np.repeat([rank for rank, _ in some], [each.runs for _, each in some])
        starts, ends = (np.concatenate([getattr(each, side) for _, each in some]) for side in ("starts", "ends"))
        return Ordinals.joined(self.at(ranks, starts), self.at(ranks, ends))

    def apart(self, some: Ordinals) -> dict[str, Ordinals]:
        """Return a set by name, without empty ones. Sets that are one run are one object if they are equal."""
        ranks, starts = self.ordinals(some.starts)
        ends = starts + (some.ends - some.starts)
        bounds = np.flatnonzero(np.diff(ranks, prepend=-1, append=-1)).tolist()
        found: dict[str, Ordinals] = {}
        single: dict[tuple[int, int], Ordinals] = {}
        for low, high in itertools.pairwise(bounds):
            name = self.names[int(ranks[low])]
            if high - low == 1:
                run = int(starts[low]), int(ends[low])
                found[name] = single.get(run) or single.setdefault(run, Ordinals.between(*run))
            else:
                found[name] = Ordinals.joined(starts[low:high], ends[low:high])
        return found


def counted(some: Ordinals, until: Int) -> Int:
    """Return for each number how many members of the set are less."""
    before = np.concatenate(([0], np.cumsum(some.ends - some.starts)))
    run = np.searchsorted(some.starts, until, "left")
    last = np.maximum(run - 1, 0)
    over = np.maximum(some.ends[last] - until, 0) if some.runs else np.zeros_like(until)
    found: Int = before[run] - np.where(run > 0, over, 0)
    return found
