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
RESTATED: Final = {
    "edges": ("report_datasets", {"dataset_id": "dataset_id", "job_id": "job_id"}),
    "foreign_edges": (
        "report_foreign_edges",
        {"dataset_id": "dataset_id", "edge_job_id": "job_id", "job_id": "reporter_id"},
    ),
}
"""Tables whose `last_at` follows from snapshots (docs/decisions/073): the table of their reports, and the names of its columns here."""
SOURCES: Final = ("reports", "report_datasets", "report_foreign_edges", "report_snapshots", "runs")
"""The tables that they follow from."""
_LOOKED_AT: Final = 50
_SETTLED: Final = 10


def with_settled(table: str, rows: DataFrame, sources: dict[str, DataFrame]) -> DataFrame:
    """The rows of `jobs`, `edges` or `foreign_edges` with their COLUMNS and restated. `sources`: the SOURCES by name."""
    if table in RESTATED:
        rows = _restated(table, rows, sources)
    if table not in COLUMNS:
        return rows
    reports = _settled_reports(sources["reports"], sources["report_datasets"], sources["runs"])
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
        _with_replaced("report_datasets", sources)
        .where("not replaced")
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


def _with_replaced(table: str, sources: dict[str, DataFrame]) -> DataFrame:
    """The rows of a table of reports, with `replaced`: a later snapshot of the report lacks it."""
    latest = sources["report_snapshots"].groupBy("job_id", "report_id").agg(F.max("at").alias("snapshot_at"))
    return (
        sources[table]
        .join(latest, ["job_id", "report_id"], "left")
        .withColumn("replaced", F.coalesce(F.expr("snapshot_at > last_at"), F.lit(False)))
        .drop("snapshot_at")
    )


def _restated(table: str, rows: DataFrame, sources: dict[str, DataFrame]) -> DataFrame:
    """The rows with the last time of a report that still has them, where a snapshot replaced one of their reports."""
    told, names = RESTATED[table]
    runs = sources["reports"].where("not declaration").select("job_id", "report_id")
    key = [*names.values(), "direction"]
    stated = (
        _with_replaced(told, sources)
        .join(runs, ["job_id", "report_id"])
        .select(
            *(F.col(name).alias(f"own_{alias}") for name, alias in names.items()), "direction", "last_at", "replaced"
        )
        .select(*(F.col(f"own_{alias}").alias(alias) for alias in names.values()), "direction", "last_at", "replaced")
        .groupBy(*key)
        .agg(
            F.expr("max(case when not replaced then last_at end)").alias("stated_at"),
            F.expr("bool_or(replaced)").alias("restated"),
        )
        .where("restated")
    )
    joined = rows.join(stated, key, "left").withColumn(
        "last_at", F.expr("case when restated then stated_at else last_at end")
    )
    return joined.select(*rows.columns)


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
