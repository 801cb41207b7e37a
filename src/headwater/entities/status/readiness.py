"""May an instance be made now, in which state, and of exactly what: what a scheduler asks before it starts a run.

    windows(graph, "report", week)                                    # the marks that the answer needs
    readiness(graph, "report", week, {"words": marks}, now).state     # the best state that may be made

| a dependency says | then it will do when |
|---|---|
| nothing else | every instance needed has an accepted state and is right |
| `min` | so many of them, or all that are needed where these are fewer |
| `last_available n` | any is there; the newest n that are readable are pinned |
| `wait`, `then: accept` | the wait is over: what is there will do, even nothing |
| `wait`, `then: ENTITY` | the wait is over and that entity's instances will do; they are pinned instead |
| `wait`, `then: fail` | as without, but what is missing is `failed` then: it may still come, but it is not to be waited for |
| `optional` | always; what is there is pinned |
| `group` | the first declared member of the group that will do; it alone is pinned |

A snapshot that is carried on needs the one before it, unless it is the first, in the state to be made or in one that is passed after it. A static
entity that needs one with periods takes what is there. Whether an instance's own period is over is not asked: that is the scheduler's business.

Nothing is read here and no clock is asked; everything is done to runs.
"""

import math
import weakref
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from headwater.entities.needs.edges import Edge
from headwater.entities.needs.graph import ACCEPT, COMPLETED, FAIL, Dependency, Entity, Graph, Link, Minimum
from headwater.entities.status.marks import Marks
from headwater.entities.status.missing import Missing, Outcome, readable, reasons
from headwater.entities.time.dates import Dates
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidQuestion, NotFound


class Prospect(NamedTuple):
    """The readiness of one state.

    pins: by upstream what to read, exactly: for a state that is not ready, what exists of it so far. Version 0 of
    static upstreams.
    missing: of each dependency in turn what may not be read; for a ready state what it was accepted without, never
    hidden.
    """

    state: str
    ready: bool
    pins: Mapping[str, Ordinals]
    missing: tuple[Missing, ...]

    @property
    def accepted(self) -> bool:
        """True if it is ready, though something is missing."""
        return self.ready and bool(self.missing)

    @property
    def failed(self) -> bool:
        """True if it is not ready, and waiting is over for something that it lacks."""
        return any(each.outcome == "failed" for each in self.missing)


class Readiness(NamedTuple):
    """The states that were asked for, in the order in which they are passed."""

    entity: str
    ordinal: int
    states: tuple[Prospect, ...]

    @property
    def best(self) -> Prospect | None:
        """The last state that is ready. None: not any is."""
        return next((each for each in reversed(self.states) if each.ready), None)

    @property
    def ready(self) -> bool:
        return self.best is not None

    @property
    def state(self) -> str | None:
        return None if self.best is None else self.best.state


def windows(graph: Graph, entity: str, ordinals: Ordinals, state: str | None = None) -> dict[str, Ordinals]:
    """Return by upstream entity the instances whose marks must be known to decide whether these are ready; only for
    `state` if that is given.

    NotFound for an unknown entity, InvalidQuestion for an unknown state.
    """
    found: dict[str, Ordinals] = {}
    for groups in _asked(graph, entity, state).values():
        for need in (need for group in groups for need in group):
            for link in (need.link, need.instead) if need.instead is not None else (need.link,):
                needed = graph.every(link.upstream)
                if link.edge is not None:
                    # The same question is repeated for one instance once its marks are loaded.
                    one = ordinals.count == 1
                    needed &= _needed(link.edge, ordinals.first) if one else link.edge.need(ordinals)
                found[link.upstream] = found.get(link.upstream, NONE) | needed
    return found


def readiness(
    graph: Graph,
    entity: str,
    ordinal: int,
    known: Mapping[str, Marks],
    now: int,
    *,
    state: str | None = None,
    due: Mapping[str, int] = {},
) -> Readiness:
    """Return whether an instance may be made, by state; only for `state` if that is given.

    known: the marks of each upstream, at least within `windows`; an upstream that is not in it has no instances.
    now: seconds since the epoch. due: by entity, how many seconds after its period's end an instance is expected;
    default: at its end.
    An ordinal that is no instance is missing itself: `before_start` or `after_end`. A static entity's ordinals are
    versions and not checked.
    NotFound for an unknown entity, InvalidQuestion for an unknown state.
    """
    asked = _asked(graph, entity, state)
    owner = graph.entities[entity]
    every = graph.every(entity)
    if owner.instances is not None and ordinal not in every:
        none = tuple(reasons(owner, every, Ordinals.between(ordinal, ordinal + 1), _UNKNOWN, (), now, 0))
        return Readiness(entity, ordinal, tuple(Prospect(name, False, {}, none) for name in asked))
    at = _Asked(graph, owner, ordinal, known, now, due)
    return Readiness(entity, ordinal, tuple(_prospect(at, name, groups) for name, groups in asked.items()))


class _Need(NamedTuple):
    """A dependency's link, and the one to what is taken instead when its wait is over."""

    link: Link
    dependency: Dependency
    instead: Link | None


_Groups = tuple[tuple[_Need, ...], ...]


class _Asked(NamedTuple):
    graph: Graph
    entity: Entity
    ordinal: int
    known: Mapping[str, Marks]
    now: int
    due: Mapping[str, int]


class _Answer(NamedTuple):
    """The answer for a link, a dependency or a group: `enough` if it is satisfied."""

    enough: bool
    pins: Mapping[str, Ordinals]
    missing: tuple[Missing, ...] = ()


_UNKNOWN = Marks()
# Values that depend on the graph alone, for as long as it lives.
_needs: weakref.WeakKeyDictionary[Graph, dict[str, dict[str, _Groups]]] = weakref.WeakKeyDictionary()


def _asked(graph: Graph, entity: str, state: str | None) -> Mapping[str, _Groups]:
    """Return the groups of each state, in the order declared; a dependency without a group is one of its own."""
    if entity not in graph.entities:
        raise NotFound(f"there is no entity {entity!r}", entity=entity)
    plans = _needs.setdefault(graph, {})
    found = plans.get(entity)
    if found is None:
        owner = graph.entities[entity]
        states = list(owner.states) or [COMPLETED]
        found = plans[entity] = {
            name: tuple(_grouped(graph, owner, states[place:])) for place, name in enumerate(states)
        }
    if state is None:
        return found
    if state not in found:
        raise InvalidQuestion(f"entity {entity!r} has no state {state!r}; it has {', '.join(found)}", state=state)
    return {state: found[state]}


def _grouped(graph: Graph, entity: Entity, states: list[str]) -> Iterator[tuple[_Need, ...]]:
    """Yield the groups of a state's needs. `states`: the one asked for and those that are passed after it."""
    needs: list[_Need] = []
    for link in graph.upstream(entity.name):
        if link.instead and link.state == states[0]:
            needs[-1] = needs[-1]._replace(instead=link)
        elif link.carried and entity.instances is not None:
            before = Dates.of({"dates": "previous", "before_start": "ignore"})
            dependency = Dependency(entity.name, before, tuple(states))
            edge = Edge(entity.instances, entity.instances, before)
            needs.append(_Need(link._replace(edge=edge), dependency, None))
        elif link.dependency is not None and link.state == states[0]:
            needs.append(_Need(link, link.dependency, None))
    groups: dict[str, list[_Need]] = {}
    for place, need in enumerate(needs):
        groups.setdefault(need.dependency.group or f"\0{place}", []).append(need)
    return (tuple(group) for group in groups.values())


def _prospect(at: _Asked, state: str, groups: _Groups) -> Prospect:
    answers = [_group(at, group) for group in groups]
    missing = tuple(each for answer in answers for each in answer.missing)
    return Prospect(state, all(answer.enough for answer in answers), _joined(each.pins for each in answers), missing)


def _group(at: _Asked, group: tuple[_Need, ...]) -> _Answer:
    answers = []
    for need in group:
        answer = _dependency(at, need)
        if answer.enough:
            return answer
        answers.append(answer)
    missing = tuple(each for answer in answers for each in answer.missing)
    some = [answer for need, answer in zip(group, answers, strict=True) if need.dependency.optional]
    if some:
        return _Answer(True, _joined(answer.pins for answer in some), _with(missing, "accepted"))
    return _Answer(False, _joined(answer.pins for answer in answers), missing)


def _dependency(at: _Asked, need: _Need) -> _Answer:
    answer = _link(at, need.link, need.dependency)
    wait, then = need.dependency.wait, need.dependency.then
    if answer.enough or wait is None or at.entity.instances is None:
        return answer
    if at.now <= int(at.entity.instances.calendar.begins([at.ordinal + 1])[0]) + wait:
        return answer
    if then == ACCEPT:
        return answer._replace(enough=True, missing=_with(answer.missing, "accepted"))
    if then == FAIL or need.instead is None:
        return answer._replace(missing=_with(answer.missing, "failed"))
    other = _link(at, need.instead, need.dependency)
    if other.enough:
        return other._replace(missing=_with(answer.missing, "accepted") + other.missing)
    return _Answer(False, _joined((answer.pins, other.pins)), answer.missing + other.missing)


def _link(at: _Asked, link: Link, dependency: Dependency) -> _Answer:
    """Return the readable instances of one upstream, and whether they are enough without more waiting."""
    upstream = at.graph.entities[link.upstream]
    marks = at.known.get(link.upstream, _UNKNOWN)
    needed, chosen = _looked(at, link, upstream)
    there = readable(
        marks, needed & at.graph.every(link.upstream), dependency.states, accept_tainted=dependency.accept_tainted
    )
    if not chosen:
        if there == needed:
            return _Answer(True, {link.upstream: there} if there else {})
        wanted = least = needed.count
    else:
        if link.edge is not None:
            there = link.edge.resolve(at.ordinal, there, at.now)
        elif dependency.minimum is not None:
            chosen = dependency.minimum.number or chosen
        # Never more than there can be; and where there can be none, that one is wanting.
        wanted, least = min(chosen, max(needed.count, 1)), 1
    pins = {link.upstream: there} if there else {}
    count = there.count
    if chosen and count >= wanted:
        return _Answer(True, pins)
    if dependency.minimum is not None:
        least = _least(dependency.minimum, wanted)
    lacking = needed - there
    due = at.due.get(upstream.name, 0)
    every = at.graph.every(link.upstream)
    missing = tuple(reasons(upstream, every, lacking, marks, dependency.states, at.now, due))
    if count >= least:
        return _Answer(True, pins, _with(missing, "accepted"))
    return _Answer(False, pins, missing or (Missing(upstream.name, NONE, "empty_window"),))


def _looked(at: _Asked, link: Link, upstream: Entity) -> tuple[Ordinals, int]:
    """The instances that may be read, and how many of them are chosen by what is there; 0: all of them are needed."""
    if link.edge is None:
        # The one of versions; all that there is by now of what has periods, when one's own has none.
        return (
            (at.graph.every(link.upstream), 0) if upstream.instances is None else (upstream.instances.over(at.now), 1)
        )
    needed, meaning = _needed(link.edge, at.ordinal), link.dates.meaning
    if meaning.newest and meaning.end is None:
        needed &= link.edge.upstream.over(at.now)
    return needed, meaning.newest


def _least(minimum: Minimum, wanted: int) -> int:
    """Return how many are enough if not all exist. 0.07 of 100 is 7, though their product is a little more than that."""
    if minimum.number is not None:
        return minimum.number
    if minimum.share is not None:
        return math.ceil(round(minimum.share * wanted, 6))
    return wanted - (minimum.lacking or 0)


@lru_cache(maxsize=65_536)
def _needed(edge: Edge, ordinal: int) -> Ordinals:
    return edge.need(Ordinals.between(ordinal, ordinal + 1))


def _with(missing: tuple[Missing, ...], outcome: Outcome) -> tuple[Missing, ...]:
    return tuple(each._replace(outcome=outcome) for each in missing)


def _joined(pins: Iterable[Mapping[str, Ordinals]]) -> dict[str, Ordinals]:
    found: dict[str, Ordinals] = {}
    for each in pins:
        for name, some in each.items():
            found[name] = found.get(name, NONE) | some
    return found
