"""Valid graphs of entities, and the refused ones with all their errors at once."""

import datetime as dt
import random

import pytest
from tests.scale import full

from headwater.entities.needs import cycles
from headwater.entities.needs.cycles import Arc
from headwater.entities.needs.edges import Edge
from headwater.entities.needs.graph import Dependency, Entity, Graph
from headwater.entities.needs.kinds import Sliding, Snapshot, Static, TimeSeries
from headwater.entities.needs.lags import NEVER, least, shift
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidEntities

HOURS = Instances.of({"every": "hour", "from": "2024-01-01", "until": "2026-01-01"})
DAYS = Instances.of({"every": "day", "from": "2024-01-01", "until": "2026-01-01"})
PARIS = Instances.of({"every": "day", "tz": "Europe/Paris", "from": "2024-01-01", "until": "2026-01-01"})
WEEKS = Instances.of({"every": "week", "from": "2024-01-01", "until": "2025-12-29"})
MONTHS = Instances.of({"every": "month", "from": "2024-01-01", "until": "2026-01-01"})
DAY = 86_400


def series(name: str, instances: Instances, **needs: str) -> Entity:
    dependencies = tuple(Dependency(upstream, Dates.of(dates)) for upstream, dates in needs.items())
    return Entity(name, TimeSeries(), instances, {"completed": dependencies})


def problems(*entities: Entity) -> list[str]:
    with pytest.raises(InvalidEntities) as caught:
        Graph(entities)
    found = caught.value.detail["problems"]
    assert isinstance(found, list)
    return found


def test_links_are_found_by_entity_and_state() -> None:
    graph = Graph(
        [
            Entity("words", TimeSeries(), DAYS, {"estimated": (), "completed": ()}),
            Entity("countries", Static()),
            Entity(
                "report",
                Sliding("30 days"),
                WEEKS,
                {
                    "estimated": (Dependency("words", Dates.of("same"), ("estimated", "completed")),),
                    "completed": (Dependency("words"), Dependency("countries", optional=True)),
                },
            ),
        ]
    )
    assert [str(link) for link in graph.upstream("report")] == [
        "report ← words (same)",
        "report ← words (last 30 days)",
        "report ← countries (static)",
    ]
    assert [link.state for link in graph.upstream("report", "estimated")] == ["estimated"]
    assert len(graph.downstream("words")) == 2
    assert [link.state for link in graph.downstream("words", "estimated")] == ["estimated"]
    assert graph.downstream("report") == []
    assert graph.order.index(("report",)) == 2
    with pytest.raises(KeyError):
        graph.upstream("unknown")


def test_edges_that_mean_the_same_are_one() -> None:
    graph = Graph([series("a", HOURS), series("b", DAYS, a="same"), series("c", DAYS, a="  SAME ")])
    assert graph.upstream("b")[0].edge is graph.upstream("c")[0].edge


def test_a_carried_snapshot_needs_itself_without_saying_so() -> None:
    graph = Graph([Entity("stock", Snapshot("carry"), DAYS)])
    [link] = graph.upstream("stock")
    assert link.carried
    assert str(link) == "stock ← stock (carried)"
    assert graph.cyclic(("stock",))


def test_everything_that_is_wrong_is_said_at_once() -> None:
    found = problems(
        series("words_count", DAYS),
        series("words_count", DAYS),
        Entity("report", TimeSeries(), DAYS, {"completed": (Dependency("word_count"), Dependency("nothing like it"))}),
        Entity("late", TimeSeries(), DAYS, {"completed": (Dependency("words_count", None, ("complete",)),)}),
        Entity("model", Static(), DAYS),
        Entity("loose", TimeSeries()),
        Entity("countries", Static()),
        series("a", DAYS, countries="same"),
        series("b", DAYS, words_count="static"),
        series("loop", DAYS, loop="last 2 days"),
        series("x", DAYS, y="previous"),
        series("y", DAYS, x="next"),
    )
    assert found == [
        "entity 'words_count' is declared twice",
        "entity 'model' is static and has no periods",
        "entity 'loose' has no periods, and only a static one has none",
        "entity 'report', state 'completed': there is no entity 'word_count'; did you mean 'words_count'?",
        "entity 'report', state 'completed': there is no entity 'nothing like it'",
        "entity 'late', state 'completed': entity 'words_count' has no state 'complete'; did you mean 'completed'?",
        "entity 'a', state 'completed', of 'countries': dates 'same' need periods on both sides; write static",
        "entity 'b', state 'completed', of 'words_count': dates 'static' go with a static entity; this one has periods",
        *[each for each in found if each.startswith("a cycle without lag")],
    ]
    assert len(found) == 10
    assert any("loop ← loop (last 2 days);" in each for each in found)
    assert any("x ← y (previous) ← x (next);" in each or "y ← x (next) ← y (previous);" in each for each in found)


@pytest.mark.parametrize(
    "entities",
    [
        [series("a", DAYS, a="previous")],
        [series("a", DAYS, a="-1w")],
        [series("a", HOURS, a="last 30 days ending previous")],
        [series("a", DAYS, b="same"), series("b", DAYS, a="previous")],
        [series("a", WEEKS, b="same"), series("b", DAYS, a="previous")],
        [series("a", WEEKS, b="same"), series("b", DAYS, a="-1w")],
        [series("a", PARIS, b="same"), series("b", DAYS, a="previous")],
        [series("a", MONTHS, b="last 60 days"), series("b", HOURS, c="same"), series("c", MONTHS, a="-2mo")],
        [series("a", DAYS, b="same", c="same"), series("b", DAYS, c="same"), series("c", DAYS, a="previous 7")],
    ],
)
def test_cycles_with_a_lag_are_fine(entities: list[Entity]) -> None:
    graph = Graph(entities)
    assert graph.order == (tuple(sorted(entity.name for entity in entities)),)
    assert graph.cyclic(graph.order[0])


@pytest.mark.parametrize(
    ("entities", "path"),
    [
        ([series("a", DAYS, a="same")], "a ← a (same);"),
        ([series("a", DAYS, a="everything")], "a ← a (everything);"),
        ([series("a", DAYS, a="last_available")], "a ← a (last_available);"),
        ([series("a", DAYS, a="next")], "a ← a (next);"),
        ([series("a", DAYS, a="fixed 2024-01-01..2024-02-01")], "a ← a (fixed 2024-01-01..2024-02-01);"),
        ([series("a", DAYS, b="same"), series("b", DAYS, a="same")], "a ← b (same) ← a (same);"),
        ([series("a", WEEKS, b="same"), series("b", DAYS, a="same")], "a ← b (same) ← a (same);"),
        ([series("a", WEEKS, b="all_month"), series("b", DAYS, a="previous")], "a ← b (all_month) ← a (previous);"),
        (
            [Entity("m", Static(), None, {"completed": (Dependency("s"),)}), series("s", DAYS, m="static")],
            "m ← s (static) ← m (static);",
        ),
    ],
)
def test_cycles_without_are_not(entities: list[Entity], path: str) -> None:
    found = problems(*entities)
    assert len(found) == 1
    assert found[0].startswith("a cycle without lag: ")
    # A path may begin at any of its entities.
    said = found[0].removeprefix("a cycle without lag: ").partition(";")[0].split(" ← ")[1:]
    steps = path.rstrip(";").split(" ← ")[1:]
    assert said in [steps[place:] + steps[:place] for place in range(len(steps))]


def test_every_cycle_without_lag_is_named() -> None:
    found = problems(
        series("a", DAYS, b="same", c="same"), series("b", DAYS, a="same"), series("c", DAYS, a="same", c="same")
    )
    assert len(found) == 3


@pytest.mark.parametrize(
    ("down", "up", "dates", "seconds"),
    [
        (DAYS, DAYS, "same", 0),
        (DAYS, DAYS, "previous", DAY),
        (DAYS, DAYS, "previous 3", DAY),
        (DAYS, DAYS, "-1w", 7 * DAY),
        (PARIS, PARIS, "-1w", 7 * DAY - 3600),
        (PARIS, DAYS, "same", -2 * 3600),
        (DAYS, WEEKS, "same", -6 * DAY),
        (DAYS, DAYS, "next", -DAY),
        (DAYS, DAYS, "fixed 2050-01-01..2050-01-02", (dt.date(2024, 1, 1) - dt.date(2050, 1, 1)).days * DAY),
        (DAYS, DAYS, {"dates": "last 3 hours", "strict": "within"}, NEVER),
    ],
)
def test_the_least_lag(down: Instances, up: Instances, dates: str, seconds: int) -> None:
    assert least(Edge(down, up, Dates.of(dates))) == seconds


def test_how_many_periods_back() -> None:
    def of(instances: Instances, dates: str, exist: Ordinals | None = None) -> tuple[int, int] | None:
        return shift(Edge(instances, instances, Dates.of(dates)), instances.all if exist is None else exist)

    assert of(DAYS, "previous 3") == (1, 3)
    assert of(DAYS, "-1w") == (7, 7)
    assert of(PARIS, "last 2 days ending previous") == (1, 2)
    assert of(DAYS, "-1mo") is None
    assert of(DAYS, "from -1mo to -1d") is None
    assert of(DAYS, "same") is None
    assert of(DAYS, "-1w", NONE) is None
    apia = Instances.of({"every": "day", "tz": "Pacific/Apia", "from": "2011-01-01", "until": "2012-12-01"})
    assert of(apia, "-1w") is None


def test_a_long_chain_is_no_recursion() -> None:
    chain = [series("e0", DAYS), *(series(f"e{n}", DAYS, **{f"e{n - 1}": "same"}) for n in range(1, 3000))]
    assert [name for (name,) in Graph(reversed(chain)).order] == [f"e{n}" for n in range(3000)]


@pytest.mark.parametrize("seed", range(full(150, 40)))
def test_components_and_cycles_are_those_of_reachability(seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randrange(1, 8)
    arcs = [
        Arc(chance.randrange(count), chance.randrange(count), chance.randrange(-2, 5))
        for _ in range(chance.randrange(12))
    ]
    # The least lag of any walk from one node to another, of at most so many arcs as there are nodes.
    far = 10**6
    best = [[far] * count for _ in range(count)]
    for arc in arcs:
        best[arc.start][arc.end] = min(best[arc.start][arc.end], arc.lag)
    for middle in range(count):
        for start in range(count):
            for end in range(count):
                best[start][end] = min(best[start][end], best[start][middle] + best[middle][end])
    out = [[arc.end for arc in arcs if arc.start == node] for node in range(count)]
    found = cycles.components(out)
    assert sorted(node for component in found for node in component) == list(range(count))
    for place, component in enumerate(found):
        for other in found[place:]:
            for one in component:
                for two in other:
                    back = best[two][one] < far // 2
                    assert (one == two or (back and best[one][two] < far // 2)) == (other is component) or not back
                    assert other is component or not back
    wrong = cycles.without_lag(count, arcs)
    for cycle in wrong:
        assert sum(arcs[each].lag for each in cycle) <= 0
        assert all(arcs[one].end == arcs[two].start for one, two in zip(cycle, cycle[1:] + cycle[:1], strict=True))
    assert bool(wrong) == any(best[node][node] <= 0 for node in range(count))
