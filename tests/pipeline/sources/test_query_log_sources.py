"""Every reader against logs as the products write them: tests/cases/query_log/SOURCE/CASE/input → expected.json.

`expected.json` holds the namespace that is given, the rows by query id without what is null, what was quarantined, and how many records tell of no execution. A case that was reviewed by hand is
written there anew with `python -m tests.pipeline.sources.expected`.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.sources.expected import CASES, answer, given
from tests.scale import suite_takes

from headwater.errors import InvalidQuestion, NotFound
from headwater.pipeline.query_log.schema import LANDED_ROWS, QUARANTINE
from headwater.pipeline.query_log.sources import SOURCES, source
from headwater.pipeline.query_log.sources.rows import Rows

pytestmark = pytest.mark.spark


TAKEN = {
    "bigquery-jobs",
    "databricks-history",
    "postgres-cloudsql",
    "postgres-cnpg",
    "postgres-cut",
    "postgres-csvlog",
    "postgres-jsonlog",
    "postgres-languages",
    "postgres-prefixes",
    "postgres-stderr",
    "redshift-history",
    "snowflake-csv",
    "trino-kafka",
}


@pytest.mark.parametrize("name", suite_takes((f"{case.parent.name}-{case.name}" for case in CASES), TAKEN))
def test_a_recorded_log_is_read_as_expected(spark: Any, name: str) -> None:
    (case,) = [case for case in CASES if f"{case.parent.name}-{case.name}" == name]
    expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    assert answer(spark, case) == expected


def test_every_source_has_a_case_and_every_case_a_source() -> None:
    assert {case.parent.name for case in CASES} == set(SOURCES)


@pytest.mark.parametrize("name", suite_takes(SOURCES, ["bigquery"]))
def test_both_halves_have_their_schemas_and_share_only_rows_with_a_flaw(spark: Any, name: str) -> None:
    case = next(case for case in CASES if case.parent.name == name)
    read = source(name).read(spark, [str(case / "input")], given(case))
    assert [(field.name, field.dataType.simpleString()) for field in read.rows.schema] == [
        (field.name, field.dataType.simpleString()) for field in LANDED_ROWS
    ]
    assert read.bad.columns == QUARANTINE.columns()
    expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    flawed = sum("flaw" in row for row in expected["rows"])
    assert (read.rows.count(), read.bad.count()) == (len(expected["rows"]), len(expected["bad"]) + flawed)


def test_an_unknown_source_is_named_with_those_there_are() -> None:
    with pytest.raises(InvalidQuestion, match=r"oracle.*bigquery, databricks, postgres, redshift, snowflake, trino"):
        source("oracle")


@pytest.mark.parametrize("name", ["snowflake", "redshift", "databricks", "postgres"])
def test_a_log_that_does_not_name_its_server_needs_the_namespace(spark: Any, name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidQuestion, match="give the namespace"):
        source(name).read(spark, [str(tmp_path)], None)


def test_a_missing_column_is_said_with_file_and_remedy(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "history.csv").write_text("QUERY_ID,QUERY_TEXT,USER_NAME\n1,select 1,ann\n", encoding="utf-8")
    with pytest.raises(InvalidQuestion) as told:
        source("snowflake").read(spark, [str(tmp_path)], "snowflake://o-a")
    for part in ("history.csv", "QUERY_HISTORY", "START_TIME", "USER_NAME", "docs/reference/query-log-sources.md"):
        assert part in told.value.message
    assert told.value.detail["missing"] == ["START_TIME"]


def test_json_of_something_else_is_no_query_log(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"message": "hello"}\n', encoding="utf-8")
    with pytest.raises(InvalidQuestion, match="is no trino query log"):
        source("trino").read(spark, [str(tmp_path)], None)


def test_a_name_that_does_not_say_its_format_is_refused(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "0000_part_00.gz").write_bytes(b"query_id|status")
    with pytest.raises(InvalidQuestion, match=r"0000_part_00\.gz: its name does not say what it is"):
        source("redshift").read(spark, [str(tmp_path)], "redshift://h:5439")


def test_no_file_is_not_found(spark: Any, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere", tmp_path / "*.csv"):
        with pytest.raises(NotFound):
            source("bigquery").read(spark, [str(path)], None)


def test_globs_folders_and_names_that_look_like_globs(spark: Any, tmp_path: Path) -> None:
    line = '{{"job_id": "{0}", "creation_time": "2026-01-01 00:00:00 UTC", "query": "select 1", "state": "DONE"}}\n'
    odd = tmp_path / "day=2026-01-01" / "a [1] {x} +é%20.json"
    odd.parent.mkdir()
    odd.write_text(line.format("odd"), encoding="utf-8")
    (tmp_path / "b1.jsonl").write_text(line.format("b1"), encoding="utf-8")
    (tmp_path / "b2.jsonl").write_text(line.format("b2"), encoding="utf-8")
    (tmp_path / "_SUCCESS").write_text("", encoding="utf-8")
    (tmp_path / "empty.json").write_text("", encoding="utf-8")

    def ids(*paths: str) -> dict[str, str]:
        rows = source("bigquery").read(spark, paths, None).rows.select("query_id", "file").collect()
        return {row["query_id"]: row["file"] for row in rows}

    every = ids(str(tmp_path))
    assert set(every) == {"odd", "b1", "b2"}
    assert every["odd"].endswith("/day=2026-01-01/a [1] {x} +é%20.json")
    assert set(ids(f"{tmp_path}/b*.jsonl")) == {"b1", "b2"}
    assert set(ids(f"{tmp_path}/b2.jsonl", str(odd.parent))) == {"odd", "b2"}


def test_poison_survives(spark: Any, tmp_path: Path) -> None:
    """Bytes that are no text, ten megabytes of statement, nesting without end: each row by itself, and none takes another with it."""
    long = "select " + ", ".join(f"c{at}" for at in range(1_300_000)) + " from t"
    assert len(long) > 10_000_000
    good = {"creation_time": "2026-01-01 00:00:00 UTC", "state": "DONE"}
    lines = [
        json.dumps({"job_id": "long", "query": long, **good}).encode(),
        b'{"job_id": "bytes", "query": "select \'\xff\xfe\' from t", "creation_time": "2026-01-01 00:00:00 UTC"}',
        b'{"job_id": ' + b"[" * 100_000,
        json.dumps({"job_id": "nul", "query": "select '\0'", **good}).encode(),
        json.dumps({"job_id": "after", "query": "select 1", **good}).encode(),
    ]
    (tmp_path / "poison.jsonl").write_bytes(b"\n".join(lines))
    quoted = long.replace('"', '""')
    csv = (
        b'job_id,creation_time,query\ncsv-long,2026-01-01,"'
        + quoted.encode()
        + b'"\ncsv-bytes,2026-01-01,"select \'\xff\'\n from t"\n'
    )
    (tmp_path / "poison.csv").write_bytes(csv)
    read = source("bigquery").read(spark, [str(tmp_path)], None)
    from pyspark.sql import functions as F

    rows = {
        row[0]: (row[1], row[2])
        for row in read.rows.select("query_id", F.length("statement"), F.left("statement", F.lit(40))).collect()
    }
    assert rows["long"][0] == rows["csv-long"][0] == len(long)
    assert rows["bytes"][1] == "select '\ufffd\ufffd' from t"
    assert rows["csv-bytes"][1] == "select '\ufffd'\n from t"
    assert set(rows) == {"long", "bytes", "nul", "after", "csv-long", "csv-bytes"}
    bad = read.bad.collect()
    assert [row["code"] for row in bad] == ["bad_row"]
    assert len(bad[0]["sample"]) == 2_000
    assert bad[0]["digest"]


@pytest.mark.soak
def test_one_input_read_twice_is_quarantined_under_one_digest(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"job_id": "a"}\n{"job_id": "a"}\n{"job_id": "b"}\n', encoding="utf-8")

    def digests(read: Rows) -> list[str]:
        return sorted(row["digest"] for row in read.bad.collect())

    once = digests(source("bigquery").read(spark, [str(tmp_path)], None))
    assert len(once) == 3
    assert len(set(once)) == 2
    assert digests(source("bigquery").read(spark, [str(tmp_path)], None)) == once


def test_tables_that_the_source_names_stand_for_a_text_that_the_log_does_not_have(spark: Any, tmp_path: Path) -> None:
    """Redacted, or of a workspace whose keys are its customer's: the tables are read all the same."""
    history = [
        {
            "QUERY_ID": "q1",
            "QUERY_TEXT": "<redacted>",
            "START_TIME": "2026-03-01 08:00:00",
            "EXECUTION_STATUS": "SUCCESS",
        },
        {"QUERY_ID": "q2", "QUERY_TEXT": None, "START_TIME": "2026-03-01 08:00:00", "EXECUTION_STATUS": "SUCCESS"},
        {"QUERY_ID": "q3", "QUERY_TEXT": "select a from t " * 6_250, "START_TIME": "2026-03-01 08:00:00"},
    ]
    access = [
        {
            "QUERY_ID": "q1", "DIRECT_OBJECTS_ACCESSED": [{"objectName": "D.S.T", "objectDomain": "Table"}],
            "OBJECTS_MODIFIED": [{"objectName": "D.S.W", "objectDomain": "Table"}],
        }
    ]  # fmt: skip
    for name, rows in (("history.json", history), ("access.json", access)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    read = source("snowflake").read(spark, [str(tmp_path)], "snowflake://o-a").rows.collect()
    texts = {row["query_id"]: row["statement"] for row in read}
    assert (texts["q1"], texts["q2"]) == ('READS "D.S.T" WRITES "D.S.W"', None)
    # QUERY_TEXT ends after 100,000 characters: what is behind them is not known, and the statement is not taken for a whole one.
    assert texts["q3"].endswith("select a from t  <cut off by the warehouse>")
