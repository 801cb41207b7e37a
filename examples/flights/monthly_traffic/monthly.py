"""Flights counted by carrier, airport and month, added up from the days, with the change since the month before.

From the days and not from the weeks: a week may belong to two months.
"""

import argparse
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F


def monthly(days: DataFrame) -> DataFrame:
    """One row by carrier, origin and month (its first day).

    `mean_arr_delay_change` is against the calendar month before; null where the carrier did not fly from the airport then.
    """
    month = F.trunc("flight_date", "month").alias("month")
    months = days.groupBy("carrier", "origin", month).agg(
        F.sum("flights").alias("flights"),
        F.sum("cancelled").alias("cancelled"),
        F.sum("departed").alias("departed"),
        F.sum("dep_delay_sum").alias("dep_delay_sum"),
        F.sum("arrived").alias("arrived"),
        F.sum("arr_delay_sum").alias("arr_delay_sum"),
        F.sum("on_time").alias("on_time"),
        F.try_divide(F.sum("arr_delay_sum"), F.sum("arrived")).alias("mean_arr_delay"),
    )
    history = Window.partitionBy("carrier", "origin").orderBy("month")
    follows = F.add_months(F.lag("month").over(history), 1) == F.col("month")
    change = F.col("mean_arr_delay") - F.lag("mean_arr_delay").over(history)
    return months.withColumn("mean_arr_delay_change", F.when(follows, change))


def of_period(first_day: Column, period: str) -> Column:
    """Return whether the month of this first day is in `2013-03` or in `2013-03..2013-04`; any is in an empty period."""
    first, _, last = period.partition("..")
    return first_day.cast("string").between(first, (last or first) + "~")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--daily", required=True)
    parser.add_argument("--monthly", required=True)
    parser.add_argument("--months", default="", help="make these: 2013-03, or 2013-03..2013-04; default: all")
    arguments = parser.parse_args(argv)

    spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    days = spark.read.parquet(arguments.daily)
    # Each is compared with the month before it, so the months are chosen after they are all there.
    months = monthly(days).where(of_period(F.col("month"), arguments.months))
    writer = months.coalesce(1).write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
    writer.partitionBy("month").parquet(arguments.monthly)
    spark.stop()


if __name__ == "__main__":
    main()
