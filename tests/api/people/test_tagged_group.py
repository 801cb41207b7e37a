"""A team or product by its tag: what it has, what is wrong with it, freshness, cost, and the groups around it."""

import datetime as dt
import json
from typing import Any

import pytest
from tests.events import encoded, facet, run_event
from tests.fixtures.app import Client
from typer.testing import CliRunner

from headwater.cli.program import program

NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)


def dataset(name: str, *tags: tuple[str, str], **facets: Any) -> dict[str, Any]:
    shown = [{"key": key, "value": value, "source": "test"} for key, value in tags]
    return {"namespace": "file", "name": name, "facets": {"tags": facet(tags=shown), **facets}}


@pytest.fixture
def world(client: Client) -> Client:
    """Web writes clicks, growth makes a funnel of them and of an untagged file; the funnel's job fails since."""
    money = {"headwater_cost": facet(grain="table", money=2.5, executions=3)}
    clicks = dataset("/clicks", ("team", "web"), ("Product", "site"))
    funnel = dataset("/funnel", ("team", "growth"), ("product", "insights"), **money)
    report = dataset("/report", ("team", "finance"))
    chain: list[tuple[str, list[Any], list[Any]]] = [
        ("import", ["/source"], [clicks]),
        ("count", [clicks, "/countries"], [funnel]),
        ("report", [funnel], [report]),
    ]
    number = 0
    for hours in range(12, 2, -1):
        for job, inputs, outputs in chain:
            number += 1
            at = (NOW - dt.timedelta(hours=hours)).isoformat()
            assert (
                client.post(
                    "/api/v1/lineage", encoded(run_event("COMPLETE", number, job, inputs, outputs, at=at))
                ).status_code
                == 201
            )
    for hours in (2, 1, 0.4):
        number += 1
        at = (NOW - dt.timedelta(hours=hours)).isoformat()
        event = run_event("COMPLETE", number, "import", ["/source"], [clicks], at=at)
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201
    at = (NOW - dt.timedelta(minutes=30)).isoformat()
    assert (
        client.post("/api/v1/lineage", encoded(run_event("FAIL", 900, "count", [clicks], [funnel], at=at))).status_code
        == 201
    )
    return client


def group(client: Client, tag: str) -> dict[str, Any]:
    reply = client.get("/api/v2/groups", tag=tag)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def test_a_team_between_its_neighbours(world: Client) -> None:
    found = group(world, "team:growth")
    assert [one["id"] for one in found["datasets"]] == ["dataset:file:/funnel"]
    assert (found["total_datasets"], found["total_jobs"], found["money"]) == (1, 0, 2.5)
    assert found["upstream"] == [
        {"value": "web", "datasets": ["dataset:file:/clicks"], "count": 1},
        {"value": "(none)", "datasets": ["dataset:file:/countries"], "count": 1},
    ]
    assert found["downstream"] == [{"value": "finance", "datasets": ["dataset:file:/report"], "count": 1}]
    assert [(one["kind"], one["id"]) for one in found["incidents"]] == [("failed", "job:test:count")], (
        "it hits the funnel"
    )
    assert sum(found["freshness"].values()) == 1
    assert group(world, "team:web")["incidents"] == [], "what fails downstream of it is not its own"


def test_a_key_in_other_case_is_the_same_key(world: Client) -> None:
    assert [one["value"] for one in group(world, "product:insights")["upstream"]] == ["site", "(none)"]


def test_of_no_value_and_of_none_there(world: Client) -> None:
    assert world.get("/api/v2/groups", tag="team").status_code == 400
    assert world.get("/api/v2/groups", tag="team:nobody").status_code == 404


def test_the_command_prints_it(world: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.cli.server.get", lambda _url, path, **question: world.get(path, **question).json())
    monkeypatch.setattr(
        "headwater.cli.server.ask", lambda _url, path, **question: world.get(path, **question).text.encode()
    )
    printed = CliRunner().invoke(program, ["status", "team:growth"], catch_exceptions=False).output
    assert "reads from web (1), (none) (1)" in printed
    assert "failed" in printed
    answered = CliRunner().invoke(program, ["status", "team:growth", "--json"], catch_exceptions=False).output
    assert json.loads(answered)["tag"] == "team:growth"
