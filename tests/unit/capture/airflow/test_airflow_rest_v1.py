"""Airflow 2, as its documentation has it: a server that answers so, and refuses what is not documented. No Airflow 2 was asked."""

import base64
import datetime as dt
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from headwater.capture.airflow.rest import Airflow
from headwater.errors import HeadwaterError, NotFound, Unauthenticated

DAY = dt.datetime(2024, 3, 10, tzinfo=dt.UTC)
RUN = {"dag_run_id", "logical_date", "execution_date", "data_interval_start", "data_interval_end", "conf", "note"}
LISTED = {"limit", "offset", "order_by", "state", *(f"{date}_{end}" for date in ("execution_date", "start_date", "end_date") for end in ("gte", "lte"))}  # fmt: skip
CLEARED = {
    "dry_run", "task_ids", "start_date", "end_date", "only_failed", "only_running", "reset_dag_runs", "dag_run_id",
    "include_upstream", "include_downstream", "include_future", "include_past",
}  # fmt: skip


class Airflow2:
    """Its DAG `d` with some runs, each of the tasks load__ready, load and other."""

    def __init__(self) -> None:
        self.runs = [self.run(f"r{number}", (DAY + dt.timedelta(days=number)).isoformat()) for number in range(103)]
        self.paused = True
        self.cleared: list[Any] = []

    def run(self, name: str, date: str) -> dict[str, Any]:
        about = {"logical_date": date, "execution_date": date, "data_interval_start": date, "data_interval_end": date}
        return {"dag_id": "d", "dag_run_id": name, "state": "success", "run_type": "manual", "conf": {}, **about}

    def answer(self, method: str, path: str, asked: dict[str, list[str]], body: Any) -> tuple[int, Any]:
        match method, [unquote(word) for word in path.split("/")[1:]]:
            case "GET", ["api", "v1", "dags", "d", "dagRuns"]:
                assert set(asked) <= LISTED
                low = asked.get("execution_date_gte", [""])[0]
                high = asked.get("execution_date_lte", ["9"])[0]
                some = [run for run in self.runs if low <= run["logical_date"] <= high]
                start, limit = int(asked["offset"][0]), int(asked["limit"][0])
                return 200, {"dag_runs": some[start : start + limit], "total_entries": len(some)}
            case "POST", ["api", "v1", "dags", "d", "dagRuns"]:
                assert set(body) <= RUN
                date = body.get("logical_date", "2026-01-01T00:00:00+00:00")
                assert isinstance(date, str)
                if any(body["dag_run_id"] == run["dag_run_id"] or date == run["logical_date"] for run in self.runs):
                    return 409, {"type": "about:blank", "title": "Conflict", "status": 409, "detail": "already exists"}
                self.runs.append(self.run(body["dag_run_id"], date) | body | {"state": "queued"})
                return 200, self.runs[-1]
            case "GET", ["api", "v1", "dags", "d", "dagRuns", name]:
                found = [run for run in self.runs if run["dag_run_id"] == name]
                return (200, found[0]) if found else (404, {"type": "…", "title": "DAGRun not found", "status": 404})
            case "GET", ["api", "v1", "dags", "d", "dagRuns", name, "taskInstances"]:
                told = {"dag_id": "d", "dag_run_id": name, "state": None, "try_number": 1, "map_index": -1}
                return 200, {"task_instances": [told | {"task_id": task} for task in ("load__ready", "load", "other")]}
            case "POST", ["api", "v1", "dags", "d", "clearTaskInstances"]:
                assert set(body) <= CLEARED
                self.cleared.append(body)
                told = {"dag_id": "d", "dag_run_id": body["dag_run_id"], "execution_date": DAY.isoformat()}
                return 200, {"task_instances": [told | {"task_id": task} for task in body["task_ids"]]}
            case "PATCH", ["api", "v1", "dags", "d"]:
                self.paused = body["is_paused"]
                return 200, {"dag_id": "d", **body}
        return 404, {"type": "…", "title": "Not Found", "status": 404}


@pytest.fixture
def airflow2() -> Iterator[tuple[Airflow2, str]]:
    told = Airflow2()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            split = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            known = {f"Basic {base64.b64encode('me:päss:wort'.encode()).decode()}", "Bearer t"}
            if self.headers.get("Authorization") in known:
                code, found = told.answer(self.command, split.path, parse_qs(split.query), body)
            else:
                code, found = 401, {"type": "about:blank", "title": "Unauthorized", "status": 401}
            reply = json.dumps(found).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/problem+json" if code >= 400 else "application/json")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        do_POST = do_PATCH = do_GET

        def log_message(self, *_: Any) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield told, f"http://127.0.0.1:{server.server_port}/api/v1/"
        server.shutdown()


def test_everything_that_is_asked_of_it(airflow2: tuple[Airflow2, str]) -> None:
    told, url = airflow2
    airflow = Airflow(url, username="me", password="päss:wort")
    assert len(list(airflow.runs("d", states=["success"]))) == 103
    some = list(airflow.runs("d", logical_date_from=DAY, logical_date_to=DAY + dt.timedelta(days=1)))
    assert [run.dag_run_id for run in some] == ["r0", "r1"]
    assert some[0].data_interval_start == DAY
    before = DAY - dt.timedelta(days=1)
    made = airflow.trigger("d", logical_date=before, interval=(before, DAY), run_id="plan-7", conf={"a": 1}, note="why")
    assert (made.state, made.data_interval_end) == ("queued", DAY)
    assert airflow.trigger("d", logical_date=None, run_id="now").logical_date is not None
    with pytest.raises(HeadwaterError) as refused:
        airflow.trigger("d", logical_date=DAY, run_id="plan-8")
    assert refused.value.detail["status"] == 409
    assert airflow.run("d", "plan-7").dag_run_id == "plan-7"
    with pytest.raises(NotFound):
        airflow.run("d", "plan-8")
    cleared = airflow.clear("d", "r0", ["load"], note="plan 7")
    assert [(one.task_id, one.state) for one in cleared] == [("load__ready", None), ("load", None)]
    assert (told.cleared[0]["dry_run"], told.cleared[0]["only_failed"]) == (False, False)
    airflow.unpause("d")
    assert not told.paused


def test_who_asks(airflow2: tuple[Airflow2, str]) -> None:
    _, url = airflow2
    assert Airflow(url, token="t").run("d", "r0").at_rest
    for wrong in (Airflow(url), Airflow(url, username="me", password="no"), Airflow(url, token="old")):
        with pytest.raises(Unauthenticated):
            wrong.run("d", "r0")
