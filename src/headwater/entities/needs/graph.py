"""Entities and what each needs of the others, as one graph that is known to make sense.

    Graph([
        Entity("reads", TimeSeries(), Instances.of({"every": "hour"})),
        Entity("report", TimeSeries(), Instances.of({"every": "week"}), {"completed": (Dependency("reads", Dates.of("all_week")),)}),
    ])

Cycles are allowed where following one leads to earlier periods: today's stock from yesterday's. A cycle is judged by entities, not by states, and by
the least lag of each of its links in seconds: a day that needs its month, which needs the days of the month before, has none that is sure (28 - 31),
and is refused though it comes to an end.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from headwater.entities.needs import cycles, lags
from headwater.entities.needs.cycles import Arc
from headwater.entities.needs.edges import Edge
from headwater.entities.needs.kinds import Cumulative, Sliding, Snapshot, Static, TimeSeries
from headwater.entities.time.dates import Dates, Meaning
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import Ordinals
from headwater.errors import HeadwaterError, InvalidEntities

Kind = TimeSeries | Sliding | Snapshot | Static | Cumulative

COMPLETED = "completed"
"""The state that a dependency accepts where it does not say which, and the one an entity has that declares none."""


FAIL, ACCEPT = "fail", "accept"
"""The values of `then` that name no entity."""


class Minimum(NamedTuple):
    """The least of the instances needed that is enough: `20` (number), `95%` (share, 0 to 1), `-1` (all but so many). One of them is given."""

    number: int | None = None
    share: float | None = None
    lacking: int | None = None


class Dependency(NamedTuple):
    """The need of a state of an entity for another entity. `dates` None: what the downstream's kind needs by default; for a static one: `static`."""

    upstream: str
    dates: Dates | None = None
    states: tuple[str, ...] = (COMPLETED,)  # any of these will do
    accept_tainted: bool = False  # wrong instances do not hold it back; they make it wrong all the same
    optional: bool = False  # used if it is there, never waited for
    minimum: Minimum | None = None  # all of what is needed where None
    wait: int | None = None  # seconds after the downstream period's end; from then on `then` holds
    then: str = FAIL  # fail; accept: what is there will do; or the name of an entity that is taken instead, with the same dates and states
    columns: tuple[str, ...] = ()  # only these are used; all where empty
    group: str = ""  # any one of a state's dependencies with the same group will do


class Entity(NamedTuple):
    """`instances` is None for a static entity and for no other. `states`: what each needs, in the order they are passed."""

    name: str
    kind: Kind
    instances: Instances | None = None
    states: Mapping[str, tuple[Dependency, ...]] = {}


class Wrong(NamedTuple):
    """A contradiction in a graph.

    `entity`, its `state` and the `place` of the dependency in it say what it is about, as far as it is about one; of an
    entity that is declared twice `place` is the second's place among all entities. `row`: the table and row of a
    dependency's `custom`.
    """

    text: str
    entity: str = ""
    state: str = ""
    place: int | None = None
    row: tuple[str, ...] = ()


class Link(NamedTuple):
    """A dependency in its place. `edge` is None if there are no dates to compute with: one side is static, or a snapshot is carried on.

    instead: the upstream is the one that the dependency takes when its wait is over; it comes right after the link to the one waited for.
    """

    downstream: str
    state: str
    upstream: str
    dates: Dates
    dependency: Dependency | None = None
    edge: Edge | None = None
    instead: bool = False

    @property
    def carried(self) -> bool:
        """True if the link is what `Snapshot("carry")` needs of itself without declaring it: the last existing instance before."""
        return self.dependency is None

    def __str__(self) -> str:
        return f"{self.downstream} ← {self.upstream} ({'carried' if self.carried else self.dates})"


class Graph:
    """Entities by name, and their links both ways. Immutable; edges that mean the same are one object.

    `order`: the strongly connected components, upstream first; one with several names, or with a link to itself, is a cycle.
    """

    def __init__(self, entities: Iterable[Entity]) -> None:
        """InvalidEntities with all that is wrong in `problems`, a text each: names declared twice, unknown names and states (with the
        nearest known one), dates that make no sense, and cycles without lag as a path. `about` says of each what `Wrong` has besides.
        """
        self.entities: dict[str, Entity] = {}
        problems: list[Wrong] = []
        for nth, entity in enumerate(entities):
            if entity.name in self.entities:
                problems.append(Wrong(f"entity {entity.name!r} is declared twice", entity.name, place=nth))
            elif isinstance(entity.kind, Static) != (entity.instances is None):
                wrong = (
                    "is static and has no periods"
                    if entity.instances
                    else "has no periods, and only a static one has none"
                )
                problems.append(Wrong(f"entity {entity.name!r} {wrong}", entity.name))
            self.entities.setdefault(entity.name, entity)
        one = {entity.instances: _every(entity) for entity in self.entities.values()}
        self._every = {name: one[entity.instances] for name, entity in self.entities.items()}
        self._edges: dict[tuple[Instances, Instances, Meaning, bool], Edge] = {}
        self._upstream: dict[str, list[Link]] = {name: [] for name in self.entities}
        self._downstream: dict[str, list[Link]] = {name: [] for name in self.entities}
        for entity in self.entities.values():
            for link in self._links(entity, problems):
                self._upstream[link.downstream].append(link)
                self._downstream[link.upstream].append(link)
        names = list(self.entities)
        number = {name: place for place, name in enumerate(names)}
        out = [list(dict.fromkeys(number[link.downstream] for link in self._downstream[name])) for name in names]
        found = cycles.components(out)
        self.order = tuple(tuple(names[each] for each in component) for component in found)
        for component in self.order:
            problems += self._without_lag(component)
        if problems:
            some = "\n".join(f"- {problem.text}" for problem in problems)
            raise InvalidEntities(
                f"the entities do not fit together:\n{some}",
                problems=[problem.text for problem in problems],
                about=[list(problem[1:]) for problem in problems],
            )

    def upstream(self, name: str, state: str | None = None) -> Sequence[Link]:
        """The links to what an entity needs, in the order declared; with `state`, only of that state. KeyError for a name that no entity has."""
        links = self._upstream[name]
        return links if state is None else [link for link in links if link.state == state]

    def downstream(self, name: str, state: str | None = None) -> Sequence[Link]:
        """The links of entities that need this one; with `state`, only those that accept it. KeyError for a name that no entity has."""
        links = self._downstream[name]
        if state is None:
            return links
        return [link for link in links if link.dependency is None or state in link.dependency.states]

    def every(self, name: str) -> Ordinals:
        """Return all instances that an entity may ever have, one object for equal ones; of a static one version 0. KeyError for an unknown name."""
        return self._every[name]

    def cyclic(self, component: tuple[str, ...]) -> bool:
        """Return whether an instance of the component may need other instances of it."""
        return len(component) > 1 or any(link.upstream == component[0] for link in self._upstream[component[0]])

    def _links(self, entity: Entity, problems: list[Wrong]) -> Iterator[Link]:
        for state, dependencies in entity.states.items():
            for place, dependency in enumerate(dependencies):
                where = Wrong(f"entity {entity.name!r}, state {state!r}", entity.name, state, place)
                yield from self._to(entity, dependency, dependency.upstream, where, problems)
                problems += [
                    where._replace(text=f"{where.text}, of {dependency.upstream!r}: {wrong}")
                    for wrong in _misplaced(entity, dependency)
                ]
                if dependency.then not in {FAIL, ACCEPT}:
                    then = where._replace(text=f"{where.text}, then")
                    for link in self._to(entity, dependency, dependency.then, then, problems):
                        yield link._replace(instead=True)
        if isinstance(entity.kind, Snapshot) and entity.kind.mode == "carry":
            yield Link(entity.name, "", entity.name, _PREVIOUS)

    def _to(
        self, entity: Entity, dependency: Dependency, name: str, where: Wrong, problems: list[Wrong]
    ) -> Iterator[Link]:
        """The link of a dependency to its upstream, or to the one taken instead."""
        upstream = self.entities.get(name)
        if upstream is None:
            near = _near(name, self.entities)
            problems.append(where._replace(text=f"{where.text}: there is no entity {name!r}{near}"))
            return
        has = upstream.states or {COMPLETED: ()}
        problems += [
            where._replace(text=f"{where.text}: entity {name!r} has no state {accepted!r}{_near(accepted, has)}")
            for accepted in dependency.states
            if accepted not in has
        ]
        try:
            link = self._link(entity, where.state, dependency, upstream)
        except HeadwaterError as wrong:
            for row, text in _table_problem(wrong):
                problems.append(where._replace(text=f"{where.text}, of {name!r}: {text}", row=row))
        else:
            yield link

    def _link(self, entity: Entity, state: str, dependency: Dependency, upstream: Entity) -> Link:
        timeless = entity.instances is None or upstream.instances is None
        dates = dependency.dates or (_STATIC if timeless else Dates.of(entity.kind.default_dates))
        if timeless != dates.meaning.static:
            raise InvalidEntities(
                f"dates {str(dates)!r} need periods on both sides; write static"
                if timeless
                else "dates 'static' go with a static entity; this one has periods"
            )
        if entity.instances is None or upstream.instances is None:
            return Link(entity.name, state, upstream.name, dates, dependency)
        key = (entity.instances, upstream.instances, dates.meaning, dates.ignore_before_start)
        edge = self._edges.get(key)
        if edge is None:
            edge = self._edges[key] = Edge(entity.instances, upstream.instances, dates)
        return Link(entity.name, state, upstream.name, dates, dependency, edge)

    def _without_lag(self, component: tuple[str, ...]) -> Iterator[Wrong]:
        """Yield a problem for each cycle without lag. A link through something static has no known lag."""
        if not self.cyclic(component):
            return
        number = {name: place for place, name in enumerate(component)}
        links = [
            link for name in component for link in self._upstream[name] if link.upstream in number and not link.carried
        ]
        arcs = [
            Arc(number[link.downstream], number[link.upstream], lags.least(link.edge) if link.edge is not None else 0)
            for link in links
        ]
        for cycle in cycles.without_lag(len(component), arcs):
            path = "".join(f" ← {links[each].upstream} ({links[each].dates})" for each in cycle)
            first = links[cycle[0]]
            yield Wrong(
                f"a cycle without lag: {first.downstream}{path}; an instance would need itself, or a later one. "
                "Let one of these need an earlier period: `previous`, or a window that ends before its own",
                first.downstream,
                first.state,
                self.entities[first.downstream].states[first.state].index(first.dependency)
                if first.dependency is not None
                else None,
            )


def _every(entity: Entity) -> Ordinals:
    return Ordinals.between(0, 1) if entity.instances is None else entity.instances.all


def _table_problem(wrong: HeadwaterError) -> Iterator[tuple[tuple[str, ...], str]]:
    """Return each mistake of a `custom` table by itself, with its table and row."""
    rows = wrong.detail.get("rows")
    if not isinstance(rows, list):
        yield (), wrong.message
        return
    for direction, key, text in rows:
        yield (direction, key), text


def _misplaced(entity: Entity, dependency: Dependency) -> Iterator[str]:
    """Yield each statement of a dependency about waiting that could never hold."""
    if dependency.wait is not None and entity.instances is None:
        yield "wait counts from the end of a period, and a static entity has none"
    if dependency.then != FAIL and dependency.wait is None:
        yield f"then {dependency.then!r} needs a wait: how long after the period's end it begins to hold"
    if dependency.then == dependency.upstream:
        yield f"then {dependency.then!r} is what is waited for; name another entity, or write accept or fail"


_PREVIOUS = Dates.of("previous")
_STATIC = Dates.of("static")


def _near(name: str, known: Iterable[str]) -> str:
    """Return a hint at the most similar known name; "" if none is similar."""
    near = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]!r}?" if near else ""
