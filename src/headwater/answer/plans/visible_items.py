"""The part of a plan that a limited reader may see: items that make instances of visible entities, numbered without the others."""

import uuid
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import msgspec
import numpy as np

from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.plans.plan import Item, Plan, Sets
from headwater.entities.plans.serialization import Inputs
from headwater.entities.time.ordinals import Ordinals
from headwater.store.plans import StoredItem


class VisibleItems:
    """Answers as `Plan` does, for the entities of `held`. `numbers`: those that the visible items have in the whole plan."""

    def __init__(self, held: StoredDeclarations, whole: Plan, inputs: Inputs) -> None:
        self.held, self.inputs = held, inputs
        self._whole = whole
        self.numbers = whole.numbers(self._of(whole.makes))
        self.count = self.numbers.count
        self.left, self.degraded = self._of(whole.left), self._of(whole.degraded)
        every = {reason: self._of(sets) for reason, sets in whole.unrepairable.items()}
        self.unrepairable = {reason: sets for reason, sets in every.items() if any(sets.values())}
        self._members = self.numbers.members()
        self._jobs = {each.job for one in held.declared.values() for each in one.produced_by}
        self._levels = sorted(
            {
                stage.level
                for stage in whole.stages
                if any(held.ids.keys() & block.made.keys() for block in stage.blocks)
            }
        )

    def renumber(self, items: Iterable[StoredItem]) -> list[StoredItem]:
        """Return those of the stored items that are visible, under their numbers here."""
        return [
            msgspec.structs.replace(one, number=self._number(one.number)) for one in items if one.number in self.numbers
        ]

    def page(self, offset: int, limit: int) -> list[Item]:
        """Return at most `limit` items from number `offset` on."""
        return [self.item(number) for number in range(max(offset, 0), min(offset + limit, self.count))]

    def item(self, number: int) -> Item:
        """Return the item of a number, without what the reader may not see."""
        one = self._whole.item(int(self._members[number]))
        return one._replace(
            number=number,
            producer=one.producer if one.producer in self._jobs else None,
            makes=self._of(one.makes),
            level=self._levels.index(one.level),
            needs=Ordinals(
                (self._number(low), self._number(low) + high - low) for low, high in one.needs & self.numbers
            ),
        )

    def _number(self, whole: int) -> int:
        return int(np.searchsorted(self._members, whole))

    def _of(self, sets: Sets) -> Sets:
        return {name: some for name, some in sets.items() if name in self.held.ids}


class VisibleNumbers:
    """The numbers of the items of plans that a limited reader may see, by plan and visible entities: a plan never changes, so each is loaded once."""

    def __init__(self, most: int = 2_000) -> None:
        self._most = most
        self._found: OrderedDict[tuple[uuid.UUID, frozenset[str]], Ordinals] = OrderedDict()

    async def get_or_load(
        self, plan: uuid.UUID, entities: frozenset[str], load: Callable[[], Coroutine[Any, Any, VisibleItems]]
    ) -> Ordinals:
        """Return the numbers of a plan's items that make instances of these entities; `load`: the plan, if they are not remembered."""
        key = (plan, entities)
        if key not in self._found:
            self._found[key] = (await load()).numbers
            while len(self._found) > self._most:
                self._found.popitem(last=False)
        else:
            self._found.move_to_end(key)
        return self._found[key]


NUMBERS = VisibleNumbers()
"""Those that this process has read."""
