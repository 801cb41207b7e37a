"""Executions to sums by day: what everything that counts is rolled up from.

A day's sums are made from all its executions and from nothing else, so a day that got late rows is summed again whole. Money and credits are added
as decimals: a sum of doubles would depend on the order of the rows.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.pipeline.query_log.recurrence import starts
from headwater.pipeline.query_log.schema import DAILY, TOLD

SUMMED: Final = ("duration_ms", "bytes_read", "bytes_billed", "bytes_written", "rows_written", "slot_ms", "cpu_ms")
_EXACT: Final = ("credits", "money")
# The key of a row within a day. `namespace` and `place` determine what the names of the shape mean.
GROUPED: Final = (
    "day",
    "source",
    "namespace",
    "dialect",
    "shape_id",
    "place",
    "database",
    "schema",
    "actor",
    "actor_kind",
    "tool",
    "tool_asset",
    "tool_asset_name",
    "job_namespace",
    "job_name",
)


def daily(executions: DataFrame) -> DataFrame:
    """DAILY of the executions, which are all of their days. A sum past what a bigint holds is null."""
    # Rows are grouped by 128 bits of a hash of what they have in common, which sorts as two numbers: fifteen texts would be compared for each row.
    hashed = executions.withColumn("h1", F.expr(f"xxhash64({', '.join(GROUPED)})")).withColumn(
        "h2", F.expr(f"xxhash64('headwater', {', '.join(reversed(GROUPED))})")
    )
    grouped = hashed.groupBy("h1", "h2").agg(
        F.expr(f"max(struct({', '.join(GROUPED)})) as common"),
        F.count(F.lit(1)).alias("executions"),
        F.count(F.when(F.col("state") != "succeeded", 1)).alias("failures"),
        F.min("started_at").alias("first_at"),
        F.max(F.struct("started_at", "query_id")).alias("last"),
        starts("started_at").alias("starts"),
        *(F.try_sum(name).try_cast(DAILY.schema[name].dataType).alias(name) for name in SUMMED),
        *(exact_sum(name).alias(name) for name in _EXACT),
    )
    told = {name: f"common.{name}" for name in GROUPED} | {
        "last_at": "last.started_at as last_at",
        "last_query_id": "last.query_id as last_query_id",
    }
    return grouped.selectExpr(*(told.get(name, name) for name in DAILY.columns()))


def source_tables(executions: DataFrame) -> DataFrame:
    """TOLD of the executions: what their source named as read and written, where it named anything."""
    keys = [name for name in TOLD.columns() if name != "executions"]
    naming = executions.where(F.col("told_reads").isNotNull() | F.col("told_writes").isNotNull())
    return TOLD.ordered(naming.groupBy(*keys).agg(F.count(F.lit(1)).alias("executions")))


def exact_sum(name: str) -> Column:
    """The sum of a column of doubles, the same in any order of the rows: to eighteen places, null where a value does not fit."""
    return F.try_sum(F.col(name).try_cast("decimal(38,18)")).try_cast("double")
