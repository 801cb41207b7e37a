"""A plan worked off in a real Airflow: runs started where there are none, and the next time exactly the tasks cleared in those."""

import datetime as dt
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.fixtures.airflow import RealAirflow

from headwater.capture.airflow.rest import DagRun
from headwater.client.ask import ask
from headwater.runner.backfill import Worker
from headwater.runner.executors.airflow import AirflowTasks
from headwater.runner.plans import PlanOnServer

CASES = Path(__file__).parents[2] / "cases/airflow"
HOUR = "2024-01-06T23"


class Headwater:
    def __init__(self, url: str) -> None:
        self.url = url

    def post(self, path: str, body: Any) -> Any:
        return msgspec.json.decode(ask(self.url, path, method="POST", body=msgspec.json.encode(body)))

    def repair(self, airflow: RealAirflow) -> list[Any]:
        """An incident of one hour, fixed, planned and worked off; the plan's items then."""
        wrong = [{"entity": "reads_hourly", "instances": [HOUR]}]
        incident = self.post("/api/v2/incidents", {"wrong": wrong, "reason": "counted twice"})["id"]
        self.post(f"/api/v2/incidents/{incident}/fix", {})
        plan = self.post("/api/v2/plans", {"incident": incident})["id"]
        self.post(f"/api/v2/plans/{plan}/apply", {})
        tasks = AirflowTasks("test", airflow.rest, every=0.5)
        told: list[Any] = []
        assert Worker(PlanOnServer(self.url, plan), [tasks], name="here", told=told.append).work() == "done", told
        found = msgspec.json.decode(ask(self.url, f"/api/v2/incidents/{incident}"))
        assert all(not one["tainted"] and not one["inherited"] for one in found["entities"])
        items = msgspec.json.decode(ask(self.url, f"/api/v2/plans/{plan}"))["items"]
        assert isinstance(items, list)
        return items


@pytest.fixture
def headwater(server_url: str) -> Headwater:
    made = Headwater(server_url)
    text = (CASES / "entities.yaml").read_text()
    made.post("/api/v2/entities", {"files": [{"name": "entities.yaml", "text": text}]})
    there = {"reads_hourly": "2024-01-01..2024-01-07", "reads_daily": "2024-01-01..2024-01-07",
             "words_count": "2024-01-01..2024-01-07", "reads_weekly": "2024-W01"}  # fmt: skip
    reports = [
        {"entity": name, "what": "produced", "ref": "loader", "instances": [some]} for name, some in there.items()
    ]
    said = made.post("/api/v2/instances", {"reports": reports})
    assert not any(one.get("refused") for one in said["results"]), said
    return made


def runs(airflow: RealAirflow) -> dict[str, list[str]]:
    return {dag: [run.dag_run_id for run in of(airflow, dag)] for dag in ("hourly", "daily", "weekly")}


def of(airflow: RealAirflow, dag: str) -> list[DagRun]:
    """Of those days; the schedule has begun one of today."""
    days = [dt.datetime(2024, 1, day, tzinfo=dt.UTC) for day in (1, 15)]
    return list(airflow.rest.runs(dag, logical_date_from=days[0], logical_date_to=days[1]))


def tries(airflow: RealAirflow) -> dict[str, int]:
    """By task, of the one run of its DAG."""
    found = {}
    for dag, (run,) in runs(airflow).items():
        found |= {each.task_id: each.try_number for each in airflow.rest.tasks(dag, run)}
    return found


def test_started_and_then_cleared(airflow: RealAirflow, headwater: Headwater) -> None:
    airflow.broken.write_text("")
    items = headwater.repair(airflow)
    assert [item["state"] for item in items[:2]] == ["done", "done"]
    first = runs(airflow)
    assert {dag: len(each) for dag, each in first.items()} == {"hourly": 1, "daily": 1, "weekly": 1}
    (hourly,) = of(airflow, "hourly")
    assert str(hourly.data_interval_start) == "2024-01-06 23:00:00+00:00"
    before = tries(airflow)
    again = headwater.repair(airflow)
    assert runs(airflow) == first
    after = tries(airflow)
    grown = {task for task, number in after.items() if number > before[task]}
    assert {"hour", "day", "words", "week"} <= grown
    assert next(item["run"] for item in again if item["state"] == "done") == first["hourly"][0]
