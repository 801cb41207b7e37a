"""The number of times each user opened an article of each author, by week of Paris."""

import argparse
import json
import os
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def weeks(spark: SparkSession) -> DataFrame:
    """The weeks to make: `week`, `since`, `until`."""
    rows = [(each["instance"], each["start"], each["end"]) for each in json.loads(os.environ["HEADWATER_INSTANCES"])]
    found = spark.createDataFrame(rows, "week string, since string, until string")
    return found.select("week", F.to_timestamp("since").alias("since"), F.to_timestamp("until").alias("until"))


def counted(log: DataFrame, weeks: DataFrame) -> DataFrame:
    """One row by week, user and author."""
    read = log.select("user", "author", F.to_timestamp("read_at").alias("read_at"))
    inside = (F.col("read_at") >= F.col("since")) & (F.col("read_at") < F.col("until"))
    return read.join(F.broadcast(weeks), inside).groupBy("week", "user", "author").agg(F.count("*").alias("reads"))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", required=True)
    parser.add_argument("--reads", required=True)
    arguments = parser.parse_args(argv)

    spark = SparkSession.builder.getOrCreate()
    log = spark.read.schema("user string, author string, read_at string").json(arguments.log)
    ordered = counted(log, weeks(spark)).repartition("week").sortWithinPartitions("week", "user", "author")
    ordered.write.mode("overwrite").partitionBy("week").parquet(arguments.reads)
    spark.stop()


if __name__ == "__main__":
    main()
