"""Entities over HTTP: declared, reported, asked about, wrong and right again."""

import asyncio
import datetime as dt
import json
import time
from typing import Any

import pytest
from tests.fixtures.app import Client

YAML = """
entity: reads
period: {every: day, from: 2024-01-01}
tags: {team: data-eng}
---
entity: report
period: {every: week, from: 2024-01-01}
depends_on: {reads: all_week}
"""


def post(client: Client, path: str, body: Any) -> Any:
    return client.post(path, json.dumps(body).encode(), content_type="application/json")


def declare(client: Client, text: str = YAML, **more: Any) -> Any:
    return post(client, "/api/v2/entities", {"files": [{"name": "entities.yaml", "text": text}], **more})


def say(client: Client, *reports: dict[str, Any]) -> Any:
    answer = post(client, "/api/v2/instances", {"reports": list(reports)})
    assert answer.status_code == 200, answer.text
    return answer.json()


def made(entity: str, *instances: str, **more: Any) -> dict[str, Any]:
    return {"entity": entity, "what": "produced", "instances": list(instances), **more}


@pytest.fixture
def declared(client: Client) -> Client:
    assert declare(client).status_code == 200
    return client


def test_declared_listed_and_changed(client: Client) -> None:
    tried = declare(client, dry_run=True).json()
    assert (tried["number"], [each["what"] for each in tried["changes"]]) == (None, ["added", "added"])
    assert client.get("/api/v2/entities").json()["total"] == 0
    first = declare(client).json()
    assert first["entities"] == 2
    assert declare(client).json()["changes"] == []
    listed = client.get("/api/v2/entities", tag="team=data-eng").json()
    assert [(each["entity"], each["period"], each["downstream"]) for each in listed["entities"]] == [
        ("reads", "day, UTC", ["report"])
    ]
    changed = declare(
        client, "entity: report\nperiod: {every: week, from: 2024-01-01}\ndepends_on: {reads: last 14 days}\n"
    ).json()
    assert [(each["what"], each["entity"]) for each in changed["changes"]] == [("changed", "report")]
    one = client.get("/api/v2/entities/report").json()
    assert one["needs"][0]["dates"] == "last 14 days"
    history = client.get("/api/v2/entities/report/history").json()["declared"]
    assert [each["until"] is None for each in history] == [True, False]
    then = client.get("/api/v2/entities/report", as_of=history[1]["since"]).json()
    assert then["needs"][0]["dates"] == "all_week"
    pruned = declare(client, "entity: reads\nperiod: {every: day, from: 2024-01-01}\n", prune=True).json()
    assert ("removed", "report") in [(each["what"], each["entity"]) for each in pruned["changes"]]


def test_mistakes_say_where(client: Client) -> None:
    answer = declare(client, "entity: a\nperiod: day\ndepends_on: {b: same}\n---\nentity: c\nperiod: dya\n")
    assert answer.status_code == 422
    told = answer.json()
    assert told["code"] == "invalid_entities"
    assert any(problem.startswith("entities.yaml:6:") for problem in told["detail"]["problems"])
    unknown = declare(client, "entity: a\nperiod: day\ndepends_on: {b: same}\n").json()["detail"]["problems"]
    assert len(unknown) == 1
    assert unknown[0].startswith("entities.yaml:3:")


def test_a_renamed_entity_keeps_what_is_known(declared: Client) -> None:
    say(declared, made("reads", "2024-03-10"))
    declare(
        declared,
        "entity: views\nrenamed_from: reads\nperiod: {every: day, from: 2024-01-01}\n---\n"
        "entity: report\nperiod: {every: week, from: 2024-01-01}\ndepends_on: {views: all_week}\n",
    )
    assert declared.get("/api/v2/entities/views/status", instances="2024-03-10").json()["counts"] == {"completed": 1}
    assert declared.get("/api/v2/entities/reads/status").status_code == 404


def test_another_calendar_is_another_series(declared: Client) -> None:
    say(declared, made("reads", "2024-03-10"))
    before = dt.datetime.now(dt.UTC).isoformat()
    time.sleep(0.01)
    hourly = "entity: reads\nperiod: {every: hour, from: 2024-01-01}\n"
    declare(declared, hourly)
    assert declared.get("/api/v2/entities/reads/status", instances="2024-03-10").json()["counts"] == {"missing": 24}
    then = declared.get("/api/v2/entities/reads/status", instances="2024-03-10", as_of=before).json()
    assert then["counts"] == {"completed": 1}
    # And back: it goes on where it was.
    declare(declared)
    assert declared.get("/api/v2/entities/reads", as_of=before).status_code == 200


def test_the_calendar_of_states(declared: Client) -> None:
    say(
        declared,
        made("reads", "2024-03-01..2024-03-05"),
        {"entity": "reads", "what": "started", "instances": ["2024-03-06"], "ref": "r6"},
        {"entity": "reads", "what": "doubted", "instances": ["2024-03-02"], "ref": "not_null"},
    )
    told = declared.get("/api/v2/entities/reads/status", instances="2024-03-01..2024-03-07").json()
    assert [(each["instances"], each["status"], each["valid"]) for each in told["stretches"]] == [
        ("2024-03-01", "completed", True),
        ("2024-03-02", "doubted", False),
        ("2024-03-03..2024-03-05", "completed", True),
        ("2024-03-06", "running", False),
        ("2024-03-07", "missing", False),
    ]
    assert told["counts"] == {"completed": 4, "doubted": 1, "running": 1, "missing": 1}
    one = declared.get("/api/v2/entities/reads/instances/2024-03-02").json()
    assert [each["what"] for each in one["history"]] == ["doubted", "produced"]
    assert one["versions"][0]["current"]
    assert declared.get("/api/v2/entities/reads/instances/2024-03").status_code == 400


def test_what_is_not_over_is_not_missing(declared: Client) -> None:
    today = dt.datetime.now(dt.UTC).date()
    days = [str(today + dt.timedelta(days=each)) for each in range(-2, 3)]
    told = declared.get("/api/v2/entities/reads/status", instances=f"{days[0]}..{days[-1]}").json()
    assert [(each["instances"], each["status"]) for each in told["stretches"]] == [
        (f"{days[0]}..{days[1]}", "missing"),
        (f"{days[2]}..{days[4]}", "not over"),
    ]
    assert told["counts"] == {"missing": 2, "not over": 3}


def test_as_it_was_known(declared: Client) -> None:
    say(declared, made("reads", "2024-03-01..2024-03-05"))
    then = dt.datetime.now(dt.UTC).isoformat()
    time.sleep(0.01)
    say(declared, {"entity": "reads", "what": "deleted", "instances": ["2024-03-01..2024-03-03"], "ref": "retention"})
    asked = {"instances": "2024-03-01..2024-03-05"}
    assert declared.get("/api/v2/entities/reads/status", **asked).json()["counts"] == {"deleted": 3, "completed": 2}
    assert declared.get("/api/v2/entities/reads/status", **asked, as_of=then).json()["counts"] == {"completed": 5}
    week = {"instances": "2024-W09"}
    assert declared.get("/api/v2/entities/report/readiness", **week, as_of=then).json()["ready"] is False
    say(declared, made("reads", "2024-02-26..2024-03-03"))
    assert declared.get("/api/v2/entities/report/readiness", **week).json()["ready"] is True


def test_ready_of_exactly_what(declared: Client) -> None:
    say(declared, made("reads", "2024-03-04..2024-03-09"))
    told = declared.get("/api/v2/entities/report/readiness", instances="2024-W10").json()
    (state,) = told["instances"][0]["states"]
    assert (told["ready"], state["missing"][0]["instances"], state["missing"][0]["why"]) == (
        False,
        ["2024-03-10"],
        "late",
    )
    seq = say(declared, made("reads", "2024-03-10"))["seq"]
    told = declared.get(
        "/api/v2/entities/report/readiness", start="2024-03-04T00:00:00Z", end="2024-03-11T00:00:00Z"
    ).json()
    assert (told["ready"], told["seq"]) == (True, seq)
    assert told["instances"][0]["states"][0]["pins"] == [{"entity": "reads", "instances": ["2024-03-04..2024-03-10"]}]
    many = post(
        declared, "/api/v2/readiness", {"ask": [{"entity": "report", "instances": ["2024-W08..2024-W11"]}]}
    ).json()
    assert [each["ready"] for each in many["instances"]] == [False, False, True, False]
    assert declared.get("/api/v2/entities/report/readiness", instances="2024-W99").status_code == 400


def test_from_when_until_when(client: Client) -> None:
    paris = (
        "entity: reads\nperiod: {every: day, tz: Europe/Paris, from: 2024-01-01}\n---\nentity: names\nkind: static\n"
    )
    daily = "---\nentity: report\nperiod: {every: week, tz: Europe/Paris, from: 2024-01-01}\ndepends_on: {reads: all_week, names: static}\n"
    assert declare(client, paris + daily).status_code == 200
    say(client, made("reads", "2024-03-25..2024-03-28"), made("names", "static"))
    body = {"ask": [{"entity": "report", "instances": ["2024-W13"]}], "intervals": True}
    told = post(client, "/api/v2/readiness", body).json()
    (state,) = told["instances"][0]["states"]
    assert {pin["entity"]: pin["instances"] for pin in state["pins"]} == {
        "reads": ["2024-03-25..2024-03-28"],
        "names": ["static"],
    }
    # The last Sunday of March has 23 hours.
    assert told["intervals"] == {
        "report": {"2024-W13": {"start": "2024-03-25T00:00:00+01:00", "end": "2024-04-01T00:00:00+02:00"}},
        "reads": {
            "2024-03-25..2024-03-28": {"start": "2024-03-25T00:00:00+01:00", "end": "2024-03-29T00:00:00+01:00"},
            "2024-03-29..2024-03-31": {"start": "2024-03-29T00:00:00+01:00", "end": "2024-04-01T00:00:00+02:00"},
        },
    }
    assert post(client, "/api/v2/readiness", {**body, "intervals": False}).json()["intervals"] is None


def test_who_waits_is_woken(declared: Client, run: Any) -> None:
    say(declared, made("reads", "2024-03-04..2024-03-09"))

    async def both() -> tuple[float, Any]:
        asked = declared._http.get(
            "/api/v2/entities/report/readiness", params={"instances": "2024-W10", "wait": 20}, timeout=30
        )
        waiting = asyncio.ensure_future(asked)
        await asyncio.sleep(0.5)
        assert not waiting.done()
        body = {"reports": [made("reads", "2024-03-10")]}
        await declared._http.post("/api/v2/instances", json=body)
        began = time.monotonic()
        answer = await waiting
        return time.monotonic() - began, answer.json()

    took, told = run(both())
    assert told["ready"] is True
    assert took < 10  # it did not wait to the end


def test_wrong_and_right_again(declared: Client) -> None:
    say(declared, made("reads", "2024-03-04..2024-03-10"), made("report", "2024-W10"))
    body = {"wrong": [{"entity": "reads", "instances": ["2024-03-06"]}], "reason": "half of it is missing"}
    tried = post(declared, "/api/v2/incidents", {**body, "dry_run": True}).json()
    assert (tried["id"], tried["count"]) == (None, 2)
    told = post(declared, "/api/v2/incidents", body).json()
    id_ = told["id"]
    suspects = declared.get("/api/v2/entities/report/suspects", instances="2024-W10").json()["suspects"]
    assert [(each["entity"], each["because"], each["of_these"]) for each in suspects] == [
        ("reads", "known to be wrong", ["2024-03-06"])
    ]
    ready = declared.get("/api/v2/entities/report/readiness", instances="2024-W10").json()
    missing = ready["instances"][0]["states"][0]["missing"][0]
    assert (missing["why"], missing["ref"], missing["instances"]) == ("wrong", id_, ["2024-03-06"])
    listed = declared.get("/api/v2/incidents").json()
    assert [(each["id"], each["wrong"], each["entities"]) for each in listed["incidents"]] == [(id_, 2, 2)]
    assert post(declared, f"/api/v2/incidents/{id_}/fix", {"note": "reloaded"}).json()["state"] == "fixed"
    say(declared, made("reads", "2024-03-06"), made("report", "2024-W10"))
    one = declared.get(f"/api/v2/incidents/{id_}").json()
    assert (one["incident"]["wrong"], one["roots"]) == (0, {"reads": ["2024-03-06"]})
    other = post(declared, "/api/v2/incidents", body).json()["id"]
    assert post(declared, f"/api/v2/incidents/{other}/retract", {}).json()["state"] == "retracted"
    assert [declared.get("/api/v2/incidents", state=each).json()["total"] for each in ("open", "retracted")] == [0, 1]
    assert declared.get("/api/v2/entities/report/status", instances="2024-W10").json()["counts"] == {"completed": 1}


def test_what_a_table_says_is_needed_and_nothing_else(client: Client) -> None:
    """The day of 12 March holds three: what is ready, what is wrong and what is made again, by the table."""
    text = """
entity: loads
period: {every: day, from: 2024-01-01}
---
entity: report
period: {every: day, from: 2024-01-01}
depends_on:
  loads:
    custom:
      affects: {2024-03-10..2024-03-11: [], 2024-03-12: WHOM}
"""
    refused = declare(client, text.replace("WHOM", "2024-03-10..2024-02-12"))
    assert refused.status_code == 422
    assert refused.json()["detail"]["places"][0]["line"] == 10
    assert declare(client, text.replace("WHOM", "2024-03-10..2024-03-12")).status_code == 200
    assert declare(client, text.replace("WHOM", "[' 2024-03-10 .. 2024-03-12']")).json()["changes"] == []
    assert client.get("/api/v2/entities/report").json()["needs"][0]["dates"] == "same, custom"
    say(client, made("loads", "2024-03-09", "2024-03-12"))
    asked = client.get("/api/v2/entities/report/readiness", instances="2024-03-09..2024-03-11").json()
    pins = [each["states"][0]["pins"][0]["instances"] for each in asked["instances"]]
    assert (asked["ready"], pins) == (True, [["2024-03-09"], ["2024-03-12"], ["2024-03-12"]])
    say(client, *(made("report", f"2024-03-{day:02}") for day in range(9, 14)))
    body = {"wrong": [{"entity": "loads", "instances": ["2024-03-12"]}], "reason": "half of it is missing"}
    incident = post(client, "/api/v2/incidents", body).json()
    assert incident["count"] == 4
    assert post(client, "/api/v2/plans", {"incident": incident["id"]}).json()["counts"] == {"loads": 1, "report": 3}
    told = client.get("/api/v2/entities/report/status", instances="2024-03-09..2024-03-13").json()
    assert [(each["instances"], each["status"]) for each in told["stretches"]] == [
        ("2024-03-09", "completed"),
        ("2024-03-10..2024-03-12", "wrong"),
        ("2024-03-13", "completed"),
    ]
    suspects = client.get("/api/v2/entities/report/suspects", instances="2024-03-11").json()["suspects"]
    assert [each["instances"] for each in suspects if each["entity"] == "loads"] == [["2024-03-12"]]
    changed = declare(client, text.replace("WHOM", "2024-03-10"), dry_run=True).json()["changes"]
    assert [(each["path"], each["old"], each["new"]) for each in changed] == [
        ("states.completed.loads.custom.affects.2024-03-12", ["2024-03-10..2024-03-12"], ["2024-03-10"])
    ]


def test_what_is_not_there(declared: Client) -> None:
    assert declared.get("/api/v2/entities/raeds").json()["message"].endswith("did you mean 'reads'?")
    assert declared.get("/api/v2/incidents/0190a000-0000-7000-8000-000000000000").status_code == 404
    refused = declared.get("/api/v2/incidents", state="nonsense")
    assert refused.status_code == 400
    assert refused.json()["message"] == "state 'nonsense' is not one of open, fixed, retracted"
    answer = post(declared, "/api/v2/instances", {"reports": [{"entity": "reads", "what": "exploded"}]})
    assert answer.status_code in {400, 422}
    refused = say(declared, made("reads", "2024-13-01"))["results"][0]["refused"]
    assert refused["code"] == "invalid_period"


def test_followed_without_missing_anything(declared: Client, run: Any) -> None:
    say(declared, made("reads", "2024-03-04..2024-03-06"), made("report", "2024-W10"))
    first = declared.get("/api/v2/instances", limit=1).json()
    assert [(each["seq"], each["entity"], each["instances"]) for each in first["reports"]] == [
        (1, "reads", ["2024-03-04..2024-03-06"])
    ]
    assert (first["next"], first["more"]) == (1, True)
    rest = declared.get("/api/v2/instances", since=1).json()
    assert [each["entity"] for each in rest["reports"]] == ["report"]
    assert declared.get("/api/v2/instances", since=2, entity="reads").json() == {
        "reports": [],
        "next": 2,
        "more": False,
    }

    async def both() -> Any:
        asked = declared._http.get("/api/v2/instances", params={"since": 2, "wait": 20, "entity": "reads"}, timeout=30)
        waiting = asyncio.ensure_future(asked)
        await asyncio.sleep(0.3)
        await declared._http.post("/api/v2/instances", json={"reports": [made("report", "2024-W11")]})
        await asyncio.sleep(0.5)
        assert not waiting.done()
        await declared._http.post("/api/v2/instances", json={"reports": [made("reads", "2024-03-10")]})
        return (await waiting).json()

    assert [each["seq"] for each in run(both())["reports"]] == [4]


def test_the_graph_as_teams_see_it(client: Client) -> None:
    text = """
entity: raw
period: day
tags: {team: ingest}
---
entity: raw_latest
period: day
transparent: true
depends_on: {raw: same}
tags: {team: ingest}
---
entity: reads
period: day
tags: {team: data-eng}
depends_on: {raw_latest: same, raw: last 3 days}
---
entity: report
period: week
tags: {team: [data-eng, sales]}
depends_on: {reads: all_week}
"""
    declare(client, text)
    then = dt.datetime.now(dt.UTC).isoformat()
    found = client.get("/api/v2/entity-graph").json()
    assert [(each["upstream"], each["downstream"], each["dates"]) for each in found["edges"]] == [
        ("raw", "reads", ["last 3 days", "same"]),
        ("reads", "report", ["all_week"]),
    ]
    assert found["hidden"] == ["raw_latest"]
    teams = client.get("/api/v2/entity-graph", group="team").json()
    assert {each["name"]: each["entities"] for each in teams["nodes"]} == {
        "data-eng": ["reads", "report"],
        "ingest": ["raw"],
        "sales": ["report"],
    }
    assert [(each["upstream"], each["downstream"], each["dependencies"]) for each in teams["edges"]] == [
        ("data-eng", "sales", 1),
        ("ingest", "data-eng", 2),
    ]
    up = client.get("/api/v2/entity-graph", entity="report", direction="upstream", depth=1).json()
    assert [each["name"] for each in up["nodes"]] == ["reads", "report"]
    declare(client, "entity: report\nperiod: week\ndepends_on: {raw: all_week}\n")
    assert ("raw", "report") in [
        (each["upstream"], each["downstream"]) for each in client.get("/api/v2/entity-graph").json()["edges"]
    ]
    before = client.get("/api/v2/entity-graph", as_of=then).json()
    assert before == found
    assert client.get("/api/v2/entity-graph", direction="sideways").status_code == 400
