"""Flights counted by carrier, airport and scheduled hour: the finest grain that the later aggregates are made from.

It has only values that can be aggregated further: counts, sums and minima. It has no means, because the mean of
hourly means is not the day's mean; the report computes means from the sums.
"""

import argparse
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

# The limit of the US Department of Transportation: a flight is on time when it is less than 15 minutes late.
LATE_MINUTES = 15


def number(condition: Column) -> Column:
    """Return the number of rows that meet the condition."""
    return F.sum(F.when(condition, 1).otherwise(0))


def hourly(flights: DataFrame) -> DataFrame:
    """One row by carrier, origin and scheduled hour (UTC), with the New York date and hour it belongs to."""
    return flights.groupBy("carrier", "origin", "flight_date", "departure_hour", "local_hour").agg(
        F.count("*").alias("flights"),
        number(F.col("status") == "cancelled").alias("cancelled"),
        number(F.col("status") == "diverted").alias("diverted"),
        F.count("dep_delay").alias("departed"),
        F.sum("dep_delay").alias("dep_delay_sum"),
        F.count("arr_delay").alias("arrived"),
        F.sum("arr_delay").alias("arr_delay_sum"),
        number(F.col("arr_delay") < LATE_MINUTES).alias("on_time"),
        F.min("visibility_miles").alias("worst_visibility_miles"),
    )


def of_period(day: Column, period: str) -> Column:
    """Return whether a day is in `2013-03-10`, in `2013-03-09..2013-03-10` or, of hours, in their days; any is in an empty period."""
    first, _, last = period.partition("..")
    return day.cast("string").between(first[:10], (last or first)[:10] + "~")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flights", required=True)
    parser.add_argument("--traffic", required=True)
    parser.add_argument("--days", default="", help="make these: 2013-03-10, or 2013-03-09..2013-03-10; default: all")
    arguments = parser.parse_args(argv)

    spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    flights = spark.read.parquet(arguments.flights)
    traffic = hourly(flights.where(of_period(F.col("flight_date"), arguments.days))).repartition("flight_date")
    writer = traffic.write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
    writer.partitionBy("flight_date").parquet(arguments.traffic)
    spark.stop()


if __name__ == "__main__":
    main()
