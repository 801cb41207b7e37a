"""Nodes that people hid, and their notes, show or are absent in every answer."""

from typing import Any

import pytest
from tests.events import RUN, columns, dataset, encoded, facet, run_event, schema

FILE = "/api/v1/namespaces/file/datasets"


def send(client: Any, *events: dict[str, Any]) -> None:
    for event in events:
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201


@pytest.fixture
def chained(client: Any) -> Any:
    """/0 → j1 → /1 → j2 → /2, column c all along."""
    for i in (1, 2):
        out = dataset(f"/{i}", **schema("c"), **columns({"c": [(f"/{i - 1}", "c", "DIRECT:")]}))
        send(client, run_event("COMPLETE", i, f"j{i}", [f"/{i - 1}"], [out], at=f"2026-01-0{i}T00:00:00Z"))
    return client


def delete(client: Any, path: str) -> Any:
    reply = client._run(client._http.delete(path))
    assert reply.status_code == 200, reply.text
    return reply.json()


def ids(client: Any, path: str, **question: Any) -> set[str]:
    return {one["id"] for one in client.get(path, **question).json()["graph"]}


def test_a_hidden_dataset_is_in_no_list_and_no_graph(chained: Any) -> None:
    delete(chained, f"{FILE}/%2F1")
    assert [one["name"] for one in chained.get(FILE).json()["datasets"]] == ["/0", "/2"]
    assert chained.get(FILE).json()["totalCount"] == 2
    assert chained.get(f"{FILE}/%2F1").status_code == 404
    assert ids(chained, "/api/v1/lineage", nodeId="job:test:j2") >= {"job:test:j2", "dataset:file:/2"}
    assert "dataset:file:/1" not in ids(chained, "/api/v1/lineage", nodeId="job:test:j2")
    assert chained.get("/api/v1/namespaces/test/jobs/j2").json()["inputs"] == []
    shown = ids(chained, "/api/v1/column-lineage", nodeId="dataset:file:/2")
    assert not any("/1:c" in one for one in shown)
    assert chained.get("/api/v1/search", q="/1").json()["totalCount"] == 0
    assert chained.get(f"/api/v1/jobs/runs/{RUN.format(1)}").json()["outputDatasetVersions"] != []


def test_a_hidden_job_is_in_no_list_and_no_graph(chained: Any) -> None:
    delete(chained, "/api/v1/namespaces/test/jobs/j1")
    jobs = chained.get("/api/v1/jobs").json()
    assert ([one["name"] for one in jobs["jobs"]], jobs["totalCount"]) == (["j2"], 1)
    assert chained.get("/api/v1/namespaces/test/jobs/j1").status_code == 404
    assert "job:test:j1" not in ids(chained, "/api/v1/lineage", nodeId="dataset:file:/1")
    assert chained.get("/api/v1/lineage", nodeId="job:test:j1").status_code == 404
    assert chained.get(f"/api/v1/jobs/runs/{RUN.format(1)}").status_code == 200


def test_a_hidden_namespace_says_so(chained: Any) -> None:
    delete(chained, "/api/v1/namespaces/test")
    assert chained.get("/api/v1/namespaces/test").json()["isHidden"] is True
    assert chained.get("/api/v1/namespaces/test/jobs").json() == {"jobs": [], "totalCount": 0}


def test_tags_of_people_and_of_events_are_one_list(client: Any) -> None:
    told = dataset("/t", **schema("a"), tags=facet(tags=[{"key": "gold", "value": "true"}]))
    send(client, run_event("COMPLETE", 1, "j", [], [told]))
    for path in (
        f"{FILE}/%2Ft/tags/PII",
        f"{FILE}/%2Ft/fields/a/tags/KEY",
        "/api/v1/namespaces/test/jobs/j/tags/daily",
    ):
        assert client.post(path, b"").status_code == 200
    one = client.get(f"{FILE}/%2Ft").json()
    assert (one["tags"], one["fields"][0]["tags"]) == (["PII", "gold"], ["KEY"])
    (node,) = [
        n for n in client.get("/api/v1/lineage", nodeId="dataset:file:/t").json()["graph"] if n["type"] == "DATASET"
    ]
    assert (node["data"]["tags"], node["data"]["fields"][0]["tags"]) == (["PII", "gold"], ["KEY"])
    assert client.get(f"{FILE}/%2Ft/versions").json()["versions"][0]["tags"] == ["PII", "gold"]
    assert client.get("/api/v1/jobs").json()["jobs"][0]["tags"] == ["daily"]
    assert {"PII", "KEY", "daily", "gold"} <= {tag["name"] for tag in client.get("/api/v1/tags").json()["tags"]}
    delete(client, f"{FILE}/%2Ft/tags/gold")
    assert client.get(f"{FILE}/%2Ft").json()["tags"] == ["PII"]
