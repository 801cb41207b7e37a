"""The totals of the pipeline against those of DuckDB over the raw log: no unit is rounded before it is summed."""

import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import functions as F

from headwater.pipeline.query_log import schema as S
from headwater.pipeline.query_log.batch import Asked
from headwater.pipeline.query_log.sources import source
from headwater.pipeline.query_log.stages import Settings
from headwater.pipeline.query_log.sync import sync
from headwater.pipeline.tables import Store

pytestmark = pytest.mark.spark
MEASURES = ("duration_ms", "queued_ms", "slot_ms", "cpu_ms", "bytes_read", "bytes_billed", "bytes_written", "rows_read")
CHANCE = random.Random(7)
# A dashboard's statements take less than a millisecond, and are most of what runs.
MICROS = [CHANCE.choice((CHANCE.randrange(30, 990), CHANCE.randrange(1_000, 9_999_999))) for _ in range(200)]


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def postgres(folder: Path) -> Path:
    texts = (
        "select a from t where b = %d",
        "insert into u select a from t where b = %d",
        "select a from u where b = %d",
    )
    return lines(
        folder / "postgresql.json",
        [
            {
                "timestamp": f"2026-11-{number % 9 + 10} 10:00:00.{number:03} UTC", "user": f"user{number % 3}", "dbname": "shop", "session_id": "6b01.1",
                "line_num": number + 1, "ps": "SELECT", "error_severity": "LOG",
                "message": f"duration: {micros / 1000:.3f} ms  statement: {texts[number % 3] % number}",
            }
            for number, micros in enumerate(MICROS)
        ],
    )  # fmt: skip


def redshift(folder: Path) -> Path:
    path = folder / "sys_query_history.csv"
    head = "user_id,query_id,transaction_id,session_id,database_name,query_type,status,result_cache_hit,start_time,end_time,elapsed_time,queue_time,input_rows,input_bytes,error_message,query_text,user_name"
    rows = [
        f"1,{number},1,1,shop,SELECT,success,f,2026-05-01 06:00:00,2026-05-01 06:00:09,{micros},{micros % 37},{number},{number * 7},,select a from t,ann"
        for number, micros in enumerate(MICROS)
    ]
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


def trino(folder: Path) -> Path:
    return lines(
        folder / "events.jsonl",
        [
            {
                "metadata": {"queryId": f"q{number}", "query": "select a from t", "queryState": "FINISHED", "uri": "http://h:8080/x"},
                "statistics": {"cpuTime": f"{micros / 1000:.2f}ms", "wallTime": "1.00s", "queuedTime": f"{micros % 97}.25us", "physicalInputBytes": number, "writtenBytes": 3},
                "context": {"user": "ann", "catalog": "hive", "schema": "mart"},
                "createTime": "2026-07-01T06:00:00.000000Z",
                "endTime": f"2026-07-01T06:00:0{micros // 1_000_000}.{micros % 1_000_000:06}Z",
            }
            for number, micros in enumerate(MICROS)
        ],
    )  # fmt: skip


def bigquery(folder: Path) -> Path:
    return lines(
        folder / "jobs.json",
        [
            {
                "job_id": f"job_{number}", "project_id": "acme", "creation_time": "2026-03-01T08:00:00+00:00", "start_time": "2026-03-01T08:00:00.000250+00:00",
                "end_time": f"2026-03-01T08:00:0{micros // 1_000_000}.{micros % 1_000_000:06}+00:00" if micros > 250 else "2026-03-01T08:00:00.000251+00:00",
                "user_email": "a@b", "query": "select 1", "state": "DONE", "job_type": "QUERY", "total_slot_ms": str(micros), "total_bytes_billed": "10",
                "total_bytes_processed": str(number),
            }
            for number, micros in enumerate(MICROS)
        ],
    )  # fmt: skip


# The sums of each measure, by DuckDB over the file itself.
RAW = {
    "postgres": "select sum(regexp_extract(message, 'duration: ([0-9.]+) ms', 1)::decimal(18,6)) duration_ms from read_json('{}')",
    "redshift": (
        "select sum(elapsed_time)::decimal(30,6) / 1000 duration_ms, sum(queue_time)::decimal(30,6) / 1000 queued_ms, sum(input_bytes) bytes_read, "
        "sum(input_rows) rows_read from read_csv('{}')"
    ),
    "trino": (
        "select sum(date_diff('microsecond', createTime::timestamptz, endTime::timestamptz))::decimal(30,6) / 1000 duration_ms, "
        "sum(replace(statistics.queuedTime, 'us', '')::decimal(18,6)) / 1000 queued_ms, sum(replace(statistics.cpuTime, 'ms', '')::decimal(18,6)) cpu_ms, "
        "sum(statistics.physicalInputBytes) bytes_read, sum(statistics.writtenBytes) bytes_written from read_json('{}')"
    ),
    "bigquery": (
        "select sum(date_diff('microsecond', start_time::timestamptz, end_time::timestamptz))::decimal(30,6) / 1000 duration_ms, "
        "sum(date_diff('microsecond', creation_time::timestamptz, start_time::timestamptz))::decimal(30,6) / 1000 queued_ms, "
        "sum(total_slot_ms::bigint) slot_ms, sum(total_bytes_billed::bigint) bytes_billed, sum(total_bytes_processed::bigint) bytes_read from read_json('{}')"
    ),
}  # fmt: skip
FILES = {"postgres": postgres, "redshift": redshift, "trino": trino, "bigquery": bigquery}


def raw_totals(name: str, path: Path) -> dict[str, Decimal]:
    with duckdb.connect() as connection:
        found = connection.execute(RAW[name].format(path))
        (row,) = found.fetchall()
        return {
            column[0]: Decimal(str(value)).normalize() for column, value in zip(found.description, row, strict=True)
        }


@pytest.mark.parametrize("name", RAW)
def test_a_reader_loses_no_part_of_a_unit(spark: Any, tmp_path: Path, name: str) -> None:
    path = FILES[name](tmp_path)
    read = source(name).read(spark, [str(path)], "w://h:1")
    (row,) = read.rows.agg(F.count("*").alias("n"), *(F.sum(one).alias(one) for one in MEASURES)).collect()
    assert row["n"] == len(MICROS)
    wanted = raw_totals(name, path)
    assert {one: Decimal(str(row[one])).normalize() for one in wanted} == wanted


def test_the_costs_of_a_log_are_the_logs(spark: Any, tmp_path: Path) -> None:
    """Through every stage, at every grain."""
    path = postgres(tmp_path)
    sync(spark, str(tmp_path / "store"), Asked("postgres", (str(path),), "postgres://h:1"), Settings())
    wanted = raw_totals("postgres", path)["duration_ms"]
    costs = Store(spark, str(tmp_path / "store")).read(S.COST).groupBy("grain").agg(F.sum("duration_ms").alias("ms"))
    found = {row["grain"]: row["ms"].normalize() for row in costs.collect()}
    assert found == dict.fromkeys(("table", "shape", "user", "task", "model", "tool"), wanted)
