"""Readers of exports take pulled files as they are, with nothing done in between."""

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headwater.pipeline.query_log.pull import source
from headwater.pipeline.query_log.pull.asking import line
from headwater.pipeline.query_log.pull.folder import Folder
from headwater.pipeline.query_log.pull.windows import Window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BEGIN = dt.datetime(2026, 3, 1, 5, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)

SNOWFLAKE: list[dict[str, Any]] = [
    {
        "QUERY_ID": "q1",
        "QUERY_TEXT": "create table b as select * from a -- é",
        "START_TIME": BEGIN,
        "END_TIME": BEGIN + dt.timedelta(seconds=3),
        "DATABASE_NAME": "SHOP",
        "EXECUTION_STATUS": "SUCCESS",
        "ERROR_CODE": None,
        "BYTES_SCANNED": 12,
    },
    {
        "QUERY_ID": "q1",
        "DIRECT_OBJECTS_ACCESSED": '[{"objectName": "SHOP.PUBLIC.A", "objectDomain": "Table"}]',
        "OBJECTS_MODIFIED": '[{"objectName": "SHOP.PUBLIC.B", "objectDomain": "Table"}]',
        "PARENT_QUERY_ID": None,
    },
]
TRINO: dict[str, Any] = {
    "query_id": "t1",
    "state": "FINISHED",
    "user": "ada",
    "source": "dbt",
    "query": "select 1",
    "resource_group_id": ["global"],
    "queued_time_ms": 1_500,
    "created": BEGIN,
    "started": BEGIN,
    "end": BEGIN + dt.timedelta(seconds=2),
    "error_type": None,
    "error_code": None,
}


def write(place: Path, name: str, rows: list[dict[str, Any]], environ: dict[str, str]) -> None:
    """A window with the rows, and one without any."""
    folder = Folder(place, name)
    with folder.held():
        with folder.writing(Window(BEGIN, BEGIN + HOUR)) as file:
            for row in rows:
                file.write(line(source(name).record(row, environ)))
        with folder.writing(Window(BEGIN + HOUR, BEGIN + 2 * HOUR)):
            pass


@pytest.mark.spark
def test_a_pulled_folder_is_read(tmp_path: Path, spark: "SparkSession") -> None:
    from headwater.pipeline.query_log import sources

    write(tmp_path / "snowflake", "snowflake", SNOWFLAKE, {})
    found = sources.source("snowflake").read(spark, [str(tmp_path / "snowflake")], "snowflake://acme-one")
    assert found.bad.count() == 0
    (row,) = found.rows.collect()
    assert (row["query_id"], row["statement"], row["started_at"].timestamp()) == (
        "q1",
        "create table b as select * from a -- é",
        BEGIN.timestamp(),
    )
    assert (row["state"], row["duration_ms"], row["bytes_read"]) == ("succeeded", 3_000, 12)
    assert (row["told_reads"], row["told_writes"]) == (["SHOP.PUBLIC.A"], ["SHOP.PUBLIC.B"])

    write(tmp_path / "trino", "trino", [TRINO], {"TRINO_HOST": "coordinator"})
    found = sources.source("trino").read(spark, [str(tmp_path / "trino")], None)
    assert found.bad.count() == 0
    (row,) = found.rows.collect()
    assert (row["query_id"], row["namespace"], row["warehouse"]) == ("t1", "trino://coordinator:8080", "global")
    assert (row["state"], row["duration_ms"], row["queued_ms"]) == ("succeeded", 2_000, 1_500)
