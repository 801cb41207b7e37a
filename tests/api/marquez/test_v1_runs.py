"""Runs and their facets, and the runs behind them."""

from typing import Any

import pytest
from tests.events import RUN, dataset, encoded, facet, parent, run_event

RUNS = "/api/v1/jobs/runs"
KEYS = {
    "id", "createdAt", "updatedAt", "nominalStartTime", "nominalEndTime", "state", "startedAt", "endedAt", "durationMs", "args",
    "jobVersion", "inputDatasetVersions", "outputDatasetVersions", "facets",
}  # fmt: skip


def send(client: Any, *events: dict[str, Any]) -> None:
    for event in events:
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201


def run(client: Any, number: int) -> dict[str, Any]:
    return dict(client.get(f"{RUNS}/{RUN.format(number)}").json())


def test_a_run_has_all_of_marquez_keys(client: Any) -> None:
    told = {
        **parent(7, "dag"),
        "nominalTime": facet(nominalStartTime="2020-02-22T22:00:00.000Z", nominalEndTime="2020-02-23T22:00:30Z"),
    }
    read = dataset("/in")
    read["inputFacets"] = {"dataQualityMetrics": facet(rowCount=3, columnMetrics={})}
    send(
        client,
        run_event("COMPLETE", 9, "before", [], ["/in"], at="2025-12-31T00:00:00Z"),
        run_event("START", 1, "task", [read], at="2026-01-01T00:00:00.201361Z", run_facets=told),
        run_event("COMPLETE", 1, "task", [], ["/out"], at="2026-01-01T00:00:02.201Z"),
    )
    one = run(client, 1)
    assert one.keys() == KEYS
    assert (one["createdAt"], one["updatedAt"]) == ("2026-01-01T00:00:00.201361Z", "2026-01-01T00:00:02.201Z")
    assert (one["startedAt"], one["endedAt"], one["durationMs"]) == (one["createdAt"], one["updatedAt"], 2000)
    assert (one["nominalStartTime"], one["nominalEndTime"]) == ("2020-02-22T22:00:00Z", "2020-02-23T22:00:30Z")
    assert one["args"] == {
        "nominal_start_time": "2020-02-22T22:00Z", "nominal_end_time": "2020-02-23T22:00:30Z",
        "run_id": RUN.format(7), "name": "dag", "namespace": "test",
    }  # fmt: skip
    assert (one["state"], one["jobVersion"]["name"]) == ("COMPLETED", "dag.task")
    (read,) = one["inputDatasetVersions"]
    assert read["facets"]["dataQualityMetrics"]["rowCount"] == 3
    before = run(client, 9)["outputDatasetVersions"][0]["datasetVersionId"]
    assert read["datasetVersionId"] == before == {"namespace": "file", "name": "/in", "version": before["version"]}
    assert one["facets"].keys() == {"parent", "nominalTime"}


@pytest.mark.parametrize(
    ("types", "state", "started", "ended"),
    [
        (["START"], "RUNNING", True, False),
        (["RUNNING"], "RUNNING", True, False),
        (["OTHER"], "RUNNING", True, False),
        ([None], "RUNNING", True, False),
        (["START", "COMPLETE"], "COMPLETED", True, True),
        (["START", "ABORT"], "ABORTED", True, True),
        (["START", "FAIL"], "FAILED", True, True),
        (["COMPLETE", "START"], "COMPLETED", True, True),
        (["COMPLETE"], "COMPLETED", False, True),
    ],
)
def test_states(client: Any, types: list[str | None], state: str, started: bool, ended: bool) -> None:
    send(client, *(run_event(type_, 1, "j", at=f"2026-01-01T00:0{i}:00Z") for i, type_ in enumerate(types)))
    one = run(client, 1)
    assert (one["state"], one["startedAt"] is not None, one["endedAt"] is not None) == (state, started, ended)
    assert (one["durationMs"] is not None) is (started and ended)


def test_a_run_only_heard_of_is_new(client: Any) -> None:
    send(client, run_event("START", 1, "task", run_facets=parent(7, "dag")))
    one = run(client, 7)
    assert (one["state"], one["startedAt"], one["jobVersion"], one["facets"]) == ("NEW", None, None, {})


def test_runs_of_a_job_newest_first_with_their_count(client: Any, statements: Any) -> None:
    for i in range(1, 13):
        at = f"2026-01-{i:02}T00:00:00Z"
        send(client, run_event("COMPLETE", i, "j", ["/in"], ["/out"], at=at, run_facets={"mine": facet(i=i)}))
    reply = client.get("/api/v1/namespaces/test/jobs/j/runs", limit=2, offset=1).json()
    assert ([one["id"] for one in reply["runs"]], reply["totalCount"]) == ([RUN.format(11), RUN.format(10)], 12)
    with statements() as few:
        client.get("/api/v1/namespaces/test/jobs/j/runs", limit=2)
    with statements() as many:
        reply = client.get("/api/v1/namespaces/test/jobs/j/runs").json()
    assert len(few) == len(many)
    assert [one["facets"]["mine"]["i"] for one in reply["runs"]] == list(range(12, 0, -1))


def test_a_child_counts_its_runs_under_its_full_name(client: Any) -> None:
    send(client, run_event("START", 1, "task", run_facets=parent(7, "dag")), run_event("COMPLETE", 1, "task"))
    reply = client.get("/api/v1/namespaces/test/jobs/dag.task/runs").json()
    assert (len(reply["runs"]), reply["totalCount"]) == (1, 1)


def test_run_ids_that_are_no_uuid(client: Any) -> None:
    send(client, run_event("START", "manual__2026", "j"))
    assert client.get(f"{RUNS}/manual__2026").json()["state"] == "RUNNING"


def test_facets_of_the_run_or_of_its_job(client: Any) -> None:
    facets = {"sql": facet(query="select 1")}
    send(
        client,
        run_event("START", 1, "j", run_facets={"a": facet(x=1), "b": facet(x=1)}, job_facets=facets),
        run_event("COMPLETE", 1, "j", at="2026-01-02T00:00:00Z", run_facets={"a": facet(x=2)}),
    )
    path = f"{RUNS}/{RUN.format(1)}/facets"
    of_run = client.get(path, type="run").json()
    assert of_run["runId"] == RUN.format(1)
    assert {name: body["x"] for name, body in of_run["facets"].items()} == {"a": 2, "b": 1}
    assert client.get(path, type="JOB").json()["facets"]["sql"]["query"] == "select 1"
    assert client.get(path, type="dataset").json() == {"runId": RUN.format(1), "facets": {}}
    assert client.get(path).json() == {"errors": ["query param type must not be null"]}
    assert client.get(path, type="x").json()["message"] == "query param type must be one of [RUN, JOB, DATASET]"


def test_what_is_not_there(client: Any) -> None:
    for path in (RUN.format(1), "x", f"{RUN.format(1)}/facets?type=run"):
        reply = client.get(f"{RUNS}/{path}")
        assert (reply.status_code, reply.json()["message"]) == (404, f"Run '{path.split('/')[0]}' not found.")


def upstream(client: Any, number: int, **more: Any) -> list[dict[str, Any]]:
    reply = client.get("/api/v1/runlineage/upstream", runId=RUN.format(number), **more)
    assert reply.status_code == 200, reply.text
    return list(reply.json()["runs"])


def test_upstream_runs_with_source_tables(client: Any) -> None:
    send(
        client,
        run_event("COMPLETE", 1, "a", ["/source"], ["/x"], at="2026-01-01T00:00:00Z"),
        run_event("COMPLETE", 2, "b", ["/x"], ["/y"], at="2026-01-02T00:00:00Z"),
        run_event("COMPLETE", 3, "c", ["/y", "/other"], ["/z"], at="2026-01-03T00:00:00Z"),
    )
    runs = upstream(client, 3)
    assert [one["run"]["id"] for one in runs] == [RUN.format(i) for i in (3, 2, 1)]
    assert [one["job"]["name"] for one in runs] == ["c", "b", "a"]
    assert runs[0]["run"].keys() == {"id", "start", "end", "status"}
    assert runs[0]["job"].keys() == {"namespace", "name", "version"}
    read = [{one["name"]: one["producedByRunId"] for one in run["inputs"]} for run in runs]
    assert read == [{"/other": None, "/y": RUN.format(2)}, {"/x": RUN.format(1)}, {"/source": None}]
    version = runs[0]["inputs"][1]["version"]
    assert client.get(f"/api/v1/namespaces/file/datasets/%2Fy/versions/{version}").status_code == 200
    assert [len(upstream(client, 3, depth=depth)) for depth in (0, 1, 2, 9)] == [1, 2, 3, 3]
    assert len(upstream(client, 1)) == 1


def test_upstream_of_a_run_that_reads_what_it_writes_ends(client: Any) -> None:
    for i in range(1, 4):
        send(client, run_event("COMPLETE", i, "merge", ["/t"], ["/t"], at=f"2026-01-0{i}T00:00:00Z"))
    assert [one["run"]["id"] for one in upstream(client, 3)] == [RUN.format(i) for i in (3, 2, 1)]


def test_upstream_refuses(client: Any) -> None:
    assert client.get("/api/v1/runlineage/upstream").json() == {"errors": ["query param runId must not be null"]}
    missing = client.get("/api/v1/runlineage/upstream", runId=RUN.format(9))
    assert (missing.status_code, missing.json()["message"]) == (404, f"Run '{RUN.format(9)}' not found.")
