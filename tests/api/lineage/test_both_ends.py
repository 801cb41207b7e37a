"""Lineage is the same from both ends: a dataset that is found upstream of another finds it downstream, in every API."""

import json
import random
from itertools import product
from typing import Any

import pytest
from tests.events import columns, dataset, run_event, schema
from tests.fixtures.app import Client
from tests.scale import full

NAMES = ["/a", "/b", "/c", "/d", "/e"]
FIELDS = ["x", "y"]
KINDS = ["DIRECT:IDENTITY", "DIRECT:AGGREGATION", "INDIRECT:FILTER"]


def send(client: Client, *events: dict[str, Any]) -> None:
    reply = client.post("/api/v1/lineage/batch", json.dumps(list(events)).encode())
    assert reply.status_code == 200, reply.text


def reached(client: Client, name: str, direction: str, field: str | None = None) -> set[str]:
    more = {} if field is None else {"field": field}
    answer = client.get("/api/v2/lineage", node=f"dataset:file:{name}", direction=direction, depth=50, **more).json()
    return {one["id"].removeprefix("dataset:file:") for one in answer["nodes"] if one["type"] == "DATASET"} - {name}


def column_ends(client: Client, name: str, field: str, direction: str) -> set[tuple[str, str]]:
    """Return the columns that the column edges of an answer about one column mention, without that column."""
    answer = client.get(
        "/api/v2/lineage", node=f"dataset:file:{name}", direction=direction, depth=50, field=field, columns="true"
    ).json()
    near, far = ("target", "source") if direction == "upstream" else ("source", "target")
    met, waiting = set(), {(name, field)}
    ways: dict[tuple[str, str | None], set[tuple[str, str | None]]] = {}
    for edge in answer["column_edges"]:
        ends = {
            side: (edge[side].removeprefix("dataset:file:"), edge[f"{side}_field"] or "")
            for side in ("source", "target")
        }
        ways.setdefault(ends[near], set()).add(ends[far])
    while waiting:
        place = waiting.pop()
        for other in ways.get(place, set()) | (ways.get((place[0], ""), set()) if direction == "upstream" else set()):
            if other not in met:
                met.add(other)
                waiting.add(other)
    return met


def random_events(draw: random.Random) -> list[dict[str, Any]]:
    """Draw runs and declarations; their facets often read a dataset that is not among the inputs."""

    def lineage() -> dict[str, Any]:
        return columns(
            {
                field: [
                    (draw.choice(NAMES), draw.choice(FIELDS), draw.choice(KINDS)) for _ in range(draw.randint(1, 2))
                ]
                for field in draw.sample(FIELDS, draw.randint(1, 2))
            }
        )

    def output() -> dict[str, Any]:
        return dataset(draw.choice(NAMES), **schema(*FIELDS), **(lineage() if draw.random() < 0.7 else {}))

    found = []
    for number in range(draw.randint(2, 7)):
        at = f"2026-01-{number + 1:02}T00:00:00Z"
        kind = draw.random()
        if kind < 0.15:
            found.append({"eventTime": at, "producer": "p", "dataset": output()})
            continue
        inputs = draw.sample(NAMES, draw.randint(0, 2))
        event = run_event("COMPLETE", number, f"job{draw.randint(0, 3)}", inputs, [output()], at=at)
        if kind < 0.3:
            del event["run"], event["eventType"]
            event["schemaURL"] = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/JobEvent"
        found.append(event)
    return found


def test_an_input_that_only_the_column_lineage_names_is_found_from_both_ends(client: Client) -> None:
    out = dataset("/out", **schema("x"), **columns({"x": [("/seed", "x", "DIRECT:IDENTITY")]}))
    send(client, run_event("COMPLETE", 1, "load", [], [out]))
    assert reached(client, "/out", "upstream") == {"/seed"}
    assert reached(client, "/seed", "downstream") == {"/out"}
    assert column_ends(client, "/seed", "x", "downstream") == {("/out", "x")}
    above = client.get("/api/v1/column-lineage", nodeId="datasetField:file:/seed:x", withDownstream="true").json()[
        "graph"
    ]
    assert "datasetField:file:/out:x" in {one["id"] for one in above}
    job = client.get("/api/v1/namespaces/test/jobs/load").json()
    assert [one["name"] for one in job["inputs"]] == ["/seed"]


def test_a_job_whose_column_lineage_reads_its_own_output_reads_it(client: Client) -> None:
    out = dataset("/total", **schema("x"), **columns({"x": [("/total", "y", "DIRECT:AGGREGATION")]}))
    send(client, run_event("COMPLETE", 1, "add", [], [out]))
    assert column_ends(client, "/total", "x", "upstream") == {("/total", "y")}
    assert column_ends(client, "/total", "y", "downstream") == {("/total", "x")}


def test_a_dataset_that_declares_lineage_from_itself_makes_no_loop(client: Client) -> None:
    told = dataset("/total", **schema("x"), **columns({"x": [("/total", "y", "DIRECT:AGGREGATION")]}))
    send(client, {"eventTime": "2026-01-01T00:00:00Z", "producer": "p", "dataset": told})
    answer = client.get("/api/v2/lineage", node="dataset:file:/total", columns="true").json()
    assert [one for one in answer["edges"] if one["source"] == one["target"]] == answer["column_edges"] == []


def test_column_lineage_of_a_dataset_event_is_lineage(client: Client) -> None:
    told = dataset("/out", **schema("x"), **columns({"x": [("/src", "x", "DIRECT:IDENTITY")]}))
    send(client, {"eventTime": "2026-01-01T00:00:00Z", "producer": "p", "dataset": told})
    assert reached(client, "/out", "upstream") == {"/src"}
    assert reached(client, "/src", "downstream") == {"/out"}
    assert column_ends(client, "/out", "x", "upstream") == {("/src", "x")}


@pytest.mark.parametrize("seed", range(full(100, 6)))
def test_every_dataset_and_column_reaches_what_reaches_it(client: Client, seed: int) -> None:
    draw = random.Random(seed)
    send(client, *random_events(draw))
    known = [name for name in NAMES if client.get("/api/v2/lineage", node=f"dataset:file:{name}").status_code == 200]
    up = {(a, b) for b in known for a in reached(client, b, "upstream")}
    down = {(a, b) for a in known for b in reached(client, a, "downstream")}
    assert up == down
    places = list(product(known, FIELDS))
    column_up = {(a, b) for b in places for a in column_ends(client, *b, "upstream") if a[1]}
    column_down = {(a, b) for a in places for b in column_ends(client, *a, "downstream") if b[1]}
    assert {pair for pair in column_up if pair[0] in places} == {pair for pair in column_down if pair[1] in places}
    for a, b in product(known, known):
        if a != b:
            there = client.get(
                "/api/v2/paths", **{"from": f"dataset:file:{a}", "to": f"dataset:file:{b}", "direction": "downstream"}
            ).json()
            assert (there["length"] is not None) == ((a, b) in up), (a, b)
    graph = client.get("/api/v1/lineage", nodeId=f"dataset:file:{known[0]}", depth=50).json()["graph"]
    nodes = {one["id"]: one for one in graph}
    for one in graph:
        for edge in one["outEdges"]:
            assert edge in nodes[edge["destination"]]["inEdges"] if edge["destination"] in nodes else True
