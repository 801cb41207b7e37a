"""The order of items: cases by hand, and random plans against needs followed one item at a time."""

import random

import pytest
from tests.unit.entities.plans.drawn_plans import asked

from headwater.entities.needs.graph import Dependency, Entity, Graph
from headwater.entities.needs.kinds import TimeSeries
from headwater.entities.plans.plan import Plan, Producer, plan
from headwater.entities.plans.priority import Tier, is_chained, tier
from headwater.entities.plans.priority import first as priority_first
from headwater.entities.plans.schedule import Limits, Usage, estimate
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidPlan

DAY = Instances.of({"every": "day", "from": "2024-01-01", "until": "2024-02-01"})
WEEK = Instances.of({"every": "week", "from": "2024-01-01", "until": "2024-02-05"})


def fed(*links: str, instances: Instances = DAY, **more: Entity) -> Graph:
    """`b<a`: b needs a. All have the same periods, but those said."""
    needs: dict[str, list[str]] = {}
    for link in links:
        downstream, _, upstream = link.partition("<")
        needs.setdefault(downstream, [])
        if upstream:
            needs[downstream].append(upstream)
            needs.setdefault(upstream, [])
    made = [Entity(name, TimeSeries(), instances, {"completed": tuple(map(Dependency, some))}) for name, some in needs.items()]  # fmt: skip
    return Graph([*(each for each in made if each.name not in more), *more.values()])


def planned(graph: Graph, some: dict[str, Ordinals], tiers: dict[str, str], **seconds: float) -> Plan:
    jobs = {name: Producer(name) for name in some}
    return plan(graph, some, exist={}, producers=jobs, tiers=tiers, seconds=seconds)


def first(count: int) -> Ordinals:
    return Ordinals.between(DAY.all.first, DAY.all.first + count)


def told(found: Plan) -> list[str]:
    """The entities in turn, each stretch of items once."""
    return [next(iter(found.item(turn.first).makes)) for turn in found.turns]


@pytest.mark.parametrize(
    ("texts", "_why"),
    [
        (["1", "2", "10"], "numbers are no texts"),
        (["P0", "tier-1", "tier-2", "Tier 10"], "the first number in it"),
        (["platinum", "Gold", "silver", "bronze"], "not by the alphabet"),
        (["critical", "high", "medium", "LOW"], "not by the alphabet"),
        (["gold", "2", "bronze", "internal", "marts", ""], "other words by the alphabet, nothing last"),
    ],
)
def test_tiers_are_ordered_by_what_they_say(texts: list[str], _why: str) -> None:
    assert sorted({*texts}, key=tier) == texts


def test_a_tier_says_how_important_it_is_in_any_words() -> None:
    assert tier("gold") == tier("1") == tier("tier-1") == tier("Critical")
    assert tier("9" * 5_000)[0] == 0


def test_without_tiers_items_go_by_their_numbers() -> None:
    found = planned(fed("b<a", "d<c"), dict.fromkeys("abcd", first(3)), {}, c=1000)
    assert found.turns == [Ordinals.between(start, start + 3) for start in range(0, 12, 3)]  # stage by stage


def test_what_a_better_tier_waits_for_goes_first() -> None:
    graph = fed("b<a", "d<c", "e<c")
    found = planned(graph, dict.fromkeys("abcde", first(2)), {"b": "2", "d": "gold"})
    assert told(found) == ["c", "d", "a", "b", "e"]


def test_only_the_instances_that_it_needs_go_first() -> None:
    weekly = Entity("week", TimeSeries(), WEEK, {"completed": (Dependency("a"),)})
    graph = fed("b<a", week=weekly)
    second = Ordinals.between(WEEK.all.first + 1, WEEK.all.first + 2)
    found = planned(graph, {"a": first(21), "b": first(21), "week": second}, {"week": "1"})
    assert found.turns[0] == Ordinals.between(7, 14)
    assert told(found) == ["a", "week", "a", "b"]


def test_a_run_of_several_periods_needs_what_all_of_them_need() -> None:
    weekly = Entity("week", TimeSeries(), WEEK, {"completed": (Dependency("b"),)})
    graph = fed("b<a", week=weekly)
    some = {"a": first(28), "b": first(28), "week": Ordinals.between(WEEK.all.first, WEEK.all.first + 1)}
    jobs = {"a": Producer("a"), "b": Producer("b", max_periods=10), "week": Producer("week")}
    for newest_first, days in ((False, Ordinals.between(0, 10)), (True, Ordinals.between(18, 28))):
        found = plan(graph, some, exist={}, producers=jobs, tiers={"week": "1"}, newest_first=newest_first)
        assert found.turns[0] == days, newest_first


def test_of_one_tier_the_longest_way_goes_first() -> None:
    graph = fed("b<a", "d<c")
    tiers = {"b": "1", "d": "1"}
    assert told(planned(graph, dict.fromkeys("abcd", first(1)), tiers, a=5, b=5, c=1, d=10))[:2] == ["c", "a"]
    assert told(planned(graph, dict.fromkeys("abcd", first(1)), tiers, a=5, b=5, c=1, d=8))[:2] == ["a", "c"]
    # A later item of another tier that waits for it is no reason.
    longer = fed("b<a", "d<c", "e<d")
    some = dict.fromkeys("abcde", first(1))
    assert told(planned(longer, some, tiers, a=5, b=5, c=1, d=8, e=1000))[:2] == ["a", "c"]


def test_what_needs_its_own_past_stays_in_order() -> None:
    own = Entity("own", TimeSeries(), DAY, {"completed": (Dependency("own", Dates.of("previous")),)})
    weekly = Entity("week", TimeSeries(), WEEK, {"completed": (Dependency("own"),)})
    second = Ordinals.between(WEEK.all.first + 1, WEEK.all.first + 2)
    found = planned(fed("a", own=own, week=weekly), {"a": first(5), "own": first(20), "week": second}, {"week": "1"})
    assert [found.item(turn.first).makes.keys() for turn in found.turns] == [{"own"}, {"week"}, {"own"}, {"a"}]
    assert [turn.count for turn in found.turns] == [14, 1, 6, 5]


def test_what_is_restored_waits_for_what_is_restored_and_nothing_else() -> None:
    graph = fed("mid<raw", "mid<base")
    some = dict.fromkeys(("raw", "base", "mid"), first(2))
    back = {"base": some["base"], "mid": some["mid"]}
    found = plan(graph, some, exist={}, producers={"raw": Producer("raw")}, restorable=back, tiers={"mid": "1"})
    assert told(found) == ["base", "mid", "raw"]
    other = plan(graph, some, exist={}, restorable=back, tiers={"mid": "2", "raw": "1"})
    assert told(other) == ["raw", "base", "mid"]


def test_those_that_wait_for_each_other_do_not_hide_the_others() -> None:
    order = [Ordinals.between(3000, 8000), Ordinals.between(0, 3000), Ordinals.between(8000, 8010)]
    assert priority_first(order, Ordinals.between(0, 8010), 30) == [*range(3000, 3010), *range(10), *range(8000, 8010)]
    assert priority_first(order, Ordinals.between(7999, 8010), 30) == [7999, *range(8000, 8010)]
    assert priority_first(order, Ordinals([(5, 8), (2990, 3005)]), 30) == [
        *range(3000, 3005),
        5,
        6,
        7,
        *range(2990, 3000),
    ]
    assert priority_first([Ordinals.between(0, 100)], Ordinals([(1, 3), (50, 90)]), 10) == [1, 2, *range(50, 58)]
    many = [Ordinals.between(start, start + 100) for start in range(0, 2000, 100)]
    assert priority_first(many, Ordinals.between(0, 2000), 80) == [start + n for start in range(0, 800, 100) for n in range(10)]  # fmt: skip
    assert priority_first(many, Ordinals.between(0, 2000), 80, 80) == [start + n for start in range(0, 2000, 100) for n in range(4)]  # fmt: skip
    assert priority_first(many, Ordinals.between(0, 2000), 10, 80) == list(range(0, 1000, 100))
    assert priority_first(order, NONE, 30) == []


def test_the_estimate_goes_by_the_same_turns() -> None:
    graph = fed("b<a", "d<c")
    usage = {name: Usage(10, 10) for name in "abcd"}
    ends = []
    for tiers in ({}, {"d": "1"}):
        found = planned(graph, dict.fromkeys("abcd", first(5)), tiers, **dict.fromkeys("abcd", 10.0))
        assert sum(turn.count for turn in found.turns) == 20
        shown = estimate(found, usage, Limits(total=1))
        ends.append((shown.unblocks["d"].p50, shown.finish.p50))
    assert ends == [(150, 200), (100, 200)]


def best_of(found: Plan) -> dict[int, Tier]:
    """Return the best tier of each item and of those that follow it; in a stage that goes one by one each follows all before it."""
    items = list(found.items())
    best = {item.number: min(tier(found.tiers[name]) for name in item.makes) for item in items}
    in_turn = [stage for stage in found.stages if len(stage.blocks) > 1 or is_chained(found.graph, stage.blocks[0])]
    for item in reversed(items):
        before = item.needs.members().tolist()
        before += [
            n for stage in in_turn for n in range(stage.start, item.number) if item.number < stage.start + stage.count
        ]
        for need in before:
            best[need] = min(best[need], best[item.number])
    return best


def test_random_turns_are_an_order_and_the_tiers_are_those_of_the_needs() -> None:
    seen, several = 0, 0
    for seed in range(60):
        chance = random.Random(seed)
        drawn = asked(chance)
        if drawn is None:
            continue
        for restorable in (drawn.restorable, set[tuple[str, int]]()):
            try:
                found = drawn._replace(restorable=restorable).plan()
            except InvalidPlan:
                continue
            if not 1 < found.count <= 300:
                continue
            found.tiers = {name: chance.choice(["", "1", "2", "x"]) for name in drawn.graph.entities}
            found.seconds = {f"job_{number}": chance.randrange(3) for number in range(4)}
            order = [number for turn in found.turns for number in turn.members().tolist()]
            assert sorted(order) == list(range(found.count))
            at = {number: turn for turn, number in enumerate(order)}
            assert all(at[need] < at[item.number] for item in found.items() for need in item.needs.members().tolist())
            seen += 1
            if not restorable and any(found.tiers[name] for name in found.makes):
                several += len(found.turns) > 1
                best = best_of(found)
                assert [best[number] for number in order] == sorted(best.values())
    assert (seen > 30, several > 15) == (True, True), (seen, several)


def test_every_item_has_the_runs_of_its_number() -> None:
    """Both ways of going from numbers to runs agree, with holes, items of several runs, knots, and the newest first."""
    seen = 0
    for seed in range(60):
        chance = random.Random(seed)
        drawn = asked(chance)
        for newest_first in (False, True):
            try:
                found = drawn.plan(newest_first=newest_first) if drawn is not None else None
            except InvalidPlan:
                continue
            if found is None or not found.count:
                continue
            some = Ordinals.of([number for number in range(found.count) if chance.random() < 0.5])
            for stage in found.stages:
                mine = some & Ordinals.between(stage.start, stage.start + stage.count)
                for block in stage.blocks:
                    items = [found.item(number) for number in mine.members().tolist() if found.block(number) is block]
                    assert block.runs_of(mine) == NONE.union(*(item.runs for item in items))
                    seen += len(items)
    assert seen > 500
