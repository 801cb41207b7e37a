"""Seed 001 in its own words: entity_13 and its cause, hours that become days and months, and states that are forced or ignored."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.app import Client

CASE = Path(__file__).parents[2] / "cases/entities/entity_13.yaml"
DAYS = "2024-01-01..2024-03-31"


def post(client: Client, path: str, body: Any) -> Any:
    reply = client.post(path, json.dumps(body).encode(), content_type="application/json")
    assert reply.status_code == 200, reply.text
    return reply.json()


def report(client: Client, entity: str, instances: str, **more: Any) -> None:
    body = {"entity": entity, "what": "produced", "instances": [instances], **more}
    (told,) = post(client, "/api/v2/instances", {"reports": [body]})["results"]
    assert not told.get("refused"), told


def ready(client: Client, entity: str, instance: str) -> dict[str, Any]:
    reply = client.get(f"/api/v2/entities/{entity}/readiness", instances=instance)
    assert reply.status_code == 200, reply.text
    return dict(reply.json()["instances"][0])


def why(asked: dict[str, Any]) -> list[str]:
    return [missing["why"] for state in asked["states"] for missing in state["missing"]]


def one(client: Client, entity: str, instance: str) -> dict[str, Any]:
    return dict(client.get(f"/api/v2/entities/{entity}/instances/{instance}").json())


@pytest.fixture
def graph(client: Client) -> Client:
    """The graph of the figure, made for a quarter."""
    post(client, "/api/v2/entities", {"files": [{"name": CASE.name, "text": CASE.read_text()}]})
    report(client, "entity_3", "2024-01-01T00..2024-03-31T23")
    for number in (4, 5, 6, 7, 10, 11):
        report(client, f"entity_{number}", DAYS)
    report(client, "entity_13", "2024-01..2024-03")
    return client


def test_entity_13_is_aberrant_and_these_are_suspected(graph: Client) -> None:
    found = graph.get("/api/v2/entities/entity_13/suspects", instances="2024-03").json()["suspects"]
    assert {one["entity"] for one in found} == {f"entity_{n}" for n in (11, 6, 7, 3, 4, 5)}


@pytest.mark.parametrize(
    ("hours", "days", "months"),
    [
        ("2024-03-10T02..2024-03-10T11", ["2024-03-10"], ["2024-03"]),
        ("2024-03-10T20..2024-03-11T05", ["2024-03-10..2024-03-11"], ["2024-03"]),
        ("2024-01-31T20..2024-02-01T05", ["2024-01-31..2024-02-01"], ["2024-01..2024-02"]),
    ],
    ids=["10 hours are 1 day of entity_11", "10 hours over midnight are 2 days", "over the month's end also 2 months"],
)
def test_ten_hours_of_entity_3(graph: Client, hours: str, days: list[str], months: list[str]) -> None:
    opened = post(
        graph, "/api/v2/incidents", {"wrong": [{"entity": "entity_3", "instances": [hours]}], "reason": "stuck"}
    )
    hits = {hit["entity"]: hit["instances"] for hit in opened["hits"]}
    assert hits["entity_11"] == days
    assert hits["entity_10"] == days, "which did not seem to be related at first glance"
    assert hits["entity_13"] == months
    assert hits.keys() == {f"entity_{n}" for n in (3, 6, 10, 11, 13)}


STATES = """
entity: reads
period: {every: day, from: 2024-01-01}
states: [estimated, completed]
---
entity: careful
period: {every: day, from: 2024-01-01}
depends_on: reads
---
entity: quick
period: {every: day, from: 2024-01-01}
depends_on: {reads: {dates: same, states: [estimated, completed]}}
---
entity: brave
period: {every: day, from: 2024-01-01}
depends_on: {reads: {dates: same, accept_tainted: true}}
---
entity: summary
period: {every: day, from: 2024-01-01}
depends_on: careful
"""


@pytest.fixture
def states(client: Client) -> Client:
    post(client, "/api/v2/entities", {"files": [{"name": "states.yaml", "text": STATES}]})
    return client


def test_an_estimated_state_is_ignored_by_who_accepts_only_completed(states: Client) -> None:
    report(states, "reads", "2024-03-10", states=["estimated"])
    assert ready(states, "careful", "2024-03-10")["ready"] is False
    assert ready(states, "quick", "2024-03-10")["ready"] is True
    report(states, "reads", "2024-03-10", states=["completed"])
    assert ready(states, "careful", "2024-03-10")["ready"] is True


def test_an_instance_may_have_two_states_at_once(client: Client) -> None:
    text = "entity: reads\nperiod: {every: day, from: 2024-01-01}\nstates: [estimated, partial, completed]\n"
    post(client, "/api/v2/entities", {"files": [{"name": "reads.yaml", "text": text}]})
    report(client, "reads", "2024-03-10", states=["estimated", "partial"])
    (stretch,) = client.get("/api/v2/entities/reads/status", instances="2024-03-10").json()["stretches"]
    assert sorted(stretch["states"]) == ["estimated", "partial"]


def test_a_forced_instance_is_there_though_its_input_is_not_and_others_use_it(states: Client) -> None:
    assert why(ready(states, "careful", "2024-03-10")) == ["late"]
    report(states, "careful", "2024-03-10", reads=[], reason="forced: reads will not come")
    assert one(states, "careful", "2024-03-10")["valid"] is True
    assert ready(states, "summary", "2024-03-10")["ready"] is True
    assert one(states, "careful", "2024-03-10")["history"][0]["reason"] == "forced: reads will not come"


def test_a_wrong_input_is_refused_by_all_but_who_ignores_it(states: Client) -> None:
    report(states, "reads", "2024-03-10", states=["completed"])
    wrong = [{"entity": "reads", "instances": ["2024-03-10"]}]
    post(states, "/api/v2/incidents", {"wrong": wrong, "reason": "wrong counts"})
    assert why(ready(states, "careful", "2024-03-10")) == ["wrong"]
    assert ready(states, "brave", "2024-03-10")["ready"] is True


def test_a_person_forces_a_wrong_instance_valid(states: Client) -> None:
    report(states, "reads", "2024-03-10", states=["completed"])
    wrong = [{"entity": "reads", "instances": ["2024-03-10"]}]
    opened = post(states, "/api/v2/incidents", {"wrong": wrong, "reason": "wrong counts"})
    assert one(states, "reads", "2024-03-10")["valid"] is False
    post(states, f"/api/v2/incidents/{opened['id']}/confirm", {"right": wrong, "note": "counted again by hand"})
    assert one(states, "reads", "2024-03-10")["valid"] is True
    assert ready(states, "careful", "2024-03-10")["ready"] is True
