"""Settled reports in Spark: what `settled_reports` and `settle_jobs` of the server's database say, by the same order (docs/decisions/042)."""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.types import ArrayType, BooleanType, StringType, StructField, TimestampType

from headwater.model.run import RunState

COLUMNS: Final = {
    "jobs": (StructField("settled", ArrayType(StringType())), StructField("settled_at", TimestampType())),
    "edges": (StructField("intermittent", BooleanType()),),
}
"""The columns that follow from settled reports, by table."""
SOURCES: Final = ("reports", "report_datasets", "runs")
"""The tables that they follow from."""
_LOOKED_AT: Final = 50
_SETTLED: Final = 10


def with_settled(table: str, rows: DataFrame, sources: dict[str, DataFrame]) -> DataFrame:
    """The rows of `jobs` or `edges` with their COLUMNS. `sources`: the SOURCES by name."""
    reports = _settled_reports(**sources)
    if table == "jobs":
        settled = reports.groupBy(F.col("job_id").alias("id")).agg(
            F.transform(F.sort_array(F.collect_list(F.struct("place", "report_id"))), lambda r: r["report_id"]).alias(
                "settled"
            ),
            F.max("first_at").alias("settled_at"),
        )
        return rows.join(settled, "id", "left")
    counts = reports.groupBy("job_id").agg(F.count("*").alias("settled"))
    had = (
        sources["report_datasets"]
        .join(reports.select("job_id", "report_id", "place"), ["job_id", "report_id"])
        .groupBy("job_id", "dataset_id", "direction")
        .agg(F.count("*").alias("had"), F.min("place").alias("first_place"), F.max("place").alias("last_place"))
        .join(counts, "job_id")
        .select(
            "job_id",
            "dataset_id",
            "direction",
            F.expr("had >= 2 and settled - had >= 2 and last_place - first_place + 1 > had").alias("intermittent"),
        )
    )
    joined = rows.join(had, ["job_id", "dataset_id", "direction"], "left")
    return joined.select(*rows.columns, F.coalesce("intermittent", F.lit(False)).alias("intermittent"))


def _settled_reports(reports: DataFrame, report_datasets: DataFrame, runs: DataFrame) -> DataFrame:
    """job_id, report_id, first_at, place (from 1): the settled reports of each job."""
    newest = Window.partitionBy("job_id").orderBy(F.desc("first_at"), "report_id")
    latest = reports.where("not declaration").withColumn("place", F.row_number().over(newest))
    complete = runs.where(F.col("state") == int(RunState.COMPLETED)).select(
        "job_id", F.col("run_id").alias("report_id")
    )
    wrote = report_datasets.where("direction = 'out'").select("job_id", "report_id").distinct()
    ended = (
        latest.where(F.col("place") <= _LOOKED_AT)
        .join(complete, ["job_id", "report_id"])
        .join(wrote.withColumn("wrote", F.lit(True)), ["job_id", "report_id"], "left")
        .withColumn("wrote", F.coalesce("wrote", F.lit(False)))
        .withColumn("one_wrote", F.max("wrote").over(Window.partitionBy("job_id")))
        .where("wrote or not one_wrote")
        .withColumn("place", F.row_number().over(newest))
    )
    return ended.where(F.col("place") <= _SETTLED).select("job_id", "report_id", "first_at", "place")
