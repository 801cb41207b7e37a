"""Fingerprints of rows: blind to order and partitions, and to nothing else."""

import datetime as dt
from decimal import Decimal

import pytest
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headwater.capture.spark.fingerprint import row_hashes, rows_fingerprint
from headwater.errors import InvalidQuestion

pytestmark = pytest.mark.spark

SCHEMA = (
    "id int, name string, at timestamp, local timestamp_ntz, day date, price decimal(20,4), load double, f float, ok boolean, b binary, tags array<string>, "
    "place struct<lat: double, names: array<struct<n: string>>>, more map<string, array<int>>, deep array<map<string, int>>, big bigint, none void"
)
MOMENT = dt.datetime(2026, 11, 21, 12, 0, 0, 1, tzinfo=dt.UTC)
ROW = (
    1, "a", MOMENT, dt.datetime(2026, 11, 21, 12), dt.date(2026, 11, 21), Decimal("1.5000"), 1.5, 0.5, True, b"x", ["a", None, ""],  # noqa: DTZ001
    (1.0, [("x",), None]), {"k": [1, None], "l": None}, [{"a": 1}, {}], 1 << 40, None,
)  # fmt: skip


def text(spark, rows, schema=SCHEMA, columns=None):
    return rows_fingerprint(spark.createDataFrame(rows, schema), columns).text


def distinct(spark, rows, schema):
    """Return the number of distinct hashes in each lane."""
    hashes = row_hashes(spark.createDataFrame(rows, schema)).collect()
    assert len(hashes) == len(rows)
    return len({row.h0 for row in hashes}), len({row.h1 for row in hashes})


def test_order_and_partitions_do_not_matter(spark):
    frame = spark.range(5000).select(
        "id", (F.col("id") % 7).cast("string").alias("s"), F.array("id", F.lit(None)).alias("a")
    )
    found = rows_fingerprint(frame)
    assert found.text.startswith("xxh3-128-rows:")
    assert (found.members, found.kind, found.bytes) == (5000, "rows", None)
    assert rows_fingerprint(frame.repartition(7, "s").sortWithinPartitions(F.desc("id"))) == found
    assert rows_fingerprint(frame.coalesce(1)) == found
    assert rows_fingerprint(frame.limit(4999).union(frame.filter("id = 4999"))) == found


def test_the_text_never_changes(spark):
    """Fingerprints are kept for years: these two were made by the first version."""
    assert text(spark, [ROW]) == "xxh3-128-rows:cace2754808dae334c700a98d3e8f810"
    assert text(spark, [], "id int") == "xxh3-128-rows:3471309a1cdfaf8bfcdbd2cf73fb77ef"


def test_duplicates_count(spark):
    one = [(1, "a")]
    schema = "id int, name string"
    assert len({text(spark, one * n, schema) for n in range(5)}) == 5


def changed():
    """The row with each of its values changed, or null, in turn."""
    other = [
        2, "b", MOMENT + dt.timedelta(microseconds=1), dt.datetime(2026, 11, 21, 12, 0, 1), dt.date(2026, 11, 20), Decimal("1.5001"), 1.5000000000000002, 0.25,  # noqa: DTZ001
        False, b"", ["a", "", None], (1.0, [("x",)]), {"k": [1], "l": None}, [{"a": 1}], (1 << 40) + 1,
    ]  # fmt: skip
    for position, value in enumerate(other):
        yield (*ROW[:position], value, *ROW[position + 1 :])
        yield (*ROW[:position], None, *ROW[position + 1 :])


def test_every_value_matters(spark):
    rows = [ROW, *changed()]
    assert distinct(spark, rows, SCHEMA) == (len(rows), len(rows))


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        ("a int, b int", [(None, 1), (1, None), (1, 1), (None, None), (0, 1)]),
        ("a string, b string", [("ab", "c"), ("a", "bc"), ("", "abc"), (None, "abc"), ("abc", None), ("abc", "")]),
        ("a array<int>, b array<int>", [([1, 2], [3]), ([1], [2, 3]), ([], [1, 2, 3]), (None, [1, 2, 3]), ([None, 1, 2], [3]), ([1, None, 2], [3])]),
        ("a array<array<int>>", [([[1], [2]],), ([[1, 2]],), ([[1, 2], []],), ([[1, 2], None],), ([],), ([None],), (None,)]),
        ("a struct<x: int, y: int>", [((None, None),), (None,), ((1, None),), ((None, 1),)]),
        ("a map<string, string>", [({"a": "b"},), ({"b": "a"},), ({"a": None},), ({},), (None,), ({"a": "b", "b": "a"},)]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_what_must_not_look_alike(spark, schema, values):
    assert distinct(spark, values, schema) == (len(values), len(values))


def test_maps_have_no_order(spark):
    one, two = {"a": 1, "b": 2, "c": None}, {"c": None, "b": 2, "a": 1}
    for schema, wrap in (
        ("m map<string, int>", lambda m: m),
        ("m array<map<string, int>>", lambda m: [m]),
        ("m struct<n: map<string, int>>", lambda m: (m,)),
    ):
        assert text(spark, [(wrap(one),)], schema) == text(spark, [(wrap(two),)], schema)


def test_values_that_are_equal_to_spark_are_equal(spark):
    schema = "d double, f float"
    assert text(spark, [(0.0, 0.0)], schema) == text(spark, [(-0.0, -0.0)], schema)
    nan = spark.range(1).select(F.expr("double('NaN') as d"), F.expr("float('NaN') as f"))
    made = spark.range(1).select(F.expr("-(double('NaN')) as d"), F.expr("-(float('NaN')) as f"))
    assert rows_fingerprint(nan).text == rows_fingerprint(made).text


def test_moments_do_not_depend_on_the_time_zone(spark):
    frame = spark.createDataFrame([ROW], SCHEMA)
    before = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        one = rows_fingerprint(frame).text
        spark.conf.set("spark.sql.session.timeZone", "America/Lima")
        assert rows_fingerprint(frame).text == one
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_names_types_and_order_of_columns_matter_nullability_does_not(spark):
    frame = spark.createDataFrame([(1, 2)], "a int, b int")
    others = [
        frame, frame.select("b", "a"), frame.toDF("a", "c"), frame.select("a", F.col("b").cast("bigint")), frame.select("a"),
        frame.select(F.struct("a", "b").alias("s")), frame.select(F.col("a").alias("a "), "b"),
    ]  # fmt: skip
    assert len({rows_fingerprint(other).text for other in others}) == len(others)
    strict = T.StructType([T.StructField(name, T.IntegerType(), nullable=False) for name in "ab"])
    assert text(spark, [(1, 2)], strict) == rows_fingerprint(frame).text


def test_columns_are_chosen_by_whole_names(spark):
    frame = spark.createDataFrame([(1, 2, 3)], "`a.b` int, `a``c` int, d int")
    assert rows_fingerprint(frame, ["a`c", "a.b"]) == rows_fingerprint(frame.select("`a``c`", "`a.b`"))
    doubled = frame.select("d", "d")
    assert rows_fingerprint(doubled).text != rows_fingerprint(frame.select("d")).text
    with pytest.raises(InvalidQuestion, match="no column e"):
        rows_fingerprint(frame, ["d", "e"])
    with pytest.raises(InvalidQuestion, match="list"):
        rows_fingerprint(frame, "d")


def test_a_stream_cannot_be_fingerprinted(spark):
    with pytest.raises(InvalidQuestion, match="stream"):
        rows_fingerprint(spark.readStream.format("rate").load())


@pytest.mark.since("4.0")
def test_a_variant_cannot_be_fingerprinted(spark):
    with pytest.raises(InvalidQuestion, match="variant"):
        rows_fingerprint(spark.sql("select parse_json('1') as v"))


@pytest.mark.since("4.0")
def test_strings_count_as_they_are_spelt(spark):
    frame = spark.sql("select 'a' collate UTF8_LCASE as s")
    assert rows_fingerprint(frame).text != rows_fingerprint(spark.sql("select 'A' collate UTF8_LCASE as s")).text


@pytest.mark.soak
def test_many_columns(spark):
    frame = spark.range(3).select(*(F.when(F.col("id") != n % 3, n).alias(f"c{n}") for n in range(200)))
    other = frame.withColumn("c150", F.lit(None).cast("int"))
    assert rows_fingerprint(frame).text != rows_fingerprint(other).text


def test_no_row_is_shuffled(spark):
    frame = spark.range(1000).repartition(3)
    frame.persist().count()
    tracker = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("rows", "rows")
    rows_fingerprint(frame)
    jobs = tracker.getJobIdsForGroup("rows")
    stages = [tracker.getStageInfo(stage) for job in jobs for stage in tracker.getJobInfo(job).stageIds]
    assert sum(stage.numTasks for stage in stages if stage and stage.numCompletedTasks) <= 3 + 1
    frame.unpersist()
