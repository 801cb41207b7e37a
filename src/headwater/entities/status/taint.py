"""The instances that are wrong because others are, across all entities; and the mirror: those that may have made them
wrong.

`tainted` follows what is *declared*: an instance is wrong if it exists and any instance that it needs is wrong.
`propagation.py` follows what versions had *read*. The same walk answers what cannot be made while something is missing:
then the roots are what is missing.

A set costs what its runs cost, so the walk costs runs × log n for each link, and links that mean the same to the same
set are followed once. Data periods of a cumulative entity are instances here; `Cumulative.tainted` returns which of
their revisions are wrong.
"""

from collections.abc import Mapping
from typing import NamedTuple

from headwater.entities.needs.graph import Graph, Link
from headwater.entities.needs.walk import NOTHING, Facts, Walk
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidEntities

__all__ = ["Facts", "Hit", "Reached", "Step", "suspects", "tainted"]


class Step(NamedTuple):
    """An instance on the way to a root; `link` leads to it from the next one. None for the root."""

    entity: str
    ordinal: int
    link: Link | None


class Hit(NamedTuple):
    """The reached instances of one entity.

    depth: the fewest links from any root; 0 for a root. Links within the entity do not count.
    witness: the last of these links; None for a root. If several are nearest, the first declared.
    """

    instances: Ordinals
    depth: int
    witness: Link | None


class Reached:
    """The answer. `hits`: by entity, only of those that are reached; upstream first, of suspects downstream first."""

    def __init__(self, walk: Walk, roots: Mapping[str, Ordinals]) -> None:
        self._walk = walk
        self._roots = roots
        reached = walk.closure(roots)
        nearest = self._nearest()
        self.hits = {name: Hit(found, *nearest[name]) for name, found in reached.items()}

    def why(self, entity: str, ordinal: int) -> list[Step]:
        """A shortest path from an instance to a root, over as few links as there are; a snapshot carried on is one link, however far.

        Empty if the instance is not reached. Sets are followed, not each path: a chain of a thousand takes a thousand steps.
        """
        if entity not in self.hits or ordinal not in self.hits[entity].instances:
            return []
        walk = self._walk
        levels = [{entity: Ordinals.between(ordinal, ordinal + 1)}]
        seen = dict(levels[0])
        while not (met := [name for name, some in levels[-1].items() if some & self._roots.get(name, NONE)]):
            level: dict[str, Ordinals] = {}
            for name, some in levels[-1].items():
                for link in walk.into(name):
                    before = walk.ends(link)[0]
                    if before in self.hits:
                        found = walk.step(link, some, self.hits[before].instances, forward=not walk.forward)
                        level[before] = level.get(before, NONE) | found
            level = {name: new for name, some in level.items() if (new := some - seen.get(name, NONE))}
            if not level:
                raise ValueError(
                    f"nothing leads to {entity} {ordinal}: what a link needs and what it affects are no inverses"
                )
            seen |= {name: seen.get(name, NONE) | some for name, some in level.items()}
            levels.append(level)
        path = [Step(met[0], (levels[-1][met[0]] & self._roots[met[0]]).first, None)]
        for level in levels[-2::-1]:
            path.append(self._onward(path[-1], level))
        return path[::-1]

    def _onward(self, at: Step, level: Mapping[str, Ordinals]) -> Step:
        walk = self._walk
        here = Ordinals.between(at.ordinal, at.ordinal + 1)
        for link in walk.out(at.entity):
            after = walk.ends(link)[1]
            found = walk.step(link, here, level[after], forward=walk.forward) if after in level else NONE
            if found:
                return Step(after, found.first, link)
        raise ValueError(
            f"{at.entity} {at.ordinal} leads nowhere: what a link needs and what it affects are no inverses"
        )

    def _nearest(self) -> dict[str, tuple[int, Link | None]]:
        """Return depth and witness of each entity, breadth first over the links that passed anything on."""
        walk = self._walk
        found: dict[str, tuple[int, Link | None]] = {name: (0, None) for name, some in self._roots.items() if some}
        queue = list(found)
        for name in queue:
            for link in walk.out(name):
                other = walk.ends(link)[1]
                if other not in found and id(link) in walk.passed:
                    found[other] = (found[name][0] + 1, link)
                    queue.append(other)
        return found


def tainted(graph: Graph, roots: Mapping[str, Ordinals], facts: Facts = NOTHING) -> Reached:
    """Return everything that is wrong because the instances of `roots`, by entity, are. They need not exist.

    InvalidEntities if a root is no entity.
    """
    return Reached(Walk(graph, facts, forward=True), _checked(graph, roots))


def closure(graph: Graph, roots: Mapping[str, Ordinals], facts: Facts = NOTHING) -> dict[str, Ordinals]:
    """The instances of `tainted` alone, by entity: how they are known, and over what, is not worked out, which takes as long again."""
    return Walk(graph, facts, forward=True).closure(_checked(graph, roots))


def suspects(graph: Graph, wrong: Mapping[str, Ordinals], facts: Facts = NOTHING) -> Reached:
    """The mirror: every instance that exists from which one of `wrong` may be wrong, over as many links as it takes."""
    return Reached(Walk(graph, facts, forward=False), _checked(graph, wrong))


def _checked(graph: Graph, roots: Mapping[str, Ordinals]) -> Mapping[str, Ordinals]:
    unknown = sorted(set(roots) - set(graph.entities))
    if unknown:
        raise InvalidEntities(f"there is no entity {', '.join(map(repr, unknown))}", problems=unknown)
    return roots
