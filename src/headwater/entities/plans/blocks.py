"""Blocks of instances made by the same runs, in order, with the number of every item: a plan in the form of runs,
without listing every item.

A block is what one producer makes of some entities: a set of runs, cut into items of at most so many adjacent runs.
Entities of one producer share a block, and with it each run, unless an entity of another producer comes between them:
then the producer runs twice, first for one and then for the other. Blocks go in topological order. Entities that need
each other in turns go together, one run at a time, in order of time.

No item is an object here: a block computes which of its items holds a run, so a plan costs what runs of ordinals cost.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from headwater.entities.needs.graph import Graph
from headwater.entities.plans.runs import Producer, ProducerRuns
from headwater.entities.time.ordinals import NONE, Int, Ordinals

Action = Literal["restore", "rerun", "manual"]

# For instances without producer runs: a ticket covers its whole stretch.
UNLIMITED = 1 << 40


class Block:
    """The instances that one producer makes, by entity (`instances`). `most`: runs in one item.

    After `close`: `runs`, and `count` items. Items have places from 0 on, ascending in time, and numbers, which are those of the plan.
    """

    def __init__(self, action: Action, producer: Producer | None, most: int) -> None:
        self.action = action
        self.producer = producer
        self.most = most
        self.made: dict[str, ProducerRuns] = {}
        self.instances: dict[str, Ordinals] = {}
        self.level = 0
        self.start = 0
        self.newest_first = False
        self.numbered: Int | None = None  # of a knot: the number of each place

    def add(self, name: str, made: ProducerRuns, instances: Ordinals) -> None:
        """Add one more entity that the same runs make."""
        self.made[name], self.instances[name] = made, instances

    def close(self) -> None:
        """Close the block: count its runs and items. No entity can be added afterwards."""
        self.runs = NONE.union(*(made.runs(self.instances[name]) for name, made in self.made.items()))
        items = -((self.runs.starts - self.runs.ends) // self.most)
        self._before = np.cumsum(items) - items
        self.count = int(items.sum())

    def numbers(self, name: str, instances: Ordinals) -> Ordinals:
        """The numbers of the items that make any of these instances of an entity."""
        runs = self.made[name].runs(instances & self.instances[name])
        if not runs:
            return NONE
        if runs.runs == 1:
            # Most that is asked for is one run, and a page asks hundreds of times.
            low, high = self._place(int(runs.starts[0])), self._place(int(runs.ends[0]) - 1) + 1
            if self.numbered is not None:
                return Ordinals.of(self.numbered[low:high])
            if self.newest_first:
                low, high = self.count - high, self.count - low
            return Ordinals.between(low + self.start, high + self.start)
        stretch = np.searchsorted(self.runs.starts, runs.starts, "right") - 1
        first = self._before[stretch] + (runs.starts - self.runs.starts[stretch]) // self.most
        last = self._before[stretch] + (runs.ends - 1 - self.runs.starts[stretch]) // self.most
        if self.numbered is not None:
            return Ordinals.of(self.numbered[Ordinals.joined(first, last + 1).members()])
        if self.newest_first:
            first, last = self.count - 1 - last, self.count - 1 - first
        return Ordinals.joined(first + self.start, last + 1 + self.start)

    def _place(self, run: int) -> int:
        """The place of the item that has a run."""
        stretch = int(self.runs.starts.searchsorted(run, "right")) - 1
        return int(self._before[stretch]) + (run - int(self.runs.starts[stretch])) // self.most

    def at(self, place: int) -> Ordinals:
        """The runs of the item at a place: one stretch."""
        stretch = int(np.searchsorted(self._before, place, "right")) - 1
        start = int(self.runs.starts[stretch]) + (place - int(self._before[stretch])) * self.most
        return Ordinals.between(start, min(start + self.most, int(self.runs.ends[stretch])))

    @property
    def longest(self) -> int:
        """The most runs of an item."""
        return min(self.most, int((self.runs.ends - self.runs.starts).max()))

    def runs_of(self, numbers: Ordinals) -> Ordinals:
        """The runs of its items among these, which are of its stage."""
        if self.numbered is not None:
            first, end = np.searchsorted(self.numbered, numbers.starts), np.searchsorted(self.numbered, numbers.ends)
        else:
            first, end = numbers.starts - self.start, numbers.ends - self.start
            if self.newest_first:
                first, end = self.count - end[::-1], self.count - first[::-1]
        first, last = first[first < end], end[first < end] - 1
        stretch = np.searchsorted(self._before, np.stack([first, last]), "right") - 1
        starts = self.runs.starts[stretch] + (np.stack([first, last]) - self._before[stretch]) * self.most
        ends = np.minimum(starts + self.most, self.runs.ends[stretch])
        return Ordinals.joined(starts[0], ends[1]) & self.runs

    def makes(self, runs: Ordinals) -> dict[str, Ordinals]:
        """Return the instances that these runs make, by entity."""
        found = {name: made.instances(runs, self.instances[name]) for name, made in self.made.items()}
        return {name: some for name, some in found.items() if some}


class Stage:
    """Blocks whose items are numbered together: one, or a knot of several that take turns. `order`: of a knot the block and place of each number."""

    def __init__(self, blocks: Sequence[Block], needs: set[int]) -> None:
        self.blocks = blocks
        self.needs = needs  # places of other stages in the list in which all are
        self.order: tuple[Int, Int] | None = None
        self.start = 0

    @property
    def level(self) -> int:
        """The number of stages that must be done before, one after the other."""
        return self.blocks[0].level

    @property
    def count(self) -> int:
        """The number of items."""
        return sum(block.count for block in self.blocks)

    def number(self, start: int, newest_first: bool) -> None:
        """Number the items from `start` on."""
        self.start = start
        for block in self.blocks:
            block.start = start
            block.newest_first = newest_first

    def at(self, number: int) -> tuple[Block, int]:
        """The block and the place of a number."""
        nth = number - self.start
        if self.order is not None:
            return self.blocks[int(self.order[0][nth])], int(self.order[1][nth])
        block = self.blocks[0]
        return block, block.count - 1 - nth if block.newest_first else nth


class Grouping:
    """Entities by the stages that they are made in. `add` in topological order; `stages` when all are there."""

    def __init__(self, graph: Graph, newest_first: bool) -> None:
        self._graph = graph
        self._newest_first = newest_first
        self._stages: list[Stage] = []
        self._behind: list[int] = []  # of each stage a bit for every stage that must be done before
        self._of: dict[str, set[int]] = {}
        self._by_run: dict[tuple[object, ...], list[int]] = {}

    def alone(self, block: Block) -> None:
        """A block that nothing needs to be done before."""
        self._append([block], set())

    def shared(self, block: Block, run: tuple[object, ...], fits: Callable[[Block], bool]) -> None:
        """Add what one producer makes together: to a block of an earlier call with the same `run` if no other stage
        lies between and the block `fits`; otherwise as a stage of its own."""
        names = list(block.made)
        before = self._before(names)
        for place in self._by_run.get(run, ()):
            if any(self._behind[other] >> place & 1 for other in before if other != place):
                continue
            known = self._stages[place].blocks[0]
            if fits(known):
                for name in names:
                    known.add(name, block.made[name], block.instances[name])
                    self._of.setdefault(name, set()).add(place)
                self._join(place, before - {place})
                return
        self._by_run.setdefault(run, []).append(self._append([block], before))

    def knot(self, names: Sequence[str], blocks: Sequence[Block]) -> Stage:
        """Entities that need each other in turns."""
        return self._stages[self._append(blocks, self._before(names))]

    def _before(self, names: Sequence[str]) -> set[int]:
        # For these names, only restored blocks exist at this point.
        links = [link for name in names for link in self._graph.upstream(name)]
        return {place for link in links for place in self._of.get(link.upstream, ())}

    def _append(self, blocks: Sequence[Block], before: set[int]) -> int:
        place = len(self._stages)
        self._stages.append(Stage(blocks, set(before)))
        self._behind.append(self._bits(before))
        for block in blocks:
            for name in block.made:
                self._of.setdefault(name, set()).add(place)
        return place

    def _join(self, place: int, before: set[int]) -> None:
        self._stages[place].needs |= before
        more = self._bits(before)
        for other, behind in enumerate(self._behind):
            if other == place or behind >> place & 1:
                self._behind[other] = behind | more

    def _bits(self, before: set[int]) -> int:
        found = 0
        for place in before:
            found |= self._behind[place] | 1 << place
        return found

    def stages(self) -> list[Stage]:
        """Return all stages, closed, in order of execution, with their levels; `needs` are indexes into this list."""
        for stage in self._stages:
            for block in stage.blocks:
                block.close()
        # Fewer stages are behind one than behind any that needs it.
        order = sorted(range(len(self._stages)), key=lambda place: self._behind[place].bit_count())
        for place in order:
            stage = self._stages[place]
            level = max((self._stages[other].level + 1 for other in stage.needs), default=0)
            for block in stage.blocks:
                block.level = level
        order.sort(key=lambda place: self._stages[place].level)
        new = {place: nth for nth, place in enumerate(order)}
        start = 0
        for place in order:
            stage = self._stages[place]
            stage.needs = {new[other] for other in stage.needs}
            stage.number(start, self._newest_first)
            start += stage.count
        return [self._stages[place] for place in order]


def of_entities(stages: Sequence[Stage]) -> Mapping[str, Sequence[Block]]:
    """The blocks that make each entity."""
    found: dict[str, list[Block]] = {}
    for stage in stages:
        for block in stage.blocks:
            for name in block.made:
                found.setdefault(name, []).append(block)
    return found
