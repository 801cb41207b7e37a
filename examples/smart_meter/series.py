"""The lines of an export become time series: one folder for each meter, energy in whole watt-hours, time as an instant.

All errors of the lines are handled here, and nowhere later. Times are local and have no offset: the hour that comes twice in autumn
becomes two, the first line of a meter being the earlier one (if a line of the first is missing, the second is taken for it, because nothing
in the file distinguishes them). A line that comes twice at any other time is one reading. A line without a value is none.
"""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from station_weather import ZONE

LINES = "meter_id STRING, timestamp TIMESTAMP, value_kwh DOUBLE"


def read_lines(spark: SparkSession, file: Path) -> DataFrame:
    """The file as it is, with types; another header or a value that does not parse stops the import."""
    return spark.read.schema(LINES).csv(
        str(file), sep=";", header=True, enforceSchema=False, mode="FAILFAST", timestampFormat="yyyy-MM-dd HH:mm"
    )


def readings(lines: DataFrame) -> DataFrame:
    """`meter`, `quarter` (the instant at which it begins), `wh`; by meter in the order of time."""
    numbered = lines.select("*", F.monotonically_increasing_id().alias("line")).repartition("meter_id")
    again = F.row_number().over(Window.partitionBy("meter_id", "timestamp").orderBy("line")) - 1
    instant = F.to_utc_timestamp("timestamp", ZONE)
    hour_later = F.from_utc_timestamp(instant + F.expr("INTERVAL 1 HOUR"), ZONE)
    twice = hour_later == F.col("timestamp")
    return (
        numbered.withColumn("again", again)
        .where((F.col("again") == 0) | (twice & (F.col("again") == 1)))
        .where(F.col("value_kwh").isNotNull())
        .select(
            F.col("meter_id").alias("meter"),
            (instant + F.col("again") * F.expr("INTERVAL 1 HOUR")).alias("quarter"),
            F.round(F.col("value_kwh") * 1000).cast("int").alias("wh"),
        )
    )


def split(spark: SparkSession, file: Path, folder: Path) -> dict[str, Path]:
    """Write the file's time series below `folder`; returns each meter's folder."""
    readings(read_lines(spark, file)).write.partitionBy("meter").parquet(str(folder))
    return {part.name.removeprefix("meter="): part for part in sorted(folder.glob("meter=*"))}
