"""Plans: cases by hand, and random ones carried out instance by instance (`drawn_plans.py`)."""

import json
import random
from pathlib import Path

import pytest
from tests.unit.entities.plans.drawn_plans import asked, checked

from headwater.entities.needs.graph import Dependency, Entity, Graph, Kind
from headwater.entities.needs.kinds import Cumulative, Snapshot, Static, TimeSeries
from headwater.entities.plans.plan import NO_RUN, Plan, Producer, plan
from headwater.entities.status.taint import Facts, tainted
from headwater.entities.time import keys
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import Ordinals
from headwater.errors import InvalidPlan

CASES = json.loads((Path(__file__).parents[3] / "cases/entities/plans.json").read_text(encoding="utf-8"))
HOUR, DAY, WEEK, MONTH = (
    Instances.of({"every": every, "from": start, "until": until})
    for every, start, until in (
        ("hour", "2024-01-01", "2024-07-01"),
        ("day", "2024-01-01", "2024-07-01"),
        ("week", "2024-01-01", "2024-07-01"),
        ("month", "2024-01-01", "2024-07-01"),
    )
)
EVERY = {"hour": HOUR, "day": DAY, "week": WEEK, "month": MONTH}


def entity(name: str, every: Instances | None, *needs: str | tuple[str, str], kind: Kind | None = None) -> Entity:
    given = [(need, None) if isinstance(need, str) else need for need in needs]
    dependencies = tuple(Dependency(up, Dates.of(dates) if dates else None) for up, dates in given)
    return Entity(name, kind or TimeSeries(), every, {"completed": dependencies})


def days(start: int, end: int) -> Ordinals:
    """Days of 2024, the first is 1."""
    first = DAY.all.first - 1
    return Ordinals.between(first + start, first + end)


def planned(graph: Graph, wrong: dict[str, Ordinals], **more: object) -> Plan:
    """Plan all instances that are wrong because of these, where everything exists."""
    found = {name: hit.instances for name, hit in tainted(graph, wrong).hits.items()}
    exist = {name: graph.every(name) for name in graph.entities}
    return plan(graph, found, **({"exist": exist, "roots": wrong} | more))  # type: ignore[arg-type]


def told(found: Plan) -> list[tuple[str, dict[str, str], list[int]]]:
    return [
        (item.action, {name: str(some) for name, some in item.makes.items()}, item.needs.members().tolist())
        for item in found.items()
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_is_to_be_made_again(case: dict[str, object]) -> None:
    entities: dict[str, str] = case["entities"]  # type: ignore[assignment]
    needs: list[list[str]] = case["needs"]  # type: ignore[assignment]
    graph = Graph(
        entity(name, EVERY[every], *(up for up, down in needs if down == name)) for name, every in entities.items()
    )
    jobs: dict[str, list[str]] = case.get("producers", {})  # type: ignore[assignment]
    producers = {name: Producer(job, EVERY[every].calendar) for name, (job, every) in jobs.items()}
    wrong: dict[str, list[str]] = case["wrong"]  # type: ignore[assignment]
    roots = {}
    for name, ends in wrong.items():
        first, last = (keys.ordinal(EVERY[entities[name]].calendar, end) for end in ends)
        roots[name] = Ordinals.between(first, last + 1)
    found = planned(graph, roots, producers=producers)
    calendars = {name: EVERY[every].calendar for name, every in entities.items()}
    made = {name: [keys.key(calendars[name], k) for k in some.members().tolist()] for name, some in found.makes.items()}
    for name, ends in wrong.items():
        assert [made[name][0], made[name][-1]] == ends
        made[name] = ends
    assert made == case["makes"]
    runs: dict[str, int] = {}
    for item in found.items():
        runs[item.producer or "by hand"] = runs.get(item.producer or "by hand", 0) + 1
    assert runs == case["items"]


def test_random_plans_make_right_what_can_be_made_right_and_nothing_else() -> None:
    planned = 0
    for seed in range(45):
        chance = random.Random(seed)
        if (drawn := asked(chance)) is not None and len(drawn.wrong) < 150:
            planned += checked(drawn, chance) is not None
    assert planned > 15


def test_where_needs_are_listed_too() -> None:
    planned = 0
    for seed in range(20):
        chance = random.Random(seed)
        if (drawn := asked(chance, 0.5)) is not None and len(drawn.wrong) < 150:
            planned += checked(drawn, chance) is not None
    assert planned > 5


def test_entities_of_one_producer_share_a_run_unless_another_comes_between() -> None:
    job, other = Producer("job"), Producer("other")
    together = Graph([entity("a", DAY), entity("b", DAY, "a"), entity("c", DAY, "b")])
    found = planned(together, {"a": days(5, 7)}, producers={"a": job, "b": job, "c": other})
    a, b = str(days(5, 6)), str(days(6, 7))
    assert told(found) == [
        ("rerun", {"a": a, "b": a}, []),
        ("rerun", {"a": b, "b": b}, []),
        ("rerun", {"c": a}, [0]),
        ("rerun", {"c": b}, [1]),
    ]
    found = planned(together, {"a": days(5, 6)}, producers={"a": job, "b": other, "c": job})
    assert told(found) == [("rerun", {"a": a}, []), ("rerun", {"b": a}, [0]), ("rerun", {"c": a}, [1])]
    assert [(group.producer, group.level) for group in found.groups()] == [("job", 0), ("other", 1), ("job", 2)]


def test_a_run_makes_at_most_so_many_periods_and_none_across_a_gap() -> None:
    graph = Graph([entity("a", DAY)])
    found = planned(graph, {"a": days(1, 8) | days(9, 12)}, producers={"a": Producer("job", max_periods=3)})
    assert [item.runs for item in found.items()] == [days(1, 4), days(4, 7), days(7, 8), days(9, 12)]
    assert found.counts == {"a": 10}
    by_hand = planned(graph, {"a": days(1, 8) | days(9, 12)})
    assert [(item.action, item.runs) for item in by_hand.items()] == [("manual", days(1, 8)), ("manual", days(9, 12))]


def test_pages_are_parts_of_the_whole() -> None:
    graph = Graph([entity("a", HOUR), entity("b", DAY, "a")])
    jobs = {"a": Producer("a"), "b": Producer("b")}
    found = planned(graph, {"a": HOUR.all}, producers=jobs)
    assert found.count == HOUR.all.count + DAY.all.count
    assert found.page(4_360, 20) == list(found.items())[4_360:4_380]
    assert found.page(found.count - 1, 5) == [found.item(found.count - 1)]
    assert found.page(found.count, 5) == []
    assert found.item(found.count - 1).needs == Ordinals.between(HOUR.all.count - 24, HOUR.all.count)
    assert found.numbers({"b": days(1, 2)}) == Ordinals.between(HOUR.all.count, HOUR.all.count + 1)
    with pytest.raises(InvalidPlan, match=r"no item 4550; the plan has 4550"):
        found.item(found.count)


def test_what_needs_its_own_past_goes_in_order() -> None:
    graph = Graph([entity("stock", DAY, kind=Snapshot("carry")), entity("weekly", DAY, ("weekly", "-1w"))])
    jobs = {"stock": Producer("stock", max_periods=50), "weekly": Producer("weekly")}
    found = planned(graph, {"stock": days(100, 101), "weekly": days(160, 161)}, producers=jobs)
    assert [item.needs.members().tolist() for item in found.items()] == [[], [0], [1], [2], [], [4]]
    assert [item.roots for item in found.items()] == [True, False, False, False, True, False]
    for name, why in (("stock", "stock ← stock"), ("weekly", "weekly ← weekly")):
        with pytest.raises(InvalidPlan, match=f"newest first: {name} needs what was before it .{why}"):
            planned(graph, {name: days(100, 101)}, producers=jobs, newest_first=True)


def test_newest_first_where_nothing_needs_its_past() -> None:
    graph = Graph([entity("a", DAY), entity("b", DAY, ("a", "last 2 days"))])
    job = Producer("job", max_periods=2)
    found = planned(graph, {"a": days(5, 8)}, producers={"a": job, "b": job}, newest_first=True)
    assert [(list(item.makes), item.runs, item.needs.members().tolist()) for item in found.items()] == [
        (["a"], days(7, 8), []),
        (["a"], days(5, 7), []),
        (["b"], days(7, 9), [0, 1]),
        (["b"], days(5, 7), [1]),
    ]
    forward = planned(graph, {"a": days(5, 8)}, producers={"a": job, "b": job})
    assert [(list(item.makes), item.runs) for item in forward.items()] == [
        (["a", "b"], days(5, 7)),
        (["a", "b"], days(7, 9)),
    ]


def test_entities_that_need_each_other_take_turns() -> None:
    graph = Graph([entity("a", DAY, ("b", "previous")), entity("b", DAY, "a")])
    jobs = {"a": Producer("a", max_periods=9), "b": Producer("b")}
    found = planned(graph, {"a": days(180, 181)}, producers=jobs)
    assert [(item.producer, item.runs) for item in found.items()] == [
        (name, days(day, day + 1)) for day in range(180, 183) for name in "ab"
    ]
    assert [item.needs.members().tolist() for item in found.items()] == [[], [0], [1], [2], [3], [4]]
    assert found.numbers({"b": days(181, 183)}).members().tolist() == [3, 5]
    weekly = Producer("weekly", WEEK.calendar)
    with pytest.raises(InvalidPlan, match=r"would have to be both before and after"):
        planned(graph, {"a": days(170, 171)}, producers={"a": weekly, "b": Producer("b")})


@pytest.mark.parametrize(("mode", "runs"), [("rebuild", [3]), ("incremental", [1, 2, 3])])
def test_a_cumulative_period_is_made_by_its_revisions(mode: str, runs: list[int]) -> None:
    kind = Cumulative(Instances(DAY.calendar), mode, corrections=2)  # type: ignore[arg-type]
    graph = Graph([entity("a", DAY), entity("b", DAY, "a", kind=kind)])
    jobs = {"a": Producer("a"), "b": Producer("b")}
    found = planned(graph, {"a": days(1, 2)}, producers=jobs)
    assert [(item.producer, item.runs, str(item.makes["b"])) for item in list(found.items())[1:]] == [
        ("b", days(run, run + 1), str(days(1, 2))) for run in runs
    ]
    assert [item.needs.members().tolist() for item in found.items()][1:] == [
        list(range(nth + 1)) for nth in range(len(runs))
    ]


def test_what_cannot_be_repaired_is_said_with_its_reason_and_what_it_spoils() -> None:
    graph = Graph(
        [
            entity("a", DAY),
            entity("b", DAY, "a"),
            entity("c", DAY, "b"),
            entity("full", DAY, "a", kind=Snapshot()),
        ]
    )
    jobs = {name: Producer(name) for name in "abc"} | {"full": Producer("full")}
    refused = {"frozen": {"b": days(2, 3)}, "retention": {"a": days(90, 92), "b": days(2, 4)}}
    found = planned(
        graph, {"a": days(1, 5)}, producers=jobs, unrepairable=refused, restorable={"c": days(3, 4), "b": days(4, 5)}
    )
    assert found.unrepairable == {"frozen": {"b": days(2, 3)}, "retention": {"b": days(3, 4)}}
    assert found.left == {"full": days(1, 182)}
    assert found.degraded == {"c": days(2, 3)}
    assert found.makes == {
        "a": days(1, 5),
        "b": days(1, 2) | days(4, 5),
        "c": days(1, 2) | days(3, 5),
        "full": days(182, 183),
    }
    assert [(item.action, str(item.makes)) for item in found.items()][:2] == [
        ("restore", str({"b": days(4, 5)})),
        ("restore", str({"c": days(3, 4)})),
    ]
    all_of_it = planned(graph, {"a": days(1, 5)}, producers=jobs, snapshots={"full": "all"})
    assert all_of_it.left == {}
    assert all_of_it.counts["full"] == 182


def test_a_restored_instance_is_needed_like_any_other() -> None:
    graph = Graph([entity("a", DAY, ("a", "previous"))])
    found = planned(graph, {"a": days(180, 181)}, producers={"a": Producer("a")}, restorable={"a": days(181, 182)})
    assert [(item.action, item.runs, item.needs.members().tolist()) for item in found.items()] == [
        ("restore", days(181, 182), []),
        ("rerun", days(180, 181), []),
        ("rerun", days(182, 183), [0]),
    ]


def test_who_uses_something_static_waits_for_it() -> None:
    graph = Graph([Entity("countries", Static()), entity("a", DAY, "countries")])
    found = planned(graph, {"countries": Ordinals.between(0, 1)}, producers={"a": Producer("a", max_periods=1000)})
    assert told(found) == [
        ("manual", {"countries": "{0}"}, []),
        ("rerun", {"a": str(DAY.all)}, [0]),
    ]


def test_what_no_run_can_make_is_unrepairable() -> None:
    calendar = Instances.of({"table": ["2024-01-01", "2024-01-08", "2024-01-15"]}).calendar
    graph = Graph([entity("a", DAY), entity("b", DAY, "a")])
    found = planned(graph, {"a": days(12, 18)}, producers={"a": Producer("a", calendar), "b": Producer("b")})
    assert found.unrepairable == {NO_RUN: {"a": days(15, 18)}}
    assert found.degraded == {"b": days(15, 18)}
    assert found.counts == {"a": 3, "b": 3}


def test_what_is_asked_for_wrongly() -> None:
    graph = Graph([entity("a", DAY), entity("b", DAY, "a")])
    for wrong, producers, said in (
        ({"x": days(1, 2)}, {}, "there is no entity 'x'"),
        ({"a": Ordinals.between(1, 2)}, {}, "a has no instances {1}"),
        ({"a": days(1, 2)}, {"a": Producer("j", max_periods=0)}, "j makes at most 0 periods in a run"),
        ({"a": days(1, 2)}, {"a": Producer("j"), "b": Producer("j", max_periods=2)}, "j is declared in two ways"),
    ):
        with pytest.raises(InvalidPlan, match=said):
            plan(graph, wrong, exist={}, producers=producers)
    by_itself = entity("c", DAY, ("c", "previous"), kind=Cumulative(DAY, "incremental"))
    with pytest.raises(InvalidPlan, match=r"c is revised over and over and needs itself"):
        planned(Graph([by_itself]), {"c": days(1, 2)})


def test_what_is_missing_is_made_and_what_it_holds_back_with_it() -> None:
    graph = Graph([entity("a", HOUR), entity("b", DAY, "a"), entity("c", WEEK, "b")])
    exist = {"a": HOUR.all - Ordinals.between(HOUR.all.first + 30, HOUR.all.first + 33), "b": days(1, 2)}
    gone = {"a": graph.every("a") - exist["a"]}
    wrong = {name: hit.instances for name, hit in tainted(graph, gone, Facts()).hits.items()}
    found = plan(graph, wrong, exist=exist, producers={name: Producer(name) for name in "abc"})
    assert found.counts == {"a": 3, "b": 1, "c": 1}


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
@pytest.mark.parametrize(
    "needs",
    [
        {"a": ("b", "same"), "b": ("c", "same"), "c": ("a", "previous")},
        {"a": ("b", "next"), "b": ("c", "same"), "c": ("a", "from -4d to -3d")},
        {"a": ("b", "same"), "b": ("c", "from 1d to 2d"), "c": ("a", "-5 days")},
    ],
)
def test_turns_are_taken_however_far_ahead_one_looks(needs: dict[str, tuple[str, str]], order: tuple[int, ...]) -> None:
    graph = Graph(entity(name, DAY, needs[name]) for name in ("abc"[place] for place in order))
    found = planned(graph, {"a": days(20, 27)}, producers={name: Producer(name) for name in "abc"})
    assert found.count > 100
    for item in found.items():
        assert not item.needs or item.needs.end <= item.number
    for number in (50, 51, 52, 90):
        ((name, some),) = found.item(number).makes.items()
        upstream = next(iter(graph.upstream(name)))
        assert upstream.edge is not None
        assert found.item(number).needs == found.numbers({upstream.upstream: upstream.edge.need(some)})


def test_revisions_in_a_cycle_of_which_only_a_part_is_wrong() -> None:
    kind = Cumulative(Instances(DAY.calendar), "incremental", corrections=2)
    graph = Graph(
        [
            entity("a", DAY, "b", kind=kind),
            entity("b", DAY, "c"),
            entity("c", DAY, "d"),
            entity("d", DAY, ("a", "previous")),
        ]
    )
    exist = dict.fromkeys("abcd", DAY.all)
    jobs = {name: Producer(name) for name in "abcd"}
    found = plan(graph, {"a": days(5, 7), "c": days(5, 6)}, exist=exist, producers=jobs)
    assert sorted((item.producer or "", item.runs.first - DAY.all.first) for item in found.items()) == [
        *(("a", run) for run in range(4, 8)),
        ("c", 4),
    ]
    assert found.counts == {"a": 2, "c": 1}
