"""The ten words that each user read most in a week, those that stand out first.

In the state `estimated` reads are not counted yet: each user is assumed to read the followed authors once a day. In the state `completed` reads are
the exact ones. The prominence of a word is taken from the month that the environment names.
"""

import argparse
import json
import os
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

WORDS = 10


def inputs(spark: SparkSession, entity: str) -> DataFrame:
    """Return the inputs of each week from one entity: `week`, `first`, `last`."""
    rows = []
    for each in json.loads(os.environ["HEADWATER_INSTANCES"]):
        for stretch in each["inputs"][entity]:
            first, _, last = stretch["instances"].partition("..")
            rows.append((each["instance"], first, last or first))
    return spark.createDataFrame(rows, "week string, first string, last string")


def words_by_week(words: DataFrame, days: DataFrame) -> DataFrame:
    """One row by week, author and word, with the days there are of the week."""
    inside = words.join(F.broadcast(days), F.col("day").between(F.col("first"), F.col("last")))
    known = inside.groupBy("week").agg(F.countDistinct("day").alias("days"))
    return inside.groupBy("week", "author", "word").agg(F.sum("n").alias("n")).join(F.broadcast(known), "week")


def weekly(words: DataFrame, reads: DataFrame, prominence: DataFrame) -> DataFrame:
    """The first ten words by week and user."""
    read = words.join(reads, ["week", "author"]).groupBy("week", "user", "word")
    weighed = (
        read.agg(F.sum(F.col("reads") * F.col("n")).alias("times"))
        .join(prominence, ["week", "word"])
        .select("week", "user", "word", "times", (F.col("times") * F.col("score")).alias("weight"))
    )
    order = Window.partitionBy("week", "user").orderBy(F.desc("weight"), "word")
    return weighed.withColumn("rank", F.row_number().over(order)).where(F.col("rank") <= WORDS)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("words", "prominence", "reads", "subscriptions", "weekly"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args(argv)

    spark = SparkSession.builder.getOrCreate()
    words = words_by_week(spark.read.parquet(arguments.words), inputs(spark, "words_count"))
    months = inputs(spark, "word_prominence").withColumnRenamed("first", "month").drop("last")
    prominence = spark.read.parquet(arguments.prominence).join(F.broadcast(months), "month").drop("month")
    if os.environ["HEADWATER_STATE"] == "completed":
        reads = spark.read.parquet(arguments.reads)
    else:
        followed = spark.read.schema("user string, author string").csv(arguments.subscriptions, header=True)
        days = words.select("week", F.col("days").alias("reads")).distinct()
        reads = followed.crossJoin(days)
    found = weekly(words, reads, prominence.select("week", "word", "score"))
    ordered = found.repartition("week").sortWithinPartitions("week", "user", "rank")
    ordered.write.mode("overwrite").partitionBy("week").parquet(arguments.weekly)
    spark.stop()


if __name__ == "__main__":
    main()
