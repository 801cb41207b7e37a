"""Usage of a dataset: reads apart from writes, people apart from services, dashboards and pipelines, and how long ago.

`touches` defines a read and its reader. Everything is a function of the rows: "now" is the newest time in the log.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.pipeline.query_log.schema import USAGE
from headwater.pipeline.query_log.touches import (
    READ,
    WRITE,
    dropped,
    first_day,
    moment,
    newest,
    passing,
    touches,
    until,
)

_DATASET: Final = ("namespace", "name")
_COUNTED: Final = {
    "person": "reads_by_people",
    "service": "reads_by_services",
    "bi": "reads_by_bi",
    "pipeline": "reads_by_pipelines",
    "unknown": "reads_by_unknown",
}


@dataclass(frozen=True, slots=True)
class Thresholds:
    """`window`: days in which active days are counted, and in which a read keeps a dataset active. `settled`: days after which what was read on
    one day only, by one reader, is called one-off. `readers`: how many are named."""

    window: int = 30
    settled: int = 7
    readers: int = 10


def usage(
    daily: DataFrame, statements: DataFrame, as_of: datetime | None = None, thresholds: Thresholds | None = None
) -> DataFrame:
    """USAGE of every dataset that a statement read or wrote, but for temporary tables. `as_of`: by default the newest time in the log; later
    rows are left out.

    status: `dropped`, or renamed, and neither read nor written since; `unread`, never read;
    `one_off`, read on one day by one reader, `settled` days or more ago; `active`, last read within `window`;
    `stale`, anything else. Reads by pipelines count. Readers are told apart by kind and name; the first by reads, then kind, then name are named.
    """
    knobs = thresholds or Thresholds()
    at = as_of or newest(daily)
    if at is None:
        return daily.sparkSession.createDataFrame([], USAGE.schema)
    rows = until(daily, at)
    touched = touches(rows, statements).join(passing(statements), list(_DATASET), "left_anti")
    by_reader = touched.groupBy(*_DATASET, "act", "kind", "reader").agg(
        F.sum("runs").alias("runs"), F.min("first_at").alias("first_at"), F.max("last_at").alias("last_at")
    )
    totals = by_reader.groupBy(*_DATASET).agg(
        _sum(_reading()).alias("reads"),
        _sum(F.col("act") == WRITE).alias("writes"),
        *(_sum(_reading(kind)).alias(name) for kind, name in _COUNTED.items()),
        F.count(F.when(_reading(), 1)).alias("distinct_readers"),
        F.count(F.when(_reading("person"), 1)).alias("distinct_people"),
        _last(_reading()).alias("last_read_at"),
        _last(_reading("person")).alias("last_read_by_person_at"),
        _last(_reading("service")).alias("last_read_by_service_at"),
        _last(_reading("bi")).alias("last_read_by_bi_at"),
        _last(_reading("pipeline")).alias("last_read_by_pipeline_at"),
        _last(F.col("act") == WRITE).alias("last_written_at"),
        F.min("first_at").alias("first_seen_at"),
        F.min(F.when(_reading(), F.col("first_at"))).alias("first_read_at"),
    )
    # Two steps of grouping instead of a distinct count: a dataset with many readers every day is summed where its rows are first.
    days = (
        touched.where((F.col("act") == READ) & (F.col("day") >= F.lit(first_day(at, knobs.window))))
        .groupBy(*_DATASET, "day")
        .agg(F.lit(1).alias("one"))
        .groupBy(*_DATASET)
        .agg(F.count("one").alias("active_days"))
    )
    found = totals.join(days, list(_DATASET), "left").join(_top(by_reader, knobs.readers), list(_DATASET), "left")
    found = found.join(dropped(rows, statements), list(_DATASET), "left")
    return USAGE.ordered(
        found.withColumn("active_days", F.coalesce("active_days", F.lit(0).cast("long")))
        .withColumn("top_readers", F.coalesce("top_readers", F.array().cast(USAGE.schema["top_readers"].dataType)))
        .withColumn("status", _status(at, knobs))
    )


def _reading(kind: str | None = None) -> Column:
    reads = F.col("act") == READ
    return reads if kind is None else reads & (F.col("kind") == kind)


def _sum(condition: Column) -> Column:
    return F.coalesce(F.sum(F.when(condition, F.col("runs"))), F.lit(0).cast("long"))


def _last(condition: Column) -> Column:
    return F.max(F.when(condition, F.col("last_at")))


def _status(at: datetime, knobs: Thresholds) -> Column:
    once = (F.col("distinct_readers") == 1) & (F.to_date("first_read_at") == F.to_date("last_read_at"))
    return (
        F.when(F.col("dropped_at") >= F.greatest("last_read_at", "last_written_at"), "dropped")
        .when(F.col("reads") == 0, "unread")
        .when(once & (F.col("last_read_at") <= moment(at) - F.make_dt_interval(F.lit(knobs.settled))), "one_off")
        .when(F.col("last_read_at") > moment(at) - F.make_dt_interval(F.lit(knobs.window)), "active")
        .otherwise("stale")
    )


def _top(by_reader: DataFrame, count: int) -> DataFrame:
    """The `count` first readers of each dataset. Spark cuts each partition to `count` rows before it moves them."""
    order = Window.partitionBy(*_DATASET).orderBy(F.desc("runs"), "kind", "reader")
    ranked = by_reader.where(_reading()).withColumn("rank", F.row_number().over(order)).where(F.col("rank") <= count)
    reader = F.struct(
        "rank",
        F.col("reader").alias("actor"),
        "kind",
        F.col("runs").alias("reads"),
        F.col("last_at").alias("last_read_at"),
    )
    listed = F.sort_array(F.collect_list(reader))
    return ranked.groupBy(*_DATASET).agg(listed.alias("listed")).select(
        *_DATASET,
        F.transform("listed", lambda one: one.dropFields("rank")).alias("top_readers"),
    )  # fmt: skip
