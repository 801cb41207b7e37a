"""A check judges what was reported: each thing that is wrong is a problem that says what to do."""

from typing import Any

import pytest

from headwater.capture.spark import check
from headwater.capture.spark.printed import report_lines
from headwater.client.config import destination

SETTING = check.Setting("3.11.7", "4.3.0", "17", "local[1]", True)
SERVER = {"HEADWATER_URL": "http://user:secret@h:5000"}


def written(name: str, fields: dict[str, Any], inputs: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    lineage = {
        "fields": {column: {"inputFields": [{"field": one} for one in sources]} for column, sources in fields.items()}
    }
    output = {"name": f"/d/{name}", "facets": {"columnLineage": lineage}}
    return {
        "eventType": "COMPLETE",
        "job": {"name": f"x.{name}"},
        "run": {"runId": "r"},
        "outputs": [output],
        "inputs": list(inputs),
    }


ORDERS = {
    "name": "/d/orders",
    "facets": {"schema": {"fields": [{"name": name} for name in ("id", "amount", "region")]}},
}
GOOD = [
    {"eventType": "START", "job": {"name": check.APPLICATION}, "run": {"runId": "app"}},
    written("totals", {"total": ["amount"]}, (ORDERS,)),
    written("scores", {"score": ["id", "amount", "region"]}),
    written("lines", {}, (ORDERS,)),
]
DONE = [check.READ, check.WROTE, check.FUNCTION, check.RDD]
DELIVERED = {"http://h:5000/api/v1/lineage": (8, 0, 0, None)}


def judged(
    told: list[dict[str, Any]], *, env: dict[str, str] = SERVER, ended: str | None = None, **facts: Any
) -> check.Report:
    given = {"setting": SETTING, "sent": DELIVERED, "done": DONE, "skipped": {}} | facts
    return check._judged(destination(env), told, check._Facts(**given), ended)


def test_all_is_right() -> None:
    report = judged(GOOD)
    assert report.right
    assert report.run == "app"
    assert [step.state for step in report.steps] == ["seen", "seen", "seen", "seen"]
    assert list(report_lines(report))[-1] == "Capture works here."


@pytest.mark.parametrize(
    ("told", "facts", "problem"),
    [
        (GOOD, {"setting": check.Setting("3.11.7", "4.3.0", "17", "local[1]", False)}, "pip"),
        (GOOD, {"sent": {"http://h:5000/api/v1/lineage": (3, 5, 0, "refused")}}, "did not take the events: refused"),
        (GOOD, {"sent": {"http://h:5000/api/v1/lineage": (7, 0, 1, None)}}, "did not take the events"),
        (GOOD, {"env": {"HEADWATER_TRANSPORT": "none"}}, "No server gets the events: HEADWATER_TRANSPORT drops them"),
        (GOOD, {"env": {"OPENLINEAGE_DISABLED": "true"}}, "No server gets the events: OPENLINEAGE_DISABLED drops them"),
        (GOOD, {"ended": "Traceback"}, "The job failed"),
        (GOOD[:1], {}, "Capture missed a part"),
        ([*GOOD[:1], written("totals", {"total": ["amount"]}), *GOOD[2:]], {}, "Capture missed a part"),
        ([*GOOD[:1], written("totals", {"total": ["id"]}, (ORDERS,)), *GOOD[2:]], {}, "Capture missed a part"),
        ([*GOOD[:2], GOOD[3]], {}, "Capture missed a part"),
        (GOOD[:3], {}, "Capture missed a part"),
        ([*GOOD[:3], written("lines", {})], {}, "Capture missed a part"),
    ],
)
def test_each_fault_is_a_problem(told: list[dict[str, Any]], facts: dict[str, Any], problem: str) -> None:
    report = judged(told, **facts)
    assert not report.right
    assert any(problem in one for one in report.problems), report.problems
    lines = "\n".join(report_lines(report))
    assert lines.endswith("problem.")
    assert "secret" not in lines


def test_a_job_that_never_began() -> None:
    report = check._judged(destination(SERVER), [], None, "No module named pyspark")
    assert (report.setting, report.run, report.steps) == (None, None, [])
    assert "  No module named pyspark" in report_lines(report)


def test_a_function_that_could_not_run_is_no_problem() -> None:
    report = judged(
        [*GOOD[:2], GOOD[3]],
        done=[check.READ, check.WROTE, check.RDD],
        skipped={check.FUNCTION: "No module named 'pandas'"},
    )
    assert report.right
    assert report.steps[0] == check.Step(check.FUNCTION, "skipped", "No module named 'pandas'")
