"""The events that a real Trino 476 sent with its OpenLineage listener, and every edge that its statements have, worked out by hand, from both ends.

`trino_metadata` is without the query's plan and `trino_query_statistics` is left out: 0.4 MB of which no edge depends.
"""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.api.lineage.test_both_ends import marquez_graph
from tests.fixtures.app import Client

EVENTS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "cases/trino/listener-476.ndjson").read_text(encoding="utf-8").splitlines()
]
NAME = "dataset:trino://trino.example.com:8080:memory.shop.{}"
# `copy` is made from the view `latest`: Trino names the columns of the view, and as what decides about rows those of the table below it.
TABLES = {
    ("orders", "report"),
    ("people", "report"),
    ("orders", "totals"),
    ("people", "totals"),
    ("report", "latest"),
    ("latest", "copy"),
    ("report", "copy"),
}
COLUMNS = {
    ("orders.id", "report.id"),
    ("orders.customer", "report.customer"),
    ("people.country", "report.country"),
    ("people.country", "totals.country"),
    ("orders.amount", "totals.total"),
    ("report.id", "latest.id"),
    ("report.country", "latest.country"),
    ("latest.id", "copy.id"),
    ("latest.country", "copy.land"),
}


@pytest.fixture(params=range(3))
def sent(request: pytest.FixtureRequest, client: Client) -> Client:
    events = list(EVENTS)
    if request.param:
        events += random.Random(request.param).sample(events, 6)
        random.Random(request.param).shuffle(events)
    for event in events:
        assert client.post("/api/v1/lineage", json.dumps(event).encode()).status_code == 201
    return client


def short(node: str) -> str:
    return node.rpartition(".")[2]


def answered(client: Client, name: str, direction: str) -> Any:
    return client.get("/api/v2/lineage", node=NAME.format(name), direction=direction, depth=1, columns="true").json()


def test_every_table_edge_is_found_from_both_ends(sent: Client) -> None:
    names = {name for pair in TABLES for name in pair}
    for direction in ("upstream", "downstream"):
        found = set()
        for name in names:
            answer = answered(sent, name, direction)
            others = {short(one["id"]) for one in answer["nodes"] if one["type"] == "DATASET"} - {name}
            found |= {(one, name) if direction == "upstream" else (name, one) for one in others}
        assert found == TABLES, direction
    graph = marquez_graph(sent, NAME.format("orders"))
    jobs = {one: {short(other) for other in some} for one, some in graph.items() if one.startswith("job:")}
    through = {
        (short(one), out)
        for one, some in graph.items()
        if one.startswith("dataset:")
        for job in some
        for out in jobs[job]
    }
    assert through == TABLES


def test_every_column_edge_is_found_from_both_ends(sent: Client) -> None:
    for direction in ("upstream", "downstream"):
        found = set()
        for name in {name for pair in TABLES for name in pair}:
            for one in answered(sent, name, direction)["column_edges"]:
                if one["source_field"] and one["target_field"]:
                    found.add(
                        (
                            f"{short(one['source'])}.{one['source_field']}",
                            f"{short(one['target'])}.{one['target_field']}",
                        )
                    )
        assert found == COLUMNS, direction


def test_a_query_that_failed_adds_no_edge(sent: Client) -> None:
    """`insert into totals select … from nothing`: Trino sends the text and no datasets."""
    assert {short(one["id"]) for one in sent.get("/api/v2/datasets", limit=100).json()["datasets"]} >= {
        "orders",
        "copy",
    }
    jobs = sent.get("/api/v2/lineage", node=NAME.format("totals"), direction="upstream", depth=1).json()["nodes"]
    assert not [one for one in jobs if one["type"] == "JOB" and (one["last_run"] or {}).get("state") == "FAILED"]
