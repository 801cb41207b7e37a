"""Histories of one job's runs with planted causes, noise and decoys: the truth that `model.causes` is measured against.

Written before the ranking, and not changed to suit it. Every history is drawn from one seed. What is drawn:

- parameters of which one is new in each run (a date), inputs with a new version in nearly each, hosts by chance, a cluster that is one for all runs
  or new in each, packages and environment variables that change now and then, volumes that vary;
- deploys that harm nothing, at a rate of their own;
- decoys: rare changes shortly before the cause, with good runs between, and changes that are taken back while the failures go on;
- a plant: from one run on an aspect has a new value, and each run that has it fails with the probability `effect`;
- chance: runs that fail without any cause.
"""

import random

import msgspec

from headwater.model.observation import Aspect, Kind, Observation

_PLANTED = (
    Kind.CODE, Kind.SQL, Kind.PARAMETER, Kind.SCHEMA, Kind.ENGINE, Kind.PACKAGE, Kind.CLUSTER, Kind.ENVIRONMENT, Kind.UPSTREAM, Kind.RENEWED, Kind.VOLUME,
)  # fmt: skip


class History(msgspec.Struct):
    """Runs, oldest first, and the aspects that were planted, in the order in which they came."""

    runs: list[Observation]
    planted: list[Aspect]


class _World:
    """The state of a job's surroundings, from which each run is drawn."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.version = 0
        inputs = [f"in{n}" for n in range(draw.randint(1, 4))]
        self.values: dict[Aspect, str] = {
            Aspect(Kind.CODE, "version"): self.fresh(), Aspect(Kind.SQL, ""): self.fresh(), Aspect(Kind.ENGINE, "spark"): self.fresh(),
            Aspect(Kind.CLUSTER, "id"): self.fresh(), Aspect(Kind.USER, ""): "etl",
        }  # fmt: skip
        self.values |= {Aspect(Kind.PARAMETER, f"p{n}"): self.fresh() for n in range(draw.randint(1, 5))}
        self.values |= {Aspect(Kind.PACKAGE, f"lib{n}"): self.fresh() for n in range(draw.randint(3, 20))}
        self.values |= {Aspect(Kind.ENVIRONMENT, f"VAR{n}"): self.fresh() for n in range(draw.randint(3, 30))}
        for name in inputs:
            self.values |= {
                Aspect(Kind.SCHEMA, name): self.fresh(), Aspect(Kind.INPUT, name): self.fresh(),
                Aspect(Kind.UPSTREAM, f"load_{name} code"): self.fresh(),
            }  # fmt: skip
        self.inputs = inputs
        self.stale: set[str] = set()
        self.scale = dict.fromkeys(inputs, 1.0)
        self.rows = {name: 10 ** draw.uniform(2, 7) for name in inputs}
        self.spread = draw.choice([0.05, 0.15, 0.3])
        self.new_cluster = draw.random() < 0.3
        self.hosts = [f"host{n}" for n in range(draw.randint(1, 6))]
        self.renewal = draw.choice([1.0, 0.97, 0.9])
        deploys = draw.choice([0.0, 0.02, 0.05, 0.15])
        self.rates = {Kind.CODE: deploys, Kind.SQL: deploys / 3, Kind.UPSTREAM: deploys, Kind.ENGINE: 0.005, Kind.PACKAGE: 0.01, Kind.ENVIRONMENT: 0.003, Kind.SCHEMA: 0.01, Kind.PARAMETER: 0.005}  # fmt: skip
        self.fixed: set[Aspect] = set()

    def fresh(self) -> str:
        self.version += 1
        return f"v{self.version}-{self.draw.randrange(10**6)}"

    def run(self, number: int) -> tuple[dict[Aspect, str], dict[Aspect, float]]:
        """Let time pass by one run, and return what the run would report."""
        for aspect in self.values:
            if aspect not in self.fixed and self.draw.random() < self.rates.get(aspect.kind, 0.0):
                self.values[aspect] = self.fresh()
        if self.new_cluster and Aspect(Kind.CLUSTER, "id") not in self.fixed:
            self.values[Aspect(Kind.CLUSTER, "id")] = self.fresh()
        for name in self.inputs:
            renewed = name not in self.stale and self.draw.random() < self.renewal
            if renewed:
                self.values[Aspect(Kind.INPUT, name)] = self.fresh()
            self.values[Aspect(Kind.RENEWED, name)] = "yes" if renewed else "no"
        told = dict(self.values)
        told[Aspect(Kind.PARAMETER, "date")] = f"day {number}"
        told[Aspect(Kind.ENVIRONMENT, "RUN_TOKEN")] = self.fresh()
        told[Aspect(Kind.HOST, "")] = self.draw.choice(self.hosts)
        numbers = {
            Aspect(Kind.VOLUME, name): round(self.rows[name] * self.scale[name] * self.draw.lognormvariate(0, self.spread))
            for name in self.inputs
        }  # fmt: skip
        return told, numbers

    def plant(self, kind: Kind) -> Aspect:
        """Change an aspect for good: no chance change touches it afterwards."""
        if kind == Kind.RENEWED:
            name = self.draw.choice(self.inputs)
            self.stale.add(name)
            return Aspect(kind, name)
        if kind == Kind.VOLUME:
            name = self.draw.choice(self.inputs)
            self.scale[name] *= 10
            return Aspect(kind, name)
        aspect = self.draw.choice([one for one in self.values if one.kind == kind])
        self.values[aspect] = self.fresh()
        self.fixed.add(aspect)
        return aspect


def draw_history(
    seed: int, effect: float, *, causes: int = 1, missing: float = 0.0, unrecorded: bool = False, chance: float | None = None
) -> History:  # fmt: skip
    """Return the history of one seed that ends with a failed run.

    `effect`: the probability that a run fails that has the planted value. `causes`: how many aspects are planted, some runs apart; 0: none, runs fail
    by `chance`, or for a reason that no run reports (`unrecorded`). `missing`: the probability that a run does not report any aspect of a kind.
    `chance`: the probability that a run fails without a cause; drawn from 0 to 5 % if not given.
    """
    for attempt in range(1000):
        found = _draw(random.Random(f"{seed}/{attempt}"), effect, causes, missing, unrecorded, chance)
        if found is not None:
            return found
    raise AssertionError("no history of this kind ends with a failed run")


def _draw(
    draw: random.Random, effect: float, causes: int, missing: float, unrecorded: bool, chance: float | None
) -> History | None:
    world = _World(draw)
    chance = draw.choice([0.0, 0.0, 0.02, 0.05]) if chance is None else chance
    before, after = draw.randint(8, 80), draw.randint(1, 12)
    if effect < 1:
        after += round(3 / effect)
    kinds = draw.sample(_PLANTED, causes)
    starts = {before: kinds[:1]}
    if causes > 1:
        starts[before + after] = kinds[1:]
    total = before + after * max(1, causes)
    decoys = {max(1, before - draw.randint(2, 6)): draw.choice(_PLANTED) for _ in range(draw.randint(0, 3))}
    back: dict[int, tuple[Aspect, str]] = {}
    planted: list[Aspect] = []
    exposed = 0
    runs = []
    for number in range(total):
        if number in decoys and decoys[number] not in kinds and decoys[number] not in (Kind.RENEWED, Kind.VOLUME):
            aspect = draw.choice([one for one in world.values if one.kind == decoys[number]])
            if draw.random() < 0.3:
                back[before + 1] = (aspect, world.values[aspect])
            world.values[aspect] = world.fresh()
        if number in back:
            world.values[back[number][0]] = back[number][1]
        for kind in starts.get(number, []):
            planted.append(world.plant(kind))
        exposed = len(planted) + (unrecorded and number >= before)
        values, numbers = world.run(number)
        bad = draw.random() < chance or any(draw.random() < effect for _ in range(exposed))
        for kind in Kind:
            if missing and draw.random() < missing:
                values = {aspect: value for aspect, value in values.items() if aspect.kind != kind}
                numbers = {aspect: value for aspect, value in numbers.items() if aspect.kind != kind}
        runs.append(Observation(bad, values, numbers))
    return History(runs, planted) if runs[-1].bad and any(not one.bad for one in runs[:before]) else None
