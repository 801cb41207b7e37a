"""Everything that needs a person, each under its first cause, and gone when a good run came."""

import datetime as dt
import json
from typing import Any

import pytest
from tests.events import RUN, encoded, facet, parent, run_event
from tests.fixtures.app import Client
from typer.testing import CliRunner

from headwater.answer.status import open_incidents
from headwater.cli.program import program

NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
CHAIN = (("load", "/src", "/raw"), ("clean", "/raw", "/clean"), ("report", "/clean", "/report"))
NUMBERS = iter(range(1, 10_000))


def ago(hours: float) -> str:
    return (NOW - dt.timedelta(hours=hours)).isoformat()


def send(client: Client, state: str, job: str, read: str, written: str, hours: float, **more: Any) -> str:
    number = next(NUMBERS)
    event = run_event(state, number, job, [read], [written], at=ago(hours), **more)
    assert client.post("/api/v1/lineage", encoded(event)).status_code == 201
    return RUN.format(number)


def ask(client: Client, **question: Any) -> dict[str, Any]:
    reply = client.get("/api/v2/open-incidents", **question)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def shown(client: Client) -> list[tuple[str, str, list[str]]]:
    return [
        (one["kind"], one["label"], sorted(each["label"] for each in one["hit"])) for one in ask(client)["incidents"]
    ]


@pytest.fixture
def hourly(client: Client) -> Client:
    """The chain ran well every hour until five hours ago; so did a table beside it."""
    for hours in range(16, 4, -1):
        for step, (job, read, written) in enumerate(CHAIN):
            send(client, "COMPLETE", job, read, written, hours - step / 60)
        send(client, "COMPLETE", "beside", "/other", "/beside", hours)
    return client


def test_the_error_of_the_run_that_is_the_cause_is_told(client: Client) -> None:
    error = {"errorMessage": facet(message="disk full\nat line 3", programmingLanguage="PYTHON")}
    event = run_event("FAIL", 1, "load", ["/src"], ["/raw"], at=NOW.isoformat(), run_facets=error)
    assert client.post("/api/v1/lineage", encoded(event)).status_code == 201
    (one,) = ask(client)["incidents"]
    assert one["text"] == "the last run failed; disk full"
    assert client.get("/api/v2/open-incident", id=one["id"]).json()["incident"]["text"] == one["text"]


def test_one_failure_with_late_children_is_one_entry(hourly: Client) -> None:
    assert sorted(shown(hourly)) == [("late", "beside", []), ("late", "raw", ["clean", "report"])]
    for hours in (4, 3, 2):
        last = send(hourly, "FAIL", "load", "/src", "/raw", hours)
    failed, late = ask(hourly)["incidents"]
    assert (failed["kind"], failed["id"], sorted(each["label"] for each in failed["hit"])) == (
        "failed", "job:test:load", ["clean", "raw", "report"]
    )  # fmt: skip
    assert dt.datetime.fromisoformat(failed["since"]) == NOW - dt.timedelta(hours=4)
    assert (failed["text"], failed["look"]) == (
        "the last run failed; 3 runs since a good one",
        f"headwater run show {last}",
    )
    assert (late["label"], late["hit"]) == ("beside", [])
    assert ask(hourly)["counts"] == {"wrong": 0, "policy": 0, "failed": 1, "doubted": 0, "late": 1, "stalled": 0}
    for step, (job, read, written) in enumerate(CHAIN):
        send(hourly, "COMPLETE", job, read, written, 0.5 - step / 60)
    assert shown(hourly) == [("late", "beside", [])]
    send(hourly, "COMPLETE", "beside", "/other", "/beside", 0.5)
    assert ask(hourly) == {
        "total": 0,
        "counts": {"wrong": 0, "policy": 0, "failed": 0, "doubted": 0, "late": 0, "stalled": 0},
        "incidents": [],
        "left_out": {},
    }


def test_a_failure_upstream_explains_a_failure_downstream(hourly: Client) -> None:
    send(hourly, "FAIL", "report", "/clean", "/report", 3)
    send(hourly, "FAIL", "load", "/src", "/raw", 2)
    found = [one for one in shown(hourly) if one[0] == "failed"]
    assert found == [("failed", "load", ["clean", "raw", "report", "report"])]


def test_owners_are_those_of_what_is_hit(hourly: Client) -> None:
    owner = {"ownership": facet(owners=[{"name": "ada", "type": "maintainer"}])}
    event = run_event(
        "COMPLETE", next(NUMBERS), "claims", [], [{"namespace": "file", "name": "/report", "facets": owner}], at=ago(20)
    )
    assert hourly.post("/api/v1/lineage", encoded(event)).status_code == 201
    send(hourly, "FAIL", "load", "/src", "/raw", 2)
    failed = ask(hourly, kind="failed")["incidents"][0]
    assert {each["id"]: each["owners"] for each in failed["hit"]}["dataset:file:/report"] == ["ada"]


def test_a_run_that_is_part_of_another_is_shown_by_that_one(client: Client) -> None:
    whole = int(send(client, "FAIL", "dag", "/x", "/y", 1).rpartition("-")[2])
    send(client, "FAIL", "dag.task", "/x", "/y", 1, run_facets=parent(whole, "dag"))
    assert shown(client) == [("failed", "dag", [])]


def test_verdicts_are_among_them_until_they_are_mended(hourly: Client) -> None:
    wrong = send(hourly, "COMPLETE", "beside", "/other", "/beside", 0.4)
    body = {"origins": [{"kind": "RUN", "ref": wrong}], "reason": "last year's rates"}
    made = hourly.post("/api/v2/incidents", json.dumps(body).encode(), content_type="application/json").json()
    entry = ask(hourly, kind="wrong")["incidents"][0]
    assert (entry["label"], entry["text"]) == ("last year's rates", "0 instances, 1 versions")
    assert entry["look"] == f"headwater repair {made['id']} --dry-run"
    send(hourly, "COMPLETE", "beside", "/other", "/beside", 0.2)
    assert ask(hourly, kind="wrong")["total"] == 0


def test_jobs_that_read_each_other_are_one_entry(client: Client) -> None:
    send(client, "FAIL", "a", "/from_b", "/from_a", 3)
    send(client, "FAIL", "b", "/from_a", "/from_b", 2)
    assert shown(client) == [("failed", "a", ["b"])]


def test_what_makes_no_sense(client: Client) -> None:
    assert client.get("/api/v2/open-incidents", kind="sad").status_code == 400
    assert ask(client, limit=0)["incidents"] == []


def test_the_overview_has_what_needs_a_person(hourly: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Incidents by kind, the worst first; events with warnings; coverage; each line within 100 columns."""
    send(hourly, "FAIL", "load" + "_very_long" * 12, "/src", "/raw", 1)
    odd = run_event("COMPLETE", 9_999, "odd", [], ["/odd"], at=(NOW + dt.timedelta(days=2)).isoformat())
    assert hourly.post("/api/v1/lineage", encoded(odd)).status_code == 201
    found = hourly.get("/api/v2/overview").json()
    assert found["incidents"] == ask(hourly)["counts"]
    assert found["first"] == ask(hourly, limit=10)["incidents"]
    assert found["first"][0]["kind"] == "failed"
    assert found["events"]["warnings"]["future_time"] == 1
    assert found["coverage"] == hourly.get("/api/v2/coverage").json()
    assert hourly.get("/api/v2/overview", limit=0).json()["first"] == []

    def get(_url: Any, path: str, **question: Any) -> Any:
        return hourly.get(path, **question).json()

    monkeypatch.setattr("headwater.cli.server.get", get)
    lines = CliRunner().invoke(program, ["status"], catch_exceptions=False).output.splitlines()
    assert lines[0] == "Needs you"
    assert lines[1].startswith("  failed    load_very")
    assert all(len(line) <= 100 for line in lines[: lines.index("")])
    assert "  incidents   1 failed, 1 late  headwater incident open" in lines
    assert "overview" in json.loads(CliRunner().invoke(program, ["status", "--json"], catch_exceptions=False).output)


def test_the_overview_counts_troubles_by_day(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs by the day that they failed, once each; checks, incidents and violations by theirs; what came before the 14 days is left out."""
    today = NOW.replace(hour=0, minute=0, second=0)
    for days, failures in ((0, 1), (1, 3), (13, 2), (14, 5)):
        at = (today - dt.timedelta(days=days)).isoformat()
        for _ in range(failures):
            number = next(NUMBERS)
            for state in ("FAIL", "ABORT"):  # one run, whatever it said last
                event = run_event(state, number, "load", ["/src"], ["/raw"], at=at)
                assert client.post("/api/v1/lineage", encoded(event)).status_code == 201
    bad = send(client, "COMPLETE", "make", "/src", "/made", 0)
    check = {"dataQualityAssertions": facet(assertions=[{"assertion": "not_null", "success": False}])}
    for days in (2, 2, 20):
        read = {"namespace": "file", "name": "/made", "inputFacets": check}
        at = (today - dt.timedelta(days=days)).isoformat()
        assert client.post("/api/v1/lineage", encoded(run_event("COMPLETE", next(NUMBERS), "look", [read], [], at=at)))
    body = {"origins": [{"kind": "RUN", "ref": bad}], "reason": "last year's rates"}
    assert client.post("/api/v2/incidents", encoded(body), content_type="application/json").status_code == 200
    assert client.get("/api/v2/overview").json()["days"] == {
        "first": str((today - dt.timedelta(days=13)).date()),
        "failed": [2] + [0] * 11 + [3, 1],
        "doubted": [0] * 11 + [2, 0, 0],
        "wrong": [0] * 13 + [1],
        "policy": [0] * 14,
    }
    monkeypatch.setattr("headwater.cli.server.get", lambda _url, path, **question: client.get(path, **question).json())
    lines = CliRunner().invoke(program, ["status"], catch_exceptions=False).output.splitlines()
    assert "  failed      ▆···········█▃  6 in 14 days, 1 today" in lines
    assert not [line for line in lines if line.startswith("  policy  ")]


def test_each_kind_says_cause_hit_owners_since_and_plan(hourly: Client) -> None:
    """One entry of each kind, each with all that a person needs; the ways of what it hits are the plan's order."""
    owner = {"ownership": facet(owners=[{"name": "ada", "type": "maintainer"}])}
    lake = [
        {"namespace": "file", "name": name, "facets": owner} for name in ("/raw", "/sick", "/dull", "/made", "/derived")
    ]
    event = run_event("COMPLETE", next(NUMBERS), "claims", [], lake, at=ago(30))
    assert hourly.post("/api/v1/lineage", encoded(event)).status_code == 201
    failed = send(hourly, "FAIL", "load", "/src", "/raw", 2)
    bad = send(hourly, "COMPLETE", "make", "/source", "/made", 20)
    send(hourly, "COMPLETE", "derive", "/made", "/derived", 19)
    check = {"dataQualityAssertions": facet(assertions=[{"assertion": "not_null", "success": False}])}
    send(hourly, "COMPLETE", "sicken", "/source", "/sick", 20)
    send(hourly, "COMPLETE", "use", "/sick", "/used", 19)
    sick = {"namespace": "file", "name": "/sick", "inputFacets": check}
    event = run_event("COMPLETE", next(NUMBERS), "look", [sick], [], at=ago(18))
    assert hourly.post("/api/v1/lineage", encoded(event)).status_code == 201
    silent = send(hourly, "START", "dull", "/source", "/dull", 60)
    body = {"origins": [{"kind": "RUN", "ref": bad}], "reason": "last year's rates"}
    wrong = hourly.post("/api/v2/incidents", json.dumps(body).encode(), content_type="application/json").json()["id"]
    found = {one["kind"]: one for one in ask(hourly)["incidents"]}
    assert set(found) == {"wrong", "failed", "doubted", "late", "stalled"}
    assert {kind: (one["cause"]["kind"], one["cause"]["label"]) for kind, one in found.items()} == {
        "wrong": ("run", "make"),
        "failed": ("run", "load"),
        "doubted": ("version", "sick"),
        "late": ("dataset", "beside"),
        "stalled": ("run", "dull"),
    }
    assert {kind: found[kind]["cause"]["id"] for kind in ("wrong", "failed", "stalled")} == {
        "wrong": bad, "failed": failed, "stalled": silent
    }  # fmt: skip
    assert {kind: [each["label"] for each in one["hit"]] for kind, one in found.items()} == {
        "wrong": ["derived"],
        "failed": ["clean", "raw", "report"],
        "doubted": ["used"],
        "late": [],
        "stalled": [],
    }
    assert {kind: one["plan"] for kind, one in found.items()} == {
        "wrong": f"headwater repair {wrong} --apply --dry-run",
        "failed": "run test:load, then test:clean, then test:report again",
        "doubted": "headwater verdict 'dataset:file:/sick' wrong, or fine",
        "late": "run test:beside again",
        "stalled": "run test:dull again",
    }
    assert all(one["since"] for one in found.values())
    assert (found["wrong"]["owners"], found["doubted"]["owners"]) == (["ada"], ["ada"])
    assert found["wrong"]["hit"][0]["owners"] == ["ada"]
    send(hourly, "COMPLETE", "dull", "/source", "/dull", 1)
    assert ask(hourly, kind="stalled")["total"] == 0, "a later good run ends it"


def test_a_silent_producer_has_its_late_children(hourly: Client) -> None:
    """The run of `load` fell silent hours ago; what is late because of that stands under it, forty children too."""
    for number in range(40):
        for hours in range(16, 4, -1):
            send(hourly, "COMPLETE", f"child {number}", "/raw", f"/children/{number}", hours - 0.02)
    for hours in range(22, 16, -1):  # runs take six minutes
        number = next(NUMBERS)
        for state, later in (("START", 0.1), ("COMPLETE", 0)):
            event = run_event(state, number, "load", ["/src"], ["/raw"], at=ago(hours + later))
            assert hourly.post("/api/v1/lineage", encoded(event)).status_code == 201
    send(hourly, "START", "load", "/src", "/raw", 9)
    assert ask(hourly, kind="stalled")["incidents"] == [], "runs that began later were good"
    running = send(hourly, "START", "load", "/src", "/raw", 4.5)
    (entry,) = ask(hourly, kind="stalled")["incidents"]
    assert (entry["id"], entry["cause"]["id"]) == ("job:test:load", running)
    assert len(entry["hit"]) == 43
    assert [one["label"] for one in ask(hourly)["incidents"]] == ["beside", "load"]


def test_what_is_not_looked_at_is_counted(hourly: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many failing jobs and late datasets some are left out: the list, the overview and the commands say how many."""
    for job in ("a", "b", "c"):
        send(hourly, "FAIL", job, "/src", f"/{job}", 1)
    whole = ask(hourly)
    assert whole["left_out"] == {}
    monkeypatch.setattr(open_incidents, "_MOST", 1)
    some = ask(hourly)
    late = sum(one["kind"] == "late" for one in whole["incidents"]) + sum(len(one["hit"]) for one in whole["incidents"])
    assert some["counts"]["failed"] == 1
    assert some["left_out"] == {"failed": 2, "late": late - 1}
    assert hourly.get("/api/v2/overview").json()["left_out"] == some["left_out"]
    assert ask(hourly, kind="stalled")["left_out"] == some["left_out"]
