"""Marquez's writes: what they answer, what they refuse and how, and what the logs hold of them."""

import json
import uuid
from typing import Any

import pytest
from tests.events import dataset, facet, run_event, schema
from tests.fixtures.app import Client
from tests.fixtures.people import People

from headwater.intake.upkeep.rebuild import fingerprints, rebuild

RUN = "0199c0de-0000-7000-8000-000000000001"
NS = "s3://lake:1"


class Marquez:
    def __init__(self, people: People) -> None:
        self._people = people

    def __call__(self, method: str, *path: str, body: Any = None, status: int = 200, **query: Any) -> Any:
        response = self._people.call(method, "v1", *path, body=body, **query)
        assert response.status_code == status, (response.status_code, response.text)
        self.headers = response.headers
        return response.json() if response.content else None


@pytest.fixture
def marquez(people: People) -> Marquez:
    return Marquez(people)


TABLE = {
    "type": "DB_TABLE", "physicalName": "public.t", "sourceName": "lake", "description": "a table", "tags": ["PII"],
    "fields": [{"name": "id", "type": "INTEGER", "description": "the key", "tags": ["Key"]}, {"name": "email"}],
}  # fmt: skip
JOB = {
    "type": "BATCH", "inputs": [{"namespace": NS, "name": "t"}], "outputs": [{"namespace": NS, "name": "u"}],
    "location": "https://git.example.org/x", "description": "a job",
}  # fmt: skip


@pytest.fixture
def made(marquez: Marquez) -> Marquez:
    """A namespace with two datasets and a job between them."""
    marquez("PUT", "namespaces", NS, body={"ownerName": "ops", "description": "the lake"})
    marquez("PUT", "sources", "lake", body={"type": "S3", "connectionUrl": "s3://lake", "description": "all of it"})
    for name in ("t", "u"):
        marquez("PUT", "namespaces", NS, "datasets", name, body=TABLE)
    marquez("PUT", "namespaces", NS, "jobs", "j", body=JOB)
    return marquez


def test_a_namespace_is_made_and_named(marquez: Marquez) -> None:
    first = marquez("PUT", "namespaces", NS, body={"ownerName": "ops", "description": "the lake"})
    assert (first["name"], first["ownerName"], first["description"], first["isHidden"]) == (
        NS,
        "ops",
        "the lake",
        False,
    )
    assert marquez("PUT", "namespaces", NS, body={"ownerName": "eve"})["ownerName"] == "eve"
    assert marquez("GET", "namespaces", NS)["description"] == "the lake"
    assert NS in [one["name"] for one in marquez("GET", "namespaces")["namespaces"]]


def test_a_source_and_a_tag_are_made(marquez: Marquez) -> None:
    told = {"type": "S3", "connectionUrl": "s3://lake", "description": "all of it"}
    shown = marquez("PUT", "sources", "lake", body=told)
    assert {key: shown[key] for key in told} == told
    assert marquez("GET", "sources", "lake") == shown
    assert marquez("PUT", "tags", "Gold", body={"description": "the best"}) == {
        "name": "Gold",
        "description": "the best",
    }
    assert marquez("PUT", "tags", "Bare") == {"name": "Bare", "description": None}
    assert {"name": "Gold", "description": "the best"} in marquez("GET", "tags")["tags"]


def test_a_tag_with_values_keeps_them(marquez: Marquez, people: People) -> None:
    people.put("tags", "Tier", body={"type": "enum", "values": ["a"]})
    assert marquez("PUT", "tags", "TIER", body={"description": "how good"})["description"] == "how good"
    assert people.get("metadata", "tags", "tier")["schema"]["values"] == ["a"]


def test_a_dataset_is_told(made: Marquez) -> None:
    shown = made("GET", "namespaces", NS, "datasets", "t")
    assert (shown["type"], shown["sourceName"], shown["description"]) == ("DB_TABLE", "lake", "a table")
    assert shown["tags"] == ["PII"]
    assert shown["fields"] == [
        {"name": "id", "type": "INTEGER", "tags": ["Key"], "description": "the key"},
        {"name": "email", "type": None, "tags": [], "description": None},
    ]
    assert made("GET", "namespaces", NS, "datasets", "t", "versions")["totalCount"] == 1
    made("PUT", "namespaces", NS, "datasets", "t", body=TABLE)
    assert made("GET", "namespaces", NS, "datasets", "t", "versions")["totalCount"] == 1


def test_a_stream_is_told(made: Marquez) -> None:
    told = TABLE | {"type": "STREAM", "schemaLocation": "http://registry/1"}
    shown = made("PUT", "namespaces", NS, "datasets", "s", body=told)
    assert (shown["type"], shown["schemaLocation"]) == ("STREAM", "http://registry/1")


def test_a_job_is_told_with_what_it_reads_and_writes(made: Marquez) -> None:
    shown = made("GET", "namespaces", NS, "jobs", "j")
    assert (shown["type"], shown["location"], shown["description"]) == ("BATCH", JOB["location"], "a job")
    assert (shown["inputs"], shown["outputs"]) == (JOB["inputs"], JOB["outputs"])
    assert shown["labels"] == []
    shown = made("PUT", "namespaces", NS, "jobs", "j", body=JOB | {"type": "STREAM", "outputs": [], "tags": ["Hot"]})
    assert (shown["type"], shown["outputs"], shown["tags"]) == ("STREAM", [], ["Hot"])


def test_a_run_from_its_making_to_its_end(made: Marquez) -> None:
    told = {
        "id": RUN,
        "nominalStartTime": "2026-01-01T00:00:00Z",
        "nominalEndTime": "2026-01-02T00:00:00Z",
        "args": {"k": "v"},
    }
    shown = made("POST", "namespaces", NS, "jobs", "j", "runs", body=told, status=201)
    assert made.headers["location"] == f"/api/v1/jobs/runs/{RUN}"
    assert (shown["id"], shown["state"], shown["startedAt"]) == (RUN, "NEW", None)
    assert (shown["nominalStartTime"], shown["args"]["k"]) == ("2026-01-01T00:00:00Z", "v")
    shown = made("POST", "jobs", "runs", RUN, "start", at="2026-01-03T00:00:00Z")
    assert (shown["state"], shown["startedAt"]) == ("RUNNING", "2026-01-03T00:00:00Z")
    shown = made("PUT", "namespaces", NS, "jobs", "j", body=JOB | {"runId": RUN})
    assert shown["latestRun"]["id"] == RUN
    assert shown["latestRun"]["state"] == "RUNNING"
    made("PUT", "namespaces", NS, "datasets", "u", body=TABLE | {"runId": RUN})
    shown = made("POST", "jobs", "runs", RUN, "complete", at="2026-01-03T00:01:00Z")
    assert (shown["state"], shown["endedAt"], shown["durationMs"]) == ("COMPLETED", "2026-01-03T00:01:00Z", 60000)
    assert [v["datasetVersionId"]["name"] for v in shown["outputDatasetVersions"]] == ["u"]
    assert [v["datasetVersionId"]["name"] for v in shown["inputDatasetVersions"]] == ["t"]
    assert made("GET", "namespaces", NS, "datasets", "u", "versions")["versions"][0]["createdByRun"]["id"] == RUN


@pytest.mark.parametrize(("action", "state"), [("fail", "FAILED"), ("abort", "ABORTED")])
def test_a_run_ends_otherwise(made: Marquez, action: str, state: str) -> None:
    run = made("POST", "namespaces", NS, "jobs", "j", "runs", status=201)["id"]
    assert uuid.UUID(run).version == 7
    made("POST", "jobs", "runs", run, "start")
    assert made("POST", "jobs", "runs", run, action)["state"] == state


def test_tags_come_and_go(made: Marquez) -> None:
    where = ("namespaces", NS, "datasets", "t")
    assert made("POST", *where, "tags", "gold")["tags"] == ["PII", "gold"]
    assert made("DELETE", *where, "tags", "PII")["tags"] == ["gold"]
    shown = made("POST", *where, "fields", "email", "tags", "Personal")
    assert shown["fields"][1]["tags"] == ["Personal"]
    assert made("DELETE", *where, "fields", "email", "tags", "PERSONAL")["fields"][1]["tags"] == []
    assert made("POST", "namespaces", NS, "jobs", "j", "tags", "Hot")["tags"] == ["Hot"]
    assert made("DELETE", "namespaces", NS, "jobs", "j", "tags", "hot")["tags"] == []
    assert "gold" in [one["name"] for one in made("GET", "tags")["tags"]]


def test_a_tag_of_an_event_is_taken_away(client: Client, marquez: Marquez) -> None:
    told = dataset("/a", **schema("x"), tags=facet(tags=[{"key": "PII", "value": "true"}]))
    client.post("/api/v1/lineage", json.dumps(run_event("COMPLETE", 1, "one", [told])).encode())
    assert marquez("DELETE", "namespaces", "file", "datasets", "/a", "tags", "pii")["tags"] == []


def test_what_is_deleted_is_hidden_until_an_event_speaks_of_it(made: Marquez, client: Client) -> None:
    assert made("DELETE", "namespaces", NS, "datasets", "t")["name"] == "t"
    made("GET", "namespaces", NS, "datasets", "t", status=404)
    assert made("DELETE", "namespaces", NS, "datasets", "t", status=404) == {
        "code": 404,
        "message": "Dataset 't' not found.",
    }
    made("PUT", "namespaces", NS, "datasets", "t", body=TABLE)
    assert made("GET", "namespaces", NS, "datasets")["totalCount"] == 2
    assert made("DELETE", "namespaces", NS, "jobs", "j")["name"] == "j"
    assert made("GET", "namespaces", NS, "jobs")["jobs"] == []
    shown = made("DELETE", "namespaces", NS)
    assert shown["isHidden"] is False
    assert made("GET", "namespaces", NS)["isHidden"] is True
    assert made("GET", "namespaces", NS, "datasets")["totalCount"] == 0
    told = run_event("COMPLETE", 5, "j", [dataset("t", NS)], namespace=NS)
    assert client.post("/api/v1/lineage", json.dumps(told).encode()).status_code == 201
    assert made("GET", "namespaces", NS)["isHidden"] is False
    assert [one["name"] for one in made("GET", "namespaces", NS, "datasets")["datasets"]] == ["t"]
    made("DELETE", "namespaces", NS)
    assert made("PUT", "namespaces", NS, body={"ownerName": "ops"})["isHidden"] is False


@pytest.mark.parametrize(
    ("method", "path", "body", "errors"),
    [
        ("PUT", ("namespaces", "n"), {}, ["ownerName must not be null"]),
        ("PUT", ("namespaces", "n"), {"ownerName": " "}, ["ownerName must not be empty"]),
        ("PUT", ("sources", "s"), None, ["type must not be null", "connectionUrl must not be null"]),
        ("PUT", ("namespaces", NS, "datasets", "x"), {"type": "DB_TABLE", "sourceName": "lake"}, ["physicalName must not be null"]),
        ("PUT", ("namespaces", NS, "datasets", "x"), TABLE | {"type": "STREAM"}, ["schemaLocation must not be null"]),
        ("PUT", ("namespaces", NS, "datasets", "x"), TABLE | {"fields": [{}]}, ["fields[0].name must not be null"]),
        ("PUT", ("namespaces", NS, "jobs", "x"), {"type": "BATCH"}, ["inputs must not be null", "outputs must not be null"]),
        ("PUT", ("namespaces", NS, "jobs", "x"), JOB | {"inputs": [{"name": "t"}]}, ["inputs[0].namespace must not be null"]),
    ],
)  # fmt: skip
def test_a_body_that_lacks_something_is_unprocessable(
    made: Marquez, method: str, path: tuple[str, ...], body: Any, errors: list[str]
) -> None:
    assert made(method, *path, body=body, status=422) == {"errors": errors}


@pytest.mark.parametrize(
    ("method", "path", "body", "message"),
    [
        ("DELETE", ("namespaces", "none"), None, "Namespace 'none' not found."),
        ("PUT", ("namespaces", "none", "datasets", "x"), TABLE, "Namespace 'none' not found."),
        ("PUT", ("namespaces", NS, "datasets", "x"), TABLE | {"sourceName": "none"}, "Source 'none' not found."),
        ("PUT", ("namespaces", NS, "datasets", "x"), TABLE | {"runId": RUN}, f"Run '{RUN}' not found."),
        ("PUT", ("namespaces", "none", "jobs", "x"), JOB, "Namespace 'none' not found."),
        ("PUT", ("namespaces", NS, "jobs", "x"), JOB | {"inputs": [{"namespace": NS, "name": "none"}]}, "Dataset 'none' not found."),
        ("PUT", ("namespaces", NS, "jobs", "x"), JOB | {"runId": RUN}, f"Run '{RUN}' not found."),
        ("POST", ("namespaces", NS, "datasets", "none", "tags", "x"), None, "Dataset 'none' not found."),
        ("POST", ("namespaces", NS, "datasets", "t", "fields", "none", "tags", "x"), None, "Field 'none' not found for dataset 't'."),
        ("POST", ("namespaces", NS, "jobs", "none", "tags", "x"), None, "Job 'none' not found."),
        ("DELETE", ("namespaces", NS, "jobs", "none"), None, "Job 'none' not found."),
        ("POST", ("namespaces", NS, "jobs", "none", "runs"), {}, "Job 'none' not found."),
        ("POST", ("namespaces", "none", "jobs", "j", "runs"), {}, "Namespace 'none' not found."),
        ("POST", ("jobs", "runs", RUN, "start"), None, f"Run '{RUN}' not found."),
    ],
)  # fmt: skip
def test_what_has_no_parent_is_not_found(
    made: Marquez, method: str, path: tuple[str, ...], body: Any, message: str
) -> None:
    assert made(method, *path, body=body, status=404) == {"code": 404, "message": message}


def test_what_makes_no_sense_is_refused(made: Marquez) -> None:
    runs = ("namespaces", NS, "jobs", "j", "runs")
    made("POST", *runs, body={"id": RUN}, status=201)
    again = made("POST", *runs, body={"id": RUN}, status=400)
    assert again == {"code": 400, "message": f"Run '{RUN}' already exists for 'j' under namespace '{NS}'."}
    made("POST", *runs, body={"id": "x"}, status=400)
    made("POST", "jobs", "runs", RUN, "start", at="yesterday", status=400)
    made("PUT", "namespaces", NS, "jobs", "x", body=JOB | {"type": "NONE"}, status=400)
    made("PUT", "namespaces", NS, body=["x"], status=400)
    assert made("GET", "jobs", "runs", RUN)["state"] == "NEW"
    other = made("PUT", "namespaces", NS, "jobs", "k", body=JOB | {"runId": RUN}, status=404)
    assert other["message"] == f"Run '{RUN}' not found."


def test_a_rebuild_makes_all_of_it_again(made: Marquez, database: Any, run: Any) -> None:
    made("POST", "namespaces", NS, "jobs", "j", "runs", body={"id": RUN}, status=201)
    made("DELETE", "namespaces", NS, "datasets", "u")
    before, shown = run(fingerprints(database)), made("GET", "namespaces", NS, "datasets", "t")
    run(rebuild(database))
    assert run(fingerprints(database)) == before
    assert made("GET", "namespaces", NS, "datasets", "t") == shown
    made("PUT", "namespaces", NS, "datasets", "u", body=TABLE)
    assert made("GET", "namespaces", NS, "datasets")["totalCount"] == 2


def test_who_said_it_is_in_the_audit(made: Marquez, people: People) -> None:
    said = people.get("changes", target=f"namespace:{NS}")["changes"]
    assert {(one["action"], one["author"]) for one in said} == {
        ("name_namespace", "anonymous"),
        ("describe", "anonymous"),
    }
