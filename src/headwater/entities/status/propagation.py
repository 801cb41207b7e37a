"""Spread wrong versions to what used them: by recorded reads, and by declared needs where no reads are recorded.

Current versions are followed together, over links, which costs little (`walk.py`). Undeclared reads, past versions and their readers
are followed row by row. Each may lead to the other, so both repeat until nothing is new, usually once.
"""

from collections.abc import Iterator, Mapping, Set
from typing import NamedTuple

import numpy as np

from headwater.entities.needs.graph import Link
from headwater.entities.needs.walk import Facts, Walk
from headwater.entities.status.histories import Histories, Readers
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidEntities

Sets = Mapping[str, Ordinals]
Pairs = Set[tuple[str, str]]
"""(upstream, downstream)."""


class Nearest(NamedTuple):
    """The fewest links from an origin to an entity; the last of them as text, and the entity before it (both empty for an origin)."""

    depth: int
    because: str
    before: str


class Spread:
    """The spread of wrong versions from some, current ones and past ones. `current`, `past`: by entity, with those it
    began from, without empty ones.

    `exact`: those of the current ones that are reached over recorded reads alone. InvalidEntities if a name is no
    entity.
    unaffected: pairs of entities of which the second is not wrong though it used the first: what is wrong of the first
    is not what the second used.
    """

    def __init__(self, known: Histories, current: Sets, past: Sets, unaffected: Pairs = frozenset()) -> None:
        self._known = known
        if unknown := sorted({*current, *past} - known.graph.entities.keys()):
            raise InvalidEntities(f"there is no entity {', '.join(map(repr, unknown))}", problems=unknown)
        self._roots = [name for name in known.graph.entities if current.get(name) or past.get(name)]
        every = _Round(known, current, past, unaffected, recorded=False)
        self.current, self.past = every.current, every.past
        self._walk, self._read = every.walk, every.read
        self.exact = self.current
        if _meet(self.current, known.unrecorded) or _meet(self.past, known.past) or _meet(self.past, known.several):
            self.exact = _Round(known, current, past, unaffected, recorded=True).current

    def nearest(self) -> dict[str, Nearest]:
        """Return the nearest way from an origin to each entity; the first declared where several are nearest."""
        found = dict.fromkeys(self._roots, Nearest(0, "", ""))
        queue = list(found)
        for name in queue:
            read = self._read.get(name, set())
            for link in self._known.graph.downstream(name):
                if link.downstream not in found and (id(link) in self._walk.passed or link.downstream in read):
                    found[link.downstream] = Nearest(found[name].depth + 1, str(link), name)
                    queue.append(link.downstream)
            for other in sorted(read):
                if other not in found:
                    found[other] = Nearest(found[name].depth + 1, f"{other} ← {name} (recorded)", name)
                    queue.append(other)
        return found


class _Round:
    """One spread from the same versions. `recorded`: over recorded reads alone."""

    def __init__(self, known: Histories, current: Sets, past: Sets, unaffected: Pairs, *, recorded: bool) -> None:
        self._known = known
        self._unaffected = unaffected
        self._recorded = recorded
        self.current: dict[str, Ordinals] = {}
        self.past: dict[str, Ordinals] = {}
        self.read: dict[str, set[str]] = {}
        self.walk = Walk(
            known.graph, Facts(exist=lambda name: known.there.get(name, NONE), cuts=self._cuts), forward=True
        )
        fresh = self._fresh({False: current, True: past})
        while any(fresh.values()):
            # A chain of rows is followed to its end first: the walk goes through the whole graph each time.
            seeds: dict[str, Ordinals] = {}
            while any(fresh.values()):
                self._reach(fresh)
                for name, some in fresh[False].items():
                    seeds[name] = seeds.get(name, NONE) | some
                fresh = self._fresh(self._rows(fresh))
            walked = self._fresh({False: self.walk.closure(seeds), True: {}})
            self._reach(walked)
            fresh = self._fresh(self._rows(walked))

    def _fresh(self, found: Mapping[bool, Sets]) -> dict[bool, dict[str, Ordinals]]:
        """Return the instances not reached before, of current versions (False) and past ones (True)."""
        past = _new(found[True], self.past)
        # It is unknown which of several past versions was read.
        return {
            False: _new(found[False], self.current),
            True: _new(past, self._known.several) if self._recorded else past,
        }

    def _reach(self, fresh: Mapping[bool, Sets]) -> None:
        for reached, sets in ((self.current, fresh[False]), (self.past, fresh[True])):
            for name, some in sets.items():
                reached[name] = reached.get(name, NONE) | some

    def _rows(self, fresh: Mapping[bool, Sets]) -> dict[bool, dict[str, Ordinals]]:
        """The instances that these lead to outside of the links of the walk."""
        found: dict[bool, dict[str, Ordinals]] = {False: {}, True: {}}
        for past, sets in fresh.items():
            for name, some in sets.items():
                for other, of_past, those in self._onward(name, some, past):
                    if (name, other) in self._unaffected:
                        continue
                    if those := those & self._known.there.get(other, NONE):
                        found[of_past][other] = found[of_past].get(other, NONE) | those
                        self.read.setdefault(name, set()).add(other)
        return found

    def _cuts(self, link: Link) -> Ordinals:
        if (link.upstream, link.downstream) in self._unaffected:
            return self._known.graph.every(link.downstream)
        cuts = self._known.cuts.get(id(link), NONE)
        return cuts | self._known.unrecorded.get(link.downstream, NONE) if self._recorded else cuts

    def _onward(self, name: str, some: Ordinals, past: bool) -> Iterator[tuple[str, bool, Ordinals]]:
        """Yield what only rows lead to: entity, whether it is a past version, instances."""
        readers = self._known.readers.get((name, past))
        if readers is not None:
            yield from self._readers(name, readers, some)
        if self._recorded:
            return
        for link in self._known.graph.downstream(name):
            other = link.downstream
            if before := self._known.past.get(other):
                yield other, True, _may(link, some, before)
            # The walk leads from a current version to unrecorded ones. But a snapshot without a record of its predecessor may have been
            # carried on from any before it, regardless of the records in between.
            if past or link.carried:
                yield other, False, _may(link, some, self._known.unrecorded.get(other, NONE))

    def _readers(self, name: str, rows: Readers, some: Ordinals) -> Iterator[tuple[str, bool, Ordinals]]:
        rows = rows.where(some.meets(rows.low, rows.high))
        if not rows.rank.size:
            return
        besides = some.meets(rows.low, np.minimum(rows.high, rows.least)) | some.meets(
            np.maximum(rows.low, rows.most), rows.high
        )
        by_dates = rows.together & ~besides
        which = rows.rank * 2 + rows.past
        for each in np.unique(which).tolist():
            other, past = self._known.names[each // 2], bool(each % 2)
            mine = which == each
            found = _written_versions(rows.where(mine & ~by_dates))
            if (mine & by_dates).any():
                dated = rows.where(mine & by_dates)
                read, made = some & Ordinals.joined(dated.low, dated.high), _written_versions(dated)
                found = NONE.union(
                    found,
                    *(
                        link.edge.affected(read, made)
                        for link in self._known.graph.upstream(other)
                        if link.upstream == name and link.edge is not None
                    ),
                )
            yield other, past, found


def _may(link: Link, some: Ordinals, among: Ordinals) -> Ordinals:
    """The instances of `among` that may have used any of `some`, by declaration."""
    if link.carried:
        return among & Ordinals.between(some.first + 1, among.end) if among else NONE
    return link.edge.affected(some, among) if link.edge is not None else among


def _meet(some: Sets, others: Sets) -> bool:
    return any(some[name] & others[name] for name in some.keys() & others.keys())


def _written_versions(rows: Readers) -> Ordinals:
    return Ordinals.joined(rows.start, rows.end)


def _new(some: Sets, known: Sets) -> dict[str, Ordinals]:
    return {name: new for name, each in some.items() if (new := each - known.get(name, NONE))}
