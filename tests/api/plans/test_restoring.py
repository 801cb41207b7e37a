"""The surroundings of a copy: the place of an instance in its table, later changes by another writer, and the report."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.api.plans.backfilled import TESTS, Place

from headwater.errors import InvalidQuestion
from headwater.runner.backfill import ItemEvent, Worker
from headwater.runner.executors.delta import DeltaTables
from headwater.runner.plans import PlanOnServer

YAML = "entity: reads\nperiod: {every: day, from: 2024-01-01}\n"
DAY = "2024-03-06"


class Lake(Place):
    """A table whose first version is right and whose second is wrong; both are reported to the server."""

    def __init__(self, url: str, folder: Path, type_: str = "date") -> None:
        super().__init__(url, folder)
        self.table = folder / "table"
        (self.table / "_delta_log").mkdir(parents=True)
        fields = [{"name": "day", "type": type_, "nullable": True, "metadata": {}}]
        schema = json.dumps({"type": "struct", "fields": fields})
        self.commit(
            {"metaData": {"schemaString": schema, "partitionColumns": ["day"]}}, self.add(DAY), self.add("2024-03-07")
        )
        self.commit(self.add(DAY))
        self.declare(YAML)
        self.say("reads", DAY, code="v1", fingerprint="good", **self.kept(0))
        self.say("reads", DAY, code="v2", fingerprint="bad", **self.kept(1))
        body = {"wrong": [{"entity": "reads", "instances": [DAY]}], "reason": "overwritten"}
        self.incident_ = self.ask("POST", "/api/v2/incidents", body)["id"]

    def kept(self, version: int) -> dict[str, Any]:
        return {"storage": {"delta_version": version, "table": str(self.table)}, "ref": f"run{version}"}

    def commits(self) -> list[Path]:
        return sorted((self.table / "_delta_log").glob("*.json"))

    def add(self, day: str) -> dict[str, Any]:
        return {"add": {"path": f"{day}-{len(self.commits())}", "partitionValues": {"day": day}, "dataChange": True}}

    def commit(self, *actions: dict[str, Any]) -> None:
        path = self.table / "_delta_log" / f"{len(self.commits()):020}.json"
        path.write_text("\n".join(map(json.dumps, actions)) + "\n")

    def work(self, how: str = "well", **wanted: Any) -> tuple[str, str]:
        """The final state of the plan, and the note of its item."""
        told: list[ItemEvent] = []
        submit = [sys.executable, str(TESTS / "spark_submit.py"), how]
        executor = DeltaTables(submit, self.logs, environ={"HEADWATER_URL": self.url})
        plan = self.plan(incident=self.incident_, **wanted)
        ended = Worker(PlanOnServer(self.url, plan), [executor], name="here", on_event=told.append).run_items()
        return ended, told[-1].note

    @property
    def versions(self) -> list[Any]:
        return list(self.ask("GET", f"/api/v2/entities/reads/instances/{DAY}")["versions"])


@pytest.fixture
def lake(server_url: str, tmp_path: Path) -> Lake:
    return Lake(server_url, tmp_path)


def test_the_rows_of_the_instance_and_no_others(lake: Lake) -> None:
    lake.commit(lake.add("2024-03-07"))  # what others write elsewhere does not matter
    assert lake.work() == ("done", "")
    said = json.loads(lake.commits()[-1].read_text().splitlines()[0])["commitInfo"]
    assert said["where"] == f"(`day` = DATE'{DAY}')"
    now = lake.versions[0]
    assert (now["fingerprint"], now["code"], now["storage"]["delta_version"]) == ("good", "v1", 3)


def test_unreported_changes_are_not_overwritten(lake: Lake) -> None:
    lake.commit(lake.add(DAY))
    ended, note = lake.work()
    assert ended == "failed"
    assert "is not what the server knows: version 2" in note
    assert len(lake.commits()) == 3


def test_who_wrote_meanwhile_is_told_of(lake: Lake) -> None:
    ended, note = lake.work("late")
    assert ended == "failed"
    assert "was overwritten while it was restored: version 2" in note
    assert len(lake.versions) == 2


def test_where_it_is_kept_is_said_by_hand(lake: Lake) -> None:
    lake.headwater("report", "reads", "produced", DAY, "--delta", "s3://lake/reads@3")
    assert lake.versions[0]["storage"] == {"delta_version": 3, "table": "s3://lake/reads"}
    with pytest.raises(InvalidQuestion, match="write TABLE@VERSION"):
        lake.headwater("report", "reads", "produced", DAY, "--delta", "reads")


def test_who_cannot_restore_leaves_it(lake: Lake) -> None:
    plan = lake.plan(incident=lake.incident_)
    left = lake.apply(plan)
    assert left.exit_code == 3
    assert f"reads {DAY}: restored, with --spark-submit" in left.output


def test_nothing_is_reported_without_a_commit(lake: Lake) -> None:
    ended, note = lake.work("badly")
    assert ended == "failed"
    assert "ended with 1" in note
    assert len(lake.versions) == 2


def test_a_copy_that_was_made_is_only_reported(lake: Lake) -> None:
    assert lake.work("dies")[0] == "failed"
    assert (len(lake.commits()), len(lake.versions)) == (3, 2)
    plan = lake.ask("GET", "/api/v2/plans")["plans"][0]["id"]
    lake.ask("POST", f"/api/v2/plans/{plan}/retry", {})
    executor = DeltaTables(["false"], lake.logs, environ={"HEADWATER_URL": lake.url})
    assert Worker(PlanOnServer(lake.url, plan), [executor], name="here").run_items() == "done"
    assert len(lake.commits()) == 3
    assert lake.versions[0]["storage"]["delta_version"] == 2


def test_a_version_without_the_instance_is_none_of_it(lake: Lake) -> None:
    lake.say("reads", "2024-03-05", code="v1", fingerprint="x", **lake.kept(0))
    lake.commit(lake.add("2024-03-05"))
    lake.say("reads", "2024-03-05", code="v2", fingerprint="y", **lake.kept(2))
    lake.ask("POST", f"/api/v2/incidents/{lake.incident_}/retract", {})
    body = {"wrong": [{"entity": "reads", "instances": ["2024-03-05"]}], "reason": "overwritten"}
    lake.incident_ = lake.ask("POST", "/api/v2/incidents", body)["id"]
    ended, note = lake.work()
    assert ended == "failed"
    assert "version 0" in note
    assert "has no partition for reads 2024-03-05" in note


def test_times_in_an_unknown_zone_are_left_alone(server_url: str, tmp_path: Path) -> None:
    ended, note = Lake(server_url, tmp_path, "timestamp").work()
    assert ended == "failed"
    assert "by day, a timestamp" in note
