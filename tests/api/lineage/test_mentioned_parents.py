"""A run that only its children mention begins, goes on, fares and ends as they do."""

import datetime as dt
import itertools
import json
from typing import Any

import pytest
from tests.events import RUN, parent, run_event
from tests.fixtures.app import Client

NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
DAG = RUN.format(1)


def at(minute: int) -> str:
    return (NOW - dt.timedelta(hours=1) + dt.timedelta(minutes=minute)).isoformat()


def child(type_: str, run: int, minute: int) -> dict[str, Any]:
    return run_event(type_, run, f"dag.task{run}", ["/in"], ["/out"], at=at(minute), run_facets=parent(1, "dag"))


def send(client: Client, *events: dict[str, Any]) -> None:
    for event in events:
        assert client.post("/api/v1/lineage", json.dumps(event).encode()).status_code == 201


def run_of(client: Client, id_: str) -> dict[str, Any]:
    found = client.get(f"/api/v2/runs/{id_}").json()
    return {key: found[key] for key in ("state", "effective_state", "started_at", "ended_at", "duration_ms")}


def moment(text: str) -> str:
    return dt.datetime.fromisoformat(text).isoformat().replace("+00:00", "Z")


def done() -> list[dict[str, Any]]:
    return [child("START", 2, 5), child("COMPLETE", 2, 9), child("START", 3, 7), child("COMPLETE", 3, 21)]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
def test_state_and_times_are_those_of_the_children(client: Client, order: tuple[int, ...]) -> None:
    send(client, *(done()[place] for place in order))
    assert run_of(client, DAG) == {
        "state": "NEW",
        "effective_state": "COMPLETED",
        "started_at": moment(at(5)),
        "ended_at": moment(at(21)),
        "duration_ms": 16 * 60_000,
    }
    send(client, child("START", 4, 22))
    now = run_of(client, DAG)
    assert (now["effective_state"], now["ended_at"], now["duration_ms"]) == ("RUNNING", None, None)
    send(client, child("FAIL", 4, 23))
    assert (run_of(client, DAG)["effective_state"], run_of(client, DAG)["ended_at"]) == ("FAILED", moment(at(23)))
    job = client.get("/api/v2/lineage", node="job:test:dag", depth=1).json()
    (last,) = (one["last_run"] for one in job["nodes"] if one["id"] == "job:test:dag")
    assert (last["state"], last["ended_at"]) == ("FAILED", moment(at(23)))


def test_the_parents_own_reports_count_where_there_are_any(client: Client) -> None:
    send(client, *done(), run_event("START", 1, "dag", at=at(1)))
    assert run_of(client, DAG)["effective_state"] == "RUNNING"
    send(client, run_event("COMPLETE", 1, "dag", at=at(30)))
    assert run_of(client, DAG) == {
        "state": "COMPLETED",
        "effective_state": "COMPLETED",
        "started_at": moment(at(1)),
        "ended_at": moment(at(30)),
        "duration_ms": 29 * 60_000,
    }


def test_a_grandparent_follows_through_a_parent_that_reports_nothing(client: Client) -> None:
    middle = run_event("OTHER", 5, "dag.group", at=at(2), run_facets=parent(1, "dag"))
    task = run_event("FAIL", 6, "dag.group.task", at=at(8), run_facets=parent(5, "dag.group"))
    send(client, middle, task)
    assert run_of(client, DAG)["effective_state"] == "FAILED"


def test_a_failure_below_a_silent_parent_is_an_incident(client: Client) -> None:
    send(client, child("START", 2, 5), child("FAIL", 2, 9))
    found = client.get("/api/v2/open-incidents", kind="failed").json()["incidents"]
    assert [one["id"] for one in found] == ["job:test:dag.task2"]
    send(client, run_event("START", 1, "dag", at=at(1)), run_event("FAIL", 1, "dag", at=at(30)))
    found = client.get("/api/v2/open-incidents", kind="failed").json()["incidents"]
    assert [one["id"] for one in found] == ["job:test:dag"]
