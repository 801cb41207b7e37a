"""The totals of the pipeline against those of DuckDB over the raw log: no unit is rounded before it is summed."""

import json
import random
import re
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
MEASURES = (
    "duration_ms", "queued_ms", "slot_ms", "cpu_ms", "bytes_read", "bytes_billed", "bytes_written", "rows_read", "rows_written", "credits",
)  # fmt: skip
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


# As exports write a number: nothing, fractions of a millisecond, negative, past what a double holds, with an exponent, as text with blanks.
STRANGE = (
    "",
    "0",
    "0.4",
    "0.000001",
    "-3.5",
    "9007199254740993",
    "9007199254740993.0",
    "1e3",
    "1.5E+2",
    " 12 ",
    "12.000000",
    "4503599627370497.25",
)
WHOLES = (
    "",
    "0",
    "-1",
    "9007199254740993",
    "9007199254740993.0",
    "1e3",
    "1E+15",
    " 12 ",
    "12.000000",
    "1125899906842625",
)
CREDITS = ("", "0.000000000437", "1.5e-7", "0.000012345678901", "2.25", "0")


def snowflake(folder: Path) -> Path:
    path = folder / "query_history.csv"
    names = "total_elapsed_time,queued_overload_time,queued_repair_time,bytes_scanned,bytes_written,rows_inserted,rows_updated,credits_attributed_compute"
    chance, rows = random.Random(11), []
    for number in range(300):
        values = (
            [chance.choice(STRANGE) for _ in range(3)]
            + [chance.choice(WHOLES) for _ in range(4)]
            + [chance.choice(CREDITS)]
        )
        rows.append(
            f"q{number},select a from t,2026-05-01 06:00:00,2026-05-01 06:00:00,"
            + ",".join(f'"{value}"' for value in values)
        )
    path.write_text("\n".join([f"query_id,query_text,start_time,end_time,{names}", *rows]) + "\n", encoding="utf-8")
    return path


def databricks(folder: Path) -> Path:
    chance, rows = random.Random(13), []
    for number in range(300):
        text = {
            "total_duration_ms": chance.choice(STRANGE),
            "total_task_duration_ms": chance.choice(STRANGE),
            "waiting_at_capacity_duration_ms": chance.choice(STRANGE),
        }
        whole = {name: chance.choice(WHOLES) for name in ("read_bytes", "written_bytes", "read_rows", "written_rows")}
        rows.append(
            {
                "statement_id": f"s{number}", "statement_text": "select a from t", "start_time": "2026-05-01T06:00:00Z", "end_time": "2026-05-01T06:00:00Z",
                "execution_status": "FINISHED", **{name: value or None for name, value in (text | whole).items()},
            }
        )  # fmt: skip
    return lines(folder / "history.json", rows)


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
    "snowflake": (
        "select sum({ms:total_elapsed_time}) duration_ms, sum(coalesce({ms:queued_overload_time}, 0) + coalesce({ms:queued_repair_time}, 0)) queued_ms, "
        "sum({whole:bytes_scanned}) bytes_read, sum({whole:bytes_written}) bytes_written, sum({ms:credits_attributed_compute}) credits, "
        "sum(coalesce({whole:rows_inserted}, 0) + coalesce({whole:rows_updated}, 0)) rows_written from read_csv('{}', all_varchar = true)"
    ),
    "databricks": (
        "select sum({ms:total_duration_ms}) duration_ms, sum({ms:total_task_duration_ms}) cpu_ms, sum({ms:waiting_at_capacity_duration_ms}) queued_ms, "
        "sum({whole:read_bytes}) bytes_read, sum({whole:written_bytes}) bytes_written, sum({whole:read_rows}) rows_read, "
        "sum({whole:written_rows}) rows_written from read_json('{}')"
    ),
}  # fmt: skip
FILES = {
    "postgres": postgres, "redshift": redshift, "trino": trino, "bigquery": bigquery, "snowflake": snowflake, "databricks": databricks,
}  # fmt: skip


def raw_totals(name: str, path: Path) -> dict[str, Decimal]:
    with duckdb.connect() as connection:
        # DuckDB's decimals read every form of a number, and hold all of it.
        query = re.sub(r"\{(?:ms|whole):(\w+)\}", r"nullif(trim(\1::varchar), '')::decimal(38,15)", RAW[name]).replace(
            "{}", str(path)
        )
        found = connection.execute(query)
        (row,) = found.fetchall()
        return {
            column[0]: Decimal(str(value)).normalize() for column, value in zip(found.description, row, strict=True)
        }


@pytest.mark.parametrize("name", RAW)
def test_a_reader_loses_no_part_of_a_unit(spark: Any, tmp_path: Path, name: str) -> None:
    path = FILES[name](tmp_path)
    read = source(name).read(spark, [str(path)], "w://h:1")
    (row,) = read.rows.agg(F.count("*").alias("n"), *(F.sum(one).alias(one) for one in MEASURES)).collect()
    assert row["n"] == (300 if name in {"snowflake", "databricks"} else len(MICROS))
    wanted = raw_totals(name, path)
    credits = wanted.pop("credits", None)
    assert {one: Decimal(str(row[one])).normalize() for one in wanted} == wanted
    if credits is not None:  # Snowflake's own are doubles.
        assert row["credits"] == pytest.approx(float(credits), rel=1e-15)


def test_the_costs_of_a_log_are_the_logs(spark: Any, tmp_path: Path) -> None:
    """Through every stage, at every grain."""
    path = postgres(tmp_path)
    sync(spark, str(tmp_path / "store"), Asked("postgres", (str(path),), "postgres://h:1"), Settings())
    wanted = raw_totals("postgres", path)["duration_ms"]
    costs = Store(spark, str(tmp_path / "store")).read(S.COST).groupBy("grain").agg(F.sum("duration_ms").alias("ms"))
    found = {row["grain"]: row["ms"].normalize() for row in costs.collect()}
    assert found == dict.fromkeys(("table", "shape", "user", "task", "model", "tool"), wanted)
