"""One open incident in full: the way to each object hit, the timeline, whom to tell, and that it ends."""

import datetime as dt
import json
from typing import Any

import pytest
from tests.events import RUN, encoded, facet, parent, run_event
from tests.fixtures.app import Client
from typer.testing import CliRunner

from headwater.cli.program import program

NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
CHAIN = (("load", "/src", "/raw"), ("clean", "/raw", "/clean"), ("report", "/clean", "/report"))
LOAD = "job:test:load"


class Sender:
    """Sends runs with numbers of their own, so many hours ago."""

    def __init__(self, client: Client) -> None:
        self.client, self.number = client, 0

    def send(self, state: str, job: str, inputs: list[Any], outputs: list[Any], hours: float, **more: Any) -> str:
        self.number += 1
        at = (NOW - dt.timedelta(hours=hours)).isoformat()
        event = run_event(state, self.number, job, inputs, outputs, at=at, **more)
        assert self.client.post("/api/v1/lineage", encoded(event)).status_code == 201
        return RUN.format(self.number)


def detail(client: Client, id_: str) -> dict[str, Any]:
    reply = client.get("/api/v2/open-incident", id=id_)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def pairs(found: dict[str, Any]) -> list[tuple[str, str]]:
    names = {node["id"]: node["label"] for node in found["nodes"]}
    return sorted((names[edge["source"]], names[edge["target"]]) for edge in found["edges"])


@pytest.fixture
def hourly(client: Client) -> Sender:
    """The chain ran well every hour until five hours ago; `beside` reads the same source."""
    sender = Sender(client)
    for hours in range(16, 4, -1):
        for step, (job, read, written) in enumerate(CHAIN):
            sender.send("COMPLETE", job, [read], [written], hours - step / 60)
        sender.send("COMPLETE", "beside", ["/raw"], ["/beside"], hours)
    return sender


def test_the_ways_from_a_failing_job_to_what_is_late(hourly: Sender) -> None:
    tagged = {
        "ownership": facet(owners=[{"name": "ada", "type": "OWNER"}]),
        "tags": facet(tags=[{"key": "team", "value": "crew"}]),
    }
    hourly.send("COMPLETE", "claims", [], [{"namespace": "file", "name": "/report", "facets": tagged}], 30)
    first = hourly.send("FAIL", "load", ["/src"], ["/raw"], 3)
    last = hourly.send("FAIL", "load", ["/src"], ["/raw"], 2)
    found = detail(hourly.client, LOAD)
    assert pairs(found) == [
        ("beside", "beside"), ("clean", "clean"), ("clean", "report"), ("load", "raw"), ("raw", "beside"), ("raw", "clean"),
        ("report", "report"),
    ]  # fmt: skip
    nodes = {node["id"]: node for node in found["nodes"]}
    assert {id_: (one["role"], one["state"]) for id_, one in nodes.items()} == {
        LOAD: ("cause", "failed"),
        "dataset:file:/raw": ("hit", "late"),
        "job:test:clean": ("between", None),
        "dataset:file:/clean": ("hit", "late"),
        "job:test:report": ("between", None),
        "dataset:file:/report": ("hit", "late"),
        "job:test:beside": ("between", None),
        "dataset:file:/beside": ("hit", "late"),
    }
    report = nodes["dataset:file:/report"]
    assert (report["owners"], report["teams"], found["teams"], found["unreached"]) == (["ada"], ["crew"], ["crew"], [])
    assert found["incident"]["jobs"] == ["job:test:load", "job:test:beside", "job:test:clean", "job:test:report"]
    runs = [(entry["state"], entry["id"]) for entry in found["timeline"] if entry["id"].startswith("run:")]
    assert [state for state, _ in runs] == ["completed", "failed", "failed"]
    assert [id_ for _, id_ in runs[1:]] == [f"run:{first}", f"run:{last}"]
    moments = [dt.datetime.fromisoformat(entry["at"]) for entry in found["timeline"]]
    assert moments == sorted(moments)
    for step, (job, read, written) in enumerate(CHAIN):
        hourly.send("COMPLETE", job, [read], [written], 0.5 - step / 60)
    reply = hourly.client.get("/api/v2/open-incident", id=LOAD)
    assert (reply.status_code, "no incident is open" in reply.text) == (404, True)


def test_a_part_that_fails_leads_to_what_it_is_part_of(client: Client) -> None:
    sender = Sender(client)
    check = {"dataQualityAssertions": facet(assertions=[{"assertion": "not_null", "success": False}])}
    sender.send("COMPLETE", "make", ["/src"], ["/sick"], 5)
    whole = int(sender.send("FAIL", "dag", [], [], 4).rpartition("-")[2])
    sick = {"namespace": "file", "name": "/sick", "inputFacets": check}
    sender.send("FAIL", "dag.check", [sick], [], 4, run_facets=parent(whole, "dag"))
    found = detail(client, "dataset:file:/sick")
    assert found["incident"]["kind"] == "doubted"
    assert ("check", "dag") in [(a.rpartition(".")[2], b) for a, b in pairs(found)]
    assert found["unreached"] == []


def test_of_a_wrong_run_the_ways_are_those_that_were_read(hourly: Sender) -> None:
    wrong = hourly.send("COMPLETE", "load", ["/src"], ["/raw"], 4)
    hourly.send("COMPLETE", "clean", ["/raw"], ["/clean"], 3.9)
    body = {"origins": [{"kind": "RUN", "ref": wrong}], "reason": "last year's rates"}
    made = hourly.client.post("/api/v2/incidents", json.dumps(body).encode(), content_type="application/json").json()
    found = detail(hourly.client, made["id"])
    assert pairs(found) == [("clean", "clean"), ("load", "raw"), ("raw", "clean")]
    assert [node["label"] for node in found["nodes"] if node["role"] == "cause"] == ["load"]
    first = found["timeline"][0]
    assert (first["state"], first["text"]) == ("wrong", "run of load began")


def test_the_command_prints_them(hourly: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    hourly.send("FAIL", "load", ["/src"], ["/raw"], 3)

    def ask(_url: Any, path: str, **question: Any) -> bytes:
        return hourly.client.get(path, **question).text.encode()

    monkeypatch.setattr("headwater.cli.server.ask", ask)
    printed = CliRunner().invoke(program, ["incident", "show", LOAD], catch_exceptions=False).output
    assert printed.startswith("load: failed\n")
    assert "run test:load, then test:beside" in printed
    assert "report" in printed
    answered = CliRunner().invoke(program, ["incident", "show", LOAD, "--json"], catch_exceptions=False).output
    assert json.loads(answered)["incident"]["id"] == LOAD


def test_jobs_on_the_way_say_the_job_above_them(hourly: Sender) -> None:
    wrong = hourly.send("COMPLETE", "load", ["/src"], ["/raw"], 4)
    whole = int(hourly.send("COMPLETE", "dag", [], [], 3.9).rpartition("-")[2])
    for step in ("dag.x", "dag.y"):
        hourly.send("COMPLETE", step, ["/raw"], [f"/{step}"], 3.8, run_facets=parent(whole, "dag"))
    body = {"origins": [{"kind": "RUN", "ref": wrong}], "reason": "last year's rates"}
    made = hourly.client.post("/api/v2/incidents", json.dumps(body).encode(), content_type="application/json").json()
    jobs = [node for node in detail(hourly.client, made["id"])["nodes"] if node["id"].startswith("job:")]
    parents = {node["label"]: node["parent"] for node in jobs}
    assert parents == {"load": None, "dag.x": "job:test:dag", "dag.y": "job:test:dag"}
