"""The slowly changing tables that give codes their meaning: airports, airlines and aircraft.

Each is small and delivered whole, so each is replaced whole. Three known faults of the sources are put right here, once,
where every later job profits:

- Four destinations in Puerto Rico and the Virgin Islands (7,602 flights) are not in the airport table, and one airport has
  its latitude and longitude exchanged. A supplement, kept by hand beside the raw table, adds and replaces rows.
- One manufacturer goes by several names (`AIRBUS INDUSTRIE`, `MCDONNELL DOUGLAS AIRCRAFT CO`, ...).
- Build years before 1965 belong to an earlier aircraft with the same registration. Unknown is better than wrong.
"""

import argparse
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

PLANES = """
    tailnum STRING, year INT, type STRING, manufacturer STRING, model STRING, engines INT, seats INT, speed INT,
    engine STRING
"""
AIRPORTS = "faa STRING, name STRING, lat DOUBLE, lon DOUBLE, alt INT, tz INT, dst STRING, tzone STRING"
AIRLINES = "carrier STRING, name STRING"

OLDEST_BUILD_YEAR = 1965


def read_table(spark: SparkSession, location: str, schema: str) -> DataFrame:
    """A table that is one CSV file with a header; `NA` is null."""
    return (
        spark.read.schema(schema)
        .option("nullValue", "NA")
        .csv(location, header=True, enforceSchema=False, mode="FAILFAST")
    )


def name_airports(airports: DataFrame, supplement: DataFrame) -> DataFrame:
    """Airports by code; a row of the supplement takes the place of the source's row with that code.

    `tz` and `dst` are left behind: an offset is wrong for half of the year, a zone name never is.
    """
    corrected = airports.join(supplement, "faa", "left_anti").unionByName(supplement)
    return corrected.select(
        F.col("faa").alias("airport"),
        "name",
        F.col("lat").alias("latitude"),
        F.col("lon").alias("longitude"),
        F.col("alt").alias("altitude_ft"),
        F.col("tzone").alias("timezone"),
    )


def name_airlines(airlines: DataFrame) -> DataFrame:
    """Airlines by code, under the name people use: without its legal form."""
    return airlines.select("carrier", F.regexp_replace("name", r" (Inc\.|Co\.|Corporation)$", "").alias("name"))


def name_planes(planes: DataFrame) -> DataFrame:
    """Aircraft by registration. `speed` is left behind: 99 in 100 are missing."""
    manufacturer = F.col("manufacturer")
    return planes.select(
        "tailnum",
        F.when(F.col("year") >= OLDEST_BUILD_YEAR, F.col("year")).alias("built_year"),
        F.when(manufacturer.startswith("AIRBUS"), F.lit("AIRBUS"))
        .when(manufacturer.startswith("MCDONNELL"), F.lit("MCDONNELL DOUGLAS"))
        .otherwise(manufacturer)
        .alias("manufacturer"),
        "model",
        "engines",
        "seats",
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for table in ("airports", "airports-supplement", "airlines", "planes"):
        parser.add_argument(f"--raw-{table}", required=True)
    for table in ("airports", "airlines", "planes"):
        parser.add_argument(f"--{table}", required=True)
    arguments = parser.parse_args(argv)

    spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    airports = read_table(spark, arguments.raw_airports, AIRPORTS)
    supplement = read_table(spark, arguments.raw_airports_supplement, AIRPORTS)
    airlines = read_table(spark, arguments.raw_airlines, AIRLINES)
    planes = read_table(spark, arguments.raw_planes, PLANES)
    name_airports(airports, supplement).coalesce(1).write.mode("overwrite").parquet(arguments.airports)
    name_airlines(airlines).coalesce(1).write.mode("overwrite").parquet(arguments.airlines)
    name_planes(planes).coalesce(1).write.mode("overwrite").parquet(arguments.planes)
    spark.stop()


if __name__ == "__main__":
    main()
