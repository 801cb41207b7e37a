"""The demos of `benchmarks/versus/entities`, without the other systems: Headwater is right, and what they said is what the demos are about.

`run.py` there recorded their answers (tests/cases/entities/versus); the case it was asked of must be the one that is asked here.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[4]
sys.path.append(str(ROOT / "benchmarks/versus/entities"))

import airflow_day_window  # noqa: E402
import dagster_stale_window  # noqa: E402
import demo  # noqa: E402
import sqlmesh_restate  # noqa: E402

RIGHT = {  # where the other system is right too
    "dagster_stale_window": {"a window of 99 days"},
    "sqlmesh_restate": set(),
    "airflow_day_window": {
        "2025-03-29, hours gathered",
        "2025-03-30, hours gathered",
        "2025-03-29, hours fanned out",
    },
}
DEMOS = [dagster_stale_window.DEMO, sqlmesh_restate.DEMO, airflow_day_window.DEMO]
each = pytest.mark.parametrize("one", DEMOS, ids=lambda one: one.name)


def recorded(one: demo.Demo) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((demo.RECORDED / f"{one.name}.json").read_text(encoding="utf-8"))
    return found


@each
def test_headwater_is_right(one: demo.Demo) -> None:
    assert one.headwater() == one.truth()


@each
def test_the_other_system_was_wrong_where_it_is_said_to_be(one: demo.Demo) -> None:
    found, truth = recorded(one), one.truth()
    assert found["case"] == one.case
    assert found["answers"].keys() == truth.keys()
    assert {question for question, true in truth.items() if found["answers"][question] == true} == RIGHT[one.name]


def test_the_truth_can_be_counted_by_hand() -> None:
    counted = {question: len(answer) for one in DEMOS for question, answer in one.truth().items()}
    assert counted == {
        "a window of 99 days": 50,
        "a window of 100 days": 50,
        "a window of 120 days": 50,
        "50 days, each from the one before": 39,
        "110 days, each from the one before": 99,
        "a → b → c, a made again": 2,
        "rolling: rows to make again": 30,
        "weekly: rows to make again": 1,
        "rolling: rows still wrong afterwards": 0,
        "weekly: rows still wrong afterwards": 0,
        **{
            f"{day}, hours {way}": hours
            for way in airflow_day_window.WAYS
            for day, hours in (("2025-03-29", 24), ("2025-03-30", 23), ("2025-10-26", 25))
        },
    }


def test_a_row_left_out_stays_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the rows is needed, so the tables tell whether all were named."""
    redo = sqlmesh_restate.affected()
    for table in sqlmesh_restate.MADE:
        for day in redo[table]:
            less = redo | {table: [other for other in redo[table] if other != day]}
            monkeypatch.setattr(sqlmesh_restate, "affected", lambda less=less: less)
            assert sqlmesh_restate.headwater()[f"{table}: rows still wrong afterwards"] == [str(day)]


def test_a_wrong_answer_is_told_and_is_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(demo, "RECORDED", tmp_path)
    monkeypatch.setattr(demo, "asked", lambda *_: {"version": "1.0", "answers": {"which?": ["a", "c"]}})

    def told(ours: list[str]) -> tuple[int, str]:
        one = demo.Demo("one", "other", "A case", {}, lambda: {"which?": ["a", "b"]}, lambda: {"which?": ours}, dict)
        return demo.run(one), capsys.readouterr().out.splitlines()[-2]

    assert told(["a", "b"]) == (0, "| which? | a, b | a, c ✗ (lacks b; has too c) | a, b ✓ |")
    assert told(["b"]) == (1, "| which? | a, b | a, c ✗ (lacks b; has too c) | b ✗ (lacks a) |")
    assert told(["b", "a"])[0] == 1
    assert json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))["answers"] == {"which?": ["a", "c"]}
