"""Lineage is the same from both ends: a dataset that is found upstream of another finds it downstream, in every API."""

import json
import random
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest
from tests.events import columns, dataset, facet, run_event, schema
from tests.fixtures.app import Client
from tests.scale import full

NAMES = ["/a", "/b", "/c", "/d", "/e"]
FIELDS = ["x", "y"]
Ends = Callable[[Client, str, str, str], set[tuple[str, str]]]
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
    reply = client.get(
        "/api/v2/lineage", node=f"dataset:file:{name}", direction=direction, depth=50, field=field, columns="true"
    )
    if reply.status_code == 404:
        # The dataset has columns, and this is none of them.
        return set()
    answer = reply.json()
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
        found = ways.get(place, set()) | (ways.get((place[0], ""), set()) if direction == "upstream" else set())
        if place[1] == "" and direction == "downstream":
            # What decides about a dataset's rows reaches all its columns.
            found = found | {(place[0], name) for name in FIELDS}
        for other in found - met:
            met.add(other)
            waiting.add(other)
    return met


def below(ways: dict[Any, set[Any]], start: Any) -> set[Any]:
    """Return what is reached from `start` over these ways."""
    met: set[Any] = set()
    waiting = [start]
    while waiting:
        for other in ways.get(waiting.pop(), set()) - met:
            met.add(other)
            waiting.append(other)
    return met


def marquez_ends(client: Client, name: str, field: str, direction: str) -> set[tuple[str, str]]:
    """Return the columns that Marquez's graph of one column leads to."""
    node = f"datasetField:file:{name}:{field}"
    reply = client.get(
        "/api/v1/column-lineage", nodeId=node, depth=50, withDownstream="true" if direction == "downstream" else None
    )
    if reply.status_code == 404:
        return set()
    # Its in-edges lead from the column to what feeds it.
    edges = "inEdges" if direction == "upstream" else "outEdges"
    ways = {one["id"]: {edge["destination"] for edge in one[edges]} for one in reply.json()["graph"]}
    found = (one.removeprefix("datasetField:file:").rsplit(":", 1) for one in below(ways, node))
    return {(dataset_, field_) for dataset_, field_ in found}


def marquez_graph(client: Client, node: str) -> dict[str, set[str]]:
    """Return the edges of Marquez's graph around a dataset, after a look at both of their ends."""
    graph = client.get("/api/v1/lineage", nodeId=node, depth=50).json()["graph"]
    outward = {(edge["origin"], edge["destination"]) for one in graph for edge in one["outEdges"]}
    assert outward == {(edge["origin"], edge["destination"]) for one in graph for edge in one["inEdges"]}
    ways: dict[str, set[str]] = {one["id"]: set() for one in graph}
    for origin, destination in outward:
        ways[origin].add(destination)
    return ways


def random_events(draw: random.Random, schemas: float = 0.8) -> list[dict[str, Any]]:
    """Draw runs and declarations: with column lineage that often reads what is not among the inputs, with explicit lineage, with SQL; of several
    states, and datasets of two names. `schemas`: the share of outputs that have one."""

    def inputs(most: int) -> list[tuple[str, str, str]]:
        return [(draw.choice(NAMES), draw.choice(FIELDS), draw.choice(KINDS)) for _ in range(draw.randint(1, most))]

    def lineage() -> dict[str, Any]:
        fields = {field: inputs(2) for field in draw.sample(FIELDS, draw.randint(1, 2))}
        return columns(fields, inputs(1) if draw.random() < 0.2 else [])

    def output() -> dict[str, Any]:
        told = lineage() if draw.random() < 0.7 else {}
        if draw.random() < 0.1:
            told |= {"symlinks": facet(identifiers=[{"namespace": "file", "name": "/other", "type": "TABLE"}])}
        return dataset(draw.choice(NAMES), **(schema(*FIELDS) if draw.random() < schemas else {}), **told)

    def entry() -> dict[str, Any]:
        def sources() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = [
                {"type": "DATASET", "namespace": "file", "name": name, "field": field} for name, field, _ in inputs(2)
            ]
            if draw.random() < 0.3:
                found.append({"type": "JOB", "namespace": "test", "name": f"job{draw.randint(0, 3)}"})
            return found

        if draw.random() < 0.2:
            return {"type": "JOB", "namespace": "test", "name": f"job{draw.randint(0, 3)}", "inputs": sources()}
        return {
            "type": "DATASET",
            "namespace": "file",
            "name": draw.choice(NAMES),
            "fields": {draw.choice(FIELDS): {"inputs": sources()}},
        }

    found = []
    for number in range(draw.randint(2, 8)):
        at = f"2026-01-{number + 1:02}T00:00:00Z"
        kind = draw.random()
        if kind < 0.15:
            found.append({"eventTime": at, "producer": "p", "dataset": output()})
            continue
        job_facets: dict[str, Any] = {}
        if draw.random() < 0.2:
            job_facets["lineage"] = facet(entries=[entry() for _ in range(draw.randint(1, 2))])
        elif draw.random() < 0.2:
            one, other = (name.removeprefix("/") for name in draw.sample(NAMES, 2))
            job_facets["sql"] = facet(query=f"insert into {one} (x, y) select x, y from {other} where y > 1")
        state = draw.choice(["COMPLETE", "COMPLETE", "COMPLETE", "START", "FAIL"])
        read = draw.sample(NAMES, draw.randint(0, 2))
        event = run_event(state, number, f"job{draw.randint(0, 3)}", read, [output()], at=at, job_facets=job_facets)
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


def test_columns_do_not_go_through_a_job_whose_explicit_lineage_leaves_them_out(client: Client) -> None:
    """/a is above /e by another job; the explicit job's column lineage from /a to /e is no claim beside its entries."""
    entries = [
        {
            "type": "DATASET",
            "namespace": "file",
            "name": "/b",
            "inputs": [{"type": "DATASET", "namespace": "file", "name": "/a"}],
        }
    ]
    out = dataset("/e", **schema("x"), **columns({"x": [("/a", "y", "DIRECT:IDENTITY")]}))
    send(
        client,
        run_event("COMPLETE", 1, "explicit", ["/a"], [out, "/b"], job_facets={"lineage": facet(entries=entries)}),
        run_event("COMPLETE", 2, "plain", ["/a"], ["/e"]),
    )
    assert reached(client, "/e", "upstream") == {"/a"}
    assert column_ends(client, "/e", "x", "upstream") == column_ends(client, "/a", "y", "downstream") == set()


def test_a_dataset_that_declares_lineage_under_another_of_its_names_is_one_node(client: Client) -> None:
    other = {"symlinks": facet(identifiers=[{"namespace": "file", "name": "/other", "type": "TABLE"}])}
    told = dataset("/zz", **schema("x"), **columns({"x": [("/src", "x", "DIRECT:IDENTITY")]}), **other)
    send(
        client,
        {"eventTime": "2026-01-01T00:00:00Z", "producer": "p", "dataset": told},
        run_event("COMPLETE", 1, "load", [], [dataset("/same", **other)]),
    )
    names = set(datasets(client, ["/zz", "/same", "/other"]))
    assert len(names) == 1
    assert reached(client, "/src", "downstream") == names
    assert column_ends(client, "/src", "x", "downstream") == {(*names, "x")}


def datasets(client: Client, names: Sequence[str] = (*NAMES, "/other")) -> list[str]:
    """Return the names of datasets in use; of those with several names, the one that stands for it."""
    found = []
    for name in names:
        answer = client.get("/api/v2/lineage", node=f"dataset:file:{name}", depth=0)
        if answer.status_code == 200 and answer.json()["root"] == f"dataset:file:{name}":
            found.append(name)
    return found


@pytest.mark.parametrize("seed", range(full(300, 12)))
def test_every_dataset_reaches_what_reaches_it(client: Client, seed: int) -> None:
    send(client, *random_events(random.Random(seed)))
    known = datasets(client)
    up = {(a, b) for b in known for a in reached(client, b, "upstream")}
    down = {(a, b) for a in known for b in reached(client, a, "downstream")}
    assert up == down
    for a, b in product(known, known):
        if a != b:
            there = client.get(
                "/api/v2/paths", **{"from": f"dataset:file:{a}", "to": f"dataset:file:{b}", "direction": "downstream"}
            ).json()
            assert (there["length"] is not None) == ((a, b) in up), (a, b)
    graphs = {name: marquez_graph(client, f"dataset:file:{name}") for name in known}
    for one, other in product(graphs.values(), graphs.values()):
        assert one == other or one.keys().isdisjoint(other.keys())
    # Marquez has no explicit lineage: every input of a job feeds each of its outputs.
    nodes = {name: f"dataset:file:{name}" for name in known}
    assert {(a, b) for a, b in product(known, known) if nodes[b] in below(graphs[a], nodes[a])} >= up


@pytest.mark.parametrize("seed", range(full(300, 12)))
@pytest.mark.parametrize("ends", [column_ends, marquez_ends], ids=["v2", "v1"])
def test_every_column_reaches_what_reaches_it(client: Client, seed: int, ends: Ends) -> None:
    send(client, *random_events(random.Random(seed), schemas=1))
    known = datasets(client)
    places = {
        (name, field)
        for name, field in product(known, FIELDS)
        if client.get("/api/v2/lineage", node=f"dataset:file:{name}", field=field).status_code == 200
    }
    up = {(a, b) for b in places for a in ends(client, *b, "upstream") & places}
    down = {(a, b) for a in places for b in ends(client, *a, "downstream") & places}
    assert up == down
