"""Marquez's behaviour to the letter, where clients depend on it and it is no fault of Marquez."""

import itertools
from typing import Any

import pytest
from tests.events import RUN, columns, dataset, encoded, facet, run_event, schema
from tests.fixtures.app import Client

NS = "/api/v1/namespaces/shop"


class Writes:
    """Marquez's deprecated writes."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def put(self, path: str, **body: Any) -> dict[str, Any]:
        reply = self.client._run(self.client._http.put(path, json=body))
        assert reply.status_code == 200, reply.text
        return reply.json()  # type: ignore[no-any-return]

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        reply = self.client._run(self.client._http.post(path, json=body))
        assert reply.status_code in {200, 201}, reply.text
        return reply.json()  # type: ignore[no-any-return]


@pytest.fixture
def writes(client: Client) -> Writes:
    """A namespace with a source and two tables."""
    found = Writes(client)
    found.put(NS, ownerName="ann")
    found.put("/api/v1/sources/warehouse", type="POSTGRESQL", connectionUrl="postgres://w:5432")
    for name in ("orders", "totals"):
        found.put(
            f"{NS}/datasets/{name}",
            type="DB_TABLE",
            physicalName=name,
            sourceName="warehouse",
            fields=[{"name": "id", "type": "INT"}],
        )
    return found


def test_a_declared_job_keeps_its_inputs_and_outputs_when_it_runs(writes: Writes, client: Client) -> None:
    sides = {"inputs": [{"namespace": "shop", "name": "orders"}], "outputs": [{"namespace": "shop", "name": "totals"}]}
    writes.put(f"{NS}/jobs/sum", type="BATCH", **sides)
    made = writes.post(f"{NS}/jobs/sum/runs")
    for action in ("start", "complete"):
        writes.post(f"/api/v1/jobs/runs/{made['id']}/{action}")
    job = client.get(f"{NS}/jobs/sum").json()
    assert (job["inputs"], job["outputs"]) == (sides["inputs"], sides["outputs"])
    newest = client.get(f"{NS}/jobs/sum/versions").json()["versions"][0]
    assert (newest["inputs"], newest["outputs"]) == (sides["inputs"], sides["outputs"])
    assert newest["version"] == job["currentVersion"]
    run = client.get(f"/api/v1/jobs/runs/{made['id']}").json()
    assert [one["datasetVersionId"]["name"] for one in run["inputDatasetVersions"]] == ["orders"]
    assert run["jobVersion"]["version"] == newest["version"]


def test_the_parent_of_old_airflow_names_the_dag_by_the_task(client: Client) -> None:
    """openlineage-airflow before 1.0: the parent's run id is Airflow's, and its job is the task's own."""
    told = {"run": {"runId": "scheduled__2026-01-01T00:00:00+00:00"}, "job": {"namespace": "test", "name": "dag.task"}}
    event = run_event("COMPLETE", 1, "dag.task", ["/in"], ["/out"], run_facets={"parentRun": facet(**told)})
    assert client.post("/api/v1/lineage", encoded(event)).status_code == 201
    job = client.get("/api/v1/namespaces/test/jobs/dag.task").json()
    assert (job["name"], job["simpleName"], job["parentJobName"]) == ("dag.task", "task", "dag")
    shown = client.get("/api/v2/jobs/test/dag.task").json()
    assert shown["parent"] == "job:test:dag"
    assert client.get(f"/api/v2/runs/{RUN.format(1)}").json()["parent"]["job"] == "job:test:dag"


def test_a_streams_schema_location_makes_a_version(writes: Writes, client: Client) -> None:
    told = {
        "type": "STREAM",
        "physicalName": "clicks",
        "sourceName": "warehouse",
        "fields": [{"name": "id", "type": "INT"}],
    }
    first = writes.put(f"{NS}/datasets/clicks", **told, schemaLocation="http://registry/clicks/1")
    again = writes.put(f"{NS}/datasets/clicks", **told, schemaLocation="http://registry/clicks/1")
    second = writes.put(f"{NS}/datasets/clicks", **told, schemaLocation="http://registry/clicks/2")
    assert first["currentVersion"] == again["currentVersion"] != second["currentVersion"]
    versions = client.get(f"{NS}/datasets/clicks/versions").json()["versions"]
    assert [one["schemaLocation"] for one in versions] == ["http://registry/clicks/2", "http://registry/clicks/1"]


@pytest.mark.parametrize(
    "change",
    [
        {"run": {"runId": None}},
        {"job": {"namespace": None, "name": "j"}},
        {"job": {"namespace": "test", "name": None}},
        {"inputs": [{"namespace": "file", "name": None}]},
    ],
    ids=["run id", "namespace", "name", "input"],
)
def test_null_ids_are_answered_as_documented(client: Client, change: dict[str, Any]) -> None:
    reply = client.post("/api/v1/lineage", encoded(run_event("COMPLETE", 1, "j") | change))
    if "inputs" in change:
        assert (reply.status_code, [one["code"] for one in reply.json()["warnings"]]) == (201, ["dataset_without_name"])
    else:
        assert (reply.status_code, reply.json()["code"]) == (400, "invalid_event")


def test_the_order_of_column_edges_does_not_depend_on_arrival(client: Client, database: Any, run: Any) -> None:
    from tests.fixtures.postgres import empty

    fields = {name: [(f"/in{n}", "x", "DIRECT:IDENTITY") for n in range(3)] for name in "cab"}
    some = [
        run_event("COMPLETE", n, f"j{n}", [], [dataset("/out", **schema(*"abc"), **columns(fields))]) for n in range(3)
    ]
    answers = []
    for order in itertools.islice(itertools.permutations(some), 0, None, 2):
        run(empty(database))
        for event in order:
            assert client.post("/api/v1/lineage", encoded(event)).status_code == 201
        answer = client.get("/api/v2/lineage", node="dataset:file:/out", columns="true").json()
        answers.append((answer["column_edges"], answer["edges"]))
    assert answers.count(answers[0]) == len(answers)
