"""Explicit lineage in every shape of the specification, in any order and split: the same edges from both ends, in every API, now, as of a time, rebuilt."""

import json
import random
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.events import facet, run_event
from tests.fixtures.app import Client
from tests.scale import full

from headwater.intake.upkeep.rebuild import fingerprints, rebuild
from headwater.store.database import Database

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/lineage/explicit_lineage.yaml").read_text(encoding="utf-8"))
LATER = "2026-02-01T00:00:00Z"


def is_job(name: str) -> bool:
    return name.isupper()


def node(name: str) -> str:
    return f"job:test:{name}" if is_job(name) else f"dataset:file:{name}"


def end(name: str) -> dict[str, Any]:
    """Return what `name`, `name.field` or `own` is in an entry."""
    if name == "own":
        return {"type": "JOB"}
    name, _, field = name.partition(".")
    kind, namespace = ("JOB", "test") if is_job(name) else ("DATASET", "file")
    return {"type": kind, "namespace": namespace, "name": name} | ({"field": field} if field else {})


def inputs(told: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "from" in told:
        found["inputs"] = [end(one) for one in told["from"]]
    if "fields" in told:
        found["fields"] = {name: {"inputs": [end(one) for one in some]} for name, some in told["fields"].items()}
    return found


def events(case: dict[str, Any], draw: random.Random) -> list[dict[str, Any]]:
    """Return the events of a case in any order; what a run reports is split over its events at random."""
    found = []
    for number, told in enumerate(case["events"]):
        kind, name = told["by"].split()
        at = f"2026-01-01T{number:02}:00:00Z"
        if kind == "dataset":
            body = {"namespace": "file", "name": name, "facets": {"lineage": facet(**inputs(told))}}
            found.append({"eventTime": at, "producer": "p", "dataset": body})
            continue
        entries = [{**end(one["to"]), **inputs(one)} for one in told.get("entries", ())]
        sides = [told.get("inputs", []), told.get("outputs", [])]
        cuts = [0, len(entries)] if kind == "job" else [0, draw.randint(0, len(entries)), len(entries)]
        for part, (begin, stop) in enumerate(pairwise(cuts)):
            last = stop == len(entries) and part == len(cuts) - 2
            event = run_event(
                "COMPLETE" if last else "START",
                told.get("run", number + 10),
                name,
                *(sides if last else ([], [])),
                at=at.replace(":00:00Z", f":0{part}:00Z"),
                job_facets={"lineage": facet(entries=entries[begin:stop])} if entries[begin:stop] else {},
            )
            if kind == "job":
                del event["run"], event["eventType"]
            found.append(event)
    draw.shuffle(found)
    return found


def answer(client: Client, name: str, direction: str, as_of: str | None) -> dict[str, Any]:
    found = client.get("/api/v2/lineage", node=node(name), direction=direction, depth=50, as_of=as_of, columns="true")
    assert found.status_code == 200, found.text
    return found.json()  # type: ignore[no-any-return]


def check(client: Client, case: dict[str, Any], as_of: str | None) -> None:
    names = sorted({one for edge in case["edges"] for one in edge.split(" > ")})
    edges = set()
    for name in names:
        for one in answer(client, name, "both", as_of)["edges"]:
            assert one["source"] != one["target"]
            edges.add((one["source"], one["target"]))
    assert edges == {tuple(node(one) for one in edge.split(" > ")) for edge in case["edges"]}
    reach = {}
    for direction, expected in (("upstream", case["above"]), ("downstream", case["below"])):
        for name in {*names, *expected}:
            met = {one["id"] for one in answer(client, name, direction, as_of)["nodes"]} - {node(name)}
            reach[name, direction] = met
            if name in expected:
                assert met - {node(name)} == {node(one) for one in expected[name]} - {node(name)}, (name, direction)
    for one, other in product(names, names):
        up = node(one) in reach[other, "upstream"]
        assert up == (node(other) in reach[one, "downstream"]), (one, other)
        if one != other and not (is_job(one) and is_job(other) and not up):
            way = client.get(
                "/api/v2/paths", **{"from": node(one), "to": node(other), "direction": "downstream", "as_of": as_of}
            ).json()
            assert (way["length"] is not None) == up, (one, other)


def check_marquez(client: Client, case: dict[str, Any]) -> None:
    """The graph around each node has the edges of its component, each told by both of its nodes, and none from a node to itself."""
    found = set()
    for name in sorted({one for edge in case["edges"] for one in edge.split(" > ")}):
        graph = client.get("/api/v1/lineage", nodeId=node(name), depth=50).json()["graph"]
        sides = [
            {(e["origin"], e["destination"]) for one in graph for e in one[side]} for side in ("inEdges", "outEdges")
        ]
        assert sides[0] == sides[1]
        found |= sides[0]
    assert found == {tuple(node(one) for one in edge.split(" > ")) for edge in case["edges"]}


def test_a_job_beside_a_job_is_drawn_without_a_further_hop(client: Client) -> None:
    event = run_event(
        "COMPLETE", 1, "R", job_facets={"lineage": facet(entries=[{**end("J"), **inputs({"from": ["K"]})}])}
    )
    client.post("/api/v1/lineage", json.dumps(event).encode())
    graph = client.get("/api/v1/lineage", nodeId=node("J"), depth=0).json()["graph"]
    assert {one["id"]: one["type"] for one in graph} == {node("J"): "JOB", node("K"): "JOB"}


@pytest.mark.parametrize("seed", range(full(8, 1)))
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_shape(client: Client, database: Database, run: Any, case: dict[str, Any], seed: int) -> None:
    for event in events(case, random.Random(f"{case['id']} {seed}")):
        reply = client.post("/api/v1/lineage", json.dumps(event).encode())
        assert reply.status_code == 201, reply.text
    check(client, case, None)
    check(client, case, LATER)
    check_marquez(client, case)
    before = run(fingerprints(database))
    run(rebuild(database))
    assert run(fingerprints(database)) == before


def test_a_column_that_feeds_another_job_is_told_of_that_job(client: Client) -> None:
    entry = {**end("J"), "inputs": [{**end("a.k"), "transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}]}]}
    event = run_event("COMPLETE", 1, "R", job_facets={"lineage": facet(entries=[entry])})
    client.post("/api/v1/lineage", json.dumps(event).encode())
    (edge,) = answer(client, "a", "downstream", None)["column_edges"]
    assert (edge["source"], edge["source_field"], edge["target"], edge["job"]) == (node("a"), "k", node("J"), node("J"))
