"""The versions that a command read and left, from the history that a Spark Connect server has of its table. Live: tests/capture/spark/test_connect_lake.py."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from headwater.capture.spark.connect.requests import Request
from headwater.capture.spark.connect.versions import Asked, TableVersions, asked_in
from headwater.capture.spark.datasets import Dataset, Leaves
from headwater.capture.spark.statistics import Statistics

CASES = yaml.safe_load((Path(__file__).parents[3] / "cases/connect-versions.yaml").read_text())


def at(second: int) -> datetime:
    return datetime(2026, 11, 27, 12, 0, second, tzinfo=UTC)


class History:
    """A server with commits at the seconds 5 and 20."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def rows(self, statement: str) -> list[dict[str, Any]]:
        self.asked.append(statement.strip())
        counts = [("numOutputRows", "7"), ("numOutputBytes", "900"), ("numFiles", "1")]
        return [
            {"version": 4, "timestamp": at(20), "operation": "WRITE", "operationMetrics": counts},
            {"version": 3, "timestamp": at(5), "operation": "WRITE", "operationMetrics": None},
        ]

    def query(self, text: str) -> list[dict[str, Any]]:
        if text.startswith("SELECT unix_millis"):
            return [{"now": time.time_ns() // 1_000_000}]
        self.asked.append(text.strip())
        summary = [("added-records", "7"), ("added-data-files", "1"), ("spark.app.id", "local-1")]
        return [{"snapshot_id": 99, "committed_at": at(20), "operation": "append", "summary": summary}]


def left(server: Any, target: Dataset, first: int, last: int) -> Any:
    request = Request(None, None, int(at(first).timestamp() * 1000), ended=int(at(last).timestamp() * 1000))
    return TableVersions(server).left(target, request)


def test_a_commit_of_delta_within_the_command_is_its_own() -> None:
    server, table = History(), Dataset("file", "/lake/a`b", [], layer="delta", location="file:/lake/a`b")
    found = left(server, table, 10, 30)
    assert (found.version, found.counts) == ("4", Statistics(7, 900, 1))
    assert server.asked == ["DESCRIBE HISTORY delta.`file:/lake/a``b` LIMIT 10"]


def test_of_two_commits_within_the_command_none_is_named() -> None:
    table = Dataset("file", "/lake/a", [], layer="delta", location="file:/lake/a")
    assert left(History(), table, 1, 30) is None
    assert left(History(), table, 21, 30) is None


def test_a_snapshot_of_iceberg_is_found_by_the_name_of_its_table() -> None:
    server, table = History(), Dataset("file", "/ice/db/t", [], layer="iceberg", symlink=("file:/w", "ice.db.t"))
    found = left(server, table, 10, 30)
    assert (found.version, found.counts) == ("99", Statistics(7, None, 1))
    assert "FROM `ice`.`db`.`t`.`snapshots`" in server.asked[0]


def test_other_tables_are_not_asked_about() -> None:
    server = History()
    assert left(server, Dataset("file", "/plain", []), 1, 30) is None
    assert server.asked == []


class Answers:
    """A server with the history of a case, whose clock is ahead by that many milliseconds."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.case = case

    def rows(self, _: str) -> list[dict[str, Any]]:
        return [
            {"version": version, "timestamp": moment(when), "operation": "WRITE", "operationMetrics": None}
            for version, when in self.case["history"]
        ]

    def query(self, text: str) -> list[dict[str, Any]]:
        if "unix_millis" in text:
            return [{"now": time.time_ns() // 1_000_000 + self.case.get("ahead", 0)}]
        return [{"snapshot_id": version, "made_current_at": moment(when)} for version, when in self.case["history"]]


BEGAN = 1_800_000_000_000


def moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp((BEGAN + milliseconds) / 1000, UTC)


@pytest.mark.parametrize("layer", ["delta", "iceberg"])
@pytest.mark.parametrize("case", CASES, ids=[case["about"] for case in CASES])
def test_a_read_has_the_version_that_its_times_leave_without_doubt(case: dict[str, Any], layer: str) -> None:
    table = Dataset("file", "/t", [], layer=layer, location="file:/t", symlink=("file:/w", "ice.db.t"))
    found = TableVersions(Answers(case))  # type: ignore[arg-type]
    found.is_cached = case.get("cached", False)
    for version, ended in case.get("earlier", []):
        found.note(table, version, BEGAN + ended)
    request = Request(None, None, BEGAN + 10_000, ended=BEGAN + 12_000)
    target = Dataset("file", "/t", [], version=case["own"]) if "own" in case else None
    leaves = found.date(Leaves({"1": [table], "2": [table, Dataset("file", "/plain", [])]}), request, target)
    assert [[one.version for one in some] for some in leaves.by_key.values()] == [[case["reads"]], [case["reads"], ""]]
    assert (table.version, table.current) == ("", True)  # a view has it too, which another command reads


@pytest.mark.parametrize(
    ("options", "location", "expected"),
    [
        ({}, "file:/t", ("file:/t", "", True)),
        ({"versionAsOf": "3"}, "file:/t", ("file:/t", "3", False)),
        ({"snapshot-id": "77"}, "file:/t", ("file:/t", "77", False)),
        ({"timestampAsOf": "2026-01-01"}, "file:/t", ("file:/t", "", False)),
        ({"versionAsOf": "audit"}, "file:/t", ("file:/t", "", False)),  # a tag
        ({"readChangeFeed": "true"}, "file:/t", ("file:/t", "", False)),
        ({"mergeSchema": "true"}, "file:/t", ("file:/t", "", True)),
        ({}, "file:/t@v12", ("file:/t", "12", False)),
        ({}, "file:/t@20260101000000000", ("file:/t", "", False)),
    ],
)
def test_a_program_may_ask_for_a_version(options: Any, location: str, expected: Any) -> None:
    found = Asked(options).of(Dataset("file", location, [], layer="delta", location=location))
    assert (found.location, found.version, found.current) == expected
    assert found.name == found.location
    plain = Dataset("file", "/t@v1", [])
    assert Asked(options).of(plain) is plain


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("select * from t version as of 3", True),
        ("select * from t TIMESTAMP  AS OF '2026-01-01'", True),
        ("select * from t for system_time as of now()", True),
        ("select * from delta.`/t@v3`", True),
        ("select version as v from t", False),
        ("select id from t where m = 'a@b.c'", False),
    ],
)
def test_a_text_may_ask_for_a_version(text: str, may: bool) -> None:
    assert asked_in(text).in_text is may
