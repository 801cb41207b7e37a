"""Random things to plan, and a plan carried out instance by instance: sets of pairs and nothing clever."""

import datetime as dt
import random
from typing import NamedTuple

from tests.unit.entities.status.drawn_graphs import AROUND, Instance, entities

from headwater.entities.needs.graph import Entity, Graph
from headwater.entities.needs.kinds import Cumulative, Snapshot, TimeSeries
from headwater.entities.plans.plan import Item, Plan, plan
from headwater.entities.plans.runs import Producer
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import Ordinals
from headwater.errors import InvalidEntities, InvalidPlan

Reads = dict[Instance, set[Instance]]


class Asked(NamedTuple):
    graph: Graph
    exist: set[Instance]
    wrong: set[Instance]
    roots: set[Instance]
    producers: dict[str, Producer]
    unrepairable: dict[str, set[Instance]]
    restorable: set[Instance]
    snapshots: dict[str, str]
    reads: Reads
    runs: dict[Instance, list[int]]

    def plan(self, wrong: set[Instance] | None = None, **more: bool) -> Plan:
        return plan(
            self.graph,
            sets(self.wrong if wrong is None else wrong),
            exist=sets(self.exist),
            roots=sets(self.roots),
            producers=self.producers,
            unrepairable={reason: sets(some) for reason, some in self.unrepairable.items()},
            restorable=sets(self.restorable),
            snapshots=self.snapshots,  # type: ignore[arg-type]
            **more,
        )


def sets(instances: set[Instance]) -> dict[str, Ordinals]:
    by: dict[str, list[int]] = {}
    for name, k in instances:
        by.setdefault(name, []).append(k)
    return {name: Ordinals.of(some) for name, some in by.items()}


def instances(found: dict[str, Ordinals]) -> set[Instance]:
    return {(name, k) for name, some in found.items() for start, end in some for k in range(start, end)}


def asked(chance: random.Random, tables: float = 0.0) -> Asked | None:
    """None where the entities drawn have a cycle without lag."""
    try:
        graph = Graph([_kind(chance, entity) for entity in entities(chance, tables)])
    except InvalidEntities as wrong:
        if "cycle without lag" not in wrong.message:
            raise
        return None
    every = {
        name: entity.instances.all.members().tolist() if entity.instances else [0]
        for name, entity in graph.entities.items()
    }
    exist = {(name, k) for name, some in every.items() for k in some if chance.random() > 0.1}
    there = set(exist)
    missing = {(name, k) for name, some in every.items() for k in some if (name, k) not in exist}
    missing = {at for at in sorted(missing) if chance.random() < 0.4}
    there |= missing
    reads = _reads(graph, there)
    share = chance.choice([0.02, 0.1, 0.3])
    roots = {at for at in sorted(there) if chance.random() < share} | missing
    wrong = set(roots)
    used = 1.0 if chance.random() < 0.6 else 0.7
    passes = {(k, u) for k, some in sorted(reads.items()) for u in sorted(some) if chance.random() < used}
    while more := {k for k, u in passes if u in wrong and k not in wrong}:
        wrong |= more
    if chance.random() < 0.15:
        wrong = {at for at in sorted(wrong) if chance.random() < 0.8}
    there = exist | wrong
    reads = _reads(graph, there)
    producers = _producers(chance, graph)
    refused: dict[str, set[Instance]] = {}
    for reason in ("frozen", "retention"):
        if chance.random() < 0.35:
            refused[reason] = {at for at in sorted(there) if chance.random() < 0.04}
    restorable = {at for at in sorted(exist) if chance.random() < 0.25} if chance.random() < 0.4 else set()
    snapshots = {
        name: "all"
        for name, entity in graph.entities.items()
        if isinstance(entity.kind, Snapshot) and chance.random() < 0.5
    }
    runs = {at: _runs(graph.entities[at[0]], producers.get(at[0]), at[1]) for at in wrong}
    return Asked(graph, exist, wrong, roots & wrong, producers, refused, restorable, snapshots, reads, runs)


def _kind(chance: random.Random, entity: Entity) -> Entity:
    if not isinstance(entity.kind, TimeSeries) or chance.random() < 0.7:
        return entity
    if chance.random() < 0.5:
        return entity._replace(kind=Snapshot("rebuild"))
    zone = chance.choice(AROUND)[0]
    process = Calendar.every(chance.choice(["day", "12h", "week"]), zone)
    mode = chance.choice(["rebuild", "incremental"])
    first, end = (None, None)
    if chance.random() < 0.3 and entity.instances is not None:
        own = entity.instances
        start, stop = own.calendar.begins([own.all.first, own.all.end]).tolist()
        first, end = process.at(start + (stop - start) // 8), process.at(stop - (stop - start) // 8) + 1
    kind = Cumulative(Instances(process, first, end), mode, corrections=chance.randrange(4))  # type: ignore[arg-type]
    return entity._replace(kind=kind)


def _producers(chance: random.Random, graph: Graph) -> dict[str, Producer]:
    jobs = []
    for number in range(chance.randrange(1, 5)):
        calendar = None
        if chance.random() < 0.6:
            calendar = Calendar.every(chance.choice(["day", "6h", "2 days", "week"]), chance.choice(AROUND)[0])
        jobs.append(Producer(f"job_{number}", calendar, chance.choice([1, 1, 2, 5, 1000])))
    return {name: chance.choice(jobs) for name in graph.entities if chance.random() < 0.9}


def _reads(graph: Graph, there: set[Instance]) -> Reads:
    found: Reads = {}
    for name in graph.entities:
        mine = sorted(k for other, k in there if other == name)
        for link in graph.upstream(name):
            for place, k in enumerate(mine):
                if link.carried:
                    needed = mine[place - 1 : place] if place else []
                elif link.edge is None:
                    needed = [u for other, u in there if other == link.upstream]
                else:
                    needed = link.edge.need(Ordinals.between(k, k + 1)).members().tolist()
                found.setdefault((name, k), set()).update(
                    (link.upstream, u) for u in needed if (link.upstream, u) in there
                )
    return found


def _runs(entity: Entity, producer: Producer | None, k: int) -> list[int]:
    """The runs that make an instance, ascending; none where it cannot be made."""
    if entity.instances is None:
        return [k]
    start, end = (int(at.timestamp()) for at in entity.instances.calendar.interval(k))
    kind = entity.kind
    if isinstance(kind, Cumulative):
        process = kind.process.calendar
        found = list(range(process.at(start), process.at(end - 1) + 1 + kind.corrections))
        found = [q for q in found if q in kind.process.all]
        return found if kind.mode == "incremental" else found[-1:]
    if producer is None or producer.calendar is None:
        return [k]
    return [producer.calendar.at(dt.datetime.fromtimestamp(end - 1, dt.UTC))]


class Expected(NamedTuple):
    unrepairable: dict[str, set[Instance]]
    left: set[Instance]
    degraded: set[Instance]
    makes: set[Instance]


def expected(asked: Asked) -> Expected:
    """Return the fate of each wrong instance, computed one at a time."""
    rest = set(asked.wrong)
    reasons: dict[str, set[Instance]] = {}
    for reason, some in asked.unrepairable.items():
        reasons[reason] = some & rest
        rest -= some
    left = set()
    for name, entity in asked.graph.entities.items():
        if entity.kind == Snapshot("rebuild") and asked.snapshots.get(name) != "all":
            newest = max((k for other, k in asked.exist | asked.wrong if other == name), default=0)
            left |= {(other, k) for other, k in rest if other == name and k < newest}
    rest -= left
    reasons["no_run"] = {at for at in rest - asked.restorable if not asked.runs[at]}
    rest -= reasons["no_run"]
    degraded: set[Instance] = set()
    bad = left.union(*reasons.values())
    while more := {at for at in rest - bad - asked.restorable if asked.reads.get(at, set()) & bad}:
        degraded |= more
        bad |= more
    return Expected({reason: some for reason, some in reasons.items() if some}, left, degraded, rest - degraded)


class Carried:
    """The state of all instances while items are carried out."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.wrong = set(asked.wrong)
        self.revised: dict[Instance, list[int]] = {}

    def do(self, item: Item) -> set[Instance]:
        """Carries out one item, run after run; answers what it was to make and could not."""
        stuck = set()
        pending = [(at, run) for at in instances(dict(item.makes)) for run in self._mine(item, at)]
        while pending:
            ready = [(at, run) for at, run in pending if self._may(item, at, run)]
            if not ready:
                return stuck | {at for at, _ in pending}
            for at, run in ready:
                self.revised.setdefault(at, []).append(run)
                if item.action == "restore" or self.revised[at] == self.asked.runs[at]:
                    self.wrong.discard(at)
            pending = [each for each in pending if each not in ready]
        return stuck

    def _mine(self, item: Item, at: Instance) -> list[int]:
        if item.action == "restore":
            return [at[1]]
        return [run for run in self.asked.runs[at] if run in item.runs]

    def _may(self, item: Item, at: Instance, run: int) -> bool:
        if item.action == "restore":
            return at in self.asked.restorable
        done = self.revised.get(at, [])
        return self.asked.runs[at][: len(done) + 1] == [*done, run] and not self.asked.reads.get(at, set()) & self.wrong


def checked(asked: Asked, chance: random.Random, *, minimal: bool = True) -> Plan | None:
    """Plans, carries it out in a random order that heeds `needs` alone, and compares all there is. None where the plan was refused."""
    found = None
    for newest_first in (True, False) if chance.random() < 0.4 else (False,):
        try:
            found = asked.plan(newest_first=newest_first)
            break
        except InvalidPlan:
            continue
    if found is None:
        return None
    truth = expected(asked)
    assert {reason: instances(dict(some)) for reason, some in found.unrepairable.items()} == truth.unrepairable
    assert instances(dict(found.left)) == truth.left
    assert instances(dict(found.degraded)) == truth.degraded
    assert instances(dict(found.makes)) == truth.makes
    items = list(found.items())
    assert [item.number for item in items] == list(range(found.count))
    makers: dict[Instance, set[int]] = {}
    for item in items:
        for at in instances(dict(item.makes)):
            makers.setdefault(at, set()).add(item.number)
    for item in items:
        _shaped(asked, item)
        if item.action != "restore":
            direct = {
                other
                for at in instances(dict(item.makes))
                for read in asked.reads.get(at, ())
                for other in makers.get(read, ())
            }
            own = {
                other
                for at in instances(dict(item.makes))
                for other in makers[at]
                if other < item.number and len(asked.runs[at]) > 1
            }
            assert set(item.needs.members().tolist()) == (direct | own) - {item.number}
        assert not item.needs or item.needs.end <= item.number
    state, waiting, done = Carried(asked), list(items), set()
    while waiting:
        ready = [item for item in waiting if set(item.needs.members().tolist()) <= done]
        item = chance.choice(ready)
        assert not state.do(item), item
        waiting.remove(item)
        done.add(item.number)
    assert state.wrong == asked.wrong - truth.makes
    for left_out in items if minimal else []:
        state = Carried(asked)
        for item in items:
            if item is not left_out:
                state.do(item)
        assert state.wrong & truth.makes, left_out
    after = asked._replace(exist=asked.exist | truth.makes).plan(asked.wrong - truth.makes)
    assert after.count == 0
    assert after.makes == {}
    return found


def _shaped(asked: Asked, item: Item) -> None:
    made = instances(dict(item.makes))
    assert made
    assert item.runs.runs == 1
    assert item.roots == bool(made & asked.roots)
    runs = {run for at in made for run in ([at[1]] if item.action == "restore" else asked.runs[at]) if run in item.runs}
    assert runs == set(item.runs.members().tolist()), "a run of the item has nothing to make"
    producers = {asked.producers.get(name) for name in item.makes}
    assert len(producers) == 1
    producer = producers.pop()
    assert item.producer == (producer.name if producer else None)
    if producer is not None:
        assert item.runs.count <= producer.max_periods
    assert (item.action == "manual") == (producer is None and item.action != "restore")
    assert {at in asked.restorable for at in made} == {item.action == "restore"}
