"""`headwater usage`, `cost`, `recurrence`, `prune`, `quality` against a real server."""

import csv
import io
import json
import urllib.request
from typing import Any

import pytest
from tests.api.people.test_metadata_cli import Terminal
from tests.api.usage.measures import N, dataset, job


@pytest.fixture
def headwater(server_url: str) -> Terminal:
    events = [
        dataset("db.sales", usage={"reads": 12, "reads_by_people": 12, "writes": 3, "status": "active", "last_read_at": "2026-11-20T10:00:00Z",
                                   "top_readers": [{"actor": "ann", "kind": "person", "reads": 12}]}, cost={"money": 1.5, "executions": 2, "keep_month": 0.25}),
        dataset("=HYPERLINK(\"http://evil\")", usage={"writes": 9, "status": "unread"}, pruning={"wave": 1, "reason": "a,\n\"b\"", "money_month": 4.0, "confidence": 0.9}),
        job("MERGE a 1", recurrence={"class": "recurring", "executions": 3, "period_seconds": 3600, "missing": 1, "missing_at": ["2026-11-20T23:00:00Z"], "confidence": 0.9}),
        job("SELECT 2", recurrence={"class": "one_off", "executions": 1}),
        job("query-log", cost={"grain": "log", "drivers": [{"grain": "user", "key": "@ann", "money": 0.5}]},
            quality={"days": [{"day": "2026-11-19", "dialect": "trino", "executions": 10, "fullExecutions": 10}, {"day": "2026-11-20", "dialect": "trino", "executions": 10, "nothingExecutions": 10, "quarantinedBy": {"bad_row": 4}}]}),
    ]  # fmt: skip
    request = urllib.request.Request(f"{server_url}/api/v1/lineage/batch", json.dumps(events).encode())
    with urllib.request.urlopen(request, timeout=10) as reply:
        assert json.load(reply)["summary"]["failed"] == 0
    return Terminal(server_url)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_usage(headwater: Terminal) -> None:
    shown = headwater("usage")
    assert "db.sales" in shown
    assert "2 datasets: 1 active, 1 unread" in shown
    assert "db.sales" not in headwater("usage", "--status", "unread")
    assert "1 of 2 from 2" in headwater("usage", "--limit", "1", "--offset", "1")
    one = headwater("usage", "db.sales")
    assert "12: people 12, BI 0" in one
    assert "ann" in one
    assert headwater.json("usage", "--sort", "writes")["datasets"][0]["writes"] == 9
    assert headwater.json("usage", "--unread-since", "2026-11-01")["total"] == 1
    assert headwater.json("usage", "--unread-since", "2026-12-01")["total"] == 2
    assert "is not one of active" in headwater("usage", "--status", "dead", code=2)


def test_csv_is_safe_in_a_spreadsheet_and_whole(headwater: Terminal) -> None:
    found = rows(headwater("usage", "--csv", "--sort", "name", "--order", "asc"))
    assert [(one["name"], one["reads"], one["last_read_at"]) for one in found] == [
        ("'=HYPERLINK(\"http://evil\")", "0", ""), ("db.sales", "12", "2026-11-20T10:00:00Z"),
    ]  # fmt: skip
    assert [one["name"] for one in rows(headwater("usage", "--csv", "--limit", "1"))] == ["db.sales"]
    (user,) = rows(headwater("cost", "--by", "user", "--csv"))
    assert (user["name"], user["money"], user["id"]) == ("'@ann", "0.5", "")
    (going,) = rows(headwater("prune", "--csv"))
    assert (going["reason"], going["wave"], going["money_month"]) == ('a,\n"b"', "1", "4.0")
    assert [one["day"] for one in rows(headwater.stdout("quality", "--csv", "--until", "2026-11-20"))] == [
        "2026-11-20",
        "2026-11-19",
    ]


def test_cost(headwater: Terminal) -> None:
    shown = headwater("cost")
    assert "1.50" in shown
    assert "to keep a month" in shown
    assert headwater.json("cost", "db.sales")["costs"][0]["name"] == "db.sales"
    assert "to keep a month" not in headwater("cost", "--by", "user")
    assert "grain 'galaxy' is not one of" in headwater("cost", "--by", "galaxy", code=2)


def test_prune(headwater: Terminal) -> None:
    assert "1 dataset in 1 wave saves 4.00 a month" in headwater("prune")
    assert headwater.json("prune", "--min-confidence", "0.95")["datasets"] == []
    headwater("tag", '=HYPERLINK("http://evil")', "keep")
    shown = headwater("prune")
    assert "1 dataset stays" in shown
    assert "mark" in shown


def test_recurrence(headwater: Terminal) -> None:
    shown = headwater("recurrence")
    assert "2 shapes: 1 recurring, 1 one-off; 1 run missing, 0 unexpected" in shown
    assert "1h" in shown
    one = headwater("recurrence", "MERGE a 1")
    assert "recurring, 90% sure" in one
    assert "2026-11-20 23:00" in one
    assert [row["name"] for row in rows(headwater("recurrence", "--missing", "--csv"))] == ["MERGE a 1"]
    assert headwater.json("recurrence", "--class", "one_off")["total"] == 1
    assert "no such query shape" in headwater("recurrence", "--class", "ad_hoc")
    assert "is not one of recurring" in headwater("recurrence", "--class", "weekly", code=2)


def test_quality(headwater: Terminal) -> None:
    until = ("--until", "2026-11-20")
    shown = headwater("quality", *until)
    assert "dropped" in shown
    assert "quarantined of trino: bad_row 4" in shown
    headwater("quality", "--check", *until, code=1)
    headwater("quality", "--check", "--csv", *until, code=1)
    headwater("quality", "--check", "--drop", "1", *until)
    assert headwater.json("quality", *until)["dropped"] == 1
    # Of a source of which there is nothing, nothing is known to be well.
    for command in ("quality", "coverage"):
        assert "no query log was read" in headwater(command, "--check", "--dialect", "bigquery", *until, code=1)
    assert "no query log was read" in headwater("quality", "--until", "2020-01-01")


def test_lineage_without_ad_hoc_jobs(headwater: Terminal) -> None:
    found: Any = headwater.json("lineage", "db.sales", "--hide", "ad_hoc")
    assert [one["id"] for one in found["nodes"]] == [f"dataset:{N}:db.sales"]
