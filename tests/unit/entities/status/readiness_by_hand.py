"""Random entities with what is known of them, and whether each may be made, one instance after the other: dicts, lists and loops.

`Edge.need` gives the instances that each needs (`test_edges.py` compares it with periods made by hand); nothing else is taken from the package.
"""

import datetime as dt
import random
from fractions import Fraction
from typing import Any, NamedTuple

from tests.unit.entities.status.drawn_graphs import ANY, EARLIER, EVERY
from tests.unit.entities.time.drawn import ODD

from headwater.entities.needs.edges import Edge
from headwater.entities.needs.graph import Dependency, Entity, Graph, Minimum
from headwater.entities.needs.kinds import Snapshot, Static, TimeSeries
from headwater.entities.status.marks import Mark, Marks
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import Ordinals
from headwater.errors import InvalidEntities

Known = dict[str, dict[int, set[tuple[str, str]]]]
Told = tuple[str, int | None, str, str, str]  # entity, instance, why, ref, outcome

DAY = 86_400
STATES = ("partial", "estimated", "completed")
AVAILABLE = [
    "last_available",
    "last_available 3",
    "last_available 2 within 10 days",
    "last_available within 3 hours",
    {"dates": "last_available 2", "as_of": "now"},
]


class World(NamedTuple):
    graph: Graph
    known: Known
    now: int
    due: dict[str, int]


def marks(known: dict[int, set[tuple[str, str]]]) -> Marks:
    found: dict[Mark, list[int]] = {}
    for ordinal, some in known.items():
        for kind, ref in some:
            found.setdefault(Mark(kind, ref), []).append(ordinal)  # type: ignore[arg-type]
    return Marks({mark: Ordinals.of(some) for mark, some in found.items()})


def world(chance: random.Random) -> World | None:
    """None where the entities drawn do not fit together: a cycle without lag."""
    zone = chance.choice(list(ODD))
    date = dt.date.fromisoformat(chance.choice([each for each in ODD[zone] if each > "1970"]))
    at = dt.datetime.combine(date, dt.time(), dt.UTC).timestamp()
    names = [f"e{place}" for place in range(chance.randrange(2, 6))]
    entities: list[Entity] = []
    for place, name in enumerate(names):
        states = STATES[chance.randrange(3) :] if chance.random() < 0.8 else ()
        static = chance.random() < 0.1
        needs = {
            state: tuple(_dependency(chance, entities, static) for _ in range(chance.randrange(4) if place else 0))
            for state in states
        }
        if static:
            entities.append(Entity(name, Static(), None, needs))
            continue
        if states and chance.random() < 0.2:
            own = Dependency(name, Dates.of(chance.choice(EARLIER)), (chance.choice(states),))
            needs[states[-1]] += (own,)
        calendar = Calendar.every(chance.choice(EVERY), chance.choice([zone, zone, "UTC", "Asia/Kolkata"]))
        first = calendar.at(int(at) - chance.randrange(10, 30) * DAY)
        end = max(calendar.at(int(at) + chance.randrange(1, 30) * DAY), first + 1)
        kind = Snapshot("carry") if chance.random() < 0.15 else TimeSeries()
        entities.append(Entity(name, kind, Instances(calendar, first, end), needs))
    try:
        graph = Graph(entities)
    except InvalidEntities as wrong:
        if "cycle without lag" not in wrong.message:
            raise
        return None
    now = int(at) + chance.randrange(-15 * DAY, 15 * DAY)
    known = {name: _known(chance, entity) for name, entity in graph.entities.items() if chance.random() < 0.95}
    due = {name: chance.choice([0, 3600, -7200, 2 * DAY]) for name in names if chance.random() < 0.5}
    return World(graph, known, now, due)


def _dependency(chance: random.Random, entities: list[Entity], static: bool) -> Dependency:
    upstream = chance.choice(entities)
    has = tuple(upstream.states) or ("completed",)
    states = tuple(chance.sample(has, chance.randrange(1, len(has) + 1)))
    timeless = static or upstream.instances is None
    said: dict[str, Any] = {"dates": chance.choice([*ANY, *EARLIER])}
    if chance.random() < 0.25:
        available = chance.choice(AVAILABLE)
        said = dict(available) if isinstance(available, dict) else {"dates": available}
    elif chance.random() < 0.15:
        said = {"dates": chance.choice(["same", "last 3 hours", "last 30 hours"]), "strict": "within"}
    if chance.random() < 0.3:
        said["before_start"] = "ignore"
    instead = [
        other.name
        for other in entities
        if other is not upstream
        and (other.instances is None) == (upstream.instances is None)
        and set(states) <= (set(other.states) or {"completed"})
    ]
    wait = chance.choice([0, 3600, 5 * DAY]) if chance.random() < 0.4 and not static else None
    minimum = None
    if chance.random() < 0.3:
        minimum = chance.choice(
            [
                Minimum(number=chance.randrange(6)),
                Minimum(share=chance.choice([0.0, 0.07, 0.5, 0.95, 1.0, 0.3])),
                Minimum(lacking=chance.randrange(4)),
            ]
        )
    return Dependency(
        upstream.name,
        None if timeless else Dates.of(said),
        states,
        accept_tainted=chance.random() < 0.2,
        optional=chance.random() < 0.1,
        minimum=minimum,
        wait=wait,
        then=chance.choice(["fail", "accept", *instead, *instead]) if wait is not None else "fail",
        group=chance.choice(["", "", "", "one", "two"]),
    )


def _known(chance: random.Random, entity: Entity) -> dict[int, set[tuple[str, str]]]:
    """Stretches of marks over each other, some beyond what the entity has."""
    first, end = (0, 3) if entity.instances is None else (entity.instances.first or 0, entity.instances.end or 0)
    found: dict[int, set[tuple[str, str]]] = {}
    most = (end - first) + 6
    good = chance.random() < 0.6
    states = tuple(entity.states) or ("completed",)
    drawn = [(("state", state), 1.0 if good else chance.random()) for state in states]
    for kind, refs in {
        "deleted": ["external", "retention"],
        "running": ["r1", "r2"],
        "tainted": ["i1", "i2"],
        "inherited": ["i0", "i2", "i3"],
        "suspect": ["c1"],
        "quarantined": ["ann", "bob"],
        "repairing": ["p"],
        "wont_fix": ["i1"],
        "stale": [""],
    }.items():
        drawn += [((kind, ref), 0.1 if chance.random() < 0.4 else 0.0) for ref in refs]
    for mark, share in drawn:
        if share == 0.0:
            continue
        for k in range(first - 3, first - 3 + most):
            if chance.random() < (0.98 if good and mark[0] == "state" else share * 0.8):
                found.setdefault(k, set()).add(mark)
    return found


class ByHand:
    """One instance of one entity: `state(name)` is (ready, pins, told)."""

    def __init__(self, world: World, entity: str, ordinal: int) -> None:
        self.world, self.graph = world, world.graph
        self.entity, self.ordinal = self.graph.entities[entity], ordinal

    def every(self, name: str) -> range:
        instances = self.graph.entities[name].instances
        if instances is None:
            return range(1)
        assert instances.first is not None
        assert instances.end is not None
        return range(instances.first, instances.end)

    def ends(self, name: str, ordinal: int) -> int:
        instances = self.graph.entities[name].instances
        assert instances is not None
        return int(instances.calendar.begins([ordinal + 1])[0])

    def why(self, name: str, u: int, accept: tuple[str, ...], tainted: bool) -> tuple[str, str] | None:
        """None: it may be read."""
        every = self.every(name)
        if u < every.start:
            return "before_start", ""
        if u >= every.stop:
            return "after_end", ""
        has = self.world.known.get(name, {}).get(u, set())

        def least(*kinds: str) -> str | None:
            return min((ref for kind, ref in has if kind in kinds), default=None)

        gone = least("deleted")
        if gone is None and any(("state", state) in has for state in accept):
            for why, kinds in (
                ("withheld", ["quarantined"]),
                ("wrong", ["tainted", "inherited"]),
                ("doubted", ["suspect"]),
            ):
                ref = least(*kinds)
                if ref is not None and (why == "withheld" or not tainted):
                    return why, ref
            return None
        if (run := least("running")) is not None:
            return "running", run
        if gone is not None:
            return "deleted", gone
        others = [ref for kind, ref in sorted(has) if kind == "state"]
        late = ("other_state", others[0]) if others else ("late", "")
        if self.graph.entities[name].instances is None:
            return late
        expected = self.ends(name, u) + self.world.due.get(name, 0)
        return ("not_due", "") if self.world.now < expected else late

    def one(self, dependency: Dependency, name: str, dates: Dates | None) -> tuple[bool, set[int], list[Told]]:
        """Return the readiness of one upstream, without waiting: whether it is enough, the instances there, and the missing ones."""
        mine, theirs = self.entity.instances, self.graph.entities[name].instances
        newest, wanted = 0, None
        if mine is not None and theirs is not None:
            dates = dates or Dates.of("same" if isinstance(self.entity.kind, TimeSeries) else "everything")
            needed = Edge(mine, theirs, dates).need(Ordinals.of([self.ordinal]))
            newest = dates.meaning.newest
            # As of now the window has no end; what is not over yet is none of it.
            open_end = newest and dates.meaning.end is None
            window = (
                [
                    u
                    for u in range(needed.first, min(needed.end, self.every(name).stop if open_end else needed.end))
                    if not open_end or self.ends(name, u) <= self.world.now
                ]
                if needed
                else []
            )
            wanted = newest or len(window)
        elif theirs is None:
            window = [0]
            wanted = 1
        else:
            window = [u for u in self.every(name) if self.ends(name, u) <= self.world.now]
            newest = len(window) + 1
            wanted = 1
            if dependency.minimum is not None and dependency.minimum.number:
                wanted = dependency.minimum.number
        whys = {u: self.why(name, u, dependency.states, dependency.accept_tainted) for u in window}
        there = [u for u in window if whys[u] is None]
        if newest:
            there = there[-newest:]
        if newest and wanted > len(window):
            wanted = len(window) or 1
        least = 1 if newest else wanted
        if dependency.minimum is not None:
            number, share, lacking = dependency.minimum
            if number is not None:
                least = min(number, wanted)
            elif share is not None:
                least = -int(-Fraction(str(share)) * wanted // 1)
            else:
                assert lacking is not None
                least = wanted - lacking
        if len(there) >= wanted and (newest or len(there) == len(window)):
            return True, set(there), []
        told: list[Told] = [(name, u, *why, "blocks") for u, why in whys.items() if why is not None]
        left = [u for u in window if whys[u] is None and u not in there]
        assert not left
        enough = len(there) >= least
        if not window and not enough:
            told = [(name, None, "empty_window", "", "blocks")]
        return enough, set(there), as_(told, "accepted") if enough else told

    def dependency(self, dependency: Dependency) -> tuple[bool, dict[str, set[int]], list[Told]]:
        enough, there, told = self.one(dependency, dependency.upstream, dependency.dates)
        pins = {dependency.upstream: there}
        if enough or dependency.wait is None:
            return enough, pins, told
        if self.world.now <= self.ends(self.entity.name, self.ordinal) + dependency.wait:
            return False, pins, told
        if dependency.then == "accept":
            return True, pins, as_(told, "accepted")
        if dependency.then == "fail":
            return False, pins, as_(told, "failed")
        enough, there, more = self.one(dependency, dependency.then, dependency.dates)
        if enough:
            return True, {dependency.then: there}, as_(told, "accepted") + more
        return False, {**pins, dependency.then: there}, told + more

    def state(self, name: str) -> tuple[bool, dict[str, set[int]], list[Told]]:
        pins: dict[str, set[int]] = {}
        every = self.every(self.entity.name)
        if self.entity.instances is not None and self.ordinal not in every:
            why = "before_start" if self.ordinal < every.start else "after_end"
            return False, {}, [(self.entity.name, self.ordinal, why, "", "blocks")]
        members: dict[object, list[Dependency]] = {}
        for place, dependency in enumerate(self.entity.states.get(name, ())):
            members.setdefault(dependency.group or place, []).append(dependency)
        ready, told = True, list[Told]()
        for group in members.values():
            found = [self.dependency(each) for each in group]
            good = [each for each in found if each[0]]
            optional = [answer for each, answer in zip(group, found, strict=True) if each.optional]
            if good:
                chosen, more = good[:1], good[0][2]
            else:
                chosen, more = optional or found, [each for answer in found for each in answer[2]]
                ready &= bool(optional)
                more = as_(more, "accepted") if optional else more
            for _, some, _ in chosen:
                for upstream, there in some.items():
                    pins[upstream] = pins.get(upstream, set()) | there
            told += more
        kind = self.entity.kind
        if isinstance(kind, Snapshot) and kind.mode == "carry" and self.ordinal > every.start:
            declared = list(self.entity.states) or ["completed"]
            states = tuple(declared[declared.index(name) :])
            before = self.ordinal - 1
            reason = self.why(self.entity.name, before, states, False)
            if reason is None:
                pins[self.entity.name] = pins.get(self.entity.name, set()) | {before}
            else:
                ready = False
                told.append((self.entity.name, before, *reason, "blocks"))
        return ready, {upstream: some for upstream, some in pins.items() if some}, told


def as_(told: list[Told], outcome: str) -> list[Told]:
    return [(*each[:4], outcome) for each in told]
