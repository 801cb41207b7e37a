"""Run by Airflow's own Python: what needs Airflow and no servers of it. Prints `{name: "" or what went wrong}`; the cases are the functions `case_…`."""

import asyncio
import datetime as dt
import json
import os
import sys
import threading
import time
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

from airflow.sdk import DAG, TaskGroup, task
from airflow.sdk.exceptions import AirflowFailException, AirflowSensorTimeout, TaskDeferred
from airflow.serialization.serialized_objects import DagSerialization

from headwater.capture.airflow.callbacks import Callback
from headwater.capture.airflow.entities import EntityDAG, LineageSensor, Makes, link
from headwater.capture.airflow.trigger import LineageTrigger
from headwater.runner.in_airflow import PlanEnd, PlanItem
from headwater.runner.plan_as_dag import airflow_of, tasks, written
from headwater.runner.plans import Makes as Made
from headwater.runner.plans import PlannedItem

START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
RUN = SimpleNamespace(data_interval_start=START, data_interval_end=START + dt.timedelta(days=1), run_id="r")


def state(ready: bool, failed: bool = False) -> dict[str, Any]:
    missing = [] if ready else [{"entity": "raw", "instances": ["2024-01-01"], "count": 1, "why": "late"}]
    pins = [{"entity": "raw", "instances": ["2024-01-01"]}]
    return {"state": "completed", "ready": ready, "failed": failed, "pins": pins, "missing": missing}


def answer(ready: bool, failed: bool = False) -> tuple[int, dict[str, Any]]:
    one = {
        "entity": "reads",
        "instance": "2024-01-01",
        "ready": ready,
        "state": "completed" if ready else None,
        "states": [state(ready, failed)],
    }
    return 200, {"seq": 7, "ready": ready, "instances": [one]}


DOWN = (503, {"message": "restarting", "code": "server_unavailable"})
UNKNOWN = (404, {"message": "no entity 'reads'", "code": "not_found"})


class Server:
    """Says one thing after the other, the last of them for ever."""

    def __init__(self, *said: tuple[int, dict[str, Any]]) -> None:
        self.said = list(said)
        self.asked: list[Any] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
                outer.asked.append((self.path, body, self.headers.get("Authorization")))
                status, told = outer.said.pop(0) if len(outer.said) > 1 else outer.said[0]
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(told).encode())

            do_GET = do_POST

            def log_message(self, *_: object) -> None: ...

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()
        os.environ["HEADWATER_URL"] = f"http://127.0.0.1:{self.http.server_port}"
        os.environ["HEADWATER_API_KEY"] = "hw_secret"


def sensor(**more: Any) -> LineageSensor:
    with DAG("d", schedule=None, start_date=START):
        return LineageSensor(task_id="load__ready", entity="reads", **more)


def triggered(seconds: float = 30.0, instances: Any = None) -> dict[str, Any]:
    start = START.timestamp()
    made = LineageTrigger([["reads", None]], instances, "interval", start, start + 86400, time.time() + seconds)
    path, arguments = made.serialize()
    assert path == "headwater.capture.airflow.trigger.LineageTrigger"
    assert "hw_secret" not in str(arguments)

    async def first() -> Any:
        return (await anext(LineageTrigger(**json.loads(json.dumps(arguments))).run())).payload

    return asyncio.run(first())


def raised(kind: type[BaseException], call: Any) -> Any:
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def said_by(kind: type[BaseException], call: Any) -> str:
    return str(raised(kind, call))


def case_what_is_put_in() -> None:
    said: list[str] = []
    with EntityDAG(
        "d",
        schedule=None,
        start_date=START,
        entities={"load": "reads", "words.count": [Makes("words"), "pages"], "say": Makes("said", wait=False)},
        sensor={"fail_open": True, "pool": "waiting", "timeout": 60},
    ) as dag:
        task(task_id="load", on_success_callback=lambda _: said.append("mine"))(lambda: None)()
        with TaskGroup("words"):
            task(task_id="count")(lambda: None)()
        task(task_id="say")(lambda: None)()
        task(task_id="other")(lambda: None)()
    assert set(dag.task_dict) == {"load", "load__ready", "words.count", "words.count__ready", "say", "other"}
    assert dag.fileloc == __file__
    assert dag.task_dict["words.count"].upstream_task_ids == {"words.count__ready"}
    gate = dag.task_dict["words.count__ready"]
    assert (gate.pool, gate.fail_open, gate.waits) == ("waiting", True, dt.timedelta(minutes=1))
    assert [one.entity for one in gate.makes] == ["words", "pages"]
    mine, ours = dag.task_dict["load"].on_success_callback
    mine({})
    assert said == ["mine"]
    assert (ours.what, ours.sensor) == ("produced", "load__ready")
    assert dag.task_dict["say"].on_success_callback[0].sensor is None
    assert not dag.task_dict["other"].on_success_callback


def case_a_dag_is_as_airflow_keeps_it() -> None:
    from airflow.serialization.serialized_objects import DagSerialization

    with EntityDAG("d", schedule=None, start_date=START, entities={"load": "reads"}) as dag:
        task(task_id="load")(lambda: None)()
    again = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    assert set(again.task_dict) == {"load", "load__ready"}


def case_mistakes_name_the_task() -> None:
    with DAG("d", schedule=None, start_date=START) as dag:
        task(task_id="load")(lambda: None)()
        task(task_id="each")(lambda n: n).expand(n=[1, 2])
        task(task_id="last", trigger_rule="all_done")(lambda: None)()
    assert "'laod', which is not in the DAG; its tasks are: each, last, load" in said_by(
        ValueError, lambda: link(dag, {"laod": "reads"})
    )
    assert "'each' of DAG 'd' is mapped" in said_by(ValueError, lambda: link(dag, {"each": "reads"}))
    assert "trigger rule all_done" in said_by(ValueError, lambda: link(dag, {"last": "reads"}))
    link(dag, {"last": Makes("reads", wait=False)})


def case_an_error_in_the_block_is_the_author_s() -> None:
    def wrong() -> None:
        with EntityDAG("d", schedule=None, start_date=START, entities={"load": "reads"}):
            raise LookupError("mine")

    assert said_by(LookupError, wrong) == "mine"


def case_ready_at_once() -> None:
    server = Server(answer(True))
    found = sensor().execute({"dag_run": RUN})
    assert found == {
        "seq": 7,
        "made": [
            {
                "entity": "reads",
                "instance": "2024-01-01",
                "state": "completed",
                "reads": [{"entity": "raw", "instances": ["2024-01-01"]}],
            }
        ],
    }
    asked = [body["ask"][0] for _, body, _ in server.asked]
    assert asked[0] == {"entity": "reads", "start": "2024-01-01T00:00:00+00:00", "end": "2024-01-02T00:00:00+00:00"}
    assert asked[1] == {"entity": "reads", "instances": ["2024-01-01"]}
    assert {key for _, _, key in server.asked} == {"Bearer hw_secret"}


def case_not_ready_waits_elsewhere() -> None:
    Server(answer(False))
    deferred = raised(TaskDeferred, lambda: sensor(timeout=60).execute({"dag_run": RUN}))
    assert deferred.method_name == "resume"
    assert deferred.trigger.instances == {"reads": ["2024-01-01"]}
    assert 50 < deferred.trigger.until - time.time() <= 60


def case_a_server_that_is_down_is_asked_again() -> None:
    Server(DOWN)
    raised(TaskDeferred, lambda: sensor().execute({"dag_run": RUN}))
    server = Server(DOWN, answer(False), answer(False), answer(True))
    assert triggered()["outcome"] == "ready"
    # The first call finds out the instances; then the first question answers at once, so that the log says why it waits; the next wait for news.
    waits = [body.get("wait") for _, body, _ in server.asked]
    assert waits[:3] == [None, None, 0.0]
    assert [20 < wait <= 30 for wait in waits[3:]] == [True]


def case_an_unknown_entity_is_an_error_at_once() -> None:
    Server(UNKNOWN)
    assert "no entity 'reads'" in said_by(AirflowFailException, lambda: sensor().execute({"dag_run": RUN}))
    told = triggered()
    assert (told["outcome"], "no entity 'reads'" in told["message"]) == ("refused", True)
    raised(AirflowFailException, lambda: sensor(fail_open=True).resume({}, told))


def case_nothing_is_waited_for_for_ever() -> None:
    Server(answer(False))
    told = triggered(0.5, {"reads": ["2024-01-01"]})
    assert told["outcome"] == "timeout"
    assert "raw 2024-01-01: late" in told["message"]
    assert "raw 2024-01-01: late" in said_by(AirflowSensorTimeout, lambda: sensor().resume({}, told))
    assert sensor(fail_open=True).resume({}, told) is None


def case_what_is_overdue_is_not_waited_for() -> None:
    Server(answer(False, failed=True))
    began = time.monotonic()
    told = triggered(30.0, {"reads": ["2024-01-01"]})
    assert (told["outcome"], time.monotonic() - began < 20) == ("timeout", True)
    assert "overdue" in told["message"]


def case_a_callback_never_raises() -> None:
    Server(DOWN)
    makes = (Makes("reads"),)
    odd = SimpleNamespace(task_id="load", xcom_pull=lambda **_: {"seq": 1, "made": [{}]})
    for context in ({}, {"ti": None}, {"ti": SimpleNamespace(task_id="load"), "dag_run": None}, {"ti": odd}):
        for what in ("started", "produced", "failed"):
            Callback(what, makes, "load__ready")(context)


PLAN = "0199f3c2-0000-7000-8000-000000000001"


def exported(*producers: str) -> DAG:
    """A plan with two items of each, as the DAG that its text is."""
    items = [
        PlannedItem(number, "waiting", "rerun", producer, [Made("reads", ["2024"])], number // 2, [], "")
        for number, producer in enumerate(each for each in producers for _ in range(2))
    ]
    names: dict[str, Any] = {}
    exec(written(PLAN, airflow_of(PLAN, items), tasks(PLAN, items), parallel=3), names)
    made: DAG = names["end"].dag
    return made


def case_an_exported_plan_is_a_dag() -> None:
    dag = exported("airflow://prod/d'\"\n{{ 1 }}/\U0001f600", "airflow://prod/d/t")
    assert sorted(dag.task_dict) == ["d______1______0", "d_t_2", "end"], sorted(dag.task_dict)
    assert (dag.max_active_tasks, dag.max_active_runs, dag.schedule) == (3, 1, None)
    items = dag.task_dict["d_t_2"]
    assert items.expand_input.value == {"number": [2, 3]}
    assert (items.trigger_rule, items.retries, items.partial_kwargs["airflow"]) == ("all_done", 3, "prod")
    assert dag.task_dict["end"].upstream_task_ids == set(dag.task_dict) - {"end"}
    kept = DagSerialization.from_dict(json.loads(json.dumps(DagSerialization.to_dict(dag))))
    assert set(kept.task_dict) == set(dag.task_dict)


def item(**more: Any) -> PlanItem:
    with DAG("d", schedule=None, start_date=START):
        return PlanItem(task_id="i", plan=PLAN, number=0, **{"airflow": "airflow", **more})


def case_a_plan_of_another_airflow_is_refused() -> None:
    Server(DOWN)
    context = {"ti": SimpleNamespace(try_number=1)}
    told = said_by(AirflowFailException, lambda: item(airflow="prod").poke(context))
    assert "of the Airflow 'prod', and this one is named 'airflow'" in told


def case_an_item_is_asked_for_again_while_the_server_is_away() -> None:
    Server(DOWN)
    os.environ.pop("HEADWATER_AIRFLOW_URL", None)
    assert "set HEADWATER_AIRFLOW_URL" in said_by(AirflowFailException, lambda: item().poke({"ti": None}))
    os.environ["HEADWATER_AIRFLOW_URL"] = "http://127.0.0.1:9"
    assert item().poke({"ti": SimpleNamespace(try_number=1)}) is False
    Server((404, {"message": "there is no plan", "code": "not_found"}))
    assert (
        said_by(AirflowFailException, lambda: item().poke({"ti": SimpleNamespace(try_number=1)})) == "there is no plan"
    )


def case_the_end_of_a_plan() -> None:
    with DAG("d", schedule=None, start_date=START):
        end = PlanEnd(task_id="end", plan=PLAN, airflow="airflow")
    counts = {"items": 3, "done": 1, "skipped": 1, "failed": 1, "running": 0, "waiting": 0}
    work = (200, {"state": "failed", "items": [], "skipped": 0, "wait": False})
    server = Server(work, (200, {"plan": {"id": PLAN, "state": "failed", **counts}, "items": []}))
    assert said_by(AirflowFailException, lambda: end.poke({})) == "the plan is failed: 1 done, 1 skipped, 1 failed"
    assert (server.asked[0][1]["producers"], server.asked[0][2]) == ([], "Bearer hw_secret")
    Server(work, (200, {"plan": {"id": PLAN, "state": "done", **counts}, "items": []}))
    assert end.poke({}) is True


def main() -> None:
    found = {}
    for name, case in list(globals().items()):
        if not name.startswith("case_"):
            continue
        try:
            case()
        except Exception:  # noqa: BLE001 - the other cases go on
            found[name] = traceback.format_exc()
        else:
            found[name] = ""
    sys.__stdout__.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
