"""A malformed entry of a facet is left out and named in the receipt with its place; the entries beside it have their effect."""

from typing import Any

import pytest
from tests.api.lineage.test_both_ends import column_ends, reached
from tests.events import dataset, encoded, facet, run_event, schema
from tests.fixtures.app import Client

A = {"namespace": "file", "name": "/a", "field": "x"}


def receive(client: Client, event: dict[str, Any]) -> dict[str, str]:
    """Send an event; return the places and messages of the receipt's warnings of facets in part, and fail on any that is not understood."""
    reply = client.post("/api/v1/lineage", encoded(event))
    assert reply.status_code == 201, reply.text
    warnings = [one for one in reply.json()["warnings"] if one["code"].startswith("facet_")]
    assert [one["code"] for one in warnings] == ["facet_in_part"] * len(warnings)
    return {one["where"]: one["message"] for one in warnings}


def ran(inputs: list[Any], outputs: list[Any], **more: Any) -> dict[str, Any]:
    return run_event("COMPLETE", 1, "j", inputs, outputs, **more)


def target(name: str, *inputs: Any) -> dict[str, Any]:
    return {"type": "DATASET", "namespace": "file", "name": name, "inputs": list(inputs)}


LINEAGE = {
    "an entry": ([5, target("/c", {"type": "DATASET", **A})], "entries[0]: "),
    "an entry without a name": ([{"type": "DATASET", "namespace": "file", "inputs": []}, target("/c", {"type": "DATASET", **A})], "entries[0]: a DATASET target needs"),
    "an input": ([target("/c", {"type": "DATASET", **A}, 7)], "entries[0].inputs[1]: "),
    "an input without a name": ([target("/c", {"type": "DATASET", "name": "/b"}, {"type": "DATASET", **A})], "entries[0].inputs[0]: a DATASET input needs"),
    "half a job": ([target("/c", {"type": "DATASET", **A}, {"type": "JOB", "namespace": "test"})], "entries[0].inputs[1]: a JOB input needs"),
    "a transformation": ([target("/c", {"type": "DATASET", **A, "transformations": [3]})], "entries[0].inputs[0].transformations[0]: "),
    "a field": ([{**target("/c"), "inputs": None, "fields": {"y": 7, "x": {"inputs": [{"type": "DATASET", **A}]}}}], "entries[0].fields.y: "),
    "an input of a field": ([{**target("/c"), "inputs": None, "fields": {"x": {"inputs": [7, {"type": "DATASET", **A}]}}}], "entries[0].fields.x.inputs[0]: "),
}  # fmt: skip


@pytest.mark.parametrize("name", LINEAGE)
def test_explicit_lineage_keeps_its_right_entries(client: Client, name: str) -> None:
    entries, place = LINEAGE[name]
    warnings = receive(client, ran([], [], job_facets={"lineage": facet(entries=entries)}))
    assert place in warnings["job.facets.lineage"]
    assert reached(client, "/c", "upstream") == {"/a"}
    assert reached(client, "/a", "downstream") == {"/c"}


@pytest.mark.parametrize("odd", [4, {"namespace": "file", "field": "x"}])
def test_column_lineage_keeps_its_right_inputs(client: Client, odd: Any) -> None:
    fields = {"x": {"inputFields": [odd, A]}, "y": odd, "z": {"inputFields": [A | {"transformations": [odd]}]}}
    out = dataset("/c", **schema("x", "y", "z"), columnLineage=facet(fields=fields))
    message = receive(client, ran([dataset("/a", **schema("x"))], [out]))["facets.columnLineage"]
    assert "fields.x.inputFields[0]" in message
    assert [column_ends(client, "/c", field, "upstream") for field in "xz"] == [{("/a", "x")}] * 2
    assert column_ends(client, "/a", "x", "downstream") == {("/c", "x"), ("/c", "z")}


def test_symlinks_keep_their_right_names(client: Client) -> None:
    links = facet(identifiers=[{"name": "/b"}, {"namespace": "file", "name": "/d", "type": "TABLE"}])
    warnings = receive(client, ran([], [dataset("/c", symlinks=links)]))
    assert "identifiers[0]: " in warnings["facets.symlinks"]
    assert client.get("/api/v2/lineage", node="dataset:file:/d").json()["nodes"]


@pytest.mark.parametrize("odd", [5, {"success": True}, {"assertion": "x", "success": "true"}])
def test_checks_keep_their_right_results(client: Client, odd: Any) -> None:
    right = {"assertion": "not_null", "column": "x", "success": False, "severity": 5}
    written = dataset("/c", dataQualityAssertions=facet(assertions=[odd, right]))
    tests = facet(tests=[5, {"name": "total", "status": "fail"}])
    warnings = receive(client, ran([], [written], run_facets={"test": tests}))
    assert "assertions[0]" in warnings["dataQualityAssertions"]
    assert "tests[0]" in warnings["run.facets.test"]
    (incident,) = client.get("/api/v2/open-incidents").json()["incidents"]
    assert incident["text"] == "check not_null(x) failed; check total failed"


def test_tags_owners_and_columns_keep_their_right_entries(client: Client) -> None:
    listed = {
        "tags": facet(tags=[{"key": 5}, {"key": "gold", "value": True}]),
        "ownership": facet(owners=["x", {"name": "team:web"}]),
    }
    out = dataset("/c", **listed, schema=facet(fields=[{"type": "int"}, {"name": "x", "type": "int"}]))
    warnings = receive(client, ran([], [out], job_facets=listed, run_facets={"tags": listed["tags"]}))
    assert set(warnings) == {
        "facets.tags", "facets.ownership", "facets.schema", "job.facets.tags", "job.facets.ownership", "run.facets.tags",
    }  # fmt: skip
    found = client.get("/api/v2/datasets", tag="gold").json()
    assert [one["name"] for one in found["datasets"]] == ["/c"]
    assert [one["name"] for one in client.get("/api/v2/jobs", owner="team:web").json()["jobs"]] == ["j"]
    assert client.get("/api/v2/runs", label="tag:gold=true").json()["runs"]


def test_dependencies_dashboards_and_times_keep_their_right_parts(client: Client) -> None:
    upstream = [{"job": 5}, {"job": {"namespace": "test", "name": "first"}}]
    run_facets = {
        "jobDependencies": facet(upstream=upstream),
        "nominalTime": facet(nominalStartTime="2026-01-01T00:00:00Z", nominalEndTime="tomorrow"),
    }
    exposures = facet(exposures=[7, {"unique_id": "exposure.shop.board", "type": "dashboard"}])
    warnings = receive(client, ran([], [dataset("/c", dbt_exposures=exposures)], run_facets=run_facets))
    assert set(warnings) == {"run.facets.jobDependencies", "facets.dbt_exposures", "run.facets.nominalTime"}
    assert "upstream[0].job: " in warnings["run.facets.jobDependencies"]
    assert client.get("/api/v2/lineage", node="dataset:test:exposure.shop.board").json()["nodes"]
    assert client.get("/api/v2/runs").json()["runs"][0]["nominal_start"].startswith("2026-01-01")


def test_a_facet_of_which_nothing_is_right_is_not_understood(client: Client) -> None:
    body = encoded(ran(["/a"], ["/c"], job_facets={"lineage": facet(entries=[5, {"type": "DATASET"}])}))
    warnings = client.post("/api/v1/lineage", body).json()["warnings"]
    assert [one["code"] for one in warnings if one["where"] == "job.facets.lineage"] == ["facet_not_understood"]
    assert reached(client, "/c", "upstream") == {"/a"}
