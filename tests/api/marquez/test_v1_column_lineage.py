"""The column lineage of Marquez's API."""

from typing import Any

import pytest
from tests.events import columns, dataset, encoded, facet, run_event, schema


def send(client: Any, *events: dict[str, Any]) -> None:
    for event in events:
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201


def chain(client: Any, length: int) -> None:
    """/0.c → /1.c → /2.c …, and x beside it."""
    for i in range(1, length + 1):
        out = dataset(f"/{i}", **schema("c", "x"), **columns({"c": [(f"/{i - 1}", "c", "DIRECT:IDENTITY")]}))
        send(client, run_event("COMPLETE", i, f"j{i}", [f"/{i - 1}"], [out], at=f"2026-01-{i:02}T00:00:00Z"))


def graph(client: Any, node: str, **more: Any) -> dict[str, dict[str, Any]]:
    reply = client.get("/api/v1/column-lineage", nodeId=node, **more)
    assert reply.status_code == 200, reply.text
    nodes = reply.json()["graph"]
    assert [one["id"] for one in nodes] == sorted(one["id"] for one in nodes)
    return {one["id"].removeprefix("datasetField:file:"): one for one in nodes}


def test_a_node_has_marquez_keys_and_its_in_edges_the_wrong_way_round(client: Any) -> None:
    chain(client, 2)
    nodes = graph(client, "datasetField:file:/1:c", withDownstream="true")
    middle = nodes["/1:c"]
    assert middle.keys() == {"id", "type", "data", "inEdges", "outEdges"}
    assert middle["type"] == "DATASET_FIELD"
    version = client.get("/api/v1/namespaces/file/datasets/%2F1").json()["currentVersion"]
    source = client.get("/api/v1/namespaces/file/datasets/%2F0").json()["currentVersion"]
    assert middle["data"] == {
        "namespace": "file",
        "dataset": "/1",
        "datasetVersion": version,
        "field": "c",
        "fieldType": "string",
        "transformationDescription": None,
        "transformationType": "IDENTITY",
        "inputFields": [
            {
                "namespace": "file",
                "dataset": "/0",
                "datasetVersion": source,
                "field": "c",
                "transformationDescription": None,
                "transformationType": "IDENTITY",
            }
        ],
    }
    me, above, below = "datasetField:file:/1:c", "datasetField:file:/0:c", "datasetField:file:/2:c"
    assert middle["inEdges"] == [{"origin": me, "destination": above}]
    assert middle["outEdges"] == [{"origin": me, "destination": below}]
    assert nodes["/0:c"]["data"]["inputFields"] == []


@pytest.mark.parametrize(
    ("node", "question", "found"),
    [
        ("datasetField:file:/3:c", {}, "0123"),
        ("datasetField:file:/3:c", {"depth": 1}, "23"),
        ("datasetField:file:/3:c", {"depth": 2}, "123"),
        ("datasetField:file:/3:c", {"depth": 1, "withDownstream": "True"}, "234"),
        ("datasetField:file:/3:c", {"withDownstream": "true"}, "012345"),
        ("datasetField:file:/0:c", {"withDownstream": "true", "depth": 2}, "012"),
        ("datasetField:file:/0:c", {}, ""),
        ("datasetField:file:/3:x", {"withDownstream": "true"}, ""),
        ("datasetField:file:/3:c", {"depth": 0}, ""),
        ("dataset:file:/2", {}, "012"),
        ("job:test:j2", {}, "012"),
        ("job:test:j2", {"depth": 1, "withDownstream": "true"}, "123"),
    ],
)
def test_roots_depth_and_direction(client: Any, node: str, question: dict[str, Any], found: str) -> None:
    chain(client, 5)
    assert graph(client, node, **question).keys() == {f"/{one}:c" for one in found}


def test_other_columns_of_the_same_source_are_no_relatives(client: Any) -> None:
    told = columns({"a": [("/in", "x", "DIRECT:")], "b": [("/in", "y", "DIRECT:")], "c": [("/in", "x", "DIRECT:")]})
    send(client, run_event("COMPLETE", 1, "j", ["/in"], [dataset("/out", **schema("a", "b", "c"), **told)]))
    assert graph(client, "datasetField:file:/out:a", withDownstream="true").keys() == {"/in:x", "/out:a"}
    assert graph(client, "datasetField:file:/in:x", withDownstream="true").keys() == {"/in:x", "/out:a", "/out:c"}


def test_what_feeds_the_whole_dataset_feeds_each_of_its_columns(client: Any) -> None:
    told = columns({"a": [("/in", "x", "DIRECT:IDENTITY")]}, [("/in", "key", "INDIRECT:JOIN")])
    send(client, run_event("COMPLETE", 1, "j", ["/in"], [dataset("/out", **schema("a", "b"), **told)]))
    nodes = graph(client, "dataset:file:/out")
    assert nodes.keys() == {"/in:key", "/in:x", "/out:a", "/out:b"}
    assert [one["transformationType"] for one in nodes["/out:a"]["data"]["inputFields"]] == ["JOIN", "IDENTITY"]
    below = graph(client, "datasetField:file:/in:key", withDownstream="true")
    assert below.keys() == {"/in:key", "/out:a", "/out:b"}


def test_masking_and_descriptions_are_told(client: Any) -> None:
    told = {
        "fields": {
            "a": {
                "inputFields": [{"namespace": "file", "name": "/in", "field": "x"}],
                "transformationType": "MASKED",
                "transformationDescription": "hashed",
            }
        }
    }
    send(client, run_event("COMPLETE", 1, "j", ["/in"], [dataset("/out", columnLineage=facet(**told))]))
    data = graph(client, "dataset:file:/out")["/out:a"]["data"]
    assert (data["transformationType"], data["transformationDescription"]) == ("MASKED", "hashed")


def test_a_source_that_was_only_named_as_a_columns_source_is_walked_on_from(client: Any) -> None:
    chain(client, 2)
    out = dataset("/end", **schema("c"), **columns({"c": [("/2", "c", "DIRECT:")]}))
    send(client, run_event("COMPLETE", 9, "silent", [], [out]))
    assert graph(client, "datasetField:file:/end:c").keys() == {"/end:c", "/2:c", "/1:c", "/0:c"}
    assert graph(client, "datasetField:file:/end:c", depth=2).keys() == {"/end:c", "/2:c", "/1:c"}


def test_cycles_end(client: Any) -> None:
    for i in range(2):
        out = dataset(f"/{i}", **schema("c"), **columns({"c": [(f"/{1 - i}", "c", "DIRECT:")]}))
        send(client, run_event("COMPLETE", i, f"j{i}", [f"/{1 - i}"], [out]))
    assert graph(client, "datasetField:file:/0:c", withDownstream="true").keys() == {"/0:c", "/1:c"}


def test_a_version_looks_back(client: Any) -> None:
    def told(day: int, source: str) -> None:
        out = dataset("/out", **schema("c"), **columns({"c": [(source, "c", "DIRECT:")]}))
        send(client, run_event("COMPLETE", day, "j", [source], [out], at=f"2026-01-{day:02}T00:00:00Z"))

    told(1, "/a")
    told(2, "/b")
    versions = client.get("/api/v1/namespaces/file/datasets/%2Fout/versions").json()["versions"]
    old, new = versions[1]["version"], versions[0]["version"]
    for node in ("dataset:file:/out", "datasetField:file:/out:c"):
        found = graph(client, f"{node}#{old}")
        source = client.get("/api/v1/namespaces/file/datasets/%2Fa").json()["currentVersion"]
        assert found.keys() == {f"/out:c#{old}", f"/a:c#{source}"}
    assert {one.partition("#")[0] for one in graph(client, f"dataset:file:/out#{new}")} == {"/out:c", "/b:c"}
    job = client.get("/api/v1/namespaces/test/jobs/j/versions").json()["versions"][1]["version"]
    assert {one.partition("#")[0] for one in graph(client, f"job:test:j#{job}")} == {"/out:c", "/a:c"}
    refused = client.get("/api/v1/column-lineage", nodeId=f"dataset:file:/out#{old}", withDownstream="true")
    assert (refused.status_code, refused.json()["code"]) == (400, 400)
    other = client.get("/api/v1/column-lineage", nodeId=f"dataset:file:/a#{old}")
    assert (other.status_code, other.json()["message"]) == (404, "Could not find node")


@pytest.mark.parametrize(
    ("namespace", "name", "field"),
    [("postgres://db:5432", "1st", "2nd"), ("s3://b", "a:b", "c:d"), ("jdbc:h2:mem:x", "t", "f.g")],
)
def test_ids_that_can_be_read_in_several_ways(client: Any, namespace: str, name: str, field: str) -> None:
    source = {"namespace": namespace, "name": name, "field": field}
    told = {"fields": {"a": {"inputFields": [source]}}}
    made = dataset("/out", **schema("a"), columnLineage=facet(**told))
    send(client, run_event("COMPLETE", 1, "j", [dataset(name, namespace, **schema(field))], [made]))
    node = f"datasetField:{namespace}:{name}:{field}"
    found = client.get("/api/v1/column-lineage", nodeId=node, withDownstream="true").json()["graph"]
    assert {one["id"] for one in found} == {node, "datasetField:file:/out:a"}


def test_as_many_statements_for_many_columns(client: Any, statements: Any) -> None:
    def asked(name: str, wide: int) -> int:
        names = [f"c{i}" for i in range(wide)]
        told = columns({one: [(f"/{name}", one, "DIRECT:")] for one in names})
        send(client, run_event("COMPLETE", 1, name, [f"/{name}"], [dataset(f"/{name}2", **schema(*names), **told)]))
        with statements() as counted:
            assert len(graph(client, f"dataset:file:/{name}2", withDownstream="true")) == 2 * wide
        return len(counted)

    # The first question to the graph in memory asks less about what arrived since the last.
    assert asked("first", 2) <= asked("few", 2) == asked("many", 200) <= 40


@pytest.mark.parametrize(
    ("question", "status"),
    [
        ({}, 400),
        ({"nodeId": "x:y"}, 404),
        ({"nodeId": "run:1"}, 404),
        ({"nodeId": "dataset:file:/nope"}, 404),
        ({"nodeId": "datasetField:file:/1:nope"}, 404),
        ({"nodeId": "datasetField:file:/1"}, 404),
        ({"nodeId": "dataset:file:/1", "depth": "x"}, 404),
        ({"nodeId": "datasetField:" + "a:" * 9000}, 404),
    ],
)
def test_refusals(client: Any, question: dict[str, str], status: int) -> None:
    chain(client, 1)
    assert client.get("/api/v1/column-lineage", **question).status_code == status


@pytest.mark.parametrize("kind", ["IDENTITY", "Hash (sha-256)", "custom"])
def test_a_transformation_type_is_free_text(client: Any, kind: str) -> None:
    told = {"inputFields": [{"namespace": "file", "name": "/in", "field": "x"}], "transformationType": kind}
    send(
        client,
        run_event("COMPLETE", 1, "j", ["/in"], [dataset("/out", columnLineage=facet(fields={"a": told}))]),
    )
    data = graph(client, "dataset:file:/out")["/out:a"]["data"]
    assert data["transformationType"] == data["inputFields"][0]["transformationType"] == kind
    (told,) = client.get("/api/v1/namespaces/file/datasets/%2Fout").json()["columnLineage"]
    assert told["transformationType"] == kind


def test_columns_read_from_sql_are_filled_in_and_marked(client: Any) -> None:
    """A reported column stays as it is; one that the report leaves out is read from the SQL of the job."""
    w = "postgres://w:5432"
    query = {"sql": facet(query="insert into t select a as x, b + 1 as y from s", dialect="postgres")}
    source, out = dataset("db.public.s", w, **schema("a", "b")), dataset("db.public.t", w, **schema("x", "y"))
    reported = {"fields": {"x": {"inputFields": [{"namespace": w, "name": "db.public.s", "field": "a"}]}}}
    out["facets"]["columnLineage"] = facet(**reported)
    end = dataset("/end", **schema("z"), columnLineage=facet(fields={
        "z": {"inputFields": [{"namespace": w, "name": "db.public.t", "field": "y"}]}
    }))  # fmt: skip
    send(
        client,
        run_event("COMPLETE", 1, "load", [source], [out], job_facets=query),
        run_event("COMPLETE", 2, "export", [dataset("db.public.t", w)], [end]),
    )
    prefix = f"datasetField:{w}:db.public."
    for node, more in (("datasetField:file:/end:z", {}), (f"{prefix}s:b", {"withDownstream": "true"})):
        nodes = {
            one["id"]: one["data"] for one in client.get("/api/v1/column-lineage", nodeId=node, **more).json()["graph"]
        }
        assert nodes.keys() == {"datasetField:file:/end:z", f"{prefix}t:y", f"{prefix}s:b"}
        (one,) = nodes[f"{prefix}t:y"]["inputFields"]
        assert (one["field"], one["transformationType"], one["transformationDescription"]) == (
            "b", "TRANSFORMATION", "PARSED_SQL",
        )  # fmt: skip
    both = {
        one["id"]: one["data"]
        for one in client.get("/api/v1/column-lineage", nodeId=f"dataset:{w}:db.public.t").json()["graph"]
    }
    assert both[f"{prefix}t:x"]["inputFields"][0]["transformationDescription"] is None
