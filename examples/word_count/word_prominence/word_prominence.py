"""The prominence of a word in a month: the number of its uses, times the days of the month without one.

A word of every day stands out by nothing, however often it is used.
"""

import argparse
import json
import os
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def months(spark: SparkSession) -> DataFrame:
    """The months to make, each with the stretches of days that it is made of: `month`, `first`, `last`."""
    rows = []
    for each in json.loads(os.environ["HEADWATER_INSTANCES"]):
        for stretch in each["inputs"]["words_count"]:
            first, _, last = stretch["instances"].partition("..")
            rows.append((each["instance"], first, last or first))
    return spark.createDataFrame(rows, "month string, first string, last string")


def prominence(words: DataFrame, months: DataFrame) -> DataFrame:
    """One row by month and word."""
    inside = words.join(F.broadcast(months), F.col("day").between(F.col("first"), F.col("last")))
    length = inside.groupBy("month").agg(F.countDistinct("day").alias("days"))
    used = inside.groupBy("month", "word").agg(F.sum("n").alias("n"), F.countDistinct("day").alias("used_on"))
    score = (F.col("n") * (F.col("days") - F.col("used_on"))).alias("score")
    return used.join(F.broadcast(length), "month").select("month", "word", "n", "used_on", score)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", required=True)
    parser.add_argument("--prominence", required=True)
    arguments = parser.parse_args(argv)

    spark = SparkSession.builder.getOrCreate()
    found = prominence(spark.read.parquet(arguments.words), months(spark))
    ordered = found.repartition("month").sortWithinPartitions("month", "word")
    ordered.write.mode("overwrite").partitionBy("month").parquet(arguments.prominence)
    spark.stop()


if __name__ == "__main__":
    main()
