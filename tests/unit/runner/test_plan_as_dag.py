"""A plan as the text of a DAG: which tasks, in which order, and that no name can be anything but a text."""

import ast
import sys
import types
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import InvalidPlan
from headwater.runner import plan_as_dag
from headwater.runner.plan_as_dag import airflow_of, tasks, written
from headwater.runner.plans import Makes, PlannedItem

PLAN = "0199f3c2-0000-7000-8000-000000000001"


def item(number: int, producer: str | None, *needs: str, level: int = 0, **more: Any) -> PlannedItem:
    told = {"state": "waiting", "action": "rerun", "makes": [Makes("reads", [f"2024-03-{number + 1:02}"])], "note": ""}
    return PlannedItem(number=number, producer=producer, level=level, needs=list(needs), **{**told, **more})


HOURS, DAYS = "airflow://prod/weather/make", "airflow://prod/reads/make"
TWO_STAGES = [
    *(item(number, HOURS) for number in range(3)),
    item(3, DAYS, "0..1", level=1),
    item(4, DAYS, "2", level=1),
]


class Recorded:
    """Airflow's DAG and Headwater's tasks, as the file uses them."""

    def __init__(self) -> None:
        self.dags: list[str] = []
        self.tasks: dict[str, dict[str, Any]] = {}
        self.after: set[tuple[str, str]] = set()

    def run(self, text: str) -> "Recorded":
        recorded = self

        class Dag:
            def __init__(self, dag_id: str, **more: Any) -> None:
                recorded.dags.append(dag_id)
                assert more["schedule"] is None

            def __enter__(self) -> None: ...

            def __exit__(self, *_: object) -> None: ...

        class Item:
            def __init__(self, **more: Any) -> None:
                self.said = more

            @classmethod
            def partial(cls, **more: Any) -> "Item":
                return cls(**more)

            def expand(self, number: list[int]) -> "Item":
                recorded.tasks[self.said["task_id"]] = {**self.said, "numbers": number}
                return self

            def __rrshift__(self, before: list["Item"]) -> None:
                recorded.after |= {(each.said["task_id"], self.said["task_id"]) for each in before}

        sdk, ours = types.ModuleType("airflow.sdk"), types.ModuleType("headwater.runner.in_airflow")
        sdk.DAG = Dag  # type: ignore[attr-defined]
        ours.PlanItem = ours.PlanEnd = Item  # type: ignore[attr-defined]
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, "airflow", types.ModuleType("airflow"))
            patch.setitem(sys.modules, "airflow.sdk", sdk)
            patch.setitem(sys.modules, "headwater.runner.in_airflow", ours)
            exec(compile(text, "exported.py", "exec"), {})
        return self


def exported(items: list[PlannedItem]) -> str:
    return written(PLAN, airflow_of(PLAN, items), tasks(PLAN, items), parallel=4)


def test_items_of_a_producer_are_one_mapped_task() -> None:
    told = Recorded().run(exported(TWO_STAGES))
    assert told.dags == [f"headwater_plan_{PLAN}"]
    assert {name: each["numbers"] for name, each in told.tasks.items()} == {
        "weather_make_0": [0, 1, 2],
        "reads_make_3": [3, 4],
    }
    assert told.after == {
        ("weather_make_0", "reads_make_3"),
        ("weather_make_0", "end"),
        ("reads_make_3", "end"),
    }
    assert told.tasks["weather_make_0"]["doc"] == f"{HOURS}: reads 2024-03-01 … reads 2024-03-03"
    assert all("max_active_tis_per_dagrun" not in each for each in told.tasks.values())


def test_the_same_plan_is_the_same_text_however_far_it_is() -> None:
    later = [item(0, HOURS, state="done", note="made"), *TWO_STAGES[1:]]
    assert exported(TWO_STAGES) == exported(list(TWO_STAGES)) == exported(later)


def test_who_needs_its_own_past_takes_turns() -> None:
    (one,) = tasks(PLAN, [item(0, HOURS), item(1, HOURS, "0"), item(2, HOURS, "1")])
    assert (one.in_turn, one.after) == (True, [])
    assert "max_active_tis_per_dagrun=1" in written(PLAN, "prod", [one], parallel=4)


def test_producers_that_need_each_other_are_one_task() -> None:
    knot = [item(0, HOURS), item(1, DAYS, "0"), item(2, HOURS, "1"), item(3, DAYS, "2"), item(4, DAYS, "0..3", level=2)]
    one, other = tasks(PLAN, knot)
    assert (one.numbers, one.in_turn, one.producers) == ([0, 1, 2, 3], True, [DAYS, HOURS])
    assert (other.numbers, other.after, other.in_turn) == ([4], [one.task_id], False)


def test_producers_side_by_side_wait_for_nothing_of_each_other() -> None:
    found = tasks(PLAN, [item(0, HOURS), item(1, DAYS), item(2, HOURS)])
    assert [(each.numbers, each.after, each.in_turn) for each in found] == [([0, 2], [], False), ([1], [], False)]


names = st.text(st.characters(), min_size=1, max_size=30) | st.sampled_from(
    ["'", '"', "\\", "\n", "'''", '"""', "{{ x }}", "#", "\ud800", "é/\U0001f600", "'); import os #", "\x00", "\u2028"]
)


@settings(deadline=None)
@given(st.lists(st.tuples(names, names, names), min_size=1, max_size=4), names)
def test_names_with_any_characters_are_texts(jobs: list[tuple[str, str, str]], airflow: str) -> None:
    airflow = airflow.replace("/", "_")
    items = [
        item(number, f"airflow://{airflow}/{dag}/{task}", makes=[Makes(entity, [entity])], level=number)
        for number, (dag, task, entity) in enumerate(jobs)
    ]
    text = exported(items)
    assert text.isascii()
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(text.encode()))
    told = Recorded().run(text)
    made = {name: each for name, each in told.tasks.items() if "numbers" in each}
    assert len(made) == len(jobs)
    for number, (name, each) in enumerate(made.items()):
        assert name.replace("_", "").replace("-", "").isalnum()
        assert len(name) < 250
        assert each["airflow"] == airflow
        assert each["doc"] == f"{items[number].producer}: {items[number].about}"


def test_ten_thousand_items_are_a_few_lines() -> None:
    items = [item(number, HOURS, makes=[Makes("reads", ["2024"])]) for number in range(9_999)]
    text = exported([*items, item(9_999, DAYS, "0..9998", level=1)])
    assert len(text) < 3_000
    assert Recorded().run(text).tasks["weather_make_0"]["numbers"] == list(range(9_999))


def test_items_that_airflow_cannot_run_are_listed_with_their_executors() -> None:
    others = [
        item(5, "package:words"),
        item(6, None, action="manual"),
        item(7, "airflow://other/a/b"),
        item(8, "airflow://prod/a"),
        item(9, HOURS, action="restore"),
    ]
    with pytest.raises(InvalidPlan, match="5 of the plan's 10 items cannot be run by the Airflow 'prod'") as refused:
        airflow_of(PLAN, [*TWO_STAGES, *others])
    assert refused.value.detail["problems"] == [
        "#5 reads 2024-03-06: package:words",
        "#6 reads 2024-03-07: by hand: no job is known to make it",
        "#7 reads 2024-03-08: airflow://other/a/b",
        "#8 reads 2024-03-09: airflow://prod/a names no task; declare airflow://NAME/DAG/TASK",
        "#9 reads 2024-03-10: restored by `headwater backfill apply --spark-submit`; a plan with --no-restore makes it again",
    ]
    with pytest.raises(InvalidPlan, match="cannot be run by Airflow;") as refused:
        airflow_of(PLAN, [item(number, "package:words") for number in range(12)])
    assert refused.value.detail["problems"][-1] == "and 2 more"  # type: ignore[index]


def test_what_others_have_done_already_is_no_obstacle() -> None:
    assert airflow_of(PLAN, [item(0, "package:words", state="done"), *TWO_STAGES[1:]]) == "prod"


def test_more_tasks_than_airflow_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_as_dag, "MOST_TASKS", 2)
    assert len(tasks(PLAN, TWO_STAGES)) == 2
    with pytest.raises(InvalidPlan, match="3 stages"):
        tasks(PLAN, [*TWO_STAGES, item(5, DAYS, "4", level=2)])
