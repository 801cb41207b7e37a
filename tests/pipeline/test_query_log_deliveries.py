"""The totals of logs as they are delivered, for every reader and measure, against DuckDB over the raw files.

Each log comes in two deliveries: rows in any order, some of them twice, some in both deliveries, days of the first delivery in the second, measures and
texts missing.
"""

import csv
import io
import json
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest
from pyspark.sql import functions as F
from tests.scale import suite_takes

from headwater.pipeline.query_log import schema as S
from headwater.pipeline.query_log.batch import Asked
from headwater.pipeline.query_log.sources.postgres import HEADLESS
from headwater.pipeline.query_log.stages import Settings
from headwater.pipeline.query_log.sync import Synced, sync
from headwater.pipeline.tables import Store

pytestmark = pytest.mark.spark
EXECUTIONS = 240
TEXTS = (
    "select a from t where b = %d",
    "insert into u select a from t where b = %d",
    "select t.a from u join t on t.a = u.a where u.b = %d",
    "merge into w using t on w.a = t.a when matched then update set b = %d",
)
REDACTED = "<redacted>"
Row = dict[str, Any]


class Log(NamedTuple):
    """`row` makes one execution's row of a number; `written`: rows as a file; `raw`: the sums, by DuckDB over `log`, the distinct rows."""

    source: str
    row: Callable[[int, random.Random], Row]
    written: Callable[[list[Row]], str]
    file: str
    scan: str
    raw: dict[str, str]


def statement(number: int, chance: random.Random, missing: str | None = REDACTED) -> str | None:
    return missing if chance.random() < 0.1 else TEXTS[number % len(TEXTS)] % number


def day(number: int) -> str:
    return f"2026-05-{number % 9 + 10}"


def clock(number: int, micros: int = 0) -> str:
    seconds, rest = divmod(number % 3600 * 1_000_000 + micros, 1_000_000)
    return f"{6 + seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:06}"


def micros(chance: random.Random) -> int:
    """Most statements take less than a millisecond."""
    return chance.choice((chance.randrange(30, 990), chance.randrange(1_000, 9_999_999)))


def some(chance: random.Random, row: Row, *optional: str) -> Row:
    """The row without some of its optional values."""
    return {name: value for name, value in row.items() if name not in optional or chance.random() > 0.15}


def as_json(rows: list[Row]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def as_csv(rows: list[Row], head: bool = True) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, restval="", lineterminator="\n")
    if head:
        writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def snowflake(number: int, chance: random.Random) -> Row:
    row = {
        "QUERY_ID": f"q{number}", "QUERY_TEXT": statement(number, chance), "START_TIME": f"{day(number)} {clock(number)}",
        "END_TIME": f"{day(number)} {clock(number, 5_000)}", "USER_NAME": f"U{number % 3}", "EXECUTION_STATUS": "FAIL" if number % 17 == 0 else "SUCCESS",
        "TOTAL_ELAPSED_TIME": chance.choice(("0.4", "12", "1e3", "4503599627370497.25", str(number))),
        "QUEUED_OVERLOAD_TIME": str(number % 7), "QUEUED_REPAIR_TIME": "0.25", "QUEUED_PROVISIONING_TIME": str(number),
        "BYTES_SCANNED": str(number * 7_919), "BYTES_WRITTEN": chance.choice(("9007199254740993", "3")), "ROWS_INSERTED": str(number), "ROWS_UPDATED": "2",
        "CREDITS_ATTRIBUTED_COMPUTE": chance.choice(("0.000000437", "0.25", "1.5e-7")), "CREDITS_USED_QUERY_ACCELERATION": "0.000000001",
    }  # fmt: skip
    return some(chance, row, *list(row)[6:])


def redshift(number: int, chance: random.Random) -> Row:
    row = {
        "query_id": str(number), "status": "failed" if number % 17 == 0 else "success", "start_time": f"{day(number)} {clock(number)}",
        "end_time": f"{day(number)} {clock(number, 4_321)}", "query_text": statement(number, chance, ""), "user_name": f"u{number % 3}",
        "database_name": "shop", "session_id": "1", "query_type": "SELECT", "elapsed_time": str(micros(chance)), "queue_time": str(number % 37),
        "input_rows": str(number), "input_bytes": chance.choice(("9007199254740993", str(number * 7))),
    }  # fmt: skip
    return row | {name: "" for name in list(row)[9:] if chance.random() < 0.15}


def databricks(number: int, chance: random.Random) -> Row:
    row = {
        "statement_id": f"s{number}", "statement_text": statement(number, chance), "start_time": f"{day(number)}T{clock(number)}Z",
        "end_time": f"{day(number)}T{clock(number, 7_000)}Z", "execution_status": "FAILED" if number % 17 == 0 else "FINISHED",
        "executed_by": f"u{number % 3}@x.example", "total_duration_ms": number, "total_task_duration_ms": number * 3,
        "waiting_for_compute_duration_ms": 2, "waiting_at_capacity_duration_ms": number % 5, "read_bytes": chance.choice((9_007_199_254_740_993, number)),
        "written_bytes": number, "read_rows": number % 11, "written_rows": number % 13,
    }  # fmt: skip
    return some(chance, row, *list(row)[6:])


def bigquery(number: int, chance: random.Random) -> Row:
    row = {
        "job_id": f"job_{number}", "creation_time": f"{day(number)}T{clock(number)}+00:00", "start_time": f"{day(number)}T{clock(number, 250)}+00:00",
        "end_time": f"{day(number)}T{clock(number, 250 + micros(chance))}+00:00", "project_id": "acme", "user_email": f"u{number % 3}@x.example",
        "query": statement(number, chance, None), "state": "DONE", "job_type": "QUERY", "total_slot_ms": str(number * 3),
        "total_bytes_billed": chance.choice(("9007199254740993", "10485760")), "total_bytes_processed": str(number),
        "dml_statistics": {"inserted_row_count": str(number), "updated_row_count": "1"},
        "error_result": {"reason": "invalidQuery", "message": "no"} if number % 17 == 0 else None,
    }  # fmt: skip
    return some(chance, row, "total_slot_ms", "total_bytes_billed", "total_bytes_processed", "dml_statistics")


def trino(number: int, chance: random.Random) -> Row:
    statistics = {
        "cpuTime": f"{micros(chance) / 1000:.2f}ms", "wallTime": "1.00s", "queuedTime": f"{number % 97}.25us", "physicalInputBytes": number * 7_919,
        "physicalInputRows": number, "writtenBytes": chance.choice((9_007_199_254_740_993, 3)), "writtenRows": number % 7,
    }  # fmt: skip
    return {
        "metadata": {"queryId": f"q{number}", "query": statement(number, chance, ""), "queryState": "FINISHED", "uri": "http://h:8080/x"},
        "statistics": some(chance, statistics, *statistics), "context": {"user": f"u{number % 3}", "catalog": "hive", "schema": "mart"},
        "createTime": f"{day(number)}T{clock(number)}Z", "endTime": f"{day(number)}T{clock(number, micros(chance))}Z",
    }  # fmt: skip


def postgres(number: int, chance: random.Random) -> Row:
    return {
        "timestamp": f"{day(number)} {clock(number)[:12]} UTC", "user": f"user{number % 3}", "dbname": "shop", "session_id": f"6b01.{number % 5 + 1}",
        "line_num": number + 1, "ps": "SELECT", "error_severity": "LOG",
        "message": f"duration: {micros(chance) / 1000:.3f} ms  statement: {TEXTS[number % len(TEXTS)] % number}",
    }  # fmt: skip


def as_csvlog(rows: list[Row]) -> str:
    names = {
        "timestamp": "log_time",
        "user": "user_name",
        "dbname": "database_name",
        "line_num": "session_line_num",
        "ps": "command_tag",
    }
    blank = dict.fromkeys(HEADLESS, "")
    return as_csv([blank | {names.get(name, name): value for name, value in row.items()} for row in rows], head=False)


def as_text(rows: list[Row]) -> str:
    """With `log_line_prefix = '%m %c [%p-%l] %u@%d '`."""
    return "".join(
        f"{row['timestamp']} {row['session_id'].replace('6b01.', '6b01aaaa.')} [77-{row['line_num']}] {row['user']}@{row['dbname']} LOG:  {row['message']}\n"
        for row in rows
    )


def exact(column: str) -> str:
    return f"nullif(trim({column}::varchar), '')::decimal(38,15)"


# DuckDB divides decimals as doubles.
MILLI = "0.001::decimal(4,3)"


def micro(column: str) -> str:
    """Microseconds as milliseconds."""
    return f"nullif(trim({column}), '')::decimal(30,6) * {MILLI}"


def took(start: str, end: str) -> str:
    return f"date_diff('microsecond', {start}::timestamptz, {end}::timestamptz)::decimal(30,6) * {MILLI}"


def both(*columns: str) -> str:
    """Columns that are added; null where all are."""
    added = " + ".join(f"coalesce({exact(column)}, 0)" for column in columns)
    return f"case when coalesce({', '.join(exact(column) for column in columns)}) is not null then {added} end"


def seconds_of(column: str, unit: str) -> str:
    return f"replace({column}, '{unit}', '')::decimal(18,6)"


LINE = "regexp_extract({}, 'duration: ([0-9.]+) ms', 1)::decimal(18,6)"
JSON_SCAN = "read_json('{}', union_by_name = true)"
LOGS = {
    "snowflake": Log(
        "snowflake", snowflake, as_csv, "query_history.csv", "read_csv('{}', all_varchar = true, union_by_name = true)",
        {
            "duration_ms": f"coalesce({exact('TOTAL_ELAPSED_TIME')}, {took('START_TIME', 'END_TIME')})",
            "queued_ms": both("QUEUED_OVERLOAD_TIME", "QUEUED_REPAIR_TIME", "QUEUED_PROVISIONING_TIME"),
            "bytes_read": exact("BYTES_SCANNED"), "bytes_written": exact("BYTES_WRITTEN"), "rows_written": both("ROWS_INSERTED", "ROWS_UPDATED"),
            "credits": both("CREDITS_ATTRIBUTED_COMPUTE", "CREDITS_USED_QUERY_ACCELERATION"),
        },
    ),
    "redshift": Log(
        "redshift", redshift, as_csv, "sys_query_history.csv", "read_csv('{}', all_varchar = true)",
        {
            "duration_ms": f"coalesce({micro('elapsed_time')}, {took('start_time', 'end_time')})", "queued_ms": micro("queue_time"),
            "bytes_read": exact("input_bytes"), "rows_read": exact("input_rows"),
        },
    ),
    "databricks": Log(
        "databricks", databricks, as_json, "history.json", JSON_SCAN,
        {
            "duration_ms": f"coalesce({exact('total_duration_ms')}, {took('start_time', 'end_time')})", "cpu_ms": exact("total_task_duration_ms"),
            "queued_ms": both("waiting_for_compute_duration_ms", "waiting_at_capacity_duration_ms"), "bytes_read": exact("read_bytes"),
            "bytes_written": exact("written_bytes"), "rows_read": exact("read_rows"), "rows_written": exact("written_rows"),
        },
    ),
    "bigquery": Log(
        "bigquery", bigquery, as_json, "jobs.json", JSON_SCAN,
        {
            "duration_ms": took("start_time", "end_time"), "queued_ms": took("creation_time", "start_time"), "slot_ms": exact("total_slot_ms"),
            "bytes_billed": exact("total_bytes_billed"), "bytes_read": exact("total_bytes_processed"),
            "rows_written": both("dml_statistics.inserted_row_count", "dml_statistics.updated_row_count"),
        },
    ),
    "trino": Log(
        "trino", trino, as_json, "events.json", JSON_SCAN,
        {
            "duration_ms": took("createTime", "endTime"), "queued_ms": f"{seconds_of('statistics.queuedTime', 'us')} * {MILLI}",
            "cpu_ms": seconds_of("statistics.cpuTime", "ms"), "bytes_read": exact("statistics.physicalInputBytes"),
            "bytes_written": exact("statistics.writtenBytes"), "rows_read": exact("statistics.physicalInputRows"),
            "rows_written": exact("statistics.writtenRows"),
        },
    ),
    "postgres-jsonlog": Log("postgres", postgres, as_json, "postgresql.json", JSON_SCAN, {"duration_ms": LINE.format("message")}),
    "postgres-csvlog": Log(
        "postgres", postgres, as_csvlog, "postgresql.csv", "read_csv('{}', all_varchar = true, header = false)", {"duration_ms": LINE.format("column13")}
    ),
    "postgres-text": Log(
        "postgres", postgres, as_text, "postgresql.log",
        "read_csv('{}', columns = {{'line': 'varchar'}}, delim = '\\x01', quote = '', escape = '', header = false)", {"duration_ms": LINE.format("line")},
    ),
}  # fmt: skip
NAMESPACES = {"bigquery": None, "trino": None}


def deliveries(log: Log, folder: Path) -> tuple[Path, Path]:
    """Two folders; the second has the rest, of the same days, and part of the first anew."""
    chance = random.Random(log.file)
    rows = [log.row(number, chance) for number in range(EXECUTIONS)]
    chance.shuffle(rows)
    first = rows[: EXECUTIONS * 2 // 3]
    second = rows[EXECUTIONS * 2 // 3 :] + first[:30]
    for name, part in (("first", first), ("second", second)):
        again = part + part[5:25]
        chance.shuffle(again)
        (folder / name).mkdir()
        (folder / name / log.file).write_text(log.written(again), encoding="utf-8")
    return folder / "first", folder / "second"


def raw_totals(log: Log, folder: Path) -> dict[str, Decimal]:
    scan = log.scan.format(f"{folder}/*/{log.file}")
    sums = ", ".join(f"sum({column}) {name}" for name, column in log.raw.items())
    with duckdb.connect() as connection:
        found = connection.execute(f"select count(*), {sums} from (select distinct * from {scan}) log")
        count, *row = found.fetchall()[0]
    assert count == EXECUTIONS
    return {name: Decimal(str(value)).normalize() for name, value in zip(log.raw, row, strict=True)}


def synced(spark: Any, store: Path, log: Log, folder: Path) -> Synced:
    namespace = NAMESPACES.get(log.source, f"{log.source}://h:1")
    return sync(spark, str(store), Asked(log.source, (str(folder),), namespace), Settings())


@pytest.mark.parametrize("name", suite_takes(LOGS, ["postgres-csvlog"]))
def test_what_is_delivered_late_twice_or_in_part_adds_up_to_the_log(spark: Any, tmp_path: Path, name: str) -> None:
    log, store = LOGS[name], tmp_path / "store"
    folder = tmp_path / "log"
    folder.mkdir()
    for delivery in deliveries(log, folder):
        synced(spark, store, log, delivery)
    wanted = raw_totals(log, folder)
    tables = Store(spark, str(store))
    for table in (S.EXECUTIONS, S.DAILY, S.COST):
        rows = tables.read(table)
        measures = [one for one in wanted if one in table.columns()]
        if table is S.COST:
            found = {
                row["grain"]: row for row in rows.groupBy("grain").agg(*(F.sum(m).alias(m) for m in measures)).collect()
            }
            assert set(found) == {"table", "shape", "user", "task", "model", "tool"}
        else:
            count = F.count("*") if table is S.EXECUTIONS else F.sum("executions")
            (row,) = rows.agg(
                count.alias("n"), *(F.sum(F.col(m).cast("decimal(38,18)")).alias(m) for m in measures)
            ).collect()
            assert row["n"] == EXECUTIONS, table.name
            found = {table.name: row}
        for grain, row in found.items():
            assert {m: Decimal(row[m]).normalize() for m in measures} == {m: wanted[m] for m in measures}, grain
