"""Sources beside a log: definitions of views, both sides of loads and extracts, and what became of each record."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.query_logs import BEGIN, json_lines

from headwater.errors import UnreadableContent
from headwater.pipeline.query_log import schema as S
from headwater.pipeline.query_log.batch import Asked
from headwater.pipeline.query_log.stages import Settings
from headwater.pipeline.query_log.sync import Synced, sync
from headwater.pipeline.tables import Store

pytestmark = pytest.mark.spark

END = BEGIN + dt.timedelta(days=9)


def query(number: int, text: str, **more: Any) -> dict[str, Any]:
    at = (BEGIN + dt.timedelta(hours=number * 30)).isoformat()
    person = {"job_id": f"j{number}", "project_id": "p", "user_email": "ann@p.example", "state": "DONE"}
    return {**person, "creation_time": at, "start_time": at, "end_time": at, "query": text, **more}


def entry(job: dict[str, Any], done: bool = True) -> dict[str, Any]:
    times = {name: END.isoformat() for name in ("createTime", "startTime", "endTime")}
    change = {"jobName": f"projects/p/jobs/{len(json.dumps(job))}", "jobConfig": job, "jobStats": times}
    return {"protoPayload": {"metadata": {"jobChange": {"after": "DONE" if done else "RUNNING", "job": change}}}}


def table(name: str) -> str:
    return f"projects/p/datasets/raw/tables/{name}"


@pytest.fixture(scope="module")
def world(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Synced, Store]:
    """A dashboard reads a view that was made two years before the log begins; files come and go."""
    folder = tmp_path_factory.mktemp("definitions")
    used = [query(number, "select sum(amount) from p.mart.sales") for number in range(6)]
    idle = [
        query(6, "insert into p.raw.forgotten select 1 as a"),
        query(7, "insert into p.raw.orders select 2 as amount"),
    ]
    json_lines(folder / "log" / "jobs.json", [*used, *idle, {"job_id": "no time"}])
    load = {"loadConfig": {"sourceUris": ["gs://landing/orders/1.csv"], "destinationTable": table("orders")}}
    extract = {"extractConfig": {"destinationUris": ["gs://partner/orders.csv"], "sourceTable": table("orders")}}
    json_lines(folder / "log" / "audit.json", [entry(load), entry(extract), entry(load, done=False)])
    old = (BEGIN - dt.timedelta(days=700)).isoformat()
    place = {"table_catalog": "p", "table_schema": "mart", "creation_time": old}
    view = {
        **place,
        "table_name": "sales",
        "table_type": "VIEW",
        "ddl": "CREATE VIEW `p.mart.sales` AS SELECT amount FROM p.raw.orders",
    }
    bare = {**place, "table_name": "all_sales", "table_type": "VIEW", "ddl": "SELECT * FROM p.mart.sales"}
    json_lines(folder / "log" / "definitions.json", [view, bare, {**place, "table_name": "plain", "ddl": None}])
    told = sync(spark, str(folder / "store"), Asked("bigquery", (str(folder / "log"),)), Settings())
    return told, Store(spark, str(folder / "store"))


def edges(store: Store) -> set[tuple[str, str]]:
    return {
        (f"{row['from_namespace']} {row['from_name']}", f"{row['to_namespace']} {row['to_name']}")
        for row in store.read(S.EDGES).collect()
    }


def test_a_view_made_before_the_log_begins_has_its_source(world: tuple[Synced, Store]) -> None:
    assert {
        ("bigquery p.raw.orders", "bigquery p.mart.sales"),
        ("bigquery p.mart.sales", "bigquery p.mart.all_sales"),
    } <= edges(world[1])


def test_a_table_that_only_an_old_view_reads_is_kept(world: tuple[Synced, Store]) -> None:
    advised = {row["name"]: json.loads(row["evidence"]) for row in world[1].read(S.PRUNING).collect()}
    assert set(advised) == {"p.raw.forgotten", "p.mart.all_sales"}
    # The definition is 700 days old, and the log is not.
    assert advised["p.mart.all_sales"]["log_days"] == 10


def test_files_of_storage_are_sides_of_loads_and_extracts(world: tuple[Synced, Store]) -> None:
    assert {
        ("gs://landing orders/1.csv", "bigquery p.raw.orders"),
        ("bigquery p.raw.orders", "gs://partner orders.csv"),
    } <= edges(world[1])


def test_every_record_is_counted_by_what_became_of_it(world: tuple[Synced, Store]) -> None:
    told = world[0]
    assert (told.records, told.rows, told.skipped, told.reasons) == (15, 12, 2, {"no_time": 1})
    assert [row["code"] for row in world[1].read(S.QUARANTINE).collect()] == ["no_time"]


def test_a_log_of_other_entries_alone_is_an_error_that_says_why(spark: Any, tmp_path: Path) -> None:
    json_lines(tmp_path / "log" / "audit.json", [entry({}, done=False), entry({"a": 1}, done=False)])
    with pytest.raises(UnreadableContent, match=r"of 2 records none can be used \(2 of no execution\)"):
        sync(spark, str(tmp_path / "store"), Asked("bigquery", (str(tmp_path / "log"),)), Settings())
