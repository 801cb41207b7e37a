"""Columns that may be wrong, against every (dataset, column) followed one at a time; and who is not affected."""

import itertools
import random
import uuid

import pytest

from headwater.entities.needs.columns import ALL, Carried, Columns, JobColumns, Way, both, meet, named, unknown
from headwater.entities.needs.graph import Dependency, Entity, Graph
from headwater.entities.needs.kinds import TimeSeries
from headwater.entities.time.instances import Instances

DAYS = Instances.of({"every": "day"})
NAMES = "abc"


def some(*names: str) -> Columns:
    return frozenset(names)


def test_names_are_compared_as_databases_do() -> None:
    assert named(["Temp", "ADDRESS.Zip"]) == some("temp", "address.zip")
    assert meet(some("address"), some("address.zip"))
    assert meet(some("address.zip"), some("address"))
    assert not meet(some("address"), some("address2"))
    assert meet(ALL, some("a"))
    assert not meet(ALL, some())
    assert both(some("a"), ALL) == ALL
    assert list(unknown(some("a", "b.c", "d"), some("b", "d"))) == ["a"]


U, V = uuid.UUID(int=1), uuid.UUID(int=2)
WAY = Way({U: {"a": some("x"), "b": some("y"), "": some("z")}}, some("x", "y", "z", "n"), some("x", "y", "z", "n"))


@pytest.mark.parametrize(
    ("way", "wrong", "carried"),
    [
        (WAY, some("a"), some("x", "z")),
        (WAY, some("c"), some("z")),
        (WAY, some(), some()),
        (WAY, ALL, some("x", "y", "z")),
        (WAY._replace(columns=None), some("c"), ALL),
        (WAY._replace(columns=some("x", "y", "z", "n", "new")), some("c"), some("z", "new")),
        (WAY._replace(told=some("x.deep", "y", "z", "n")), some("c"), some("z")),
        (Way({U: {"a": some("")}}, some("x"), some("x")), some("a"), ALL),
        (Way({V: {"a": some("x")}}, some("x"), some("x")), some("a"), some()),
    ],
)
def test_a_way(way: Way, wrong: Columns, carried: Columns) -> None:
    assert way.carried(U, wrong) == carried


class Drawn:
    """Entities e0…, each stored in a dataset or in none, other datasets, jobs between them, and dependencies that may agree with those or not."""

    def __init__(self, seed: int) -> None:
        draw = self.draw = random.Random(seed)
        self.entities = [f"e{number}" for number in range(draw.randint(2, 5))]
        self.datasets = [uuid.UUID(int=number + 1) for number in range(draw.randint(3, 7))]
        self.stored = {name: [draw.choice(self.datasets)] for name in self.entities if draw.random() < 0.85}
        links: dict[str, list[Dependency]] = {name: [] for name in self.entities}
        for up, down in itertools.combinations(self.entities, 2):
            if draw.random() < 0.6:
                columns = tuple(draw.sample(NAMES, draw.randint(1, 2))) if draw.random() < 0.3 else ()
                links[down].append(Dependency(up, columns=columns))
        self.graph = Graph(
            Entity(name, TimeSeries(), DAYS, {"completed": tuple(some)} if some else {"completed": ()})
            for name, some in links.items()
        )
        self.made = {
            dataset: [self._made(dataset) for _ in range(draw.choice((0, 1, 1, 2)))] for dataset in self.datasets
        }

    def _made(self, read: uuid.UUID) -> JobColumns:
        draw = self.draw
        return JobColumns(draw.choice(self.datasets), [self._way(read) for _ in range(draw.choice((0, 1, 1, 1, 2)))])

    def _way(self, read: uuid.UUID) -> Way:
        draw = self.draw
        fed: dict[str, Columns] = {}
        for _ in range(draw.randint(0, 3)):
            source = draw.choice([*NAMES, *NAMES, *NAMES, ""])
            fed[source] = fed.get(source, some()) | some(draw.choice([*NAMES, *NAMES, ""]))
        told = frozenset(name for made in fed.values() for name in made if name)
        told |= frozenset(draw.sample(NAMES, draw.randint(1, 3)))
        return Way({read: fed}, told, None if draw.random() < 0.1 else frozenset(NAMES))

    def carried(self, wrong: dict[str, Columns]) -> Carried:
        found = Carried(self.graph, self.stored, wrong)
        while asked := found.unknown():
            found.learn({dataset: self.made[dataset] for dataset in asked})
        return found

    def flows(self, upstream: str, wrong: set[str]) -> dict[str, set[str]]:
        """Return the columns carried from one entity to each, column by column; `*` stands for a column without a name. Empty: it was
        reached, and none is carried."""
        homes: dict[uuid.UUID, list[str]] = {}
        for name, datasets in self.stored.items():
            homes.setdefault(datasets[0], []).append(name)
        found: dict[str, set[str]] = {}
        queue = [(dataset, column) for dataset in self.stored.get(upstream, []) for column in [*wrong, None]]
        seen = set(queue)
        while queue:
            dataset, column = queue.pop()
            for other, ways in self.made[dataset]:
                to: set[str] = set()
                if column is not None:
                    to = set().union(*(self._to(way, dataset, column) for way in ways)) if ways else {*NAMES, "*"}
                for entity in homes.get(other, []):
                    found.setdefault(entity, set()).update(to)
                for at in [(other, None), *((other, name) for name in to)] if other not in homes else []:
                    if at not in seen:
                        seen.add(at)
                        queue.append(at)
        return found

    def _to(self, way: Way, read: uuid.UUID, column: str) -> set[str]:
        if way.columns is None:
            return {*NAMES, "*"}
        to = {name for name in NAMES if name not in way.told}
        for source, made in way.fed[read].items():
            if source in ("", column) or column == "*":
                to |= {*NAMES, "*"} if "" in made else made
        return to

    def oracle(self, wrong: dict[str, Columns]) -> tuple[dict[str, set[str]], set[tuple[str, str]]]:
        columns = {name: {*NAMES, "*"} if some_ == ALL else set(some_) for name, some_ in wrong.items()}
        while True:
            while now := self._seen(columns):  # to the end before anything that is declared counts
                columns = now
            used: dict[tuple[str, str], set[str]] = {}
            for upstream, its in columns.items():
                seen = self.flows(upstream, its)
                for downstream in {link.downstream for link in self.graph.downstream(upstream)} | seen.keys():
                    used[upstream, downstream] = self._used(upstream, downstream, its, seen.get(downstream))
            now = {name: set(its) for name, its in columns.items()}
            for (_, downstream), its in used.items():
                if its:
                    now.setdefault(downstream, set()).update(its)
            if now == columns:
                return columns, {pair for pair, its in used.items() if not its}
            columns = now

    def _seen(self, columns: dict[str, set[str]]) -> dict[str, set[str]] | None:
        now = {name: set(its) for name, its in columns.items()}
        for upstream, its in columns.items():
            for downstream, carried in self.flows(upstream, its).items():
                if carried:
                    now.setdefault(downstream, set()).update(carried)
        return now if now != columns else None

    def _used(self, upstream: str, downstream: str, wrong: set[str], seen: set[str] | None) -> set[str]:
        links = [link.dependency for link in self.graph.downstream(upstream) if link.downstream == downstream]
        said = None
        if links and all(one is not None and one.columns for one in links):
            said = {column for one in links if one is not None for column in one.columns}
        meets = said is not None and bool("*" in wrong or wrong & said)
        if seen is None:
            return {*NAMES, "*"} if said is None or meets else set()
        return seen or ({*NAMES, "*"} if meets else set())


def compared(seed: int) -> None:
    drawn = Drawn(seed)
    names = drawn.draw.sample(drawn.entities, drawn.draw.randint(1, 2))
    wrong = {name: ALL if drawn.draw.random() < 0.15 else some(drawn.draw.choice(NAMES)) for name in names}
    found, (columns, unaffected) = drawn.carried(wrong), drawn.oracle(wrong)
    assert {name: {*NAMES, "*"} if its == ALL else set(its) for name, its in found.columns.items()} == columns, seed
    assert found.unaffected() == unaffected, seed


def test_as_each_column_of_each_dataset_by_itself() -> None:
    for seed in range(300):
        compared(seed)


def test_what_these_lead_to_and_no_further() -> None:
    graph = Graph(
        [
            Entity("a", TimeSeries(), DAYS),
            Entity("b", TimeSeries(), DAYS, {"completed": (Dependency("a"),)}),
            Entity("c", TimeSeries(), DAYS, {"completed": (Dependency("b"),)}),
        ]
    )
    found = Carried(graph, {"a": [U], "b": [V]}, {"a": some("x")}, onward=False)
    assert found.unknown() == {U}
    found.learn({U: [JobColumns(V, [Way({U: {"y": some("z")}}, some("z"), some("z"))])]})
    assert not found.unknown()
    assert (found.columns, found.unaffected()) == ({"a": some("x")}, {("a", "b")})
