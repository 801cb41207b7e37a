"""The versions that instances may go back to: random histories beside versions told one by one, and the corners by hand."""

import json
import random
from collections.abc import Mapping
from typing import Any

import pytest
from tests.store.status.test_status_versions import Recorded, yaml
from tests.unit.entities.status.drawn_versions import Instance, Made, drawn_graph

from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.intake.plans.restorable import Targets, restorable
from headwater.intake.status.declared import declared
from headwater.intake.status.entities import File, apply
from headwater.intake.status.request import ReadInstances
from headwater.store.database import Database


class Stored(Recorded):
    """Each version says where it is kept: `delta_version` is its number, or that of the last that its run made. `gone`: versions that were deleted."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.gone: set[int] = set()

    def say(self, name: str, what: Any, some: Ordinals, at: int, **more: Any) -> int:
        if what == "produced":
            more["storage"] = {"delta_version": len(self.made) - 1, "table": name}
        return super().say(name, what, some, at, **more)

    def delete(self) -> None:
        before = set(self.current)
        super().delete()
        self.gone |= {version for at in before - set(self.current) for version in self.history[at]}

    def marked(self) -> dict[str, Ordinals]:
        """Return the instances that are wrong by the database's marks."""
        _, known = self.run(self.marks())
        found = {}
        for name, marks in known.items():
            found[name] = NONE.union(*(some for mark, some in marks.items() if mark.kind in {"tainted", "inherited"}))
        return {name: some for name, some in found.items() if some}

    async def targets(self, wrong: Mapping[str, Ordinals], *, trust: bool) -> Targets:
        async with self.database.snapshot() as connection:
            return await restorable(connection, await declared(connection), wrong, trust=trust)

    def could(self, wrong: Mapping[str, Ordinals], *, trust: bool) -> dict[Instance, set[int]]:
        """Return the versions that each instance may go back to, by the condemned and deleted ones alone, whatever other instances need."""
        bad = set().union(*(self.wrong(incident) for incident in self.condemned))
        found: dict[Instance, set[int]] = {}
        for name in wrong:
            for k in wrong[name].members().tolist():
                if (name, k) in self.current:
                    past = self.history[name, k]
                    found[name, k] = {
                        v
                        for v in past[: past.index(self.current[name, k])]
                        if v not in bad | self.gone and (trust or self.other_code(v))
                    }
        return found

    def other_code(self, version: int) -> bool:
        """Return whether another code than that of any incident had made it."""
        made = self.made[version]
        codes = [named[made.at] for named in self.named.values() if made.at in named]
        return all(code and made.code and code != made.code for code in codes)

    def fits(self, version: int, back: Mapping[Instance, int]) -> bool:
        """Return whether it would be made from the same content again once these have gone back."""
        bad = set().union(*(self.wrong(incident) for incident in self.condemned))
        made = self.made[version]
        there = {at for at in self.need[made.at] if at in self.current}
        if not there <= {self.made[read].at for read in made.reads}:
            return False
        for read in made.reads:
            now = back.get(self.made[read].at, self.current.get(self.made[read].at))
            if now is None or now in bad or self.made[now].content != self.made[read].content:
                return False
        return True

    def most(self, could: Mapping[Instance, set[int]]) -> set[Instance]:
        """All that could go back if each took the newest version that fits."""
        back: dict[Instance, int] = {}
        while True:
            new = {
                at: max(fit)
                for at, some in could.items()
                if at not in back
                if (fit := {v for v in some if self.fits(v, back)})
            }
            if not new:
                return set(back)
            back |= new

    def restore(self, targets: Targets) -> None:
        """All go back, each after what it was made from, and are reported."""
        left = {(name, k): target for name, those in targets.items() for k, target in those.items()}
        while left:
            for (name, k), target in list(left.items()):
                if any(
                    (upstream, u) in left for upstream, some in target.reads.items() for u in some.members().tolist()
                ):
                    continue
                del left[name, k]
                old = self.made[self.number((name, k), target)]
                self.clock += 1
                reads = [
                    ReadInstances(upstream, self.keys(upstream, some))
                    for upstream, some in target.reads.items()
                    if some
                ]
                self.made.append(
                    Made(
                        (name, k),
                        frozenset(self.current[self.made[v].at] for v in old.reads),
                        old.content,
                        old.code,
                        self.clock,
                        old.recorded,
                        self.clock,
                    )
                )
                new = len(self.made) - 1
                self.history[name, k].append(new)
                self.current[name, k] = new
                self.say(name, "produced", Ordinals.between(k, k + 1), self.clock, ref=f"back{new}", code=target.version.code,
                         fingerprint=target.version.fingerprint, reads=reads, right=target.vouched)  # fmt: skip

    def number(self, at: Instance, target: Any) -> int:
        """A run of several instances says the number of its last."""
        last = int(json.loads(target.version.storage)["delta_version"])
        return max(version for version in self.history[at] if version <= last)

    def back(self, targets: Targets) -> dict[Instance, int]:
        return {(name, k): self.number((name, k), one) for name, those in targets.items() for k, one in those.items()}


def check(
    database: Database, run: Any, seed: int, steps: int, *, informed: bool = True, trust: bool = False
) -> tuple[int, int]:
    """Return how many instances could go back, and how many were found, over a history that chance draws."""
    chance = random.Random(seed)
    graph = drawn_graph(chance)
    if graph is None or any(entity.instances is None for entity in graph.entities.values()):
        return 0, 0
    run(apply(database, [File("drawn.yaml", yaml(graph))], "tests", prune=True))
    world = Stored(chance, graph, database, run, informed=informed)
    most = found = 0
    for place in range(steps):
        (world.begin if place < 10 else world.step())()
        if place % 10 == 9:
            wrong = world.marked()
            targets = run(world.targets(wrong, trust=trust))
            back = world.back(targets)
            could = world.could(wrong, trust=trust)
            for at, version in back.items():
                assert version in could[at], (seed, place, at, version)
                assert world.fits(version, back), (seed, place, at, version)
            most, found = most + len(world.most(could)), found + len(back)
    targets = run(world.targets(world.marked(), trust=trust))
    world.restore(targets)
    wrong = world.marked()
    for name, k in world.back(targets):
        assert k not in wrong.get(name, NONE), (seed, name, k)
    return most, found


@pytest.mark.parametrize(("seed", "informed", "trust"), [(10, True, False), (71, True, True), (716, False, True)])
def test_only_what_is_right_goes_back(database: Database, run: Any, seed: int, informed: bool, trust: bool) -> None:
    most, found = check(database, run, seed, 100, informed=informed, trust=trust)
    assert found >= 0.5 * most > 0
