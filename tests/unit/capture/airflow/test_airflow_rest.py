"""Tokens, pages and what is cleared; the real thing is asked in tests/acceptance/airflow."""

import datetime as dt
import json
from typing import Any

import pytest

from headwater.capture.airflow import rest
from headwater.capture.airflow.rest import Airflow
from headwater.errors import Unauthenticated


class Fake:
    """Airflow's answers by method and path; what was asked of it. A token is good for `good` questions."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, str, Any, Any]] = []
        self.good = 1000
        self.tokens = 0
        self.runs = 0
        self.tasks = ["load", "load__ready", "other"]
        monkeypatch.setattr(rest, "ask", self.ask)

    def ask(
        self,
        url: str,
        path: str,
        params: Any = None,
        key: Any = None,
        timeout: float = 0,
        *,
        method: str,
        body: Any = None,
    ) -> bytes:
        given = json.loads(body) if body else None
        self.asked.append((method, path, params, given))
        if path == "/auth/token":
            assert given == {"username": "me", "password": "secret"}
            self.tokens, self.left = self.tokens + 1, self.good
            return json.dumps({"access_token": f"t{self.tokens}"}).encode()
        if key != f"t{self.tokens}" or self.left <= 0:
            raise Unauthenticated("who?")
        self.left -= 1
        if path.endswith("/clearTaskInstances"):
            return json.dumps({"task_instances": [self.task(one) for one in given["task_ids"]]}).encode()
        if path.endswith("/taskInstances"):
            return json.dumps({"task_instances": [self.task(one) for one in self.tasks]}).encode()
        if path.endswith("/dagRuns") and method == "GET":
            some = range(params["offset"], min(params["offset"] + params["limit"], self.runs))
            shown = [{"dag_id": "d", "dag_run_id": f"r{number}", "state": "success"} for number in some]
            return json.dumps({"dag_runs": shown, "total_entries": self.runs}).encode()
        return json.dumps({"dag_id": "d", "dag_run_id": "r", "state": "queued"}).encode()

    def task(self, name: str) -> dict[str, Any]:
        return {"dag_id": "d", "dag_run_id": "r", "task_id": name, "state": None}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    return Fake(monkeypatch)


def airflow() -> Airflow:
    return Airflow("http://airflow/", username="me", password="secret")


def test_one_token_for_many_questions_and_another_when_it_is_over(fake: Fake) -> None:
    fake.good = 2
    asking = airflow()
    for _ in range(5):
        asking.run("d", "r")
    assert fake.tokens == 3


def test_a_token_that_never_works_is_an_error(fake: Fake) -> None:
    fake.good = 0
    with pytest.raises(Unauthenticated):
        airflow().run("d", "r")
    with pytest.raises(Unauthenticated):
        Airflow("http://airflow", token="old").run("d", "r")
    assert fake.tokens == 1


def test_runs_come_page_by_page(fake: Fake) -> None:
    fake.runs = 205
    begins = dt.datetime(2024, 3, 10, tzinfo=dt.UTC)
    found = list(airflow().runs("d", logical_date_from=begins, states=["failed"]))
    assert [one.dag_run_id for one in found] == [f"r{number}" for number in range(205)]
    pages = [params for _, path, params, _ in fake.asked if path.endswith("/dagRuns")]
    assert [page["offset"] for page in pages] == [0, 100, 200]
    assert {page["logical_date_gte"] for page in pages} == {"2024-03-10T00:00:00+00:00"}


def test_a_task_is_cleared_with_its_sensor_and_nothing_else(fake: Fake) -> None:
    cleared = airflow().clear("d", "manual__2024-03-10T00:00:00+00:00", ["load", "other"], dry_run=True, note="plan 7")
    assert [one.task_id for one in cleared] == ["load__ready", "load", "other"]
    method, path, _, body = fake.asked[-1]
    assert (method, path) == ("POST", "/api/v2/dags/d/clearTaskInstances")
    assert body == {
        "dry_run": True,
        "dag_run_id": "manual__2024-03-10T00:00:00+00:00",
        "task_ids": ["load__ready", "load", "other"],
        "only_failed": False,
        "reset_dag_runs": True,
        "note": "plan 7",
    }


def test_a_run_is_started_about_an_interval(fake: Fake) -> None:
    begins = dt.datetime(2024, 3, 10, tzinfo=dt.UTC)
    airflow().trigger("a/b", logical_date=begins, interval=(begins, begins + dt.timedelta(days=1)), run_id="plan-7")
    method, path, _, body = fake.asked[-1]
    assert (method, path) == ("POST", "/api/v2/dags/a%2Fb/dagRuns")
    assert body == {
        "logical_date": "2024-03-10T00:00:00+00:00",
        "data_interval_start": "2024-03-10T00:00:00+00:00",
        "data_interval_end": "2024-03-11T00:00:00+00:00",
        "dag_run_id": "plan-7",
    }
    airflow().trigger("d", logical_date=None)
    assert fake.asked[-1][3] == {"logical_date": None}
