"""Events as no producer should send them: odd names, malformed facets, split, doubled, in any order. No edge is lost under a 201, both ends agree."""

import copy
import json
import random
from typing import Any

import pytest
from tests.events import dataset, encoded, facet, parent, run_event, schema
from tests.fixtures.app import Client
from tests.scale import full

from headwater.model.identity import Identity
from headwater.model.names import DatasetName

NAMES = [
    ("s3://bucket", "raw/данные/заказы"), ("postgres://h:5432", "db.schéma.таблица"), ("snowflake://org-acct", "DB.S.T"), ("file", "/a b/c%2Fd"),
    ("ns with : colons:1", "a:b#c?d=e&f"), ("юникод/ns", "x/y/z"), ("kafka://k:9092", "topic..with..dots."), ("bigquery", "p-1.d.t$x"),
    ("file", "/quote'\"\\back"), ("file", "/👩‍👩‍👧/x"), ("n", "col:on"), ("n", "%2e%2e/%00"), ("file", "/e\u0301"), ("file", "/é"),
]  # fmt: skip
JOBS = ["загрузка/все", "a.b.c", "job:1#x", "sp ace", "%2F", "'\"", "x" * 300]
JUNK: list[Any] = [None, 7, "text", [], [1], {}, {"fields": None}, {"fields": 7}, {"fields": {"a": 1}}, {"fields": [{"name": None}]}, {"run": {}},
                   {"": {}}, {"identifiers": [{}]}, {"hierarchy": "x"}, {"inputs": {}}, {"entries": 3}, {"tests": [{}]}, {"owners": [None]}]  # fmt: skip
RUN_FACETS = [
    "nominalTime", "errorMessage", "extractionError", "processing_engine", "externalQuery", "environmentVariables", "executionParameters", "tags",
    "jobDependencies", "test", "gcp_composer_run", "gcp_dataproc", "headwater_period", "headwater_step", "spark_properties",
]  # fmt: skip
JOB_FACETS = [
    "jobType",
    "sourceCode",
    "sourceCodeLocation",
    "documentation",
    "ownership",
    "tags",
    "gcp_lineage",
    "dbt_node",
    "airflow",
]
DATASET_FACETS = [
    "schema", "dataSource", "version", "storage", "catalog", "datasetType", "hierarchy", "symlinks", "lifecycleStateChange", "dataQualityAssertions",
    "dbt_exposures", "documentation", "ownership", "tags", "headwater_usage", "headwater_cost",
]  # fmt: skip
IO_FACETS = [
    "inputStatistics",
    "outputStatistics",
    "dataQualityMetrics",
    "icebergScanReport",
    "icebergCommitReport",
    "subset",
]


def junk(draw: random.Random, names: list[str]) -> dict[str, Any]:
    """Some facets of these names that no schema allows."""
    return {name: copy.deepcopy(draw.choice(JUNK)) for name in draw.sample(names, draw.randint(0, len(names)))}


def world(draw: random.Random) -> tuple[list[dict[str, Any]], set[tuple[str, str, str]]]:
    """Events of jobs whose one run each is told in several of them, and the edges (input, job, output) that they tell."""
    identity = Identity()
    events, edges = [], set()
    for number, job in enumerate(draw.sample(JOBS, 5), 1):
        reads, writes = draw.sample(NAMES, draw.randint(1, 3)), draw.sample(NAMES, draw.randint(1, 2))
        common: dict[str, Any] = {"namespace": draw.choice(["test", "s3://bucket", "юникод/ns"])}
        if draw.random() < 0.3:
            common["run_facets"] = parent(90, "dag.of/all")
        parts: list[tuple[str, list[Any], list[Any]]] = [("START", [], []), ("RUNNING", [], []), ("COMPLETE", [], [])]
        for namespace, name in reads:
            draw.choice(parts)[1].append((namespace, name))
        for namespace, name in writes:
            draw.choice(parts)[2].append((namespace, name))
        for minute, (state, ins, outs) in enumerate(parts):
            inputs = [
                dataset(name, ns, **junk(draw, DATASET_FACETS)) | {"inputFacets": junk(draw, IO_FACETS)}
                for ns, name in ins
            ]
            outputs = [
                dataset(name, ns, **junk(draw, DATASET_FACETS)) | {"outputFacets": junk(draw, IO_FACETS)}
                for ns, name in outs
            ]
            event = run_event(state, number, job, inputs, outputs, at=f"2026-01-0{number}T00:0{minute}:00Z", **common)
            event["run"]["facets"] = {**junk(draw, RUN_FACETS), **event["run"]["facets"]}
            event["job"]["facets"] = junk(draw, JOB_FACETS)
            events.append(event)
        for source in reads:
            for target in writes:
                ends = [identity.place(DatasetName(*one)).name.node_id for one in (source, target)]
                edges.add((ends[0], job, ends[1]))
    return events, edges


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return [reordered(item) for item in value] if isinstance(value, list) else value


def below(edges: set[tuple[str, str]], start: str) -> set[str]:
    met, waiting = set[str](), [start]
    while waiting:
        at = waiting.pop()
        for source, target in edges:
            if source == at and target not in met:
                met.add(target)
                waiting.append(target)
    return met - {start}


def drawn(client: Client, node: str, direction: str) -> set[str]:
    reply = client.get("/api/v2/lineage", node=node, direction=direction, depth=50)
    assert reply.status_code == 200, (node, reply.text)
    return {one["id"] for one in reply.json()["nodes"] if one["type"] == "DATASET"} - {node}


@pytest.mark.parametrize("seed", range(full(60, 6)))
def test_no_edge_is_lost_and_both_ends_agree(client: Client, seed: int) -> None:
    draw = random.Random(seed)
    events, edges = world(draw)
    sent = [*events, *(reordered(event) for event in draw.sample(events, 5))]
    draw.shuffle(sent)
    seen: set[str] = set()
    for event in sent:
        reply = client.post("/api/v1/lineage", encoded(event))
        assert reply.status_code == 201, reply.text
        receipt = reply.json()
        assert receipt["duplicate"] is (receipt["id"] in seen)
        seen.add(receipt["id"])
    assert len(seen) == len(events)
    flow = {(source, target) for source, _, target in edges}
    nodes = {end for edge in flow for end in edge}
    for node in nodes:
        assert drawn(client, node, "downstream") == below(flow, node), node
        assert drawn(client, node, "upstream") == below({(b, a) for a, b in flow}, node), node
        graph = client.get("/api/v1/lineage", nodeId=node, depth=50)
        assert graph.status_code == 200, (node, graph.text)
        found = {one["id"] for one in graph.json()["graph"]}
        assert below(flow, node) <= found
        shown = client.get("/api/v2/search", q=node.rpartition(":")[2][:40], limit=100)
        assert shown.status_code == 200
    for source, target in flow:
        if source != target:
            paths = client.get("/api/v2/lineage", node=source, to=target)
            assert paths.status_code == 200, paths.text
            assert {source, target} <= {one["id"] for one in paths.json()["nodes"]}


GOOD = {
    "namespace": "file",
    "name": "/only-here",
    "field": "a",
    "transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}],
}


@pytest.mark.parametrize(
    "bad",
    [
        {"namespace": "file", "name": None, "field": "a"},
        7,
        None,
        [],
        {"namespace": "file", "name": "/z", "field": "z", "transformations": "x"},
        {"namespace": "file", "name": "/z", "field": "z", "transformations": [{"type": None}]},
        {"namespace": "file", "name": "/z", "field": 7},
    ],
    ids=json.dumps,
)
@pytest.mark.parametrize("beside", [True, False])
def test_a_malformed_input_of_a_column_costs_the_others_nothing(client: Client, bad: Any, beside: bool) -> None:
    fields = {"x": {"inputFields": [GOOD, bad] if beside else [GOOD]}, "y": {"inputFields": [] if beside else [bad]}}
    output = dataset("/out", **schema("x", "y"), columnLineage=facet(fields=fields))
    reply = client.post("/api/v1/lineage", encoded(run_event("COMPLETE", 1, "job", ["/in"], [output])))
    place = "fields.x.inputFields[1]" if beside else "fields.y.inputFields[0]"
    (warning,) = reply.json()["warnings"]
    assert (reply.status_code, warning["code"], place in warning["message"]) == (201, "facet_in_part", True)
    for node, direction in (("/only-here", "downstream"), ("/out", "upstream")):
        answer = client.get("/api/v2/lineage", node=f"dataset:file:{node}", direction=direction, columns="true").json()
        assert ("a", "x") in {(one["source_field"], one["target_field"]) for one in answer["column_edges"]}
        assert {"dataset:file:/only-here", "dataset:file:/out"} <= {one["id"] for one in answer["nodes"]}


@pytest.mark.parametrize(
    "broken",
    [{"fields": 7}, {"fields": {"x": 7}}, {"fields": {}, "dataset": 7}, {"fields": {"x": {"inputFields": [7]}}}],
)
def test_nothing_is_derived_of_a_facet_with_nothing_right(client: Client, broken: Any) -> None:
    output = dataset("/out", **schema("x"), columnLineage=facet(**broken))
    reply = client.post("/api/v1/lineage", encoded(run_event("COMPLETE", 1, "job", ["/in"], [output])))
    assert [one["code"] for one in reply.json()["warnings"]] == ["facet_not_understood"]
    assert drawn(client, "dataset:file:/out", "upstream") == {"dataset:file:/in"}


@pytest.mark.parametrize(
    "bad",
    [
        7,
        {"type": "DATASET"},
        {"type": "DATASET", "namespace": "file", "name": "/z", "inputs": [7]},
        {"type": "DATASET", "namespace": "file", "name": "/z", "inputs": [{"type": "DATASET", "name": "/x"}]},
    ],
    ids=json.dumps,
)
def test_explicit_lineage_that_is_broken_in_part_keeps_its_right_entries(client: Client, bad: Any) -> None:
    entry = {
        "type": "DATASET",
        "namespace": "file",
        "name": "/out",
        "inputs": [{"type": "DATASET", "namespace": "file", "name": "/a"}],
    }
    facets = {"lineage": facet(entries=[entry, bad])}
    event = run_event("COMPLETE", 1, "job", ["/a", "/b"], ["/out"], job_facets=facets)
    reply = client.post("/api/v1/lineage", encoded(event))
    assert [one["code"] for one in reply.json()["warnings"]] == ["facet_in_part"]
    assert "entries[1]" in reply.json()["warnings"][0]["message"]
    assert drawn(client, "dataset:file:/out", "upstream") == {"dataset:file:/a"}


@pytest.mark.parametrize("nothing", [None, {}, {"namespace": "file"}, 7])
def test_a_dataset_without_identity_is_in_the_receipt(client: Client, nothing: Any) -> None:
    event = run_event("COMPLETE", 1, "job", ["/in"], ["/out"])
    event["inputs"].insert(0, nothing)
    reply = client.post("/api/v1/lineage", encoded(event))
    (warning,) = reply.json()["warnings"]
    assert (reply.status_code, warning["where"]) == (201, "inputs[0]")
    assert drawn(client, "dataset:file:/out", "upstream") == {"dataset:file:/in"}
