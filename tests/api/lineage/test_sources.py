"""The source of each dataset, and the dependencies between teams: over HTTP and by command."""

import datetime as dt
import json
from typing import Any

import pytest
from tests.events import dataset, encoded, run_event
from tests.fixtures.app import Client
from typer.testing import CliRunner

from headwater.cli.program import program

NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
ENTITIES = """
- {entity: raw, period: {every: day, from: 2024-01-01}, tags: {team: ingest}}
- {entity: clean, period: {every: day, from: 2024-01-01}, tags: {team: data}, depends_on: raw}
- {entity: weekly, period: {every: week, from: 2024-01-01}, tags: {team: data}, depends_on: {clean: all_week}}
- {entity: report, period: {every: week, from: 2024-01-01}, tags: {team: sales}, depends_on: {weekly: same, raw: all_week}}
"""


def at(hours: float) -> str:
    return (NOW - dt.timedelta(hours=hours)).isoformat()


@pytest.fixture
def world(client: Client) -> Client:
    """A bucket that one producer fills, and a warehouse that two report about."""

    def send(producer: str, *args: Any, **more: Any) -> None:
        event = run_event(*args, **more) | {"producer": producer}
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201

    send(
        "https://a.test",
        "COMPLETE",
        1,
        "ingest",
        [],
        [dataset("raw/x", "s3://lake"), dataset("raw/y", "s3://lake")],
        at=at(3),
    )
    send(
        "https://a.test",
        "COMPLETE",
        2,
        "load",
        [dataset("raw/x", "s3://lake")],
        [dataset("m.x", "trino://w")],
        at=at(2),
    )
    send(
        "https://b.test", "COMPLETE", 3, "mart", [dataset("m.x", "trino://w")], [dataset("m.y", "trino://w")], at=at(1)
    )
    return client


def test_what_datasets_live_in(world: Client, statements: Any) -> None:
    with statements() as counted:
        found = world.get("/api/v2/sources").json()
    assert len(counted) <= 6
    warehouse, bucket = found["sources"]
    assert (found["total"], warehouse["namespace"], bucket["namespace"]) == (2, "trino://w", "s3://lake")
    assert (bucket["platform"], bucket["datasets"], bucket["writers"], bucket["readers"]) == ("s3", 2, 1, 1)
    assert (warehouse["datasets"], warehouse["writers"], warehouse["readers"]) == (2, 2, 1)
    assert {one["producer"] for one in warehouse["producers"]} == {"https://a.test", "https://b.test"}
    (only,) = bucket["producers"]
    assert 2 * 3600 - 60 < only["lag_seconds"] < 3 * 3600 + 60
    assert dt.datetime.fromisoformat(bucket["last_seen"]) == NOW - dt.timedelta(hours=2)
    (one,) = world.get("/api/v2/sources", namespace="s3://lake").json()["sources"]
    assert one == bucket
    assert world.get("/api/v2/sources", namespace="s3://nowhere").json() == {"total": 0, "sources": []}


def run(url: str, *words: str) -> str:
    return (
        CliRunner().invoke(program, words, env={"HEADWATER_URL": url, "COLUMNS": "200"}, catch_exceptions=False).output
    )


def test_headwater_sources(world: Client, server_url: str) -> None:
    first, bucket = run(server_url, "sources").splitlines()[1:3]
    assert first.split()[:5] == ["trino://w", "trino", "2", "2", "1"]
    assert "and 1 more" in first
    assert bucket.split()[:5] == ["s3://lake", "s3", "2", "1", "1"]
    both = run(server_url, "sources", "trino://w")
    assert "https://a.test" in both
    assert "https://b.test" in both


def test_which_teams_depend_on_which(client: Client, server_url: str) -> None:
    body = {"files": [{"name": "e.yaml", "text": ENTITIES}]}
    assert (
        client.post("/api/v2/entities", json.dumps(body).encode(), content_type="application/json").status_code == 200
    )
    text = run(server_url, "entities", "graph", "--group", "team")
    rows = [line.split()[:3] for line in text.splitlines()]
    assert ["ingest", "data", "1"] in rows
    assert ["ingest", "sales", "1"] in rows
    assert ["data", "sales", "1"] in rows
    assert ["data", "data", "1"] not in rows
    chart = run(server_url, "entities", "graph", "weekly", "--format", "mermaid")
    assert '-->|"all_week"|' in chart
