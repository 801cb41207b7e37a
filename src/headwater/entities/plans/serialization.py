"""Convert the inputs of a plan to JSON and back: Headwater stores the inputs, not the items."""

import json
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from headwater.entities.declaration.entity import EntityDeclaration
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.plans.plan import Plan, Sets, plan
from headwater.entities.plans.runs import Producer
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.ordinals import Ordinals

_KEPT = 8


class Inputs(NamedTuple):
    """The inputs of `plan`. `fresh`: an instance is right only when it was made since; otherwise when nothing is wrong
    of it any more.

    restore: by entity (start, end, seq of the stored version) of the instances that go back to one. seconds: of a period, by producer, at the median.
    """

    wrong: Sets
    roots: Sets
    exist: Sets
    unrepairable: Mapping[str, Sets] = {}
    newest_first: bool = False
    fresh: bool = False
    restore: Mapping[str, list[tuple[int, int, int]]] = {}
    seconds: Mapping[str, float] = {}

    def text(self) -> str:
        """Return the inputs as JSON."""
        return json.dumps(
            {
                "wrong": _runs(self.wrong),
                "roots": _runs(self.roots),
                "exist": _runs(self.exist),
                "unrepairable": {reason: _runs(sets) for reason, sets in self.unrepairable.items()},
                "newest_first": self.newest_first,
                "fresh": self.fresh,
                "restore": self.restore,
                "seconds": self.seconds,
            }
        )

    @classmethod
    def of(cls, text: str) -> "Inputs":
        """Return the inputs that `text` wrote."""
        said = json.loads(text)
        return cls(
            _sets(said["wrong"]),
            _sets(said["roots"]),
            _sets(said["exist"]),
            {reason: _sets(sets) for reason, sets in said["unrepairable"].items()},
            said["newest_first"],
            said["fresh"],
            # Plans that were kept by a version without these have none.
            {name: [(s, e, seq) for s, e, seq in rows] for name, rows in said.get("restore", {}).items()},
            said.get("seconds", {}),
        )

    @property
    def restorable(self) -> Sets:
        """The restorable instances as `plan` takes them."""
        return {name: Ordinals((start, end) for start, end, _ in rows) for name, rows in self.restore.items()}

    def goes_back(self, some: Sets) -> Iterator[tuple[str, Ordinals, int]]:
        """Yield (entity, instances, seq of the version) of those of `some` that are restored."""
        for name, instances in some.items():
            for start, end, seq in self.restore.get(name, ()):
                if those := instances & Ordinals.between(start, end):
                    yield name, those, seq


def planned(held: StoredDeclarations, inputs: Inputs) -> Plan:
    """Return the plan, by what was declared then: the producers, and which snapshots are made again. InvalidPlan as `plan`."""
    return plan(
        held.graph,
        inputs.wrong,
        exist=inputs.exist,
        roots=inputs.roots,
        producers=producers(held),
        unrepairable=inputs.unrepairable,
        restorable=inputs.restorable,
        snapshots={name: one.repair for name, one in held.declared.items()},
        newest_first=inputs.newest_first,
        tiers={name: one.tier for name, one in held.declared.items()},
        seconds=inputs.seconds,
    )


def producers(held: StoredDeclarations) -> dict[str, Producer]:
    """Return the producer of each entity; if several are declared, the first."""
    return {name: _producer(one) for name, one in held.declared.items() if one.produced_by}


def _producer(one: EntityDeclaration) -> Producer:
    said = one.produced_by[0]
    calendar = None
    if said.every:
        zone = one.entity.instances.calendar.spec.zone if one.entity.instances is not None else "UTC"
        calendar = Calendar.every(said.every, zone)
    return Producer(said.job, calendar, said.max_periods or 1, said.pool)


class Plans:
    """The last few plans, by id: pages of one are asked for one after the other."""

    def __init__(self) -> None:
        self._plans: OrderedDict[uuid.UUID, tuple[Plan, Inputs]] = OrderedDict()

    def get(self, id_: uuid.UUID) -> tuple[Plan, Inputs] | None:
        return self._plans.get(id_)

    def put(self, id_: uuid.UUID, found: Plan, inputs: Inputs) -> tuple[Plan, Inputs]:
        self._plans[id_] = found, inputs
        while len(self._plans) > _KEPT:
            self._plans.popitem(last=False)
        return found, inputs


KEPT = Plans()
"""The plans that this process has read. A plan never changes."""


def _runs(sets: Sets) -> dict[str, list[tuple[int, int]]]:
    return {name: list(some) for name, some in sets.items() if some}


def _sets(said: Mapping[str, list[tuple[int, int]]]) -> dict[str, Ordinals]:
    return {name: Ordinals(runs) for name, runs in said.items()}
