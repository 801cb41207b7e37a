"""Clock readings become instants, and every flight becomes one checked row.

The source gives times as numbers of four digits on two different clocks: departures on New York's, arrivals on the
destination's. `2400` is midnight at the end of a day, a flight may land on the next day or, by the clock, before it left.
The rules, each tested on the nights when the clocks change:

- The scheduled departure is `time_hour` (an instant, UTC) plus `minute`. It needs no time zone, and so cannot fall into
  the hour that does not exist or the one that comes twice.
- The departure is the scheduled departure plus the delay.
- An arrival is the first instant after the departure at which the destination's clock shows the reading. No flight
  takes a day, so there is exactly one. The delay is not used: the source reckons it on the clock's face.
- A diverted flight has no arrival, even where the source has a reading: it may be of another airport, or another day.

A row that breaks a rule is not dropped but kept apart with the reason, so that rows in = rows clean + rows rejected.
"""

import argparse
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

MINUTES_A_DAY = 1440


def minutes_of(reading: Column) -> Column:
    """Minutes since midnight of a clock reading `HHMM`; 2400 is 0."""
    return ((reading / 100).cast("int") * 60 + reading % 100) % MINUTES_A_DAY


def first_instant_showing(reading: Column, timezone: Column, after: Column) -> Column:
    """The first instant later than `after` at which a clock in `timezone` shows `reading` (`HHMM`)."""
    local = F.from_utc_timestamp(after, timezone)
    today = F.date_trunc("day", local) + F.make_dt_interval(mins=minutes_of(reading))
    local_reading = F.when(today > local, today).otherwise(today + F.make_dt_interval(days=F.lit(1)))
    return F.to_utc_timestamp(local_reading, timezone)


def fault() -> Column:
    """Return why a staged flight, joined to its destination, cannot be used; null when it can."""
    scheduled, departed = F.col("sched_dep_time"), F.col("dep_time")
    clock_minus_delay = minutes_of(departed) - minutes_of(scheduled) - F.col("dep_delay")
    return (
        F.when(F.col("timezone").isNull(), F.lit("unknown destination"))
        .when((scheduled > 2400) | (scheduled % 100 > 59), F.lit("no such time of day"))
        .when(clock_minus_delay % MINUTES_A_DAY != 0, F.lit("departure and delay disagree"))
    )


def of_period(day: Column, period: str) -> Column:
    """Return whether a day is in `2013-03-10`, in `2013-03-09..2013-03-10` or, of hours, in their days; any is in an empty period."""
    first, _, last = period.partition("..")
    return day.cast("string").between(first[:10], (last or first)[:10] + "~")


def judge(flights: DataFrame, airports: DataFrame, days: str = "") -> DataFrame:
    """Staged flights of these days with their destination's time zone, an id and their fault, if any."""
    zones = airports.select(F.col("airport").alias("dest"), "timezone")
    return (
        flights.where(of_period(F.col("date"), days))
        .join(F.broadcast(zones), "dest", "left")
        .withColumn("flight_id", F.concat_ws("_", "date", "carrier", "flight", "origin"))
        .withColumn("fault", fault())
    )


def clean(judged: DataFrame) -> DataFrame:
    """The flights without fault, with instants in place of clock readings."""
    sched_dep_at = F.col("time_hour") + F.make_dt_interval(mins=F.col("minute"))
    departed_at = sched_dep_at + F.make_dt_interval(mins=F.col("dep_delay"))
    timezone = F.col("timezone")
    return judged.where(F.col("fault").isNull()).select(
        "flight_id",
        F.col("date").alias("flight_date"),
        "carrier",
        "flight",
        "tailnum",
        "origin",
        "dest",
        F.col("distance").alias("distance_miles"),
        F.col("hour").alias("local_hour"),
        F.col("time_hour").alias("departure_hour"),
        sched_dep_at.alias("sched_dep_at"),
        departed_at.alias("departed_at"),
        first_instant_showing(F.col("sched_arr_time"), timezone, sched_dep_at).alias("sched_arr_at"),
        F.when(F.col("arr_delay").isNotNull(), first_instant_showing(F.col("arr_time"), timezone, departed_at)).alias(
            "arrived_at"
        ),
        "dep_delay",
        "arr_delay",
        F.col("air_time").alias("air_minutes"),
        F.when(F.col("dep_time").isNull(), F.lit("cancelled"))
        .when(F.col("arr_delay").isNull(), F.lit("diverted"))
        .otherwise(F.lit("completed"))
        .alias("status"),
    )


def rejected(judged: DataFrame) -> DataFrame:
    """The flights with a fault, with what is needed to ask the feed's owner about them."""
    return judged.where(F.col("fault").isNotNull()).select(
        "flight_id",
        F.col("date").alias("flight_date"),
        "origin",
        "dest",
        "sched_dep_time",
        "dep_time",
        "dep_delay",
        "fault",
    )


def write_days(rows: DataFrame, location: str) -> None:
    """One file a day; a re-run replaces exactly the days it read."""
    writer = rows.repartition("flight_date").write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
    writer.partitionBy("flight_date").parquet(location)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--staged-flights", required=True)
    parser.add_argument("--airports", required=True)
    parser.add_argument("--flights", required=True)
    parser.add_argument("--rejected", required=True)
    parser.add_argument("--days", default="", help="make these: 2013-03-10, or 2013-03-09..2013-03-10; default: all")
    arguments = parser.parse_args(argv)

    spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    flights = spark.read.parquet(arguments.staged_flights)
    airports = spark.read.parquet(arguments.airports)
    judged = judge(flights, airports, arguments.days)
    write_days(clean(judged), arguments.flights)
    # The rejections of this run, whole: a dynamic overwrite would keep yesterday's verdict on a day that is now faultless.
    rejected(judged).coalesce(1).write.mode("overwrite").parquet(arguments.rejected)
    spark.stop()


if __name__ == "__main__":
    main()
