"""The version that a command left, from the history that a Spark Connect server has of its table. Live: tests/capture/spark/test_connect_lake.py."""

from datetime import UTC, datetime
from typing import Any

from headwater.capture.spark.connect import versions
from headwater.capture.spark.datasets import Dataset
from headwater.capture.spark.statistics import Statistics


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
        self.asked.append(text.strip())
        summary = [("added-records", "7"), ("added-data-files", "1"), ("spark.app.id", "local-1")]
        return [{"snapshot_id": 99, "committed_at": at(20), "operation": "append", "summary": summary}]


def left(server: Any, target: Dataset, first: int, last: int) -> Any:
    return versions.left(server, target, int(at(first).timestamp() * 1000), int(at(last).timestamp() * 1000))


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
