"""Compare the database's marks with versions evaluated one by one (`drawn_versions.py`), for random histories of reports."""

import datetime as dt
import json
import random
import uuid
from typing import Any

import pytest
from tests.unit.entities.status.drawn_versions import World, drawn_graph

from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.needs.graph import Graph
from headwater.entities.needs.kinds import Snapshot
from headwater.entities.status.incidents import Version
from headwater.entities.status.marks import Mark, by_entity, replayed
from headwater.entities.time import keys, ranges
from headwater.entities.time.dates import Dates
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.intake.status import incidents
from headwater.intake.status.declared import declared
from headwater.intake.status.entities import File, apply
from headwater.intake.status.incidents import Wrong
from headwater.intake.status.reports import SentReport, record
from headwater.intake.status.request import ReadInstances, Reported
from headwater.store.database import Database
from headwater.store.status import status as store

T0 = dt.datetime(2025, 6, 1, tzinfo=dt.UTC)


def yaml(graph: Graph) -> str:
    """The graph as its declaration."""
    texts = []
    for name, entity in graph.entities.items():
        assert entity.instances is not None
        needs = {one.upstream: one.dates for one in entity.states["completed"]}
        every = entity.instances.calendar.every_text
        texts.append(
            f"entity: {name}\nperiod: {{every: {every}, from: 2025-03-03, until: 2025-03-17}}\n"
            + ("kind: snapshot\nmode: carry\n" if isinstance(entity.kind, Snapshot) else "")
            + "depends_on:\n"
            + "".join(f"  {upstream}: {_said(dates)}\n" for upstream, dates in needs.items())
        )
    return "---\n".join(texts)


def _said(dates: Dates | None) -> str:
    if dates is None or dates.meaning.custom is None:
        return dates.text if dates else "same"
    tables = {direction: dict(rows) for direction, rows in dates.meaning.custom._asdict().items() if rows}
    return json.dumps({"dates": dates.text, "custom": tables})


class Recorded(World):
    """The same told to a database: a run's start, what it left behind with what it read, incidents and what becomes of them."""

    def __init__(self, chance: random.Random, graph: Graph, database: Database, run: Any, *, informed: bool) -> None:
        super().__init__(chance, graph, informed=informed)
        self.database, self.run = database, run
        self.seqs: dict[int, int] = {}
        self.ids: dict[str, uuid.UUID] = {}

    def key(self, name: str, k: int) -> str:
        of = self.graph.entities[name].instances
        assert of is not None
        return keys.key(of.calendar, k)

    def keys(self, name: str, some: Ordinals) -> list[str]:
        return ranges.written(self.graph.entities[name].instances, some)

    def say(self, name: str, what: Any, some: Ordinals, at: int, **more: Any) -> int:
        told = Reported(
            entity=name, what=what, instances=self.keys(name, some), at=T0 + dt.timedelta(seconds=at), **more
        )
        seq, (taken,) = self.run(record(self.database, [SentReport(told, "tests")]))
        assert taken.refused is None, taken
        return int(seq)

    def begin(self) -> None:
        super().begin()
        run = self.running[-1]
        if not self.informed:
            # A report says all that was read, or nothing; of nothing the simulator knows what order a run goes in, as the marks do.
            run = self.running[-1] = run._replace(recorded=frozenset())
        self.seqs[run.began] = self.say(
            run.entity, "started", Ordinals.of(run.instances), run.began, ref=f"r{run.began}"
        )

    def _judge(self, version: Version) -> None:
        more: dict[str, Any] = {}
        if self.informed:
            more["reads"] = [ReadInstances(name, self.keys(name, some)) for name, some in version.read.items() if some]
            more["fingerprint"] = str(self.made[-1].content)
        self.say(
            version.entity,
            "produced",
            version.instances,
            self.clock,
            ref=f"r{version.began}",
            code=version.code or None,
            seq=self.seqs[version.began],
            right=version.right == version.instances,
            **more,
        )
        super()._judge(version)

    def delete(self) -> None:
        before = set(self.current)
        super().delete()
        gone = sorted(before - set(self.current))
        if gone:
            self.clock += 1
            name = gone[0][0]
            self.say(name, "deleted", Ordinals.of([k for _, k in gone]), self.clock, ref="retention")

    def open(self) -> None:
        before = set(self.condemned)
        super().open()
        for name in set(self.condemned) - before:
            wrong = [Wrong(entity, [self.key(entity, k)]) for entity, k in self.named[name]]
            found = self.run(incidents.open_(self.database, wrong, "spoilt", "tests"))
            self.ids[name] = found.id

    def fix(self) -> None:
        before = dict(self.fixed)
        super().fix()
        for name in self.fixed.keys() - before.keys():
            at = T0 + dt.timedelta(seconds=self.fixed[name])
            self.run(incidents.fix(self.database, self.ids[name], "tests", at=at))

    def retract(self) -> None:
        before = set(self.condemned)
        super().retract()
        for name in before - set(self.condemned):
            self.run(incidents.retract(self.database, self.ids[name], "tests"))

    def confirm(self) -> None:
        before = {name: set(some) for name, some in self.pardoned.items()}
        super().confirm()
        for name, some in self.pardoned.items():
            for version in some - before[name]:
                entity, k = self.made[version].at
                right = [Wrong(entity, [self.key(entity, k)])]
                self.run(incidents.confirm(self.database, self.ids[name], right, "tests"))

    async def marks(self) -> tuple[StoredDeclarations, dict[str, dict[Mark, Ordinals]]]:
        """Return the declarations and the database's marks, after checking that its log comes to the same."""
        async with self.database.connection() as connection:
            held = await declared(connection)
            rows = by_entity(await store.marks_of(connection, list(held.names)))
            for number, marks in rows.items():
                assert marks == replayed(await store.changes(connection, (number, -(2**40), 2**40), 2**60))
        return held, {held.names[number]: dict(marks) for number, marks in rows.items()}


def agree(world: Recorded, seed: object) -> tuple[int, int]:
    """The number of compared instances, and of those with too many marks."""
    _, known = world.run(world.marks())
    compared = over = 0
    for name in world.condemned:
        ref = str(world.ids[name])
        marked = {
            (entity, k)
            for entity, marks in known.items()
            for kind in ("tainted", "inherited")
            for k in marks.get(Mark(kind, ref), NONE).members().tolist()  # type: ignore[arg-type]
        }
        versions = world.wrong(name)
        wrong = {at for at, version in world.current.items() if version in versions}
        assert wrong <= marked, (seed, name, wrong - marked)
        assert marked <= set(world.current), (seed, name, marked - set(world.current))
        if name not in world.loose:
            assert marked == wrong, (seed, name, marked - wrong)
        compared += len(world.current)
        over += len(marked - wrong)
    there = {(entity, k) for entity, marks in known.items() for k in _there(marks).members().tolist()}
    assert there == set(world.current), seed
    return compared, over


def _there(marks: dict[Mark, Ordinals]) -> Ordinals:
    return marks.get(Mark("state", "completed"), NONE)


def check(
    database: Database, run: Any, seed: int, steps: int, *, informed: bool, tables: float = 0.0
) -> tuple[int, int]:
    chance = random.Random(seed)
    graph = drawn_graph(chance, tables)
    if graph is None or any(entity.instances is None for entity in graph.entities.values()):
        return 0, 0  # what is static has one instance in a database, not one for each version
    run(apply(database, [File("drawn.yaml", yaml(graph))], "tests", prune=True))
    world = Recorded(chance, graph, database, run, informed=informed)
    compared = over = 0
    for place in range(steps):
        (world.begin if place < 10 else world.step())()
        if place % 10 == 9:
            some, more = agree(world, (seed, place))
            compared, over = compared + some, over + more
    return compared, over


@pytest.mark.parametrize("seed", [100, 101, 104])
def test_where_all_is_recorded_it_is_what_the_versions_say(database: Database, run: Any, seed: int) -> None:
    compared, over = check(database, run, seed, 60, informed=True)
    assert over <= 0.05 * compared


def test_where_needs_are_listed_too(database: Database, run: Any) -> None:
    compared, over = check(database, run, 103, 40, informed=True, tables=0.7)
    assert over <= 0.05 * compared
    assert compared


@pytest.mark.parametrize("seed", [103, 117])
def test_where_nothing_is_recorded_it_is_never_less(database: Database, run: Any, seed: int) -> None:
    check(database, run, seed, 40, informed=False)
