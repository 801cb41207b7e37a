"""One row for every airport and every hour, whether or not the station reported.

Flights are joined to weather by the hour, so a missing report would lose a flight's weather although the hour before is
known. A state of the air (temperature, wind, visibility, ...) is carried forward for at most three hours,
and `age_hours` says how old it is. Precipitation is not carried: it is an amount that fell in its hour, and to repeat it
would make rain. The hour is an instant (UTC), so the two hours that both read 01:00 in November stay two.

All hours are computed every time, since carrying forward crosses midnight and they are only 26,000. Those of the wanted days
are written: a folder for each day of New York.
"""

import argparse
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

CARRY_HOURS = 3
# The three airports keep one time.
TIMEZONE = "America/New_York"
# A reading of 1,048 mph (Newark, 12 February) is a fault of the instrument; the record at the surface is 253.
STRONGEST_WIND_MPH = 253


def every_hour(observations: DataFrame) -> DataFrame:
    """All hours from each airport's first observation to its last."""
    span = observations.groupBy("origin").agg(F.min("time_hour").alias("first"), F.max("time_hour").alias("last"))
    return span.select("origin", F.explode(F.sequence("first", "last", F.expr("INTERVAL 1 HOUR"))).alias("hour"))


def latest(reading: Column) -> Column:
    """The reading of this hour or, where there is none, the last one of the hours before, `CARRY_HOURS` back at most."""
    window = Window.partitionBy("origin").orderBy("hour").rowsBetween(-CARRY_HOURS, Window.currentRow)
    return F.last(reading, ignorenulls=True).over(window)


def hourly(observations: DataFrame) -> DataFrame:
    """Weather by airport and hour without holes; readings older than `CARRY_HOURS` are null."""
    measured = observations.select(
        "origin",
        F.col("time_hour").alias("hour"),
        F.col("time_hour").alias("observed_at"),
        "temp",
        F.when(F.col("wind_speed") <= STRONGEST_WIND_MPH, F.col("wind_speed")).alias("wind_speed"),
        "visib",
        "pressure",
        "precip",
    )
    age = F.col("hour").cast("long") - latest(F.col("observed_at")).cast("long")
    return (
        every_hour(observations)
        .join(measured, ["origin", "hour"], "left")
        .select(
            "origin",
            "hour",
            latest(F.col("temp")).alias("temperature_f"),
            latest(F.col("wind_speed")).alias("wind_mph"),
            latest(F.col("visib")).alias("visibility_miles"),
            latest(F.col("pressure")).alias("pressure_mbar"),
            F.col("precip").alias("precipitation_in"),
            (age / 3600).cast("int").alias("age_hours"),
            F.from_utc_timestamp("hour", TIMEZONE).cast("date").alias("date"),
        )
    )


def of_period(day: Column, period: str) -> Column:
    """Return whether a day is in `2013-03-10`, in `2013-03-09..2013-03-10` or, of hours, in their days; any is in an empty period."""
    first, _, last = period.partition("..")
    return day.cast("string").between(first[:10], (last or first)[:10] + "~")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--staged-weather", required=True)
    parser.add_argument("--weather", required=True)
    parser.add_argument("--days", default="", help="make these: 2013-03-10, or 2013-03-09..2013-03-10; default: all")
    arguments = parser.parse_args(argv)

    spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    observations = spark.read.parquet(arguments.staged_weather)
    hours = hourly(observations).where(of_period(F.col("date"), arguments.days))
    writer = hours.coalesce(1).write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
    writer.partitionBy("date").parquet(arguments.weather)
    spark.stop()


if __name__ == "__main__":
    main()
