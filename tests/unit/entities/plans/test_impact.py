"""The runs to clear and to start after runs that failed or spoilt something."""

import random

import pytest
from tests.scale import full
from tests.unit.entities.plans import drawn_plans

from headwater.entities.needs.graph import Dependency, Entity, Graph
from headwater.entities.needs.kinds import TimeSeries
from headwater.entities.plans.impact import Impact, Runs, impact
from headwater.entities.plans.plan import Producer, plan
from headwater.entities.plans.runs import producer_runs
from headwater.entities.status.taint import Facts, tainted
from headwater.entities.time import keys
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidPlan

HOUR, DAY, WEEK = (
    Instances.of({"every": every, "from": "2024-01-01", "until": "2024-07-01"}) for every in ("hour", "day", "week")
)
GRAPH = Graph(
    [
        Entity("reads", TimeSeries(), HOUR),
        Entity("clean", TimeSeries(), HOUR, {"completed": (Dependency("reads"),)}),
        Entity("daily", TimeSeries(), DAY, {"completed": (Dependency("clean"),)}),
        Entity("weekly", TimeSeries(), WEEK, {"completed": (Dependency("daily"),)}),
        Entity("elsewhere", TimeSeries(), DAY),
    ]
)
LOAD, DAYS, WEEKS = (f"airflow://prod/{dag}/compute" for dag in ("load", "daily", "weekly"))
MADE_BY = {
    "reads": Producer(LOAD),
    "clean": Producer(LOAD),
    "daily": Producer(DAYS, DAY.calendar),
    "weekly": Producer(WEEKS, WEEK.calendar),
}


def until(name: str, instances: Instances, end: str) -> Ordinals:
    """Return an entity's instances that were over by then."""
    start = int(instances.calendar.begins([instances.all.first])[0])
    days = Instances.of({"every": "day"}).calendar
    return instances.calendar.within(start, int(days.begins([keys.ordinal(days, end)])[0])) & GRAPH.every(name)


NAMED = {"reads": HOUR, "clean": HOUR, "daily": DAY, "weekly": WEEK, "elsewhere": DAY}
DUE = {name: until(name, instances, "2024-03-18") for name, instances in NAMED.items()}


def hours(first: str, count: int) -> Ordinals:
    start = keys.ordinal(HOUR.calendar, first)
    return Ordinals.between(start, start + count)


def written(found: tuple[Runs, ...]) -> list[tuple[str, list[str]]]:
    return [
        (runs.producer, [keys.key(runs.calendar, k) for k in runs.runs.members().tolist()])
        for runs in found
        if runs.calendar is not None
    ]


def failed(runs: Ordinals, existing: dict[str, Ordinals], exist: dict[str, Ordinals]) -> Impact:
    return impact(GRAPH, {LOAD: runs}, mode="failed", producers=MADE_BY, exist=exist, existing=existing, due=DUE)


def test_three_hours_that_failed_are_one_day_and_one_week() -> None:
    """The day ran and failed for want of them, or made something of what there was; the week has not run."""
    lost = hours("2024-03-12T05", 3)
    exist = {name: some - lost if name in ("reads", "clean") else some for name, some in DUE.items()}
    exist["weekly"] = NONE
    found = failed(lost, {LOAD: HOUR.all, DAYS: DAY.all}, exist)
    assert written(found.clear) == [
        (LOAD, ["2024-03-12T05", "2024-03-12T06", "2024-03-12T07"]),
        (DAYS, ["2024-03-12"]),
    ]
    assert written(found.start) == [(WEEKS, ["2024-W11"])]
    assert found.clear[0].makes == {"reads": lost, "clean": lost}
    week = keys.ordinal(WEEK.calendar, "2024-W11")
    assert [(step.entity, str(step.link)) for step in found.reached.why("weekly", week)] == [
        ("weekly", "weekly ← daily (same)"),
        ("daily", "daily ← clean (same)"),
        ("clean", "None"),
    ]


def test_across_midnight_and_across_weeks() -> None:
    found = failed(hours("2024-03-10T22", 4), {}, DUE)
    assert written(found.start)[1:] == [
        (DAYS, ["2024-03-10", "2024-03-11"]),
        (WEEKS, ["2024-W10", "2024-W11"]),
    ]
    assert found.clear == ()


def test_what_is_not_due_yet_is_not_started() -> None:
    """The last week ended with the 17th; the next has no instance that another waits for."""
    lost = hours("2024-03-17T23", 3)
    found = failed(lost, {}, DUE)
    assert written(found.start) == [(LOAD, ["2024-03-17T23"]), (DAYS, ["2024-03-17"]), (WEEKS, ["2024-W11"])]


def test_what_was_spoilt_is_only_what_exists() -> None:
    exist = DUE | {"weekly": NONE, "daily": DUE["daily"]}
    found = impact(
        GRAPH,
        {LOAD: hours("2024-03-12T05", 3)},
        mode="wrong",
        producers=MADE_BY,
        exist=exist,
        existing={LOAD: HOUR.all, DAYS: DAY.all, WEEKS: WEEK.all},
        due=DUE,
    )
    assert [producer for producer, _ in written(found.clear)] == [LOAD, DAYS]
    assert found.start == ()
    assert found.plan.counts == {"reads": 3, "clean": 3, "daily": 1}
    assert found.plan.item(0).roots


def test_a_run_of_a_day_spoils_its_hours() -> None:
    made_by = {"reads": Producer("job", DAY.calendar), "daily": Producer(DAYS, DAY.calendar)}
    day = keys.ordinal(DAY.calendar, "2024-03-12")
    some = impact(
        GRAPH,
        {"job": Ordinals.between(day, day + 1)},
        mode="wrong",
        producers=made_by,
        exist=DUE,
        existing={"job": DAY.all, DAYS: DAY.all},
    )
    assert some.plan.counts == {"reads": 24, "clean": 24, "daily": 1, "weekly": 1}
    assert written(some.clear) == [("job", ["2024-03-12"]), (DAYS, ["2024-03-12"])]
    # The others have no known producer: they are in the plan, for a person.
    assert [item.action for item in some.plan.items()] == ["rerun", "manual", "rerun", "manual"]


def test_what_is_asked_for_wrongly() -> None:
    with pytest.raises(InvalidPlan, match=r"no entity is made by 'x'; known are airflow://prod/daily/compute"):
        impact(GRAPH, {"x": NONE}, mode="failed", producers=MADE_BY, exist={}, existing={})
    both = {"reads": Producer("job"), "daily": Producer("job")}
    with pytest.raises(
        InvalidPlan, match=r"job has runs of <Calendar every hour, UTC> for reads and of <Calendar every day"
    ):
        impact(GRAPH, {"job": NONE}, mode="failed", producers=both, exist={}, existing={})


def test_tasks_of_one_dag_get_one_plan_in_order() -> None:
    """The job that reads comes first in the alphabet; with a plan for each job it would be listed before what it reads, and twice."""
    made_by = MADE_BY | {"clean": Producer("airflow://prod/load/and_clean")}
    lost = hours("2024-03-12T05", 3)
    runs = {"airflow://prod/load/and_clean": lost, LOAD: lost}
    existing = dict.fromkeys(runs, HOUR.all)
    found = impact(GRAPH, runs, mode="failed", producers=made_by, exist=DUE, existing=existing, due=DUE)
    periods = ["2024-03-12T05", "2024-03-12T06", "2024-03-12T07"]
    assert written(found.clear) == [(LOAD, periods), ("airflow://prod/load/and_clean", periods)]
    assert written(found.start) == [(DAYS, ["2024-03-12"]), (WEEKS, ["2024-W11"])]


@pytest.mark.parametrize("seed", range(full(150, 40)))
def test_of_several_jobs_it_is_the_plan_of_their_instances(seed: int) -> None:
    chance = random.Random(seed)
    drawn = drawn_plans.asked(chance)
    if drawn is None or not drawn.producers:
        return
    exist = drawn_plans.sets(drawn.exist)
    jobs = sorted({each.name for each in drawn.producers.values()})
    runs: dict[str, Ordinals] = {}
    for job in chance.sample(jobs, chance.randint(1, len(jobs))):
        name = min(each for each, producer in drawn.producers.items() if producer.name == job)
        there = exist.get(name, NONE).members().tolist()
        some = Ordinals.of(chance.sample(there, min(len(there), 3)))
        runs[job] = producer_runs(drawn.graph.entities[name], drawn.producers[name]).runs(some)
    roots = {
        name: some
        for name, producer in drawn.producers.items()
        if producer.name in runs
        and (
            some := producer_runs(drawn.graph.entities[name], producer).instances(
                runs[producer.name], exist.get(name, NONE)
            )
        )
    }
    hit = tainted(drawn.graph, roots, Facts(exist=lambda name: exist.get(name, NONE))).hits
    wrong_instances = {name: each.instances for name, each in hit.items()}
    try:
        whole = plan(drawn.graph, wrong_instances, exist=exist, roots=roots, producers=drawn.producers)
        found = impact(drawn.graph, runs, mode="wrong", producers=drawn.producers, exist=exist, existing={})
    except InvalidPlan:
        with pytest.raises(InvalidPlan):  # for the same reason, or because a job has runs of two calendars
            impact(drawn.graph, runs, mode="wrong", producers=drawn.producers, exist=exist, existing={})
        return
    listed = [(each.producer, run) for each in found.start for run in each.runs.members().tolist()]
    made = [at for each in found.start for at in drawn_plans.instances(dict(each.makes))]
    assert len(made) == len(set(made)), "nothing is made twice"
    assert list(found.plan.items()) == list(whole.items())
    expected = [
        (block.producer.name, run)
        for stage in whole.stages
        for block in stage.blocks
        if block.action == "rerun" and block.producer is not None
        for run in block.runs.members().tolist()
    ]
    assert listed == expected
