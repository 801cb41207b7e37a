"""The number of each word in the articles of a day, by author. Each day is made of that day's articles and of nothing else."""

import argparse
import json
import os
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def counted(articles: DataFrame) -> DataFrame:
    """One row by day, author and word; a word is letters and apostrophes, in small letters."""
    words = F.explode(F.split(F.lower("text"), "[^a-z']+")).alias("word")
    return (
        articles.select("day", "author", words)
        .where(F.col("word") != "")
        .groupBy("day", "author", "word")
        .agg(F.count("*").alias("n"))
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", required=True)
    parser.add_argument("--words", required=True)
    arguments = parser.parse_args(argv)

    days = [each["instance"] for each in json.loads(os.environ["HEADWATER_INSTANCES"])]
    spark = SparkSession.builder.getOrCreate()
    words = counted(spark.read.parquet(arguments.articles).where(F.col("day").isin(days)))
    ordered = words.repartition("day").sortWithinPartitions("day", "author", "word")
    ordered.write.mode("overwrite").partitionBy("day").parquet(arguments.words)
    spark.stop()


if __name__ == "__main__":
    main()
