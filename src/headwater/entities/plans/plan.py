"""Plan the repair of wrong instances: the fewest runs, in an order in which each finds its inputs, and the instances
that cannot be repaired.

    found = plan(graph, {"reads": hours, "report": weeks}, exist=exist, producers={"reads": Producer("airflow://prod/reads/load", days)})
    found.page(0, 100)

The plan is the declared repair: whether a result turns out the same as before is known only when its run is over.
Nothing here executes or stores a plan, or looks at a clock.
"""

import datetime as dt
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from headwater.entities.needs.graph import Graph, Link
from headwater.entities.needs.kinds import Snapshot
from headwater.entities.needs.walk import Facts, Walk
from headwater.entities.plans import order, priority
from headwater.entities.plans.blocks import Action, Block, Stage, of_entities
from headwater.entities.plans.runs import Producer, producer_runs
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidPlan

Sets = Mapping[str, Ordinals]
NO_RUN = "no_run"
"""The reason of what no run of its producer can make: it lies outside the calendar of these."""


class Item(NamedTuple):
    """One thing to do. Numbers go from 0 on; every need has a lower one.

    action: restore a stored version, run the producer, or a person must do it. `producer` None: unknown.
    makes: what is right afterwards, by entity; of a cumulative entity that adds up, after the last of the items that make an instance.
    runs: periods of the producer's `calendar`, one stretch; None for what has no periods.
    roots: whether any of `makes` is wrong by itself: then the same code would make the same mistake.
    needs: items that must be done before; those that these need are not among them unless they are needed themselves.
    """

    number: int
    action: Action
    producer: str | None
    makes: Sets
    runs: Ordinals
    calendar: Calendar | None
    level: int
    roots: bool
    needs: Ordinals

    @property
    def interval(self) -> tuple[dt.datetime, dt.datetime] | None:
        """The interval of its runs, in the calendar's zone; None for an item without periods."""
        if self.calendar is None:
            return None
        return self.calendar.interval(self.runs.first)[0], self.calendar.interval(self.runs.end - 1)[1]


class Group(NamedTuple):
    """Items `first` ≤ number < `first + items` of the same kind; those of a knot lie among those of others with the same `first`."""

    first: int
    items: int
    action: Action
    producer: str | None
    entities: tuple[str, ...]
    runs: Ordinals
    level: int


class Plan:
    """A plan of repair, made by `plan`. Items are computed when they are asked for.

    count: how many items. wrong: all that was given. makes: what the plan makes right, by entity.
    unrepairable: by reason. left: older snapshots that stay wrong (`wont_fix`). degraded: they need something of these two, so that no run would
    make them right. The four are all that is wrong, and no instance is in two of them.
    """

    def __init__(
        self,
        graph: Graph,
        exist: Sets,
        wrong: Sets,
        roots: Sets,
        makes: Sets,
        unrepairable: Mapping[str, Sets],
        left: Sets,
        degraded: Sets,
        stages: list[Stage],
        tiers: Mapping[str, str],
        seconds: Mapping[str, float],
    ) -> None:
        self.graph = graph
        self.exist = exist
        self.wrong = wrong
        self.roots = roots
        self.makes = makes
        self.unrepairable = unrepairable
        self.left = left
        self.degraded = degraded
        self.stages = stages
        self.tiers = tiers
        self.seconds = seconds
        self._starts = [stage.start for stage in stages]
        self._blocks = of_entities(stages)
        self._there: dict[str, Ordinals] = {}
        self.count = sum(stage.count for stage in stages)

    @property
    def counts(self) -> dict[str, int]:
        """The number of instances that are made right, by entity."""
        return {name: some.count for name, some in self.makes.items()}

    def groups(self) -> list[Group]:
        """The plan in short, in order."""
        return [
            Group(stage.start, block.count, block.action, _named(block), tuple(block.made), block.runs, stage.level)
            for stage in self.stages
            for block in stage.blocks
        ]

    @cached_property
    def turns(self) -> list[Ordinals]:
        """The numbers of all items in the order in which those that can be done are begun (`priority.py`)."""
        return priority.turns(self.graph, self.stages, self._makers, self.tiers, self.seconds)

    def page(self, offset: int, limit: int) -> list[Item]:
        """Return at most `limit` items from number `offset` on; fewer, or none, at the end."""
        return [self.item(number) for number in range(max(offset, 0), min(offset + limit, self.count))]

    def items(self) -> Iterator[Item]:
        """Yield all items, one after the other."""
        return (self.item(number) for number in range(self.count))

    def item(self, number: int) -> Item:
        """The item of a number. InvalidPlan if there is none."""
        stage, block, place = self._at(number)
        runs = block.at(place)
        makes = block.makes(runs)
        needs = NONE if block.action == "restore" else self._needs(number, block, makes)
        roots = any(some & self.roots.get(name, NONE) for name, some in makes.items())
        calendar = next(iter(block.made.values())).calendar
        return Item(number, block.action, _named(block), makes, runs, calendar, stage.level, roots, needs)

    def block(self, number: int) -> Block:
        """The block that an item is of. InvalidPlan if there is no such item."""
        return self._at(number)[1]

    def _at(self, number: int) -> tuple[Stage, Block, int]:
        if not 0 <= number < self.count:
            raise InvalidPlan(f"there is no item {number}; the plan has {self.count}", number=number)
        stage = self.stages[bisect_right(self._starts, number) - 1]
        return stage, *stage.at(number)

    def numbers(self, instances: Sets) -> Ordinals:
        """The numbers of the items that make any of these."""
        return NONE.union(
            *(block.numbers(name, some) for name, some in instances.items() for block in self._blocks.get(name, ()))
        )

    def there(self, name: str) -> Ordinals:
        """An entity's instances that are there, or will be when all that is wrong is right."""
        found = self._there.get(name)
        if found is None:
            found = self._there[name] = self.exist.get(name, NONE) | self.wrong.get(name, NONE)
        return found

    def _makers(self, makes: Sets) -> Iterator[tuple[Block, Ordinals]]:
        """The blocks that make what these need, with the numbers of their items."""
        # Look up once what several entities need of the same upstream over the same edge.
        wanted = {
            (link.upstream, id(link.edge or link), some): link
            for name, some in makes.items()
            for link in self.graph.upstream(name)
            if link.upstream in self.makes
        }
        needed: dict[tuple[int, Ordinals], Ordinals] = {}
        for (upstream, which, some), link in wanted.items():
            if (which, some) not in needed:
                needed[which, some] = self._needed(link, some)
            for maker in self._blocks[upstream]:
                yield maker, maker.numbers(upstream, needed[which, some])

    def _needs(self, number: int, block: Block, makes: Sets) -> Ordinals:
        makers = list(self._makers(makes))
        numbers = [some for _, some in makers]
        if any(each.chained for each in block.made.values()):
            numbers.append(self.numbers(makes) & Ordinals.between(0, number))
        found = NONE.union(*numbers)
        # Instances that its own runs make for it are no item before it.
        return found - Ordinals.between(number, number + 1) if any(maker is block for maker, _ in makers) else found

    def _needed(self, link: Link, some: Ordinals) -> Ordinals:
        if link.edge is not None:
            return link.edge.need(some)
        if not link.carried:
            return self.makes[link.upstream]
        # Each is carried on from the one before it that is there, or will be.
        there = self.there(link.upstream)
        run = np.searchsorted(there.starts, some.starts, "left") - 1
        before = np.where(run >= 0, np.minimum(there.ends[run], some.starts) - 1, some.starts)
        return Ordinals.joined(before, some.ends - 1) | Ordinals.joined(before, before + 1)


def plan(
    graph: Graph,
    wrong: Sets,
    *,
    exist: Sets,
    roots: Sets | None = None,
    producers: Mapping[str, Producer] | None = None,
    unrepairable: Mapping[str, Sets] | None = None,
    restorable: Sets | None = None,
    snapshots: Mapping[str, Literal["latest", "all"] | int] | None = None,
    newest_first: bool = False,
    tiers: Mapping[str, str] | None = None,
    seconds: Mapping[str, float] | None = None,
) -> Plan:
    """Plan how to make right what is `wrong`, by entity: tainted, inherited, or missing and wanted.

    exist: existing instances. roots: those that are wrong by themselves. producers: by entity; a person must make the
    others.
    unrepairable: by reason (frozen, retention, wont_fix …) and entity; instances that are not wrong are ignored.
    restorable: instances with a stored right version, made from the inputs that they would be made from again.
    snapshots: which versions of rebuilt snapshots to make again; default: the latest.
    newest_first: each producer's latest runs come first. Only if no entity needs its own past.
    tiers: how important an entity is, and seconds: how long a producer takes for one period; they only decide which
    items go first.

    InvalidPlan if names are unknown, producers contradict each other, or there is no order. The plan follows declared
    needs: for `last_available` all that may be used.
    """
    producers, restorable = producers or {}, restorable or {}
    wrong = {name: some for name, some in wrong.items() if some}
    _check(graph, wrong, producers)
    rest = dict(wrong)
    reasons: dict[str, dict[str, Ordinals]] = {}

    def refuse(reason: str, name: str, some: Ordinals) -> None:
        some &= rest.get(name, NONE)
        if some:
            reasons.setdefault(reason, {})[name] = some
            rest[name] -= some

    for reason, sets in (unrepairable or {}).items():
        for name, some in sets.items():
            refuse(reason, name, some)
    left: dict[str, Ordinals] = {}
    for name, some in rest.items():
        kind = graph.entities[name].kind
        if isinstance(kind, Snapshot):
            what = (snapshots or {}).get(name, "latest")
            repair = kind.repair(some, exist.get(name, NONE) | wrong[name], what)
            if repair.left:
                left[name], rest[name] = repair.left, repair.redo
    restore = {name: some & restorable.get(name, NONE) for name, some in rest.items()}
    for name, some in rest.items():
        again = some - restore[name]
        refuse(NO_RUN, name, again - producer_runs(graph.entities[name], producers.get(name)).possible(again))
    never = _union(*reasons.values(), left)
    degraded = _descend(graph, exist, wrong, never, restore) if never else {}
    makes = _union({name: some - degraded.get(name, NONE) for name, some in rest.items()})
    rerun = _union({name: some - restore[name] for name, some in makes.items()})
    found = order.stages(graph, rerun, _union(restore), producers, newest_first=newest_first)
    return Plan(graph, exist, wrong, roots or {}, makes, reasons, left, degraded, found, tiers or {}, seconds or {})


def _descend(graph: Graph, exist: Sets, wrong: Sets, never: Sets, restore: Sets) -> dict[str, Ordinals]:
    """Return the wrong instances that need anything of `never`, directly or not. Restored instances need nothing, and right ones stay right."""
    there = {name: exist.get(name, NONE) | wrong.get(name, NONE) for name in graph.entities}
    cuts = {name: (some - wrong.get(name, NONE)) | restore.get(name, NONE) for name, some in there.items()}
    walk = Walk(graph, Facts(there.__getitem__, cuts=lambda link: cuts[link.downstream]), forward=True)
    reached = walk.closure(never)
    return _union({name: some - never.get(name, NONE) for name, some in reached.items()})


def _union(*sets: Sets) -> dict[str, Ordinals]:
    """Return the union of sets by entity, without empty ones."""
    found: dict[str, Ordinals] = {}
    for each in sets:
        for name, some in each.items():
            if some:
                found[name] = found.get(name, NONE) | some
    return found


def _named(block: Block) -> str | None:
    return block.producer.name if block.producer is not None else None


def _check(graph: Graph, wrong: Sets, producers: Mapping[str, Producer]) -> None:
    unknown = sorted({*wrong, *producers} - set(graph.entities))
    if unknown:
        raise InvalidPlan(f"there is no entity {', '.join(map(repr, unknown))}", entities=unknown)
    for name, some in wrong.items():
        if graph.entities[name].instances is not None and not some <= graph.every(name):
            raise InvalidPlan(f"{name} has no instances {some - graph.every(name)}", entity=name)
    known: dict[str, Producer] = {}
    for producer in producers.values():
        if producer.max_periods < 1:
            raise InvalidPlan(
                f"{producer.name} makes at most {producer.max_periods} periods in a run; write 1 or more",
                producer=producer.name,
            )
        if known.setdefault(producer.name, producer) != producer:
            raise InvalidPlan(
                f"{producer.name} is declared in two ways: {known[producer.name]} and {producer}; declare it once",
                producer=producer.name,
            )


__all__ = ["NO_RUN", "Group", "Item", "Plan", "Producer", "plan"]
