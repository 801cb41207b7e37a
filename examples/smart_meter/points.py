"""Meters add up to delivery points: what a customer took from the grid in each quarter of an hour, in Wh.

A solar plant's meter counts against the others. A quarter in which one of the meters has no reading has an incomplete
sum: `complete` is false then, and no forecast uses it.
"""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def sums(series: DataFrame, meters: DataFrame) -> DataFrame:
    """`delivery_point`, `quarter`, `wh`, `complete`."""
    known = meters.withColumn("meters", F.count("*").over(_by_point()))
    return (
        series.join(F.broadcast(known), series["meter"] == known["meter_id"])
        .groupBy("delivery_point", "quarter")
        .agg(F.sum(F.col("wh") * F.col("sign")).alias("wh"), (F.count("*") == F.first("meters")).alias("complete"))
    )


def _by_point() -> object:
    from pyspark.sql import Window

    return Window.partitionBy("delivery_point")


def aggregate(
    spark: SparkSession, paths: Iterable[str], base: Path, register: pd.DataFrame, folder: Path
) -> dict[str, Path]:
    """Write the sums of the register's delivery points below `folder`; returns each one's folder. `paths`: the folders of their meters."""
    series = spark.read.option("basePath", str(base)).parquet(*paths)
    meters = spark.createDataFrame(register[["meter_id", "delivery_point", "sign"]])
    made = sums(series, meters).repartition("delivery_point").sortWithinPartitions("delivery_point", "quarter")
    made.write.partitionBy("delivery_point").parquet(str(folder))
    return {part.name.removeprefix("delivery_point="): part for part in sorted(folder.glob("delivery_point=*"))}
