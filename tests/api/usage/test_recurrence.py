"""Query shapes that run again and again, and their missing runs."""

from typing import Any

import pytest
from tests.api.usage.measures import N, ask, dataset, job, refused, send

PATH = "/api/v2/recurrence"
HOURLY = {
    "class": "recurring", "executions": 60, "period_seconds": 3600, "runs_per_period": 2, "first_at": "2026-11-01T00:00:00Z",
    "last_at": "2026-11-20T22:00:00Z", "expected_next_at": "2026-11-21T00:00:00Z", "missing": 2, "unexpected": 1,
    "missing_at": ["2026-11-20T23:00:00Z", "2026-11-19T23:00:00Z"], "unexpected_at": ["2026-11-18T00:30:00Z"], "confidence": 0.9,
}  # fmt: skip
DAILY = {
    "class": "recurring", "executions": 20, "period_seconds": 86400, "last_at": "2026-10-01T00:00:00Z", "retired": True, "confidence": 0.7,
}  # fmt: skip


def told(client: Any) -> None:
    send(
        client,
        job("MERGE a 1", recurrence=HOURLY),
        job("INSERT b 2", recurrence=DAILY),
        job("SELECT c 3", recurrence={"class": "ad_hoc", "executions": 7, "unexpected": 0, "confidence": 0.5}),
        job("SELECT d 4", namespace="bigquery", recurrence={"class": "one_off", "executions": 1}),
        dataset("x", usage={"reads": 1}),
    )


def names(client: Any, **question: Any) -> list[str]:
    return [one["name"] for one in ask(client, PATH, **question)["shapes"]]


def test_shapes_with_their_rhythms(client: Any) -> None:
    told(client)
    found = ask(client, PATH)
    assert found["shapes"][0] == {
        "id": f"job:{N}:MERGE a 1", "namespace": N, "name": "MERGE a 1", "label": "MERGE a 1", "class": "recurring", "executions": 60,
        "period_seconds": 3600, "runs_per_period": 2, "first_at": "2026-11-01T00:00:00Z", "last_at": "2026-11-20T22:00:00Z",
        "expected_next_at": "2026-11-21T00:00:00Z", "missing": 2, "unexpected": 1,
        "missing_at": ["2026-11-20T23:00:00Z", "2026-11-19T23:00:00Z"], "unexpected_at": ["2026-11-18T00:30:00Z"], "retired": False, "confidence": 0.9,
        "measured_at": "2026-11-21T06:00:00Z",
    }  # fmt: skip
    assert found["shapes"][1]["retired"] is True
    assert (found["total"], found["measured_at"]) == (4, "2026-11-21T06:00:00Z")
    assert found["totals"] == {
        "by_class": {"recurring": 2, "ad_hoc": 1, "one_off": 1},
        "executions": 88,
        "missing": 2,
        "unexpected": 1,
    }


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ({}, ["MERGE a 1", "INSERT b 2", "SELECT c 3", "SELECT d 4"]),
        ({"missing": "true"}, ["MERGE a 1"]),
        ({"class": "ad_hoc"}, ["SELECT c 3"]),
        ({"class": ["ad_hoc", "one_off"]}, ["SELECT c 3", "SELECT d 4"]),
        ({"namespace": "bigquery"}, ["SELECT d 4"]),
        ({"node": f"job:{N}:INSERT b 2"}, ["INSERT b 2"]),
        ({"sort": "period"}, ["MERGE a 1", "INSERT b 2", "SELECT c 3", "SELECT d 4"]),
        ({"sort": "period", "order": "desc"}, ["INSERT b 2", "MERGE a 1", "SELECT c 3", "SELECT d 4"]),
        ({"sort": "last", "order": "asc", "limit": 1}, ["INSERT b 2"]),
        ({"sort": "expected_next", "limit": 1}, ["MERGE a 1"]),
        ({"sort": "executions", "order": "asc", "limit": 2}, ["SELECT d 4", "SELECT c 3"]),
        ({"sort": "name", "namespace": N, "offset": 1}, ["MERGE a 1", "SELECT c 3"]),
    ],
)
def test_which_and_in_what_order(client: Any, question: dict[str, Any], expected: list[str]) -> None:
    told(client)
    assert names(client, **question) == expected


def test_removed_and_unreported_shapes_are_not_listed(client: Any) -> None:
    assert ask(client, PATH)["measured_at"] is None
    told(client)
    later = job("MERGE a 1", at="2026-11-22T06:00:00Z")
    later["job"]["facets"] = {"headwater_recurrence": {"_producer": "p", "_schemaURL": "s", "_deleted": True}}
    send(client, later)
    assert "MERGE a 1" not in names(client)


def test_questions_that_make_no_sense(client: Any) -> None:
    told(client)
    assert "class 'weekly' is not one of recurring" in refused(client, PATH, **{"class": "weekly"})
    assert "sort 'money' is not one of missing" in refused(client, PATH, sort="money")
    assert "is no job" in refused(client, PATH, node=f"dataset:{N}:x")
    assert client.get(PATH, node="job:nowhere:x").status_code == 404
