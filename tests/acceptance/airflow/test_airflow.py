"""A real Airflow and a real server: three DAGs of different periodicities run in the order of their data, one fails, one is wrong, all are repaired:
by hand, by a worker of a plan, and by a plan exported as a DAG. Airflow is started once, so that each test has days of its own.
"""

import contextlib
import datetime as dt
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from tests.fixtures.airflow import RealAirflow
from typer.testing import CliRunner

from headwater.capture.airflow.rest import DagRun
from headwater.cli.program import program
from headwater.client.ask import ask
from headwater.errors import HeadwaterError
from headwater.runner.backfill import Worker
from headwater.runner.executors.airflow import AirflowTasks
from headwater.runner.plans import PlanOnServer

CASES = Path(__file__).parents[2] / "cases/airflow"
HOUR = dt.timedelta(hours=1)
MADE = ["2024-01-06T22", "2024-01-06T23", "2024-01-07T22", "2024-01-07T23"]
BROKEN = "2024-01-06T23"
WRONG = "2024-01-07T22"
PLANNED = "2024-01-20T22..2024-01-20T23"


class Headwater:
    def __init__(self, url: str) -> None:
        self.url = url

    def post(self, path: str, body: Any) -> Any:
        return msgspec.json.decode(ask(self.url, path, method="POST", body=msgspec.json.encode(body)))

    def get(self, path: str, **asked: object) -> Any:
        return msgspec.json.decode(ask(self.url, path, asked))

    def declare(self) -> None:
        text = (CASES / "entities.yaml").read_text()
        self.post("/api/v2/entities", {"files": [{"name": "entities.yaml", "text": text}]})

    def made(self, **instances: str) -> None:
        """Report instances as produced by another writer."""
        reports = [
            {"entity": name, "what": "produced", "ref": "loader", "instances": [some]}
            for name, each in instances.items()
            for some in each.split()
        ]
        said = self.post("/api/v2/instances", {"reports": reports})
        assert not any(one.get("refused") for one in said["results"]), said

    def plan(self, hour: str) -> str:
        """Make a plan to repair a wrong hour and its descendants; the cause is gone."""
        wrong = [{"entity": "reads_hourly", "instances": [hour]}]
        incident = self.post("/api/v2/incidents", {"wrong": wrong, "reason": "counted twice"})["id"]
        self.post(f"/api/v2/incidents/{incident}/fix", {})
        return str(self.post("/api/v2/plans", {"incident": incident})["id"])

    def ended(self, plan: str) -> list[str]:
        """Return the states of the plan's items, once the plan is done and no incident is open."""
        assert all(not one["entities"] for one in self.get("/api/v2/incidents", state="open")["incidents"])
        found = self.get(f"/api/v2/plans/{plan}")
        assert found["plan"]["state"] == "done"
        return [item["state"] for item in found["items"]]

    def instance(self, entity: str, key: str) -> Any:
        return self.get(f"/api/v2/entities/{entity}/instances/{quote(key)}")

    def right(self, entity: str, *keys: str) -> bool:
        """All are completed, and right."""
        told = [self.instance(entity, key) for key in keys]
        return all(one["status"] == "completed" and one["valid"] for one in told)

    def version(self, entity: str, key: str) -> Any:
        return next(one for one in self.instance(entity, key)["versions"] if one["current"])


def moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


@pytest.fixture
def headwater(server_url: str) -> Headwater:
    made = Headwater(server_url)
    made.declare()
    return made


def test_order_failure_taint_and_repair(airflow: RealAirflow, headwater: Headwater) -> None:
    airflow.broken.write_text(BROKEN)
    rest = airflow.rest
    # Two hours of each of two days are made by Airflow; what else the week needs is there.
    headwater.made(
        reads_hourly="2024-01-06T00..2024-01-06T21 2024-01-07T00..2024-01-07T21", words_count="2024-01-01..2024-01-05"
    )

    # The last of the chain is started first: nothing but entities brings them into order.
    week = rest.trigger(
        "weekly", logical_date=moment("2024-01-08"), interval=(moment("2024-01-01"), moment("2024-01-08"))
    )
    days = {
        day: rest.trigger("daily", logical_date=moment(f"{due}T06:30"))
        for day, due in (("2024-01-06", "2024-01-07"), ("2024-01-07", "2024-01-08"))
    }
    waiting = [
        (week, "week__ready"),
        (week, "guess__ready"),
        *((run, f"{task}__ready") for run in days.values() for task in ("words", "day")),
    ]
    airflow.until(
        lambda: all(airflow.states(run).get(task) == "deferred" for run, task in waiting),
        "all that lack something wait",
    )
    assert {airflow.states(run)["day"] for run in days.values()} <= {None, "scheduled"}
    assert headwater.instance("reads_daily", "2024-01-06")["status"] == "missing"
    hours = {
        key: rest.trigger("hourly", logical_date=moment(key), interval=(moment(key), moment(key) + HOUR))
        for key in MADE
    }

    # One hour fails and reports it; its day waits and names the hour, and so does the week. The other day is made.
    airflow.until(lambda: airflow.states(hours[BROKEN])["hour"] == "failed", "the hour has failed")
    airflow.until(lambda: headwater.right("words_count", "2024-01-07"), "the other day is made")
    airflow.until(lambda: "failed" in str(headwater.instance("reads_hourly", BROKEN)["history"]), "the failure is told")
    failed = headwater.instance("reads_hourly", BROKEN)
    assert [one["what"] for one in failed["history"]] == ["failed", "started"]
    assert "the source is broken" in failed["history"][0]["reason"]
    assert airflow.states(days["2024-01-06"])["day__ready"] == "deferred"
    assert airflow.states(week)["week__ready"] == "deferred"
    # Six of seven days are enough for an estimate.
    airflow.until(
        lambda: headwater.instance("reads_weekly", "2024-W01")["status"] == "estimated", "an estimate is there"
    )

    # Repaired by clearing that task; the rest follows by itself.
    airflow.broken.write_text("")
    assert [one.task_id for one in clear(airflow, hours[BROKEN], "hour", dry_run=True)] == ["hour", "hour__ready"]
    assert airflow.states(hours[BROKEN])["hour"] == "failed"
    clear(airflow, hours[BROKEN], "hour")
    airflow.until(lambda: headwater.right("reads_weekly", "2024-W01"), "the week is made")
    assert headwater.right("reads_hourly", *MADE)
    assert headwater.right("reads_daily", "2024-01-06", "2024-01-07")
    assert_recorded(headwater, hours, days, week)

    # An hour is found to be wrong. What is cleared now does not run on it, and says why.
    incident = headwater.post(
        "/api/v2/incidents", {"wrong": [{"entity": "reads_hourly", "instances": [WRONG]}], "reason": "counted twice"}
    )
    assert {hit["entity"] for hit in incident["hits"]} == {"reads_hourly", "reads_daily", "words_count", "reads_weekly"}
    day = days["2024-01-07"]
    clear(airflow, day, "day", "words")
    clear(airflow, week, "week")
    airflow.until(lambda: airflow.states(day)["day__ready"] == "deferred", "the day waits for what is right")
    airflow.until(lambda: f"{WRONG}: wrong" in airflow.task_log(day, "day__ready"), "it says why")
    assert not headwater.instance("reads_daily", "2024-01-07")["valid"]

    # The fix, the hour again, and the day and the week after it.
    headwater.post(f"/api/v2/incidents/{incident['id']}/fix", {})
    clear(airflow, hours[WRONG], "hour")
    airflow.until(lambda: headwater.right("reads_weekly", "2024-W01"), "the week is right again")
    assert headwater.right("reads_hourly", WRONG)
    assert headwater.right("reads_daily", "2024-01-07")
    assert headwater.right("words_count", "2024-01-07")
    told = headwater.get(f"/api/v2/incidents/{incident['id']}")
    assert all(not one["tainted"] and not one["inherited"] for one in told["entities"])


def test_a_task_that_dies_without_a_word(airflow: RealAirflow, headwater: Headwater) -> None:
    key = "2024-02-01T00"
    airflow.broken.write_text(f"{key}:dies")
    run = airflow.rest.trigger("hourly", logical_date=moment(key), interval=(moment(key), moment(key) + HOUR))
    airflow.until(lambda: airflow.states(run)["hour"] == "failed", "the hour has died")
    # Airflow calls no callback, so this is all that can be known.
    assert headwater.instance("reads_hourly", key)["status"] == "running"
    airflow.broken.write_text("")
    clear(airflow, run, "hour")
    airflow.until(lambda: headwater.right("reads_hourly", key), "the hour is made")
    told = headwater.instance("reads_hourly", key)
    assert [mark["kind"] for mark in told["marks"]] == ["state"]
    said = [(one["what"], one["ref"][-1]) for one in told["history"]]
    assert said == [("produced", "2"), ("failed", "1"), ("started", "2"), ("started", "1")]


@pytest.mark.soak
def test_a_plan_starts_runs_and_an_exported_one_clears_in_them(airflow: RealAirflow, headwater: Headwater) -> None:
    airflow.broken.write_text("")
    week = "2024-01-15..2024-01-21"
    headwater.made(reads_hourly=week, reads_daily=week, words_count=week, reads_weekly="2024-W03")

    plan = headwater.plan(PLANNED)
    headwater.post(f"/api/v2/plans/{plan}/apply", {})
    told: list[Any] = []
    tasks = AirflowTasks("test", airflow.rest, every=0.5)
    assert (
        Worker(PlanOnServer(headwater.url, plan), [tasks], name="here", on_event=told.append).run_items() == "done"
    ), told
    assert headwater.ended(plan)[:3] == ["done"] * 3
    before = tries(airflow)
    assert sorted(task for _, task in before) == ["day", "guess", "hour", "hour", "week", "words"]
    hours = airflow.rest.runs("hourly", logical_date_from=moment("2024-01-20"), logical_date_to=moment("2024-01-21"))
    assert [str(run.data_interval_start) for run in hours] == ["2024-01-20 22:00:00+00:00", "2024-01-20 23:00:00+00:00"]

    # The same again, by Airflow itself: exactly the plan's tasks, in the runs that there are, each once.
    plan = headwater.plan(PLANNED)
    file = airflow.dags / "exported.py"
    words = ["backfill", "export", plan, "--to", str(file), "--parallel", "2", "--url", headwater.url]
    done = CliRunner().invoke(program, words)
    assert done.exit_code == 0, done.output
    assert set(triggered(airflow, f"headwater_plan_{plan}").values()) == {"success"}
    assert headwater.ended(plan) == ["done"] * 5
    after = tries(airflow)
    assert after == {(run, task): number + (task != "guess") for (run, task), number in before.items()}

    # And once more: there is nothing to do.
    assert set(triggered(airflow, f"headwater_plan_{plan}").values()) == {"success"}
    assert tries(airflow) == after
    file.unlink()


def triggered(airflow: RealAirflow, dag: str) -> dict[str, str | None]:
    """Start a run of the DAG and return the state in which each of its tasks ended."""
    found: list[DagRun] = []

    def begun() -> bool:
        with contextlib.suppress(HeadwaterError):
            found.append(airflow.rest.trigger(dag, logical_date=None))
        return bool(found)

    airflow.until(begun, "the exported plan is known")
    airflow.until(lambda: airflow.rest.run(dag, found[0].dag_run_id).at_rest, "the exported plan has run")
    return airflow.states(found[0])


def tries(airflow: RealAirflow) -> dict[tuple[str, str], int]:
    """Return the tries by run and task, of those days' runs; the schedule has begun some of today. Without sensors, which Airflow may
    try again."""
    start, end = moment("2024-01-15"), moment("2024-01-29")
    return {
        (run.dag_run_id, each.task_id): each.try_number
        for dag in ("hourly", "daily", "weekly")
        for run in airflow.rest.runs(dag, logical_date_from=start, logical_date_to=end)
        for each in airflow.rest.tasks(dag, run.dag_run_id)
        if not each.task_id.endswith("__ready")
    }


def clear(airflow: RealAirflow, run: DagRun, *tasks: str, dry_run: bool = False) -> Any:
    airflow.until(lambda: airflow.rest.run(run.dag_id, run.dag_run_id).at_rest, "the run is at rest")
    found = airflow.rest.clear(run.dag_id, run.dag_run_id, tasks, dry_run=dry_run)
    return sorted(found, key=lambda one: one.task_id)


def assert_recorded(headwater: Headwater, hours: dict[str, DagRun], days: dict[str, DagRun], week: DagRun) -> None:
    """Every version says by which run it was made, and of exactly what."""
    hour = headwater.version("reads_hourly", BROKEN)
    assert hour["run"].startswith("airflow://test/hourly/")
    assert hour["run"].endswith("/hour/2")
    assert hour["code"].startswith("airflow-dag-version:")
    assert (hour["reads"], hour["rows"]) == ([], 7)
    day = headwater.version("reads_daily", "2024-01-06")
    assert [(read["entity"], read["instances"]) for read in day["reads"]] == [
        ("reads_hourly", ["2024-01-06T00..2024-01-06T23"])
    ]
    made = headwater.version("reads_weekly", "2024-W01")
    assert [(read["entity"], read["instances"]) for read in made["reads"]] == [
        ("words_count", ["2024-01-01..2024-01-07"])
    ]
