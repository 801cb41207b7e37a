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
    ("change", "errors"),
    [
        ({"run": {"runId": None}}, ["run.runId must not be null"]),
        ({"run": {}}, ["run.runId must not be null"]),
        ({"job": {"namespace": None, "name": "j"}}, ["job.namespace must not be null"]),
        ({"job": {"namespace": "test", "name": None}}, ["job.name must not be null"]),
        ({"job": None}, ["job must not be null"]),
        ({"run": None, "job": None}, ["run must not be null", "job must not be null"]),
        (
            {"run": None, "job": None, "dataset": {"name": "t", "namespace": None}},
            ["dataset.namespace must not be null"],
        ),
    ],
)
def test_an_event_without_identity_is_unprocessable(client: Client, change: dict[str, Any], errors: list[str]) -> None:
    reply = client.post("/api/v1/lineage", encoded(run_event("COMPLETE", 1, "j") | change))
    assert (reply.status_code, reply.json()["errors"], reply.json()["code"]) == (422, errors, "invalid_event")
    assert client.post("/api/v1/lineage", b"no json").status_code == 400


@pytest.mark.parametrize(
    ("facets", "code"),
    [
        ({"schema": facet(fields=[{"name": None, "type": "INT"}])}, "facet_not_understood"),
        ({"schema": facet(fields="id")}, "facet_not_understood"),
        ({"schema": facet(fields=[{"type": "INT"}, {"name": "id"}])}, "facet_in_part"),
        ({"schema": []}, "wrong_type"),
    ],
)
def test_an_event_with_an_invalid_schema_is_stored_with_a_warning(
    client: Client, facets: dict[str, Any], code: str
) -> None:
    """Marquez answers 422 to the first three; the lineage of the event would be lost for a facet."""
    reply = client.post("/api/v1/lineage", encoded(run_event("COMPLETE", 1, "j", ["/in"], [dataset("/t", **facets)])))
    assert (reply.status_code, [one["code"] for one in reply.json()["warnings"]]) == (201, [code])
    job = client.get("/api/v1/namespaces/test/jobs/j").json()
    assert [one["name"] for one in job["outputs"]] == ["/t"]


def test_an_input_without_a_name_is_left_out_with_a_warning(client: Client) -> None:
    event = run_event("COMPLETE", 1, "j") | {"inputs": [{"namespace": "file", "name": None}]}
    reply = client.post("/api/v1/lineage", encoded(event))
    assert (reply.status_code, [one["code"] for one in reply.json()["warnings"]]) == (201, ["dataset_without_name"])


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


def test_a_version_has_the_facets_of_its_readers(client: Client) -> None:
    """Marquez keeps `inputFacets`, and the facets of an input, with the version that was read: its page shows the quality of a table by them."""

    def read(run: int, at: str, rows: int, passed: bool, job: str = "check") -> dict[str, Any]:
        checks = facet(assertions=[{"assertion": "not_null", "success": passed, "column": "id"}])
        input_ = dataset("/t", **schema("id"), storage=facet(storageLayer=f"layer {run}"))
        input_["inputFacets"] = {"dataQualityAssertions": checks, "inputStatistics": facet(rowCount=rows)}
        return run_event("COMPLETE", run, job, [input_], at=f"2026-01-01T0{at}:00Z")

    def written(run: int, at: str) -> dict[str, Any]:
        return run_event(
            "COMPLETE", run, "write", [], [dataset("/t", **schema("id", "name"))], at=f"2026-01-01T0{at}:00Z"
        )

    for event in (
        written(1, "1:00"),
        read(2, "2:00", 10, False),
        read(3, "2:30", 11, True),
        written(4, "3:00"),
        read(5, "4:00", 20, False),
        read(6, "4:30", 30, True, job="other"),
    ):
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201
    path = "/api/v1/namespaces/file/datasets/%2Ft"
    newest, oldest = client.get(f"{path}/versions").json()["versions"]
    counts = [one["facets"]["inputStatistics"]["rowCount"] for one in (newest, oldest)]
    passed = [one["facets"]["dataQualityAssertions"]["assertions"][0]["success"] for one in (newest, oldest)]
    layers = [one["facets"]["storage"]["storageLayer"] for one in (newest, oldest)]
    assert (counts, passed, layers) == ([30, 11], [True, True], ["layer 6", "layer 3"])
    assert [field["name"] for field in newest["facets"]["schema"]["fields"]] == ["id", "name"]
    current = client.get(path).json()
    assert current["facets"]["inputStatistics"]["rowCount"] == 30
    assert client.get(f"{path}/versions/{oldest['version']}").json()["facets"] == oldest["facets"]
    (listed,) = client.get("/api/v1/namespaces/file/datasets").json()["datasets"]
    assert listed["facets"] == current["facets"]


def test_a_dataset_that_is_only_read_has_the_facets_of_its_readers(client: Client) -> None:
    input_ = dataset("/t", **schema("id")) | {"inputFacets": {"inputStatistics": facet(rowCount=7)}}
    assert client.post("/api/v1/lineage", encoded(run_event("COMPLETE", 1, "read", [input_]))).status_code == 201
    path = "/api/v1/namespaces/file/datasets/%2Ft"
    (version,) = client.get(f"{path}/versions").json()["versions"]
    assert (
        version["facets"]["inputStatistics"]["rowCount"]
        == client.get(path).json()["facets"]["inputStatistics"]["rowCount"]
        == 7
    )
