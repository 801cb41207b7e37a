"""Recurrence from daily rows: the bits of their starts are exact, unions are unions, and the rows' order or number does not matter."""

import datetime as dt
import random

import pytest
from tests.fixtures.pipeline import content, rows_of
from tests.pipeline.measured import DAILY, plain

from headwater.pipeline.query_log import schema as S
from headwater.pipeline.query_log.recurrence import recurrence, starts

pytestmark = pytest.mark.spark
FIRST = dt.datetime(2026, 1, 5, 2, tzinfo=dt.UTC)


def executions():
    """(shape, actor, start): a daily job that missed a day, a query of many, one that was tried twice in an evening, and one without text."""
    daily = [("job", "etl", FIRST + dt.timedelta(days=day, seconds=59)) for day in range(20) if day != 12]
    people = [
        ("ask", actor, FIRST + dt.timedelta(days=day, hours=7 * day % 11))
        for actor in ("ada", "bob")
        for day in (1, 5, 6)
    ]
    once = [("try", "ada", FIRST + dt.timedelta(days=3, hours=18, minutes=minutes)) for minutes in (0, 40)]
    last = [(None, "ada", FIRST + dt.timedelta(days=20, hours=-1))]
    return [*daily, *people, *once, *last]


def daily_of(spark, rows):
    """Daily rows as they are made of executions, those of one shape, actor and day together."""
    from pyspark.sql import functions as F

    told = spark.createDataFrame(
        [(*row, place) for place, row in enumerate(rows)], "shape_id string, actor string, at timestamp, place long"
    )
    sums = told.groupBy(F.to_date("at").alias("day"), "shape_id", "actor").agg(
        F.count(F.lit(1)).alias("executions"),
        F.min("at").alias("first_at"),
        F.max("at").alias("last_at"),
        starts("at").alias("starts"),
    )
    return sums.withColumn("namespace", F.lit("w"))


def test_recurrence(spark):
    table = recurrence(daily_of(spark, executions())).localCheckpoint()
    assert table.schema.simpleString() == S.RECURRENCE.schema.simpleString()
    found = {row["shape_id"]: {name: plain(value) for name, value in row.asDict().items()} for row in table.collect()}
    assert found.keys() == {"job", "ask", "try"}
    assert found["job"] == {
        "namespace": "w",
        "shape_id": "job",
        "class": "recurring",
        "executions": 19,
        "period_seconds": 86_400,
        "runs_per_period": 1,
        "first_at": "2026-01-05 02:00",
        "last_at": "2026-01-24 02:00",
        "expected_next_at": "2026-01-25 02:00",
        "missing": 1,
        "unexpected": 0,
        "missing_at": ["2026-01-17 02:00"],
        "unexpected_at": [],
        "retired": False,
        "confidence": 0.903,  # 19 of 19 keep it × 19 of 20 came × 19/20, to three places
    }
    assert (found["ask"]["class"], found["ask"]["executions"], found["ask"]["confidence"]) == ("ad_hoc", 6, 0.6)
    # Silent for 16 days, 4 hours and 20 minutes: 23,300 minutes, and a week has 10,080.
    assert (found["try"]["class"], found["try"]["executions"], found["try"]["confidence"]) == ("one_off", 2, 0.698)


def test_rows_cut_in_any_way_have_the_same_rhythm(spark):
    rows = executions()
    random.Random(3).shuffle(rows)
    parts = daily_of(spark, rows[:9]).unionByName(daily_of(spark, rows[9:])).repartition(3)
    assert content(recurrence(parts)) == content(recurrence(daily_of(spark, executions())))


def test_starts_are_exact_to_the_minute(spark):
    at = [
        FIRST,
        FIRST + dt.timedelta(seconds=59.9),
        FIRST + dt.timedelta(minutes=59),
        FIRST.replace(hour=23, minute=59, second=59),
    ]
    before = dt.datetime(1969, 12, 31, 0, 1, tzinfo=dt.UTC)
    told = spark.createDataFrame([(one,) for one in [*at, before, None]], "at timestamp")
    (row,) = told.agg(starts("at").alias("starts")).collect()
    wanted = [0] * 24
    wanted[2], wanted[23], wanted[0] = 1 | 1 << 59, 1 << 59, 1 << 1
    assert row["starts"] == wanted


def test_an_empty_log_has_no_rhythm(spark):
    assert recurrence(rows_of(spark, [], DAILY)).count() == 0
