"""Rows of the query log's tables as events, against events written by hand in tests/cases/query_log/events."""

import json
import uuid
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headwater.model import measured
from headwater.pipeline.query_log import events

CASES = sorted((Path(__file__).parents[3] / "cases/query_log/events").glob("*.json"))


def told(value: Any) -> Any:
    """Without what says who made it."""
    if isinstance(value, dict):
        left_out = {"_producer", "_schemaURL", "producer", "schemaURL"}
        return {key: told(one) for key, one in value.items() if key not in left_out}
    return [told(one) for one in value] if isinstance(value, list) else value


def made(case: dict[str, Any]) -> list[dict[str, Any]]:
    return events.events(case["kind"], case["namespace"], case["name"], case["row"], case["gone"], case["at"])


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_a_row_is_these_events(path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    text = json.dumps(case["events"])
    if case["kind"] == "run":
        run = events.run_id(case["namespace"], case["row"]["query_id"])
        text = text.replace('"PARENT"', json.dumps(events.parent_run_id("dbt", "model.shop.sales", None)))
        for number in "1234":
            text = text.replace(f'"RUN{number}"', json.dumps(run))
    assert told(made(case)) == json.loads(text)
    assert made(case) == made(case)
    for event in made(case):
        assert event["producer"].startswith("https://headwater.dev/")
        facets = [event.get(key, {}).get("facets", {}) for key in ("run", "job", "dataset")]
        assert all(one["_schemaURL"].startswith("https://") for bag in facets for one in bag.values())


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_our_facets_are_what_the_server_reads(path: Path) -> None:
    """Each is read by the typed reader of the server, and says there what it says here."""
    for event in made(json.loads(path.read_text(encoding="utf-8"))):
        for key in ("run", "job", "dataset"):
            for name, facet in event.get(key, {}).get("facets", {}).items():
                if name.startswith("headwater_") and "_deleted" not in facet:
                    read = getattr(measured, name.removeprefix("headwater_"))(json.dumps(facet).encode())
                    again = json.loads(msgspec.json.encode(read))
                    assert _plain(again) == _plain(told(facet))


def _plain(value: Any) -> Any:
    """Without what is 0 or empty, and times without fractions that are: a reader does not keep either."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items() if one not in (0, {}, []) or one is False}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.replace(".000000Z", "Z") if isinstance(value, str) else value


def test_ids_of_runs() -> None:
    """Another warehouse or query is another run; no two pairs are told as one."""
    ids = {events.run_id(*pair) for pair in [("a", "bc"), ("ab", "c"), ("a", "1:bc"), ("", "abc")]}
    assert len(ids) == 4
    assert events.run_id("bigquery", "job_1") == "df7c9a3b-3eaf-527f-ba73-dd9d81892920"
    assert uuid.UUID(events.parent_run_id("prod", "dag.task", None)).version == 5
    assert events.parent_run_id("prod", "dag.task", "told") == "told"


def test_a_text_of_ten_megabytes_is_cut() -> None:
    row = {"source": "trino", "dialect": "trino", "sql": "x" * 10_000_000}
    (event,) = events.events(
        "shape", "trino://h:1", "SELECT 1", row | {"queries": {"executions": 1}}, (), "2026-01-01T00:00:00Z"
    )
    text = event["job"]["facets"]["sql"]["query"]
    assert len(text) < events.LONGEST_SQL + 100
    assert text.endswith(" /* cut here */")
