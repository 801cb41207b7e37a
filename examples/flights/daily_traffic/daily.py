"""Flights counted by carrier, airport and day, added up from the hours.

A day is a day in New York: the hours are instants, but the date they carry is the local one, so the days on which the
clocks change have 23 and 25 hours.
"""

import argparse
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

ADDITIVE = ("flights", "cancelled", "diverted", "departed", "dep_delay_sum", "arrived", "arr_delay_sum", "on_time")


def daily(hours: DataFrame) -> DataFrame:
    """One row by carrier, origin and local date."""
    return hours.groupBy("carrier", "origin", "flight_date").agg(
        *(F.sum(name).alias(name) for name in ADDITIVE),
        F.min("worst_visibility_miles").alias("worst_visibility_miles"),
    )


def of_period(day: Column, period: str) -> Column:
    """Return whether a day is in `2013-03-10`, in `2013-03-09..2013-03-10` or, of hours, in their days; any is in an empty period."""
    first, _, last = period.partition("..")
    return day.cast("string").between(first[:10], (last or first)[:10] + "~")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hourly", required=True)
    parser.add_argument("--daily", required=True)
    parser.add_argument("--days", default="", help="make these: 2013-03-10, or 2013-03-09..2013-03-10; default: all")
    arguments = parser.parse_args(argv)

    spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    hours = spark.read.parquet(arguments.hourly)
    days = daily(hours.where(of_period(F.col("flight_date"), arguments.days)))
    writer = days.coalesce(1).write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
    writer.partitionBy("flight_date").parquet(arguments.daily)
    spark.stop()


if __name__ == "__main__":
    main()
