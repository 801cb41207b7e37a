"""The duration of a plan: small ones counted by hand, and random ones against rules that any schedule keeps."""

import random

import pytest
from tests.unit.entities.plans.drawn_plans import asked

from headwater.entities.needs.graph import Dependency, Entity, Graph
from headwater.entities.needs.kinds import TimeSeries
from headwater.entities.plans import schedule
from headwater.entities.plans.plan import Plan, Producer, plan
from headwater.entities.plans.schedule import Limits, Seconds, Usage, estimate
from headwater.entities.plans.window import Window
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import Ordinals
from headwater.errors import InvalidPlan

DAY = Instances.of({"every": "day", "from": "2024-01-01", "until": "2024-02-01"})
WEEK = Instances.of({"every": "week", "from": "2024-01-01", "until": "2024-02-05"})
JOBS = {"a": Producer("load", pool="small"), "b": Producer("day", pool="small"), "c": Producer("week")}
USAGE = {"load": Usage(10, 20, 100, 1), "day": Usage(30, 60), "week": Usage(100, 100)}


def planned(days: int, jobs: dict[str, Producer] = JOBS) -> Plan:
    graph = Graph(
        [
            Entity("a", TimeSeries(), DAY),
            Entity("b", TimeSeries(), DAY, {"completed": (Dependency("a"),)}),
            Entity("c", TimeSeries(), WEEK, {"completed": (Dependency("b"),)}),
        ]
    )
    first = DAY.all.first
    some = Ordinals.between(first, first + days)
    weeks = Ordinals.between(WEEK.all.first, WEEK.all.first + (days + 6) // 7)
    return plan(graph, {"a": some, "b": some, "c": weeks}, exist={}, producers=jobs)


def test_without_limits_it_takes_the_longest_path() -> None:
    told = estimate(planned(14), USAGE)
    assert told.finish == Seconds(140, 180)
    assert told.compute == Seconds(14 * 40 + 200, 14 * 80 + 200)
    assert told.unblocks == {"a": Seconds(10, 20), "b": Seconds(40, 80), "c": Seconds(140, 180)}
    assert (told.runs, told.bytes, told.money, told.unknown, told.approximate) == (30, 1400, 14, (), False)


def test_limits_are_of_a_producer_a_pool_and_all() -> None:
    # One week: 7 loads, 7 days, 1 week.
    assert estimate(planned(7), USAGE, Limits({"load": 1})).unblocks["a"].p50 == 70
    assert estimate(planned(7), USAGE, Limits({"load": 1})).finish.p50 == 70 + 30 + 100
    assert estimate(planned(7), USAGE, Limits({}, {"small": 1})).finish.p50 == 7 * 40 + 100
    assert estimate(planned(7), USAGE, Limits(total=1)).finish.p50 == 7 * 40 + 100
    # Two at a time: loads until 30, one more from 30 to 40 with the first day (30 to 60), the other six two by two, the last alone.
    assert estimate(planned(7), USAGE, Limits(total=2)).unblocks["a"].p50 == 40
    with pytest.raises(InvalidPlan, match=r"load may do 0 at a time"):
        estimate(planned(7), USAGE, Limits({"load": 0}))


def test_a_run_of_several_periods_takes_so_many_times_as_long() -> None:
    told = estimate(planned(10, JOBS | {"a": Producer("load", max_periods=4)}), USAGE)
    assert told.unblocks["a"].p50 == 40
    assert told.compute.p50 == 10 * 40 + 200
    assert told.runs == 3 + 10 + 2


def test_what_is_not_known_is_said() -> None:
    told = estimate(planned(7, {"a": JOBS["a"], "b": JOBS["b"]}), {"load": Usage(1, 2)}, manual=Usage(3600, 7200))
    assert (told.unknown, told.finish, told.runs) == (("day",), Seconds(3601, 7202), 14)
    assert list(told.unblocks) == ["a", "b", "c"]


def test_an_empty_plan_takes_no_time() -> None:
    graph = Graph([Entity("a", TimeSeries(), DAY)])
    told = estimate(plan(graph, {}, exist={}), {})
    assert (told.finish, told.compute, told.runs, told.unblocks) == (Seconds(0, 0), Seconds(0, 0), 0, {})


def test_items_begin_in_the_window_and_end_when_they_end() -> None:
    window = Window.of("22:00-06:00", "UTC")
    usage = {"load": Usage(3600, 7200), "day": Usage(3600, 3600), "week": Usage(3600, 3600)}

    def hours(total: int | None, begin: int) -> tuple[float, float, float]:
        told = estimate(planned(7), usage, Limits(total=total, window=window), begin=begin * 3600)
        return (told.unblocks["a"].p50 / 3600, told.finish.p50 / 3600, told.finish.p95 / 3600)

    # From noon: all loads at 22:00. Of one at a time eight a night: from 22:00 to 06:00, then the next; 15 of them, the second time 22 hours of work.
    assert hours(None, 12) == (11, 13, 14)
    assert hours(1, 12) == (17, 10 + 24 + 7, 10 + 48 + 6)
    # From midnight six until 06:00, and one at 22:00.
    assert hours(1, 0)[0] == 23
    # From 05:30: one begins then, and goes on until 06:30.
    begun = estimate(planned(7), usage, Limits({"load": 1}, window=window), begin=5 * 3600 + 1800)
    assert begun.unblocks["a"].p50 == (16.5 + 6) * 3600
    assert estimate(planned(7), usage, Limits(total=1), begin=12 * 3600).finish.p50 == 15 * 3600
    # A run from one night into the third does not keep another from beginning in the second.
    long = {"load": Usage(12 * 3600, 1), "day": Usage(3600, 1), "week": Usage(1, 1), "other": Usage(30 * 3600, 1)}
    other = Graph([*planned(1).graph.entities.values(), Entity("d", TimeSeries(), DAY)])
    first = Ordinals.between(DAY.all.first, DAY.all.first + 1)
    jobs = JOBS | {"d": Producer("other")}
    told = estimate(
        plan(other, dict.fromkeys("abd", first), exist={}, producers=jobs), long, Limits(window=window), begin=22 * 3600
    )
    assert {name: each.p50 / 3600 for name, each in told.unblocks.items()} == {"a": 12, "b": 25, "d": 30}


def test_large_plans_are_estimated_by_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "EXACT", 0)
    told = estimate(planned(14), USAGE)
    assert told.approximate
    assert told.finish == Seconds(140, 180)
    assert estimate(planned(7), USAGE, Limits({"load": 2})).unblocks["a"].p50 == 40
    # All work by the slots there are, though each stage by itself would be done earlier.
    assert estimate(planned(7), USAGE, Limits(total=1)).finish.p50 == 7 * 40 + 100
    several = planned(10, JOBS | {"a": Producer("load", max_periods=4)})
    assert estimate(several, USAGE).unblocks["a"].p50 == 40
    own = Graph([Entity("a", TimeSeries(), DAY, {"completed": (Dependency("a", Dates.of("previous")),)})])
    chain = plan(own, {"a": DAY.all}, exist={}, producers={"a": JOBS["a"]})
    assert estimate(chain, USAGE).finish.p50 == 310
    told = estimate(chain, {"load": Usage(3600, 3600)}, Limits(window=Window.of("22:00-06:00", "UTC")), begin=12 * 3600)
    assert told.finish.p50 == told.unblocks["a"].p50 == (10 + 3 * 24 + 7) * 3600
    assert estimate(plan(own, {}, exist={}), USAGE, Limits(window=Window.of("22:00-06:00", "UTC"))).finish.p50 == 0


def test_random_plans_take_no_less_than_their_longest_path_and_their_work_allows() -> None:
    seen = 0
    for seed in range(30):
        chance = random.Random(seed)
        drawn = asked(chance)
        try:
            found = drawn.plan() if drawn is not None else None
        except InvalidPlan:
            continue
        if found is None or found.count > 200:
            continue
        seen += 1
        usage = {f"job_{number}": Usage(chance.randrange(1, 50), 50) for number in range(4)}
        took = {}
        for item in found.items():
            takes = usage[item.producer or ""].p50 if item.action == "rerun" else 0
            before = max((took[need] for need in item.needs.members().tolist()), default=0)
            took[item.number] = before + takes * item.runs.count
        longest = max(took.values(), default=0)
        free, two, one = (estimate(found, usage, Limits(total=total)) for total in (None, 2, 1))
        assert free.finish.p50 == longest
        assert one.finish.p50 == one.compute.p50
        # Whatever the order: no later than half of the work after the longest path.
        assert max(longest, one.compute.p50 / 2) <= two.finish.p50 <= longest + one.compute.p50 / 2
    assert seen > 10
