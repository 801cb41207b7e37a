"""Items of Airflow's tasks, worked off against a server that answers as Airflow 3 does, and whose tasks report to a real Headwater."""

import collections
import datetime as dt
import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from tests.api.plans.backfilled import Place, week, yaml

from headwater.capture.airflow.rest import Airflow
from headwater.errors import ServerUnavailable
from headwater.runner.backfill import ItemEvent, Worker
from headwater.runner.executors.airflow import AirflowTasks
from headwater.runner.plan_item import Turn, carry_out
from headwater.runner.plans import PlanOnServer

YAML = (
    yaml("airflow://prod/{}/make")
    + """---
entity: words
kind: static
produced_by: [airflow://prod/words/make]
"""
)
ONCE = {"weather 2024-03-06T23": 1, "reads 2024-03-06": 1, "report 2024-03-04": 1}


class Scheduler:
    """Three DAGs as Airflow's REST API shows them. A task that is to run runs when it is looked at a second time, and reports then."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.runs: dict[tuple[str, str], dict[str, Any]] = {}
        self.tasks: dict[tuple[str, str], str | None] = {}
        self.made: collections.Counter[str] = collections.Counter()
        self.asked: list[str] = []
        self.fails: set[str] = set()
        self.silent = False
        self.reports_after = 0.0

    def there(self, dag: str, run: str, start: str, end: str | None, state: str = "success") -> None:
        """A run from before; without an end it has a date and no interval."""
        about = {"data_interval_start": start, "data_interval_end": end} if end else {}
        self.runs[dag, run] = {"dag_id": dag, "dag_run_id": run, "state": state, "logical_date": start, **about}
        self.tasks[dag, run] = state if state == "success" else None

    def answer(self, method: str, path: str, asked: dict[str, list[str]], body: Any) -> tuple[int, Any]:
        words = [unquote(word) for word in path.split("/")[4:]]
        dag, rest = words[0], words[1:]
        if rest == ["dagRuns"] and method == "GET":
            date = "execution_date" if "/v1/" in path else "logical_date"
            low, high = (dt.datetime.fromisoformat(asked[f"{date}_{word}"][0]) for word in ("gte", "lte"))
            found = [one for (name, _), one in self.runs.items() if name == dag and low <= _time(one) <= high]
            return 200, {"dag_runs": found, "total_entries": len(found)}
        if rest == ["dagRuns"]:
            return self._started(dag, body)
        if rest == ["clearTaskInstances"]:
            run = body["dag_run_id"]
            assert (body["task_ids"], "note" in body) == (["make"], "/v2/" in path)
            self.asked.append(f"clear {dag} {run}")
            self.tasks[dag, run], self.runs[dag, run]["state"] = None, "queued"
            return 200, {"task_instances": []}
        if (dag, rest[1]) not in self.runs:
            return 404, {"detail": "no such run"}
        if rest[2:] == ["taskInstances"]:
            return 200, {"task_instances": [self._looked_at(dag, rest[1])]}
        return 200, self.runs[dag, rest[1]]

    def _started(self, dag: str, body: Any) -> tuple[int, Any]:
        run = body["dag_run_id"]
        date = body["logical_date"]
        same = [one for (name, _), one in self.runs.items() if name == dag and date and _time(one) == _time(body)]
        if same or (dag, run) in self.runs:
            return 409, {"detail": "there is one"}
        about = f" {date[:13]} for {body['data_interval_start'][:13]}" if date else ""
        self.asked.append(f"start {dag}{about}")
        self.runs[dag, run] = {**body, "dag_id": dag, "state": "queued"}
        self.tasks[dag, run] = None
        return 200, self.runs[dag, run]

    def _looked_at(self, dag: str, run: str) -> Any:
        known, state = self.runs[dag, run], self.tasks[dag, run]
        if state is None:
            self.tasks[dag, run] = "running"
        elif state == "running":
            failed = dag in self.fails
            self.tasks[dag, run] = known["state"] = "failed" if failed else "success"
            self.made[f"{dag} {self.period(known)}"] += 1
            if not failed and not self.silent:
                if self.reports_after:
                    threading.Timer(self.reports_after, self.report, (known,)).start()
                else:
                    self.report(known)
        return {"dag_id": dag, "dag_run_id": run, "task_id": "make", "state": self.tasks[dag, run]}

    def period(self, run: Any) -> str:
        """Without an interval it is about the day that was over when it was due."""
        if not run["logical_date"]:
            return "static"
        start = run.get("data_interval_start") or (_time(run) - dt.timedelta(days=1)).isoformat()
        return str(start)[: 13 if run["dag_id"] == "weather" else 10]

    def report(self, run: Any) -> None:
        instance = "2024-W10" if run["dag_id"] == "report" else self.period(run)
        self._place.say(run["dag_id"], instance, ref=run["dag_run_id"], code="v2")


def _time(run: Any) -> dt.datetime:
    return dt.datetime.fromisoformat(run["logical_date"])


@pytest.fixture
def scheduler(place_: Place) -> Iterator[tuple[Scheduler, str]]:
    told = Scheduler(place_)

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            split = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            code, found = told.answer(self.command, split.path, parse_qs(split.query), body)
            reply = json.dumps(found).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        do_POST = do_GET

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield told, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def place_(server_url: str, tmp_path: Path) -> Place:
    return week(server_url, tmp_path, YAML)


def worker(place: Place, airflow: str, plan: str, told: Callable[[ItemEvent], None] = lambda _: None) -> Worker:
    tasks = AirflowTasks("prod", Airflow(airflow), every=0.0)
    return Worker(PlanOnServer(place.url, plan), [tasks], name="here", lease=0.2, on_event=told)


@pytest.mark.parametrize("api", ["", "/api/v1"])
def test_cleared_where_there_is_a_run_else_started(place_: Place, scheduler: tuple[Scheduler, str], api: str) -> None:
    airflow, url = scheduler
    url += api
    airflow.there("weather", "w22", "2024-03-06T22:00:00Z", "2024-03-06T23:00:00Z")
    airflow.there("weather", "w23", "2024-03-06T23:00:00Z", "2024-03-07T00:00:00Z")
    airflow.there("reads", "r6", "2024-03-07T00:00:00Z", None)  # due at the end of its day
    plan = place_.plan(incident=place_.incident("2024-03-06T23"))
    dry = place_.headwater("backfill", "apply", plan, "--airflow", f"prod={url}", "--dry-run").output
    assert "clear weather w23 make" in dry
    assert "clear reads r6 make" in dry
    assert "start report for 2024-W10" in dry
    assert airflow.asked == []
    done = place_.headwater("backfill", "apply", plan, "--airflow", f"prod={url}")
    assert done.exit_code == 0, done.output
    assert airflow.asked == ["clear weather w23", "clear reads r6", "start report 2024-03-04T00 for 2024-03-04T00"]
    assert place_.wrong() == []
    assert [each["run"].partition("_")[0] for each in place_.shown(plan)["items"]] == ["w23", "r6", "headwater"]


class Killed(BaseException):
    """A worker's end, at once: nothing of it is left but what others know."""


def dies_once_it_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker that starts a run is killed before it gets the answer."""
    triggers = Airflow.trigger

    def dies(*words: Any, **more: Any) -> Any:
        triggers(*words, **more)
        raise Killed

    monkeypatch.setattr(Airflow, "trigger", dies)


@pytest.mark.parametrize("step", ["take", "renew", "end", "give_back", "trigger", "clear"])
@pytest.mark.parametrize("answered", [True, False])
def test_killed_at_any_step(
    place_: Place, scheduler: tuple[Scheduler, str], monkeypatch: pytest.MonkeyPatch, step: str, answered: bool
) -> None:
    """Before or after each call of a kind, the second worker at the second call, and so on."""
    airflow, url = scheduler
    airflow.there("weather", "w23", "2024-03-06T23:00:00Z", "2024-03-07T00:00:00Z")
    plan = place_.plan(incident=place_.incident("2024-03-06T23"))
    owner = Airflow if step in {"trigger", "clear"} else PlanOnServer
    does, left = getattr(owner, step), [0]

    def dies(*words: Any, **more: Any) -> Any:
        found = does(*words, **more) if answered else None
        left[0] -= 1
        if left[0] == 0:
            raise Killed
        return found if answered else does(*words, **more)

    monkeypatch.setattr(owner, step, dies)
    killed = 0
    while True:
        left[0] = killed + 1
        try:
            assert worker(place_, url, plan).run_items() == "done"
            break
        except Killed:
            killed += 1
    assert killed >= (0 if step == "give_back" else 1)
    assert airflow.made == ONCE
    assert place_.wrong() == []


def test_what_a_killed_worker_began_is_not_made_again_while_its_report_may_come(
    place_: Place, scheduler: tuple[Scheduler, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    airflow, url = scheduler
    airflow.there("weather", "w23", "2024-03-06T23:00:00Z", "2024-03-07T00:00:00Z")
    airflow.reports_after = 1.0
    plan = place_.plan(incident=place_.incident("2024-03-06T23"))
    clear = Airflow.clear

    def cleared_and_killed(*words: Any, **more: Any) -> Any:
        clear(*words, **more)
        monkeypatch.setattr(Airflow, "clear", clear)
        raise Killed

    monkeypatch.setattr(Airflow, "clear", cleared_and_killed)
    with pytest.raises(Killed):
        worker(place_, url, plan).run_items()
    assert worker(place_, url, plan).run_items() == "done"
    assert airflow.made == ONCE


@pytest.mark.parametrize("arrives", [True, False])
def test_calls_that_go_unanswered_are_made_again(
    place_: Place, scheduler: tuple[Scheduler, str], monkeypatch: pytest.MonkeyPatch, arrives: bool
) -> None:
    """Every second call of each kind, whether it arrived or not."""
    airflow, url = scheduler
    airflow.there("weather", "w23", "2024-03-06T23:00:00Z", "2024-03-07T00:00:00Z")
    monkeypatch.setattr("headwater.runner.backfill._AFTER_SILENCE", 0.0)
    calls: collections.Counter[str] = collections.Counter()

    def breaks(owner: type, name: str) -> None:
        does = getattr(owner, name)

        def broken(*words: Any, **more: Any) -> Any:
            calls[name] += 1
            found = does(*words, **more) if arrives or calls[name] % 2 == 0 else None
            if calls[name] % 2:
                raise ServerUnavailable("no server answers")
            return found

        monkeypatch.setattr(owner, name, broken)

    for owner, name in ((PlanOnServer, "renew"), (PlanOnServer, "end"), (Airflow, "trigger"), (Airflow, "runs")):
        breaks(owner, name)
    told: list[ItemEvent] = []
    assert (
        worker(place_, url, place_.plan(incident=place_.incident("2024-03-06T23")), told.append).run_items() == "done"
    )
    assert airflow.made == ONCE
    assert place_.wrong() == []
    assert {"unanswered", "done"} <= {each.what for each in told}
    assert min(calls[name] for name in ("renew", "end", "trigger", "runs")) >= 2


def test_a_run_of_no_period_is_found_by_its_name(
    place_: Place, scheduler: tuple[Scheduler, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    airflow, url = scheduler
    plan = place_.plan(wrong=[{"entity": "words", "instances": ["static"]}], only=True)
    dies_once_it_has_begun(monkeypatch)
    with pytest.raises(Killed):
        worker(place_, url, plan).run_items()
    assert worker(place_, url, plan).run_items() == "done"
    assert (airflow.asked, airflow.made) == (["start words"], {"words static": 1})


def test_a_task_that_fails(place_: Place, scheduler: tuple[Scheduler, str]) -> None:
    airflow, url = scheduler
    airflow.fails.add("weather")
    plan = place_.plan(incident=place_.incident("2024-03-06T23"))
    assert worker(place_, url, plan).run_items() == "failed"
    (item,) = place_.shown(plan, state="failed")["items"]
    assert re.fullmatch(r"make of headwater__[0-9a-f-]+ is failed", item["note"])
    airflow.fails.clear()
    place_.headwater("backfill", "retry", plan)
    assert place_.headwater("backfill", "apply", plan, "--airflow", f"prod={url}").exit_code == 0
    assert [each.partition(" headwater")[0] for each in airflow.asked[:2]] == [
        "start weather 2024-03-06T23 for 2024-03-06T23",
        "clear weather",
    ]


def test_a_report_may_come_after_the_end(
    place_: Place, scheduler: tuple[Scheduler, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    airflow, url = scheduler
    airflow.silent = True
    plan, calls = place_.plan(wrong=[{"entity": "reads", "instances": ["2024-03-06"]}], only=True), [0]
    ends = PlanOnServer.end

    def end(*words: Any, **more: Any) -> Any:
        calls[0] += 1
        if calls[0] == 2:
            airflow.report(next(iter(airflow.runs.values())))
        return ends(*words, **more)

    monkeypatch.setattr(PlanOnServer, "end", end)
    assert worker(place_, url, plan).run_items() == "done"
    assert (calls, airflow.made) == ([2], {"reads 2024-03-06": 1})


def test_what_runs_already_is_waited_for(place_: Place, scheduler: tuple[Scheduler, str]) -> None:
    airflow, url = scheduler
    airflow.there("weather", "w23", "2024-03-06T23:00:00Z", "2024-03-07T00:00:00Z", state="running")
    plan = place_.plan(wrong=[{"entity": "weather", "instances": ["2024-03-06T23"]}], only=True)
    assert worker(place_, url, plan).run_items() == "done"
    assert (airflow.asked, airflow.made) == ([], {"weather 2024-03-06T23": 1})


def test_a_date_that_is_taken(place_: Place, scheduler: tuple[Scheduler, str]) -> None:
    """The run of the day before was due when this day began."""
    airflow, url = scheduler
    airflow.there("reads", "r5", "2024-03-06T00:00:00Z", None)
    plan = place_.plan(wrong=[{"entity": "reads", "instances": ["2024-03-06"]}], only=True)
    assert worker(place_, url, plan).run_items() == "done"
    assert airflow.asked == ["start reads 2024-03-07T00 for 2024-03-06T00"]


def turn(place: Place, airflow: str, plan: str, number: int, **more: Any) -> Turn:
    """Carry out the item as the task of an exported DAG does."""
    tasks = AirflowTasks("prod", Airflow(airflow), every=0.0)
    return carry_out(PlanOnServer(place.url, plan), number, tasks, name="task", **more)


def came(found: Turn) -> tuple[str, str]:
    return found.came, found.note


def test_items_one_by_one(place_: Place, scheduler: tuple[Scheduler, str]) -> None:
    """A plan that was not begun, in any order, some twice."""
    airflow, url = scheduler
    plan = place_.plan(incident=place_.incident("2024-03-06T23"), apply=False)
    assert came(turn(place_, url, plan, 1)) == ("failed", "no run is making what it needs: items 0")
    for number in (0, 1, 0, 2, 1):
        assert turn(place_, url, plan, number).came == "done"
    assert (airflow.made, place_.wrong()) == (ONCE, [])
    assert place_.shown(plan)["plan"]["state"] == "done"
    assert turn(place_, url, plan, 2).about == "report 2024-W10"
    assert airflow.made == ONCE


def test_an_item_whose_turn_it_is_not(place_: Place, scheduler: tuple[Scheduler, str]) -> None:
    airflow, url = scheduler
    plan = place_.plan(incident=place_.incident("2024-03-06T23"))
    other = {"worker": "another", "lease_seconds": 600}
    (taken,) = place_.ask("POST", f"/api/v2/plans/{plan}/take", other)["items"]
    assert [turn(place_, url, plan, number).came for number in (0, 1)] == ["later", "later"]
    place_.ask("POST", f"/api/v2/plans/{plan}/items/0/renew", {"attempt": taken["attempt"], "lease_seconds": 0.001})
    place_.headwater("backfill", "pause", plan)
    assert came(turn(place_, url, plan, 0)) == ("later", "the plan is paused")
    place_.headwater("backfill", "cancel", plan)
    assert came(turn(place_, url, plan, 0)) == ("failed", "the plan was cancelled")
    assert airflow.asked == []


def test_a_failed_item_is_run_again_on_retry(place_: Place, scheduler: tuple[Scheduler, str]) -> None:
    airflow, url = scheduler
    airflow.fails.add("weather")
    plan = place_.plan(incident=place_.incident("2024-03-06T23"))
    failed = turn(place_, url, plan, 0)
    assert (failed.came, "is failed; `headwater backfill retry" in failed.note) == ("failed", True)
    airflow.fails.clear()
    assert turn(place_, url, plan, 0) == failed
    assert airflow.made["weather 2024-03-06T23"] == 1
    assert turn(place_, url, plan, 0, again=True).came == "done"
    assert turn(place_, url, plan, 0, again=True).came == "done"
    assert airflow.made["weather 2024-03-06T23"] == 2


def test_an_item_whose_task_was_killed(
    place_: Place, scheduler: tuple[Scheduler, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    airflow, url = scheduler
    plan = place_.plan(wrong=[{"entity": "words", "instances": ["static"]}], only=True)
    dies_once_it_has_begun(monkeypatch)
    with pytest.raises(Killed):
        turn(place_, url, plan, 0)
    assert turn(place_, url, plan, 0).came == "later"  # the one that is gone has it for a minute
    place_.ask(
        "POST",
        f"/api/v2/plans/{plan}/items/0/renew",
        {"attempt": 1, "run": place_.shown(plan)["items"][0]["run"], "lease_seconds": 0.001},
    )
    assert turn(place_, url, plan, 0, again=True).came == "done"
    assert (airflow.asked, airflow.made) == (["start words"], {"words static": 1})
