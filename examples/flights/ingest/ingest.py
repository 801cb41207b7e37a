"""Daily CSV files of the raw zone become typed Parquet, one partition a day, with nothing added and nothing repaired.

The schemas are written down, never inferred: inference reads the data twice and changes its mind when a day happens to
have no letters in a column. A header that differs from the schema, or a value that does not parse, stops the run
(`enforceSchema=false`, `FAILFAST`): a feed that changed is a conversation with its owner, not a null.
"""

import argparse
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

FLIGHTS = """
    year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT, sched_arr_time INT,
    arr_delay INT, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, air_time INT, distance INT,
    hour INT, minute INT, time_hour TIMESTAMP, date DATE
"""
WEATHER = """
    origin STRING, year INT, month INT, day INT, hour INT, temp DOUBLE, dewp DOUBLE, humid DOUBLE, wind_dir INT,
    wind_speed DOUBLE, wind_gust DOUBLE, precip DOUBLE, pressure DOUBLE, visib DOUBLE, time_hour TIMESTAMP, date DATE
"""


def read_days(spark: SparkSession, location: str, schema: str) -> DataFrame:
    """A table of daily CSV files; `date` is the folder's key, the other columns are the file's. `NA` is null."""
    return (
        spark.read.schema(schema)
        .option("nullValue", "NA")
        .csv(location, header=True, enforceSchema=False, mode="FAILFAST")
    )


def of_period(day: Column, period: str) -> Column:
    """Return whether a day is in `2013-03-10`, in `2013-03-09..2013-03-10` or, of hours, in their days; any is in an empty period."""
    first, _, last = period.partition("..")
    return day.cast("string").between(first[:10], (last or first)[:10] + "~")


def write_days(rows: DataFrame, location: str) -> None:
    """One file a day; a re-run replaces exactly the days it read and leaves every other day alone."""
    writer = rows.repartition("date").write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
    writer.partitionBy("date").parquet(location)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--raw-flights", required=True)
    parser.add_argument("--raw-weather", required=True)
    parser.add_argument("--flights", required=True)
    parser.add_argument("--weather", required=True)
    parser.add_argument("--days", default="", help="make these: 2013-03-10, or 2013-03-09..2013-03-10; default: all")
    arguments = parser.parse_args(argv)

    spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    flights = read_days(spark, arguments.raw_flights, FLIGHTS)
    weather = read_days(spark, arguments.raw_weather, WEATHER)
    # Spark reads no folder of another day.
    wanted = of_period(F.col("date"), arguments.days)
    write_days(flights.where(wanted), arguments.flights)
    write_days(weather.where(wanted), arguments.weather)
    spark.stop()


if __name__ == "__main__":
    main()
