"""The features known one hour before the scheduled departure, and whether the flight then came late.

A table to train a model on is easily wrong in a way that looks like success: it contains the future. Every feature here
is taken at the cutoff, one hour before the scheduled departure:

- The weather is that of the hour before the scheduled hour, not of the hour itself.
- The carrier's yesterday counts only the flights that had left by midnight. One that left at 03:00 belongs to yesterday's
  schedule, but at 00:30 its delay was unknown. (Nothing is scheduled between midnight and one, so no cutoff is before midnight.)
- The aircraft's departure before this one counts only when it had left by the cutoff. That it had not left is known as
  well, and is the stronger feature: `previous_leg_pending`. Whether it left later or was cancelled is not a feature.

The label is an arrival more than 15 minutes late, so only completed flights have a row. The split is by time: a model that
is tested on days between those of its training has already seen the answers.
"""

import argparse
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

LATE_MINUTES = 15
FIRST_TEST_DAY = "2013-10-01"
# The three origins keep one time; departures after its start are distinguished from earlier ones by their date.
ORIGIN_TIMEZONE = "America/New_York"


def yesterday(flights: DataFrame) -> DataFrame:
    """By carrier and origin, how the day before `flight_date` had gone when it ended."""
    midnight = F.to_utc_timestamp(F.date_add("flight_date", 1).cast("timestamp"), ORIGIN_TIMEZONE)
    return (
        flights.where(F.col("departed_at") < midnight)
        .groupBy("carrier", "origin", F.date_add("flight_date", 1).alias("flight_date"))
        .agg(F.avg("dep_delay").alias("carrier_delay_yesterday"), F.count("*").alias("carrier_departures_yesterday"))
    )


def with_previous_leg(flights: DataFrame) -> DataFrame:
    """Each flight with what became of the departure that its aircraft was scheduled for before.

    Only departures from New York are in the data, so the leg that brought the aircraft back is not: this is the leg before.
    A flight whose aircraft is not known has no leg before it, and not that of another unknown aircraft.
    """
    aircraft = F.coalesce("tailnum", "flight_id")
    legs = Window.partitionBy(aircraft).orderBy("sched_dep_at", "flight_id")
    return flights.select(
        "*",
        F.lag("sched_dep_at").over(legs).alias("previous_sched_dep_at"),
        F.lag("departed_at").over(legs).alias("previous_departed_at"),
        F.lag("dep_delay").over(legs).alias("previous_delay"),
    )


def features(flights: DataFrame, weather: DataFrame) -> DataFrame:
    """One row for each completed flight."""
    before = weather.select(
        "origin",
        (F.col("hour") + F.expr("INTERVAL 1 HOUR")).alias("departure_hour"),
        F.col("temperature_f").alias("temperature_before"),
        F.col("wind_mph").alias("wind_before"),
        F.col("visibility_miles").alias("visibility_before"),
        F.col("precipitation_in").alias("precipitation_before"),
    )
    cutoff = F.col("sched_dep_at") - F.expr("INTERVAL 1 HOUR")
    previous_departed_at = F.col("previous_departed_at")
    had_left = F.coalesce(previous_departed_at <= cutoff, F.lit(False))
    return (
        with_previous_leg(flights)
        .where(F.col("status") == "completed")
        .join(yesterday(flights), ["carrier", "origin", "flight_date"], "left")
        .join(F.broadcast(before), ["origin", "departure_hour"], "left")
        .select(
            "flight_id",
            "flight_date",
            "carrier",
            "origin",
            "dest",
            "local_hour",
            F.weekday("flight_date").alias("weekday"),
            "distance_miles",
            "seats",
            "aircraft_age",
            "temperature_before",
            "wind_before",
            "visibility_before",
            "precipitation_before",
            "carrier_delay_yesterday",
            "carrier_departures_yesterday",
            F.when(had_left, F.col("previous_delay")).alias("previous_leg_delay"),
            F.when(had_left, (cutoff.cast("long") - previous_departed_at.cast("long")) / 3600).alias(
                "previous_leg_hours_ago"
            ),
            (F.col("previous_sched_dep_at").isNotNull() & ~had_left).alias("previous_leg_pending"),
            (F.col("arr_delay") > LATE_MINUTES).cast("int").alias("late"),
            F.when(F.col("flight_date") < F.lit(FIRST_TEST_DAY).cast("date"), F.lit("train"))
            .otherwise(F.lit("test"))
            .alias("split"),
        )
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flights", required=True)
    parser.add_argument("--weather", required=True)
    parser.add_argument("--features", required=True)
    arguments = parser.parse_args(argv)

    spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    flights = spark.read.parquet(arguments.flights)
    weather = spark.read.parquet(arguments.weather)
    features(flights, weather).repartition("split").write.mode("overwrite").partitionBy("split").parquet(
        arguments.features
    )
    spark.stop()


if __name__ == "__main__":
    main()
