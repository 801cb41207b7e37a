"""Articles of the feed, each under the day on which it was published in Paris.

The environment names the days, each with its first and last instant: the last Sunday of March has 23 hours.
"""

import argparse
import json
import os
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def days(spark: SparkSession) -> DataFrame:
    """The days to make: `day`, `since`, `until`."""
    rows = [(each["instance"], each["start"], each["end"]) for each in json.loads(os.environ["HEADWATER_INSTANCES"])]
    found = spark.createDataFrame(rows, "day string, since string, until string")
    return found.select("day", F.to_timestamp("since").alias("since"), F.to_timestamp("until").alias("until"))


def by_author(feed: DataFrame, days: DataFrame) -> DataFrame:
    """One row for each article of these days."""
    published = feed.select("author", F.to_timestamp("published_at").alias("published_at"), "text")
    inside = (F.col("published_at") >= F.col("since")) & (F.col("published_at") < F.col("until"))
    return published.join(F.broadcast(days), inside).select("day", "author", "published_at", "text")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--feed", required=True)
    parser.add_argument("--articles", required=True)
    arguments = parser.parse_args(argv)

    spark = SparkSession.builder.getOrCreate()
    feed = spark.read.schema("author string, published_at string, text string").json(arguments.feed)
    articles = by_author(feed, days(spark))
    # One file a day and its rows in order: the same content is the same file.
    ordered = articles.repartition("day").sortWithinPartitions("day", "author", "published_at")
    ordered.write.mode("overwrite").partitionBy("day").parquet(arguments.articles)
    spark.stop()


if __name__ == "__main__":
    main()
