"""Flights counted by carrier, airport and ISO week, added up from the days.

A week begins on Monday and is named for that Monday, which sorts and needs no rule about which year a week belongs to.
The first and the last week of the data are cut by the turn of the year: `days` says how many days a row is made of, and a
reader who compares weeks should leave out those with fewer than seven.
"""

import argparse
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F


def weekly(days: DataFrame) -> DataFrame:
    """One row by carrier, origin and week; means and shares are made from the week's sums."""
    week = F.date_trunc("week", "flight_date").cast("date").alias("week")
    return days.groupBy("carrier", "origin", week).agg(
        F.countDistinct("flight_date").alias("days"),
        F.sum("flights").alias("flights"),
        F.sum("cancelled").alias("cancelled"),
        F.sum("arrived").alias("arrived"),
        F.sum("arr_delay_sum").alias("arr_delay_sum"),
        F.sum("on_time").alias("on_time"),
        (F.sum("cancelled") / F.sum("flights")).alias("cancelled_share"),
        F.try_divide(F.sum("arr_delay_sum"), F.sum("arrived")).alias("mean_arr_delay"),
        F.try_divide(F.sum("on_time"), F.sum("arrived")).alias("on_time_share"),
    )


def of_period(monday: Column, period: str) -> Column:
    """Return whether the week of this Monday is in `2013-W10` or in `2013-W10..2013-W11`; any is in an empty period."""
    first, _, last = period.partition("..")
    year, week = F.extract(F.lit("YEAROFWEEK"), monday), F.lpad(F.weekofyear(monday).cast("string"), 2, "0")
    return F.concat_ws("-W", year, week).between(first, (last or first) + "~")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--daily", required=True)
    parser.add_argument("--weekly", required=True)
    parser.add_argument("--weeks", default="", help="make these: 2013-W10, or 2013-W10..2013-W11; default: all")
    arguments = parser.parse_args(argv)

    spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    days = spark.read.parquet(arguments.daily)
    weeks = weekly(days).where(of_period(F.col("week"), arguments.weeks))
    writer = weeks.coalesce(1).write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
    writer.partitionBy("week").parquet(arguments.weekly)
    spark.stop()


if __name__ == "__main__":
    main()
