"""From landed rows to texts, shapes, statements and edges: each told once, whatever came when."""

import datetime as dt
import json
import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from tests.fixtures.pipeline import content, query, rows_of
from tests.scale import FULL, full

from headwater.pipeline.query_log import edges, shapes, statements, texts
from headwater.pipeline.query_log.land import LONGEST, Landed, land
from headwater.pipeline.query_log.reading import Late, deadline, understood
from headwater.pipeline.query_log.schema import (
    COLUMN_EDGES,
    DAILY,
    EDGES,
    LANDED_ROWS,
    QUARANTINE,
    SHAPES,
    STATEMENTS,
    TEXTS,
    TOLD,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pyspark"),
]
PROBLEM = "struct<code:string,reason:string,sample:string,digest:string>"


class Given:
    """The rows of a source, as `sources.rows.Rows` has them."""

    def __init__(self, rows: "DataFrame") -> None:
        none = F.lit(None).cast(PROBLEM)
        self.together = rows.withColumns({"problem": none, "flaw": none})


def landed(spark: "SparkSession", rows: Sequence[Mapping[str, Any]], longest: int = LONGEST) -> Landed:
    return land(Given(rows_of(spark, rows, LANDED_ROWS)), longest)  # type: ignore[arg-type]


def test_what_started_after_tomorrow_is_put_aside(spark: "SparkSession") -> None:
    """One such row would make everything else look stale."""
    now = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
    rows = [
        query(1, started_at=now + dt.timedelta(days=1)),
        query(2, started_at=now + dt.timedelta(days=1, seconds=1)),
        query(3, started_at=dt.datetime(2262, 1, 1, tzinfo=dt.UTC)),
    ]
    made = land(Given(rows_of(spark, rows, LANDED_ROWS)), now=now)  # type: ignore[arg-type]
    assert [row["query_id"] for row in made.rows.collect()] == ["q1"]
    bad = made.bad.orderBy("reason").collect()
    assert [(row["code"], row["sample"]) for row in bad] == [("future", "select 1")] * 2
    assert bad[0]["reason"].startswith("it says that it started at 2026-03-02 12:00:01 UTC")
    assert bad[0]["digest"] != bad[1]["digest"]


def test_without_a_time_the_clock_says_what_is_ahead(spark: "SparkSession") -> None:
    soon = dt.datetime.now(dt.UTC) + dt.timedelta(hours=23)
    made = landed(spark, [query(1, started_at=soon), query(2, started_at=soon + dt.timedelta(hours=2))])
    assert [row["query_id"] for row in made.rows.collect()] == ["q1"]


class Tables:
    """TEXTS, SHAPES and STATEMENTS as a store keeps them."""

    def __init__(self, spark: "SparkSession") -> None:
        self.spark = spark
        self.texts: list[Any] = []
        self.shapes: list[Any] = []
        self.statements: list[Any] = []
        self.bad: list[Any] = []
        self.read = 0

    def take(self, rows: "DataFrame", schemas: statements.Schemas | None = None, seconds: float = 10.0) -> None:
        """One batch of landed rows."""
        known = self.spark.createDataFrame(self.texts, TEXTS.schema)
        known_shapes = self.spark.createDataFrame(self.shapes, SHAPES.schema)
        found = texts.identified(texts.unmet(rows, known), seconds, slices=2).collect()
        found_rows = self.spark.createDataFrame(found, texts.FOUND)
        self.texts += [tuple(row[name] for name in TEXTS.columns()) for row in found]
        self.shapes = shapes.shapes(known_shapes, found_rows).collect()
        now = self.spark.createDataFrame(self.shapes, SHAPES.schema)
        changed = shapes.changed(known_shapes, now)
        seen = statements.seen(rows, self.spark.createDataFrame(self.texts, TEXTS.schema))
        known_statements = self.spark.createDataFrame(self.statements, STATEMENTS.schema)
        wanted = statements.statements_to_parse(seen, known_statements, changed, schemas)
        parsed = statements.parsed(wanted, now, schemas, seconds, slices=2).collect()
        self.read += len(parsed)
        read = self.spark.createDataFrame(parsed, statements.PARSED)
        self.bad += statements.bad(read).collect()
        self.statements = statements.statements(known_statements, read).collect()

    def table(self, name: str) -> "DataFrame":
        schema = {"texts": TEXTS, "shapes": SHAPES, "statements": STATEMENTS}[name].schema
        return self.spark.createDataFrame(getattr(self, name), schema)

    def content(self) -> dict[str, list[str]]:
        return {name: content(self.table(name)) for name in ("texts", "shapes", "statements")}


def load(day: str, table: str = "sales.daily", **given: Any) -> dict[str, Any]:
    text = (
        f"insert into {table} (d, total) select o.d, sum(o.amount) from raw.orders o where o.d = '{day}' group by o.d"
    )
    return {"statement": text, **given}


def test_a_row_lands_with_its_day_and_key_and_what_is_wrong_is_told(spark: "SparkSession") -> None:
    late = dt.datetime(2026, 3, 1, 23, 59, 59, tzinfo=dt.UTC)
    made = landed(
        spark,
        [
            query(1, "select a from t where b = 5", started_at=late),
            query(2, "/* run 7 */ select a from t where b = 6 -- x"),
            query(3, "select '" + "x" * 3000 + "'"),
            query(4, "select 'a\0b' from t"),
            query(5, None),
            query(6, " \n "),
        ],
        longest=2000,
    )
    rows = {row["query_id"]: row for row in made.rows.collect()}
    assert made.rows.schema.fieldNames()[-3:] == ["day", "text_key", "comments"]
    assert rows["q1"]["day"] == dt.date(2026, 3, 1)
    assert rows["q3"]["statement"] is None
    assert rows["q4"]["statement"] == "select 'a\ufffdb' from t"
    assert [rows[f"q{number}"]["text_key"] is None for number in range(1, 7)] == [False, False, True, False, True, True]
    bad = {row["code"]: row for row in made.bad.collect()}
    assert made.bad.columns == QUARANTINE.columns()
    assert set(bad) == {"too_large", "unreadable_text"}
    assert len(bad["too_large"]["sample"]) == 2000
    assert bad["unreadable_text"]["sample"] == "select 'a\ufffdb' from t"


def test_bytes_that_are_no_text_do_not_stop_what_reads_them(spark: "SparkSession") -> None:
    rows = rows_of(spark, [query(1, "x")], LANDED_ROWS)
    broken = F.concat(F.lit("select 'a"), F.unhex(F.lit("EDA080FF")).cast("string"), F.lit("' from t"))
    made = land(Given(rows.withColumn("statement", broken)))  # type: ignore[arg-type]
    (row,) = made.rows.collect()
    assert row["statement"].startswith("select 'a\ufffd")
    assert row["statement"].endswith("' from t")
    assert [one["code"] for one in made.bad.collect()] == ["unreadable_text"]
    tables = Tables(spark)
    tables.take(made.rows)
    assert [one["level"] for one in tables.statements] == ["full"]


def test_texts_of_one_shape_are_read_once_at_each_place(spark: "SparkSession") -> None:
    rows = [query(number, **load(f"2026-03-{number:02}")) for number in range(1, 9)]
    rows += [query(20, **load("2026-03-01", database="other"))]
    rows += [query(21, **load("2026-03-01", database="other", search_path=["a", "b"]))]
    tables = Tables(spark)
    tables.take(landed(spark, rows).rows)
    assert len(tables.texts) == len(tables.shapes) == 1
    assert tables.read == len(tables.statements) == 3
    (one, *_) = (row for row in tables.statements if row["database"] is None)
    assert (one["level"], one["kind"], one["temporary"], one["unresolved"]) == ("full", "INSERT", False, 0)
    assert [tuple(each) for each in one["reads"]] == [("bigquery", "raw.orders")]
    assert [tuple(each) for each in one["writes"]] == [("bigquery", "sales.daily")]
    (output,) = json.loads(one["outputs"])
    assert output["name"] == "sales.daily"
    assert set(output["facets"]["columnLineage"]["fields"]) == {"d", "total"}
    assert {each["name"] for row in tables.statements for each in row["writes"] if row["database"]} == {
        "other.sales.daily"
    }
    assert tables.shapes[0]["kind"] == "INSERT"
    assert "2026" not in tables.shapes[0]["text"]
    assert "?" in tables.shapes[0]["normalised"]


LOG = [
    *(load(f"2026-03-{day:02}") for day in range(1, 12)),
    *(load(f"2026-03-{day:02}", schema="s") for day in range(1, 4)),
    *({"statement": f"select a, 'x{number}' from t where b in ({', '.join('1' * (1 + number % 3))})"} for number in range(9)),
    *({"statement": f"SELECT  a, 'x{number}' FROM t WHERE b IN (1)", "dialect": "postgres"} for number in range(4)),
    *({"statement": f"select a, 'x' from t /* {number} */ where b = {number}", "dialect": "postgres"} for number in range(4)),
    *({"statement": f"select   a ,'x' from t where b = {number}", "dialect": "postgres"} for number in range(2)),
    *({"statement": f"insert into u select a, {number} from t"} for number in range(3)),
    *({"statement": f"call p('{number}')"} for number in range(3)),
    *({"statement": f"execute immediate 'insert into v{number % 2} select a from t where b = {number}'"} for number in range(4)),
    *({"statement": f"copy into t from 's3://b/day={number}/x.csv'", "dialect": "snowflake"} for number in range(3)),
    {"statement": "create temp table q as select a from t"},
    {"statement": "select a from"},
    {"statement": "select a from Foo"},
    {"statement": "select a from foo"},
]  # fmt: skip


def test_any_order_and_any_split_end_equal(spark: "SparkSession") -> None:
    rows = [query(number, **one) for number, one in enumerate(LOG)]
    whole = Tables(spark)
    whole.take(landed(spark, rows).rows)
    chance = random.Random(7)
    mixed = [*rows, *chance.sample(rows, 8)]
    chance.shuffle(mixed)
    parts = Tables(spark)
    for start in range(0, len(mixed), full(20, 40)):
        parts.take(landed(spark, mixed[start : start + full(20, 40)]).rows)
    assert parts.content() == whole.content()
    if FULL:
        backwards = Tables(spark)
        backwards.take(landed(spark, rows[30:]).rows)
        backwards.take(landed(spark, rows[:30]).rows)
        assert backwards.content() == whole.content()
    by_text = {row["text"]: row for row in whole.shapes}
    assert "select a from Foo" in by_text
    assert "select a from foo" in by_text
    written = sorted(each["name"] for row in whole.statements for each in row["writes"])
    assert written.count("v0") == written.count("v1") == 1
    assert len([row for row in whole.shapes if row["kind"] == "CALL"]) == 1


def test_a_new_schema_reads_again_what_it_may_change(spark: "SparkSession") -> None:
    rows = landed(
        spark,
        [
            query(1, "insert into n (x) select k from a join b on a.i = b.i"),
            query(2, "insert into n (x) select k from a join b on a.i = b.i", namespace="trino://h:8080"),
        ],
    ).rows
    tables = Tables(spark)
    tables.take(rows)
    assert sorted(row["unresolved"] for row in tables.statements) == [1, 1]
    known = {"bigquery": {"a": ["i", "k"], "b": ["i"]}}
    tables.take(rows, known)
    assert {row["namespace"]: row["unresolved"] for row in tables.statements} == {"bigquery": 0, "trino://h:8080": 1}
    assert tables.read == 3
    tables.take(rows, known)
    assert tables.read == 3


def test_a_text_that_takes_too_long_is_left_and_told(spark: "SparkSession") -> None:
    slow = "select a from t where " + " or ".join(f"f{place}(a{place}) = b{place}" for place in range(35_000))
    tables = Tables(spark)
    tables.take(landed(spark, [query(1, slow), query(2, "select a from t")]).rows, seconds=0.2)
    assert len(tables.shapes) == len(tables.statements) == 2
    (shape_id,) = (row["shape_id"] for row in tables.shapes if len(row["text"]) > 1000)
    assert [row["level"] for row in tables.statements if row["shape_id"] == shape_id] == ["nothing"]
    assert {(row["code"], row["source"]) for row in tables.bad} == {("parse_timeout", "bigquery")}
    assert 2000 in {len(row["sample"]) for row in tables.bad}


def test_a_failure_of_the_engine_is_reported_and_isolated(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = statements._Reader({}, {}, 5.0)
    row = {"namespace": "n", "shape_id": "s", "place": "{}", "database": None, "schema": None, "search_path": None}

    def broken(text: str, *_: Any) -> Any:
        raise RecursionError("too deep")

    monkeypatch.setattr(statements, "understood", broken)
    found = reader.row({**row, "dialect": "postgres", "source": "postgres", "text": "select 1"})
    assert (found["code"], found["level"]) == ("parse_failed", "nothing")
    assert found["reason"] == "RecursionError: too deep"


def test_a_deadline_ends_what_takes_longer_and_nothing_else() -> None:
    def spin() -> None:
        while True:
            try:
                sum(range(1000))
            except Exception:  # noqa: BLE001 - what an engine does
                continue

    with pytest.raises(Late), deadline(0.05):
        spin()
    with deadline(5):
        assert understood("select a from t", "postgres").level == "full"


def day_of(shape: Any, **given: Any) -> dict[str, Any]:
    at = dt.datetime(2026, 3, 1, 8, tzinfo=dt.UTC)
    return {
        "day": at.date(), "source": "bigquery", "namespace": shape["namespace"], "dialect": shape["dialect"], "shape_id": shape["shape_id"], "place": shape["place"],
        "actor_kind": "person", "starts": [0] * 24, "executions": 1, "failures": 0, "first_at": at, "last_at": at, "last_query_id": "q", **given,
    }  # fmt: skip


def test_edges_have_when_and_how_often(spark: "SparkSession") -> None:
    tables = Tables(spark)
    log = [
        load("2026-03-01"),
        {"statement": "insert into sales.daily select d, total from sales.daily where d > 5"},
        {"statement": "create temp table q as select d from sales.daily"},
        {"statement": "insert into sales.late select d from q"},
        {"statement": "select a from raw.orders"},
        {"statement": "insert into sales.never select d from sales.daily"},
    ]
    tables.take(landed(spark, [query(number, **one) for number, one in enumerate(log)]).rows)
    first = dt.datetime(2026, 3, 1, 8, tzinfo=dt.UTC)
    last = dt.datetime(2026, 3, 9, 8, tzinfo=dt.UTC)
    failing = dt.datetime(2026, 3, 20, tzinfo=dt.UTC)
    days = []
    for row in tables.statements:
        never = any(one["name"] == "sales.never" for one in row["writes"])
        failures = {"executions": 2, "failures": 2}
        days += [
            day_of(row, executions=3, failures=1, **(failures if never else {}))
            if not never
            else day_of(row, **failures),
            day_of(row, day=last.date(), first_at=last, last_at=last, **(failures if never else {})),
            day_of(row, day=failing.date(), first_at=failing, last_at=failing, failures=1, actor="x"),
        ]
    daily = rows_of(spark, days, DAILY.schema)
    statement_rows = tables.table("statements")
    found = edges.edges(statement_rows, daily)
    assert found.columns == EDGES.columns()
    rows = found.collect()
    assert [(row["from_name"], row["to_name"], row["executions"]) for row in rows] == [("raw.orders", "sales.daily", 3)]
    assert rows[0]["first_at"].replace(tzinfo=dt.UTC) == first
    assert rows[0]["last_at"].replace(tzinfo=dt.UTC) == last
    columns = edges.column_edges(statement_rows, daily)
    assert columns.columns == COLUMN_EDGES.columns()
    told = {
        (row["from_name"], row["from_column"], row["to_name"], row["to_column"], row["kind"], row["subtype"])
        for row in columns.collect()
    }
    assert {
        ("raw.orders", "d", "sales.daily", "d", "DIRECT", "IDENTITY"),
        ("raw.orders", "amount", "sales.daily", "total", "DIRECT", "AGGREGATION"),
        ("raw.orders", "d", "sales.daily", "*", "INDIRECT", "FILTER"),
        ("raw.orders", "d", "sales.daily", "*", "INDIRECT", "GROUP_BY"),
    } <= told
    assert not {one for one in told if "q" in {one[0], one[2]} or one[2] == "sales.never"}


def test_what_a_source_told_counts_where_reading_gave_less(spark: "SparkSession") -> None:
    tables = Tables(spark)
    log = [load("2026-03-01"), {"statement": "call p(1)"}, {"statement": "begin frobnicate; nothing at all"}]
    tables.take(landed(spark, [query(number, **one) for number, one in enumerate(log)]).rows)
    told = [
        {
            "day": dt.date(2026, 3, 1), "source": "bigquery", "namespace": row["namespace"], "dialect": row["dialect"], "shape_id": row["shape_id"],
            "place": row["place"], "told_reads": ["p.d.read$20260301", "p.d.read"], "told_writes": ["p.d.written"], "executions": 1,
        }
        for row in tables.statements
    ]  # fmt: skip
    found = statements.with_source_tables(tables.table("statements"), rows_of(spark, told, TOLD.schema)).collect()
    assert len(found) == len(tables.statements)
    for row in found:
        if row["level"] != "full":
            assert [one["name"] for one in row["reads"]] == ["p.d.read"]
            assert [one["name"] for one in row["writes"]] == ["p.d.written"]
            assert statements.TOLD in row["warnings"]
        else:
            assert statements.TOLD not in row["warnings"]
            # A view or a name in a variable: only the source knows.
            assert "p.d.read" in {one["name"] for one in row["reads"]}
    assert {row["level"] for row in found} & {"tables", "nothing"}
