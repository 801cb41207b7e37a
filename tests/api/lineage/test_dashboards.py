"""Dashboards: which datasets are any, what they show, and whom to ask."""

import json
from typing import Any

import pytest
from tests.events import dataset, encoded, facet, run_event
from typer.testing import CliRunner

from headwater.cli.program import program


def shown(name: str, kind: str, **facets: Any) -> dict[str, Any]:
    return dataset(name, namespace="metabase", datasetType=facet(datasetType=kind), **facets)


def send(client: Any, *events: dict[str, Any]) -> None:
    for event in events:
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201


def ask(client: Any, **question: Any) -> dict[str, Any]:
    reply = client.get("/api/v2/dashboards", **question)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def test_dashboards_with_what_they_show_and_whom_to_ask(client: Any) -> None:
    funnel = shown(
        "dashboard/7",
        "Dashboard",
        documentation=facet(description="Funnel, this week\nand more"),
        ownership=facet(owners=[{"name": "cleo", "type": "OWNER"}]),
        tags=facet(tags=[{"key": "team", "value": "growth"}]),
    )
    send(
        client,
        run_event("COMPLETE", 1, "refresh 7", ["/sales", "/costs"], [funnel], at="2026-01-01T00:00:00Z"),
        run_event("COMPLETE", 2, "refresh 8", ["/sales"], [shown("question/8", "QUESTION")], at="2026-01-02T00:00:00Z"),
        run_event("COMPLETE", 3, "load", [], [shown("t", "TABLE"), "/plain"], at="2026-01-03T00:00:00Z"),
    )
    found = ask(client)
    assert [(one["title"], one["kind"]) for one in found["dashboards"]] == [
        ("8", "QUESTION"),
        ("Funnel, this week", "DASHBOARD"),
    ]
    assert found["total"] == 2
    one = found["dashboards"][1]
    assert one["reads"] == ["dataset:file:/costs", "dataset:file:/sales"]
    assert (one["owners"], one["teams"], one["jobs"]) == (["cleo"], ["growth"], ["job:test:refresh 7"])
    assert [one["id"] for one in ask(client, q="funnel")["dashboards"]] == ["dataset:metabase:dashboard/7"]
    by_costs = [one["title"] for one in ask(client, shows="dataset:file:/costs")["dashboards"]]
    assert by_costs == ["Funnel, this week"]
    assert ask(client, shows="dataset:file:/sales")["total"] == 2
    assert ask(client, shows="dataset:metabase:dashboard/7")["total"] == 0
    assert client.get("/api/v2/dashboards", shows="dataset:file:/none").status_code == 404
    assert ask(client, tool="looker") == {"total": 0, "dashboards": []}
    assert [one["title"] for one in ask(client, limit=1, offset=1)["dashboards"]] == ["Funnel, this week"]


def test_what_is_a_table_now_is_no_dashboard(client: Any) -> None:
    send(
        client,
        run_event("COMPLETE", 1, "j", [], [shown("x", "DASHBOARD")], at="2026-01-01T00:00:00Z"),
        run_event("COMPLETE", 2, "j", [], [shown("x", "TABLE")], at="2026-01-02T00:00:00Z"),
    )
    assert ask(client)["dashboards"] == []


def test_the_command_lists_them(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    funnel = shown(
        "dashboard/7",
        "Dashboard",
        ownership=facet(owners=[{"name": "cleo"}]),
        documentation=facet(description="Funnel"),
    )
    send(client, run_event("COMPLETE", 1, "refresh 7", ["/a", "/b", "/c", "/d"], [funnel]))
    send(client, run_event("COMPLETE", 2, "refresh 8", ["/a"], [shown("question/8", "QUESTION")]))

    def ask(_base: str, path: str, params: Any = None, **_options: Any) -> bytes:
        return bytes(client.get(path, **(params or {})).content)

    monkeypatch.setattr("headwater.client.ask.ask", ask)
    monkeypatch.setenv("COLUMNS", "300")

    def run(*words: str) -> str:
        result = CliRunner().invoke(program, ["dashboards", *words], catch_exceptions=False)
        assert result.exit_code == 0
        return result.stdout

    listed = run()
    for word in ("Funnel", "a, b, c and 1 more", "cleo", "question"):
        assert word in listed
    assert "question" not in run("funnel")
    assert "1 of 2" in run("--limit", "1")
    assert "No dashboards found" in run("--tool", "looker")
    assert json.loads(run("--json"))["total"] == 2
