"""A walk from some instances over links to all that these lead to, with the stream or against it. `taint.py` asks; the
walk knows no meaning.

Entities go in topological order, each once. In a cycle, its components go round until nothing is new: each time only
with what was new, and chains of an entity with itself are closed at once (`chains.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from headwater.entities.needs import chains
from headwater.entities.needs.edges import Edge
from headwater.entities.needs.graph import Graph, Link
from headwater.entities.needs.kinds import carried
from headwater.entities.needs.lags import shift
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.entities.time.relations import Relation

Map = Callable[[Ordinals], Ordinals]


class Facts(NamedTuple):
    """Facts beyond the declarations. None: no facts.

    exist: an entity's instances that exist; otherwise all that there may be, and of a static one version 0.
    cuts: the downstream instances that did not use a link at all: a snapshot made anew, a version that did not read the
    day before.
    """

    exist: Callable[[str], Ordinals] | None = None
    cuts: Callable[[Link], Ordinals] | None = None


NOTHING = Facts()


class Walk:
    """`forward`: with the stream, to what needs; otherwise to what is needed.

    Sets that are equal are made one object, so that a link that means the same as another need not be followed from the same set again.
    """

    def __init__(self, graph: Graph, facts: Facts, *, forward: bool) -> None:
        self.graph = graph
        self.facts = facts
        self.forward = forward
        self.passed: set[int] = set()  # ids of links over which anything came; the graph keeps them
        self._exist: dict[str, Ordinals] = {}
        self._same: dict[Ordinals, Ordinals] = {}
        self._images: dict[tuple[int, int], Ordinals] = {}
        self._mapped: dict[tuple[int, int, int], Ordinals] = {}
        self._hulls: dict[int, Ordinals] = {}
        self._united: dict[tuple[int, int], Ordinals] = {}

    @property
    def order(self) -> Sequence[tuple[str, ...]]:
        """The components, in the direction of the walk."""
        return self.graph.order if self.forward else self.graph.order[::-1]

    def out(self, name: str) -> Sequence[Link]:
        """The links that lead on from an entity."""
        return self.graph.downstream(name) if self.forward else self.graph.upstream(name)

    def into(self, name: str) -> Sequence[Link]:
        """The links that lead to it."""
        return self.graph.upstream(name) if self.forward else self.graph.downstream(name)

    def ends(self, link: Link) -> tuple[str, str]:
        """Return the entity that a link leads from, and the one that it leads to."""
        return (link.upstream, link.downstream) if self.forward else (link.downstream, link.upstream)

    def exist(self, name: str) -> Ordinals:
        """An entity's instances that exist."""
        if self.facts.exist is None:
            return self.graph.every(name)
        found = self._exist.get(name)
        if found is None:
            found = self.facts.exist(name)
            if self.graph.entities[name].instances is not None:
                found &= self.graph.every(name)
            found = self._exist[name] = self._interned(found)
        return found

    def closure(self, roots: Mapping[str, Ordinals]) -> dict[str, Ordinals]:
        """Return the roots, and all existing instances that can be reached; without entities that have none."""
        reached: dict[str, Ordinals] = {}
        for component in self.order:
            for name in component:
                found = self._interned(roots.get(name, NONE))
                for link in self.into(name):
                    source = link.upstream if self.forward else link.downstream
                    if source in reached and source not in component:
                        found = self._union(found, self._over(link, reached[source]))
                if found:
                    reached[name] = found
            if self.graph.cyclic(component):
                self._round(component, reached, roots)
        return reached

    def _round(self, component: tuple[str, ...], reached: dict[str, Ordinals], roots: Mapping[str, Ordinals]) -> None:
        """Reach all that a component reaches by itself, in the order in which it is reached, which is that of time."""
        fresh = {name: reached.pop(name) for name in component if name in reached}
        chained: dict[int, Map | None] = {}
        while fresh:
            name = next(iter(fresh))
            new = fresh.pop(name)
            own = [link for link in self.out(name) if link.upstream == link.downstream]
            for link in own:
                if id(link) not in chained:
                    chained[id(link)] = self._chain(link, roots.get(name, NONE))
            new = _stable(new, [chain for link in own if (chain := chained[id(link)]) is not None])
            new -= reached.get(name, NONE)
            if not new:
                continue
            reached[name] = reached.get(name, NONE) | new
            for link in self.out(name):
                target = self.ends(link)[1]
                if target in component and chained.get(id(link)) is None:
                    more = self._over(link, new) - reached.get(target, NONE)
                    if more:
                        fresh[target] = fresh.get(target, NONE) | more
        for name in component:
            if name in reached:
                reached[name] = self._interned(reached[name])

    def _chain(self, link: Link, roots: Ordinals) -> Map | None:
        """Return a function from seeds to all instances that they reach over an entity's link to itself. None if the walk must go step by step."""
        cuts, exist = self._cuts(link), self.exist(link.downstream)
        if link.carried:
            if self.forward:
                return lambda seeds: carried(seeds, exist, cuts) | seeds
            return lambda seeds: chains.carried_from(seeds, exist, cuts) | seeds
        edge = link.edge
        if edge is None or (cuts and not self.forward):
            return None
        own = edge.downstream.all
        lag = shift(edge, exist if self.forward else (exist | roots) & own)
        if lag is None or 1 < lag[0] < lag[1]:
            return None
        near, far = lag
        if self.forward:
            may, allowed, closed = edge.needed, exist - cuts, chains.onward
        else:
            may, allowed, closed = own, exist & edge.needed, chains.backward
        odd = edge.spans.odd if isinstance(edge.spans, Relation) else NONE

        def chain(seeds: Ordinals) -> Ordinals:
            return (closed((seeds & may) - odd, allowed - odd, near, far) or NONE) | seeds

        def step(seeds: Ordinals) -> Ordinals:
            return (edge.affected(seeds, allowed) if self.forward else edge.need(seeds) & allowed) | seeds

        # Between what a table lists it is the rule that leads on; from there, a step of whatever it says.
        return (lambda seeds: _stable(seeds, [chain, step])) if odd else chain

    def _over(self, link: Link, some: Ordinals) -> Ordinals:
        """Return the existing instances that one link reaches from `some`. Earlier results are looked up by object;
        `_one` keeps the objects alive."""
        target = self.exist(link.downstream if self.forward else link.upstream)
        edge = link.edge
        cuts = self._cuts(link)
        if edge is None or (cuts and not self.forward):
            found = self._interned(self.step(link, some, target, forward=self.forward))
        else:
            # Forward, all that mean the same share an image, and each cuts it to what exists of it.
            image = self._image(edge, some) if self.forward else some
            key = (0 if self.forward else id(edge), id(image), id(target))
            known = self._mapped.get(key)
            if known is None:
                found = image & target if self.forward else edge.need(some) & target
                known = self._interned(found)
                if self._same.get(image) is image:
                    self._mapped[key] = known
            found = known
            if found and cuts:
                found = self._interned(found - cuts)
        if found:
            self.passed.add(id(link))
        return found

    def _image(self, edge: Edge, some: Ordinals) -> Ordinals:
        """Return the instances that need any of `some`, in all the time in which anything of the downstream's calendar exists."""
        key = (id(edge if edge.clipped else edge.spans), id(some))
        found = self._images.get(key)
        if found is None:
            found = self._interned(edge.spans.touching(some & edge.needed, self._hull(edge.downstream.calendar)))
            if self._same.get(some) is some:
                self._images[key] = found
        return found

    def _hull(self, calendar: Calendar) -> Ordinals:
        if not self._hulls:
            # Calendars that are equal are one object, and so are most sets.
            sets: dict[int, dict[int, Ordinals]] = {}
            for name, entity in self.graph.entities.items():
                exist = self.exist(name)
                sets.setdefault(id(entity.instances and entity.instances.calendar), {})[id(exist)] = exist
            for each, found in sets.items():
                some = [exist for exist in found.values() if exist]
                if some:
                    hull = min(exist.first for exist in some), max(exist.end for exist in some)
                    self._hulls[each] = Ordinals.between(*hull)
        return self._hulls.get(id(calendar), NONE)

    def step(self, link: Link, some: Ordinals, among: Ordinals, *, forward: bool) -> Ordinals:
        """Return over one link those of `among` that need any of `some`; or, against the stream, those that any of `some` needs."""
        cuts = self._cuts(link)
        if forward:
            return self._affected(link, some, among, cuts) - cuts if some else NONE
        some -= cuts
        return self._needed(link, some, among, cuts) if some else NONE

    def _affected(self, link: Link, some: Ordinals, among: Ordinals, cuts: Ordinals) -> Ordinals:
        if link.edge is not None:
            return link.edge.affected(some, among)
        if link.carried:
            return carried(some, self.exist(link.downstream), cuts) & among
        return among

    def _needed(self, link: Link, some: Ordinals, among: Ordinals, cuts: Ordinals) -> Ordinals:
        if link.edge is not None:
            return link.edge.need(some) & among
        if link.carried:
            return chains.carried_from(some, self.exist(link.downstream), cuts) & among
        return among

    def _cuts(self, link: Link) -> Ordinals:
        return self.facts.cuts(link) if self.facts.cuts is not None else NONE

    def _interned(self, some: Ordinals) -> Ordinals:
        """The one object of all sets that are equal to this."""
        return self._same.setdefault(some, some)

    def _union(self, one: Ordinals, other: Ordinals) -> Ordinals:
        if one is other or not other:
            return one
        if not one:
            return other
        key = (id(one), id(other))
        found = self._united.get(key)
        if found is None:
            found = self._united[key] = self._interned(one | other)
        return found


def _stable(seeds: Ordinals, chained: Sequence[Map]) -> Ordinals:
    """Close the seeds under all of these maps, each of which closes under itself."""
    while True:
        grown = seeds
        for chain in chained:
            grown = chain(grown)
        if grown == seeds or len(chained) < 2:
            return grown
        seeds = grown
