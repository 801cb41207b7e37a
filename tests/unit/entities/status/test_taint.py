"""The spread of wrong instances: cases by hand, and random graphs walked instance by instance (`drawn_graphs.py`)."""

import itertools
import random
from collections.abc import Iterable

import pytest
from tests.scale import full
from tests.unit.entities.status.drawn_graphs import Instance, World, circular, reached, world

from headwater.entities.needs.graph import Dependency, Entity, Graph
from headwater.entities.needs.kinds import Static, TimeSeries
from headwater.entities.status.taint import Facts, Reached, suspects, tainted
from headwater.entities.time import keys
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidEntities


def roots(chance: random.Random, drawn: World, most: int = 3) -> dict[str, Ordinals]:
    """Some instances of some entities; most exist."""
    found = {}
    for name in chance.sample(list(drawn.graph.entities), min(len(drawn.graph.entities), chance.randrange(1, 3))):
        exist = drawn.exist[name]
        if not exist:
            continue
        first = chance.randrange(exist.first - 1, exist.end + 1)
        runs = [(first, first + chance.choice([1, 1, 2, 10]))]
        while len(runs) < chance.randrange(1, most + 1):
            at = chance.randrange(exist.first - 1, exist.end + 1)
            runs.append((at, at + 1))
        # An instance that can never exist says nothing of its users, unless dates decide about them.
        timed = all(entity.instances for entity in drawn.graph.entities.values())
        found[name] = Ordinals(runs) if timed else Ordinals(runs) & exist
    return {name: some for name, some in found.items() if some}


def instances(sets: Iterable[tuple[str, Ordinals]]) -> set[Instance]:
    return {(name, k) for name, some in sets for k in some.members().tolist()}


def hits(answer: Reached) -> set[Instance]:
    return instances((name, hit.instances) for name, hit in answer.hits.items())


def check(seed: int, tables: float = 0.0) -> int:
    """Compare one graph both ways. Returns the number of instances compared; 0 where the graph was refused."""
    chance = random.Random(seed)
    drawn = world(chance, tables)
    if drawn is None:
        return 0
    assert not circular(drawn), seed
    wrong = roots(chance, drawn)
    if not wrong:
        return 0
    compared = 0
    for forward, asked in ((True, tainted), (False, suspects)):
        answer = asked(drawn.graph, wrong, drawn.facts())
        expected = reached(drawn, instances(wrong.items()), forward)
        assert hits(answer) == set(expected), (seed, forward)
        depth = nearest(drawn, wrong, expected, forward)
        assert {name: hit.depth for name, hit in answer.hits.items()} == depth, (seed, forward)
        for name, hit in answer.hits.items():
            assert (hit.witness is None) == (name in wrong)
            if hit.witness is not None:
                before = hit.witness.upstream if forward else hit.witness.downstream
                assert depth[before] == hit.depth - 1, (seed, name)
        explained(drawn, answer, wrong, expected, forward, chance)
        compared += sum(some.count for some in drawn.exist.values())
    return compared


def nearest(drawn: World, wrong: dict[str, Ordinals], expected: dict[Instance, int], forward: bool) -> dict[str, int]:
    """Return the fewest links over which anything came to each entity."""
    passed = set()
    for link, pairs in drawn.pairs:
        for k, u in pairs:
            ends = [(link.upstream, u), (link.downstream, k)]
            start, end = ends if forward else ends[::-1]
            if start in expected and end in expected and end[1] in drawn.exist[end[0]]:
                passed.add((start[0], end[0]))
    found = dict.fromkeys(wrong, 0)
    queue = list(wrong)
    for name in queue:
        for end in sorted(end for start, end in passed if start == name and end not in found):
            found[end] = found[name] + 1
            queue.append(end)
    return found


def explained(
    drawn: World,
    answer: Reached,
    wrong: dict[str, Ordinals],
    expected: dict[Instance, int],
    forward: bool,
    chance: random.Random,
) -> None:
    """Paths of some instances: each step a pair, and no shorter way, where no snapshot shortens them."""
    held = {id(link): pairs for link, pairs in drawn.pairs}
    carries = any(link.carried for link, _ in drawn.pairs)
    for name, ordinal in chance.sample(sorted(expected), min(3, len(expected))):
        path = answer.why(name, ordinal)
        assert (path[0].entity, path[0].ordinal) == (name, ordinal)
        assert path[-1].link is None
        assert path[-1].ordinal in wrong[path[-1].entity]
        for at, after in itertools.pairwise(path):
            assert at.link is not None
            ends = (at, after) if forward else (after, at)
            assert (at.link.downstream, at.link.upstream) == (ends[0].entity, ends[1].entity)
            if not at.link.carried:
                assert (ends[0].ordinal, ends[1].ordinal) in held[id(at.link)]
        if not carries:
            assert len(path) == expected[name, ordinal] + 1
    assert answer.why(name, 10**9) == []


@pytest.mark.parametrize("block", range(full(10, 3)))
def test_it_is_what_a_walk_from_instance_to_instance_finds(block: int) -> None:
    assert sum(check(seed) for seed in range(block * 14, block * 14 + 14)) > 0


def test_with_tables_it_is_too() -> None:
    assert sum(check(seed, 0.5) for seed in range(40)) > 0


def series(name: str, every: str, **needs: str) -> Entity:
    period = {"every": every, "from": "2024-01-01", "until": "2025-12-29" if every == "week" else "2026-01-01"}
    states = {"completed": tuple(Dependency(upstream, Dates.of(dates)) for upstream, dates in needs.items())}
    return Entity(name, TimeSeries(), Instances.of(period), states)


def at(graph: Graph, entity: str, *texts: str) -> Ordinals:
    """Instances by their keys; `a..b` is from a to b, both included."""
    instances = graph.entities[entity].instances
    assert instances is not None
    runs = []
    for text in texts:
        first, _, last = text.partition("..")
        runs.append((keys.ordinal(instances.calendar, first), keys.ordinal(instances.calendar, last or first) + 1))
    return Ordinals(runs)


def test_suspects_and_those_to_make_again_even_where_they_seem_unrelated() -> None:
    needs = {"e6": ("e3", "e4"), "e7": ("e5",), "e11": ("e6", "e7"), "e13": ("e11",), "e10": ("e6",)}
    names = ["e13", "e10", "e11", "e7", "e6", "e5", "e4", "e3"]
    graph = Graph(series(name, "day", **dict.fromkeys(needs.get(name, ()), "same")) for name in names)
    day = at(graph, "e3", "2024-05-01")
    assert set(tainted(graph, {"e3": day}).hits) == {"e3", "e6", "e10", "e11", "e13"}
    assert set(suspects(graph, {"e13": day}).hits) == {"e13", "e11", "e6", "e7", "e3", "e4", "e5"}
    assert {name: hit.depth for name, hit in tainted(graph, {"e3": day}).hits.items()} == {
        "e3": 0,
        "e6": 1,
        "e10": 2,
        "e11": 2,
        "e13": 3,
    }


@pytest.mark.parametrize(
    ("hours", "days", "months"),
    [
        ("2024-03-10T05..2024-03-10T14", ["2024-03-10"], ["2024-03"]),
        ("2024-03-10T20..2024-03-11T05", ["2024-03-10..2024-03-11"], ["2024-03"]),
        ("2024-03-31T20..2024-04-01T05", ["2024-03-31..2024-04-01"], ["2024-03..2024-04"]),
    ],
)
def test_ten_hours_are_a_day_or_two_and_a_month_or_two(hours: str, days: list[str], months: list[str]) -> None:
    graph = Graph([series("h", "hour"), series("d", "day", h="same"), series("m", "month", d="same")])
    found = tainted(graph, {"h": at(graph, "h", hours)}).hits
    assert found["d"].instances == at(graph, "d", *days)
    assert found["m"].instances == at(graph, "m", *months)
    assert str(found["m"].witness) == "m ← d (same)"


@pytest.mark.parametrize(
    ("dates", "wrong", "cut", "missing", "expected"),
    [
        ("previous", "2025-12-01", None, None, "2025-12-01..2025-12-31"),
        ("previous", "2025-12-01", "2025-12-06", None, "2025-12-01..2025-12-05"),
        ("previous", "2025-12-01", None, "2025-12-06", "2025-12-01..2025-12-05"),
        ("previous 3", "2025-12-01", "2025-12-06..2025-12-07", None, "2025-12-01..2025-12-05 2025-12-08..2025-12-31"),
        ("previous 3", "2025-12-01", "2025-12-06..2025-12-08", None, "2025-12-01..2025-12-05"),
        ("-1w", "2025-12-01", None, None, "2025-12-01 2025-12-08 2025-12-15 2025-12-22 2025-12-29"),
        ("-1w", "2025-12-01..2025-12-02", "2025-12-15", None, "2025-12-01..2025-12-02 2025-12-08..2025-12-09 2025-12-16 2025-12-23 2025-12-30"),
        ("-1w", "2025-12-01..2025-12-07", None, None, "2025-12-01..2025-12-31"),
        ("from -3d to -2d", "2025-12-24", None, None, "2025-12-24 2025-12-26..2025-12-31"),
        ("-1mo", "2025-10-31", None, None, "2025-10-31 2025-11-30 2025-12-30..2025-12-31"),
        ("-1mo", "2025-10-05", None, None, "2025-10-05 2025-11-05 2025-12-05"),
    ],
)  # fmt: skip
def test_an_entity_that_needs_itself(
    dates: str, wrong: str, cut: str | None, missing: str | None, expected: str
) -> None:
    graph = Graph([series("a", "day", a=dates)])
    facts = Facts(
        exist=lambda name: graph.every(name) - (at(graph, "a", missing) if missing else NONE),
        cuts=lambda _: at(graph, "a", cut) if cut else NONE,
    )
    found = tainted(graph, {"a": at(graph, "a", wrong)}, facts)
    assert found.hits["a"].instances == at(graph, "a", *expected.split(" "))


def test_a_chain_of_a_thousand_explains_itself() -> None:
    graph = Graph([series("a", "hour", a="previous")])
    hour = at(graph, "a", "2024-05-01T00").first
    found = tainted(graph, {"a": Ordinals.between(hour, hour + 1)})
    assert found.hits["a"].instances == Ordinals.between(hour, graph.every("a").end)
    assert [step.ordinal for step in found.why("a", hour + 1000)] == list(range(hour + 1000, hour - 1, -1))
    assert found.why("a", hour - 1) == []


def test_two_entities_that_need_each_other() -> None:
    graph = Graph([series("a", "day", b="previous", raw="same"), series("b", "day", a="same"), series("raw", "day")])
    found = tainted(graph, {"raw": at(graph, "raw", "2025-12-29")})
    assert found.hits["a"].instances == found.hits["b"].instances == at(graph, "a", "2025-12-29..2025-12-31")
    path = found.why("a", at(graph, "a", "2025-12-30").first)
    assert [(step.entity, str(step.link)) for step in path] == [
        ("a", "a ← b (previous)"),
        ("b", "b ← a (same)"),
        ("a", "a ← raw (same)"),
        ("raw", "None"),
    ]


def test_of_something_static_all_may_have_used_any_version() -> None:
    graph = Graph([Entity("countries", Static()), series("a", "day", countries="static")])
    wrong = {"countries": Ordinals.between(1, 2)}
    assert tainted(graph, wrong).hits["a"].instances == graph.every("a")
    facts = Facts(exist=lambda name: Ordinals.between(0, 3) if name == "countries" else graph.every(name))
    spring = at(graph, "a", "2024-03-01..2024-05-31")
    assert suspects(graph, {"a": spring}, facts).hits["countries"].instances == Ordinals.between(0, 3)


def test_an_unknown_root_is_refused() -> None:
    with pytest.raises(InvalidEntities, match="no entity 'unknown'"):
        tainted(Graph([]), {"unknown": Ordinals.between(0, 1)})
    assert tainted(Graph([series("a", "day")]), {"a": NONE}).hits == {}


def drawn_with_roots(seed: int) -> tuple[random.Random, World, dict[str, Ordinals], dict[str, Ordinals]] | None:
    chance = random.Random(seed)
    drawn = world(chance)
    return None if drawn is None else (chance, drawn, roots(chance, drawn), roots(chance, drawn))


@pytest.mark.parametrize("block", range(full(3, 1)))
def test_of_two_incidents_is_wrong_what_is_of_either(block: int) -> None:
    """A retraction clears just the marks that only the retracted incident explains."""
    for seed in range(10_000 + block * 20, 10_000 + block * 20 + 20):
        if (case := drawn_with_roots(seed)) is None:
            continue
        chance, drawn, one, two = case
        both = {name: one.get(name, NONE) | two.get(name, NONE) for name in {**one, **two}}
        for asked in (tainted, suspects):
            first, second, together = (hits(asked(drawn.graph, each, drawn.facts())) for each in (one, two, both))
            assert together == first | second, seed
        whole = tainted(drawn.graph, both, drawn.facts())
        left = hits(tainted(drawn.graph, one, drawn.facts()))
        cleared = sorted(hits(whole) - left)
        for name, ordinal in chance.sample(cleared, min(4, len(cleared))):
            root = whole.why(name, ordinal)[-1]
            assert root.ordinal in two[root.entity], seed
            assert root.ordinal not in one.get(root.entity, NONE), seed


@pytest.mark.parametrize("block", range(full(2, 1)))
def test_an_entity_that_is_not_related_changes_nothing(block: int) -> None:
    for seed in range(20_000 + block * 20, 20_000 + block * 20 + 20):
        if (case := drawn_with_roots(seed)) is None:
            continue
        _, drawn, wrong, _ = case
        more = [*drawn.graph.entities.values(), series("apart", "day", apart="previous")]
        graph = Graph(more[::-1])
        facts = Facts(exist=lambda name, drawn=drawn, graph=graph: drawn.exist.get(name, graph.every(name)))
        for asked in (tainted, suspects):
            with_it, without = asked(graph, wrong, facts), asked(drawn.graph, wrong, facts)
            assert {name: hit.instances for name, hit in with_it.hits.items()} == {
                name: hit.instances for name, hit in without.hits.items()
            }, seed


@pytest.mark.parametrize("seed", range(30_000, 30_000 + full(30, 10)))
def test_who_is_wrong_because_of_one_has_it_among_its_suspects(seed: int) -> None:
    if (case := drawn_with_roots(seed)) is None:
        return
    chance, drawn, wrong, _ = case
    wrong = {name: some & drawn.exist[name] for name, some in wrong.items()}
    reached_ = sorted(hits(tainted(drawn.graph, wrong, drawn.facts())))
    for name, ordinal in chance.sample(reached_, min(3, len(reached_))):
        back = suspects(drawn.graph, {name: Ordinals.between(ordinal, ordinal + 1)}, drawn.facts()).hits
        assert any(back[root].instances & some for root, some in wrong.items() if root in back)


def test_what_is_before_the_first_instance_is_wrong_only_for_who_requires_it() -> None:
    first, later = ({"every": "day", "from": since, "until": "2024-04-01"} for since in ("2024-01-01", "2024-03-01"))
    ignored = Dates.of({"dates": "last 3 days", "before_start": "ignore"})
    graph = Graph(
        [
            Entity("a", TimeSeries(), Instances.of(first)),
            Entity("b", TimeSeries(), Instances.of(later)),
            *(
                Entity(name, TimeSeries(), Instances.of(later), {"completed": (Dependency(upstream, dates),)})
                for name, upstream, dates in (
                    ("of a", "a", Dates.of("everything")),
                    ("of b", "b", Dates.of("everything")),
                    ("requires", "b", Dates.of("last 3 days")),
                    ("ignores", "b", ignored),
                )
            ),
        ]
    )
    day = at(graph, "a", "2024-02-29")
    assert set(tainted(graph, {"a": day, "b": day}).hits) == {"a", "b", "of a", "requires"}


def test_sets_that_are_gone_are_not_taken_for_others() -> None:
    """Sets are looked up by identity, so they have to be kept: once they were not, and graphs such as these showed it."""
    assert min(check(seed) for seed in (200_110, 200_190, 200_468)) > 0
