"""What versions had read, as the maps that a walk follows in place of what is declared (`walk.Used`).

A record is a run of downstream instances, made in one go, and a run of upstream ones that they were made from. Of a link with dates each of them used
what it needs of that; of one without, all. Nothing here knows when which version was current: the caller leaves out what does not count.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np

from headwater.entities.graph import Link
from headwater.entities.ordinals import NONE, Int, Ordinals
from headwater.entities.walk import Used


class Recorded:
    """Of one link: the instances whose record is complete, and the runs that they read."""

    def __init__(self, link: Link, complete: Ordinals, rows: Iterable[tuple[int, int, int, int]]) -> None:
        """`rows`: (start, end) of downstream instances and (start, end) of what they read."""
        self._edge = link.edge
        self.complete = complete
        table = np.array(list(rows), dtype=np.int64).reshape(-1, 4)
        self._down, self._up = (table[:, 0], table[:, 1]), (table[:, 2], table[:, 3])

    def used(self) -> Used:
        """For `Facts.used`."""
        return Used(self.complete, self.by, self.of)

    def by(self, some: Ordinals) -> Ordinals:
        """The downstream instances that used any of these upstream ones."""
        found = self._found(self._down, self._up, some)
        # Of several made in one go, only those that need them.
        return found if self._edge is None or not found else found & (self._alone | self._edge.affected(some, found))

    def of(self, some: Ordinals) -> Ordinals:
        """The upstream instances that any of these downstream ones used."""
        found = self._found(self._up, self._down, some)
        if self._edge is None or not found:
            return found
        return found & (self._found(self._up, self._down, some & self._alone) | self._edge.need(some))

    @cached_property
    def _alone(self) -> Ordinals:
        """Instances that were made one by one: what the record says of them is all theirs."""
        starts, ends = self._down
        one = ends - starts == 1
        return Ordinals.joined(starts[one], ends[one])

    @staticmethod
    def _found(wanted: tuple[Int, Int], at: tuple[Int, Int], some: Ordinals) -> Ordinals:
        """One side of the rows whose other side overlaps any of these."""
        if not some or not at[0].size:
            return NONE
        run = np.searchsorted(some.ends, at[0], "right")
        hit = (run < some.runs) & (some.starts[np.minimum(run, some.runs - 1)] < at[1])
        return Ordinals.joined(wanted[0][hit], wanted[1][hit])


def by_link(
    links: Iterable[Link],
    complete: Mapping[str, Ordinals],
    rows: Mapping[tuple[str, str], list[tuple[int, int, int, int]]],
) -> dict[int, Used]:
    """For each link, by its `id()`: `complete` by downstream entity, `rows` by (downstream, upstream)."""
    return {
        id(link): Recorded(link, complete[link.downstream], rows.get((link.downstream, link.upstream), ())).used()
        for link in links
        if complete.get(link.downstream)
    }
