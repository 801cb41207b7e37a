"""Two nodes may have one id, since namespaces and names hold colons: then the answer says so, and each has an id that can be read in one way."""

import json
from typing import Any

import pytest
from tests.events import columns, dataset, run_event, schema
from tests.fixtures.app import Client


def send(client: Client, *events: dict[str, Any]) -> None:
    assert client.post("/api/v1/lineage/batch", json.dumps(list(events)).encode()).status_code == 200


@pytest.fixture
def two(client: Client) -> Client:
    """Two jobs and two datasets of one id: (`a`, `b:c`) and (`a:b`, `c`), each dataset with its own reader."""
    for number, (namespace, name) in enumerate([("a", "b:c"), ("a:b", "c")]):
        written = dataset(name, namespace, **schema("x"))
        read = columns({"x": [("/src", f"y{number}", "DIRECT:IDENTITY")]})
        written["facets"] |= read
        send(client, run_event("COMPLETE", number, name, [], [written], namespace=namespace))
    return client


@pytest.mark.parametrize("kind", ["dataset", "job"])
@pytest.mark.parametrize(
    ("route", "parameter"),
    [("/api/v1/lineage", "nodeId"), ("/api/v1/column-lineage", "nodeId"), ("/api/v2/lineage", "node")],
)
def test_an_id_of_two_nodes_is_refused_with_the_ids_of_each(two: Client, kind: str, route: str, parameter: str) -> None:
    reply = two.get(route, **{parameter: f"{kind}:a:b:c"})
    assert reply.status_code == 409, reply.text
    assert f"{kind}:a%3Ab:c, {kind}:a:b%3Ac" in reply.json()["message"]
    for own in (f"{kind}:a%3Ab:c", f"{kind}:a:b%3Ac"):
        assert two.get(route, **{parameter: own}).status_code == 200, own


def test_a_column_of_two_datasets_is_refused_too(two: Client) -> None:
    reply = two.get("/api/v1/column-lineage", nodeId="datasetField:a:b:c:x")
    assert reply.status_code == 409, reply.text
    for own, field in (("datasetField:a:b%3Ac:x", "y0"), ("datasetField:a%3Ab:c:x", "y1")):
        graph = two.get("/api/v1/column-lineage", nodeId=own).json()["graph"]
        assert f"datasetField:file:/src:{field}" in {one["id"] for one in graph}


def test_an_id_that_only_one_node_has_is_read_as_ever(client: Client) -> None:
    send(client, run_event("COMPLETE", 1, "load", [], [dataset("b:c", "a"), dataset("100%3Apart", "d")]))
    for node in ("dataset:a:b:c", "dataset:a:b%3ac", "dataset:d:100%3Apart"):
        assert client.get("/api/v1/lineage", nodeId=node).status_code == 200, node
        assert client.get("/api/v2/lineage", node=node).status_code == 200, node


def test_two_names_of_one_dataset_are_no_two_nodes(client: Client) -> None:
    other = {"identifiers": [{"namespace": "a:b", "name": "c", "type": "TABLE"}]}
    out = dataset("b:c", "a", symlinks={"_producer": "p:", "_schemaURL": "s:", **other})
    send(client, run_event("COMPLETE", 1, "load", [], [out]))
    assert client.get("/api/v1/lineage", nodeId="dataset:a:b:c").status_code == 200
    assert client.get("/api/v2/lineage", node="dataset:a:b:c").status_code == 200
