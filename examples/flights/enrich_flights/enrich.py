"""Every flight with the weather at its scheduled hour, its aircraft, its airline and its destination.

The weather is joined on (airport, instant), never on the local date and hour: on 3 November 2013 the clock in New York
shows 01:00 for two hours, and a join by the clock would give a flight two rows. Every join is a left join to a table with
one row a key, so the number of flights cannot change; the tests hold it to that.
"""

import argparse
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F


def enrich(
    flights: DataFrame, weather: DataFrame, planes: DataFrame, airlines: DataFrame, airports: DataFrame
) -> DataFrame:
    """The flights, one row each; what is not known about one of them is null.

    The aircraft of one flight in six is not in the registry: Envoy and American report fleet numbers, not registrations.
    """
    at_departure = weather.select(
        "origin",
        F.col("hour").alias("departure_hour"),
        "temperature_f",
        "wind_mph",
        "visibility_miles",
        "precipitation_in",
    )
    aircraft = planes.select("tailnum", "built_year", "manufacturer", "seats")
    carriers = airlines.select("carrier", F.col("name").alias("carrier_name"))
    destinations = airports.select(F.col("airport").alias("dest"), F.col("name").alias("dest_name"))
    return (
        flights.join(F.broadcast(at_departure), ["origin", "departure_hour"], "left")
        .join(F.broadcast(aircraft), "tailnum", "left")
        .join(F.broadcast(carriers), "carrier", "left")
        .join(F.broadcast(destinations), "dest", "left")
        .select(
            "flight_id",
            "flight_date",
            "carrier",
            "carrier_name",
            "flight",
            "tailnum",
            "origin",
            "dest",
            "dest_name",
            "distance_miles",
            "local_hour",
            "departure_hour",
            "sched_dep_at",
            "departed_at",
            "sched_arr_at",
            "arrived_at",
            "dep_delay",
            "arr_delay",
            "air_minutes",
            "status",
            "temperature_f",
            "wind_mph",
            "visibility_miles",
            "precipitation_in",
            "manufacturer",
            "seats",
            (F.year("flight_date") - F.col("built_year")).alias("aircraft_age"),
        )
    )


def of_period(day: Column, period: str) -> Column:
    """Return whether a day is in `2013-03-10`, in `2013-03-09..2013-03-10` or, of hours, in their days; any is in an empty period."""
    first, _, last = period.partition("..")
    return day.cast("string").between(first[:10], (last or first)[:10] + "~")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for table in ("flights", "weather", "planes", "airlines", "airports", "enriched"):
        parser.add_argument(f"--{table}", required=True)
    parser.add_argument("--days", default="", help="make these: 2013-03-10, or 2013-03-09..2013-03-10; default: all")
    arguments = parser.parse_args(argv)

    spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    flights = spark.read.parquet(arguments.flights)
    enriched = enrich(
        flights.where(of_period(F.col("flight_date"), arguments.days)),
        spark.read.parquet(arguments.weather),
        spark.read.parquet(arguments.planes),
        spark.read.parquet(arguments.airlines),
        spark.read.parquet(arguments.airports),
    )
    writer = enriched.repartition("flight_date").write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
    writer.partitionBy("flight_date").parquet(arguments.enriched)
    spark.stop()


if __name__ == "__main__":
    main()
