"""An Airflow DAG from which one `>>` is removed: the missing dependency, and the runs in which luck decided."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from tests.api.usage.measures import send
from tests.events import facet
from typer.testing import CliRunner

from headwater.cli.program import program

N = "airflow"
TASKS = {"load": ["clean"], "clean": [], "report": ["mail"], "mail": []}  # clean >> report is not there
DATA = {"load": ([], ["raw"]), "clean": (["raw"], ["clean"]), "report": (["clean"], ["report"]), "mail": ([], [])}


SERIALISED = Path(__file__).parents[2] / "cases/airflow/nightly-serialised.json"
"""As Airflow 3.3.2 itself wrote it: `load >> clean`, `report >> mail`."""


def run(number: int) -> str:
    return f"0199d000-0000-7000-8000-{number:012x}"


def event(
    kind: str, job: str, number: int, at: str, parent: int | None = None, facets: Any = None, data: Any = ((), ())
) -> dict[str, Any]:
    more = (
        {} if parent is None else {"parent": facet(run={"runId": run(parent)}, job={"namespace": N, "name": "nightly"})}
    )
    inputs, outputs = ([{"namespace": "wh", "name": name} for name in names] for names in data)
    return {
        "eventType": kind, "eventTime": f"2026-03-{at}Z", "producer": "airflow", "run": {"runId": run(number), "facets": more},
        "job": {"namespace": N, "name": job, "facets": facets or {}}, "inputs": inputs, "outputs": outputs,
    }  # fmt: skip


def dag(day: int, clean_ends: str) -> list[dict[str, Any]]:
    """A run of the DAG, with events as Airflow's provider sends them; report begins at 01:00."""
    own = {
        "airflow": facet(
            taskTree={}, tasks={name: {"operator": "x", "downstream_task_ids": after} for name, after in TASKS.items()}
        )
    }
    at = f"{day:02}T"
    found = [event("START", "nightly", day * 100, f"{at}00:00:00", facets=own)]
    times = {
        "load": ("00:01:00", "00:10:00"),
        "clean": ("00:11:00", clean_ends),
        "report": ("01:00:00", "01:10:00"),
        "mail": ("01:11:00", "01:12:00"),
    }
    for number, (task, (began, ended)) in enumerate(times.items(), 1):
        for kind, when in (("START", began), ("COMPLETE", ended)):
            found.append(event(kind, f"nightly.{task}", day * 100 + number, at + when, day * 100, data=DATA[task]))
    return [*found, event("COMPLETE", "nightly", day * 100, f"{at}02:00:00", facets=own)]


EVENTS = [
    one for day, ends in ((1, "00:30:00"), (2, "00:59:59"), (3, "01:30:00"), (4, "00:40:00")) for one in dag(day, ends)
]


def ask(client: Any, status: int = 200, **question: Any) -> Any:
    reply = client.post("/api/v2/task-order", json.dumps(question).encode(), content_type="application/json")
    assert reply.status_code == status, reply.text
    return reply.json()


def test_the_missing_dependency_and_the_runs_in_which_luck_decided(client: Any) -> None:
    send(client, *EVENTS)
    found = ask(client, node=f"job:{N}:nightly")
    (missing,) = found["missing"]
    assert (missing["writer"], missing["reader"], missing["datasets"]) == ("clean", "report", ["dataset:wh:clean"])
    assert (missing["runs"], missing["lucky"]) == (4, 3)
    assert [(one["run"], one["lucky"]) for one in missing["races"]] == [
        (run(300), False),
        (run(400), True),
        (run(200), True),
        (run(100), True),
    ]
    assert (found["backward"], found["needless"], found["unreported"], found["undeclared"]) == ([], [], ["mail"], [])


def deeper(grouped: bool) -> list[dict[str, Any]]:
    """Return the events of the DAG with the data of `clean` told by a query below it alone; `grouped`: and `clean` in a group that is a job."""
    name, above = ("stage.clean", "nightly.stage") if grouped else ("clean", "nightly")
    found = []
    for one in EVENTS:
        if one["job"]["name"] != "nightly.clean":
            found.append(
                json.loads(
                    json.dumps(one).replace('"clean": {', f'"{name}": {{').replace('["clean"]}', f'["{name}"]}}')
                )
            )
            continue
        run_, dag_run = one["run"]["runId"], one["run"]["facets"]["parent"]["run"]["runId"]
        group = run(int(run_[-12:], 16) + 50)
        task = one | {"job": one["job"] | {"name": f"nightly.{name}"}, "inputs": [], "outputs": []}
        if grouped:
            between = {"parent": facet(run={"runId": dag_run}, job={"namespace": N, "name": "nightly"})}
            found.append(
                task
                | {"job": {"namespace": N, "name": above, "facets": {}}, "run": {"runId": group, "facets": between}}
            )
            task["run"] = {
                "runId": run_,
                "facets": {"parent": facet(run={"runId": group}, job={"namespace": N, "name": above})},
            }
        query = {"parent": facet(run={"runId": run_}, job={"namespace": N, "name": f"nightly.{name}"})}
        low = {"runId": run(int(run_[-12:], 16) + 70), "facets": query}
        found += [task, one | {"job": {"namespace": N, "name": f"nightly.{name}.query", "facets": {}}, "run": low}]
    return found


@pytest.mark.parametrize("grouped", [False, True], ids=["a query below", "in a group"])
def test_data_below_a_task_is_the_task_s(client: Any, grouped: bool) -> None:
    name = "stage.clean" if grouped else "clean"
    send(client, *deeper(grouped))
    found = ask(client, node=f"job:{N}:nightly")
    (missing,) = found["missing"]
    assert (missing["writer"], missing["reader"], missing["runs"], missing["lucky"]) == (name, "report", 4, 3)
    assert (found["backward"], found["needless"], found["unreported"]) == ([], [], ["mail"])
    assert found["undeclared"] == []


def test_an_order_that_is_given_is_taken(client: Any) -> None:
    send(client, *EVENTS)
    whole = TASKS | {"clean": ["report"]}
    assert ask(client, node=f"job:{N}:nightly", tasks=whole)["missing"] == []
    reversed_ = {"load": ["clean"], "report": ["clean", "mail"]}
    found = ask(client, node=f"job:{N}:nightly", tasks=reversed_)
    assert [(one["writer"], one["reader"]) for one in found["backward"]] == [("clean", "report")]
    assert found["needless"] == [{"before": "report", "after": "clean"}]


def test_a_job_without_an_order_says_what_to_give(client: Any) -> None:
    send(client, *EVENTS)
    assert "--serialized" in ask(client, 404, node=f"job:{N}:nightly.load")["message"]
    ask(client, 400, node="dataset:wh:raw")


@pytest.mark.parametrize("shape", ["serialised", "api"])
def test_the_command(server_url: str, tmp_path: Path, shape: str) -> None:
    body = json.dumps(EVENTS).encode()
    urllib.request.urlopen(urllib.request.Request(f"{server_url}/api/v1/lineage/batch", body), timeout=10).close()
    tasks = [{"task_id": name, "downstream_task_ids": after} for name, after in TASKS.items()]
    told = SERIALISED.read_text(encoding="utf-8") if shape == "serialised" else json.dumps({"tasks": tasks})
    (tmp_path / "dag.json").write_text(told)
    words = ["order", "nightly", "--serialized", str(tmp_path / "dag.json"), "--url", server_url]
    done = CliRunner().invoke(program, [*words, "--check"])
    assert done.exit_code == 3, done.output
    assert "clean >> report: no dependency is declared" in done.output
    assert "3 of 4 runs had the right order" in done.output
    (tmp_path / "dag.json").write_text("[]")
    assert CliRunner().invoke(program, words).exit_code != 0
