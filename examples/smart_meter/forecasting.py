"""Tomorrow's consumption of each delivery point, in quarters of an hour: what people did at this time, put right for the temperature.

The base of a quarter is the mean of the same local quarter one to four weeks before. The weather adds one number a delivery
point: Wh for each degree that it is colder (below 16 °C) than it was in the base's weeks, fitted by least squares over the days before.
Each forecast says how well this did on the last week, which the fit did not see, beside the plainest forecast there is (the same quarter
a week ago). It is simple on purpose: what the example shows is where a forecast comes from.

There is no archive of weather forecasts, so tomorrow's temperature is the one that was measured.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from station_weather import ZONE

WEEKS = 4
HEATING_BELOW = 16.0
TESTED_DAYS = 7
FORECAST = """
    delivery_point STRING, quarter TIMESTAMP, forecast_wh DOUBLE, base_wh DOUBLE, temperature_c DOUBLE,
    wh_per_degree DOUBLE, tested_mae_wh DOUBLE, last_week_mae_wh DOUBLE
"""


def forecast_point(rows: pd.DataFrame) -> pd.DataFrame:
    """The day after the last one of `rows` (`quarter` in UTC, `wh` null where it is to be forecast, `temperature_c`)."""
    rows = rows.sort_values("quarter")
    local = rows["quarter"].dt.tz_localize("UTC").dt.tz_convert(ZONE)
    day = ((local.dt.tz_localize(None).dt.normalize() - local.iloc[0].tz_localize(None).normalize()).dt.days).to_numpy()
    slot = (local.dt.hour * 4 + local.dt.minute // 15).to_numpy()
    size = int(day[-1]) + 1
    taken, cold = np.full((size, 96), np.nan), np.full((size, 96), np.nan)
    taken[day, slot] = rows["wh"].to_numpy(dtype=float)
    cold[day, slot] = np.maximum(0.0, HEATING_BELOW - rows["temperature_c"].to_numpy(dtype=float))
    base, base_cold = _weeks_before(taken), _weeks_before(cold)
    warmth, difference = cold - base_cold, taken - base
    tested = slice(max(0, size - 1 - TESTED_DAYS), size - 1)
    fitted = _slope(warmth[: tested.start], difference[: tested.start])
    guess = base + fitted * np.nan_to_num(warmth)
    week_ago = np.full_like(taken, np.nan)
    week_ago[7:] = taken[:-7]
    slope = _slope(warmth[: size - 1], difference[: size - 1])
    wanted = rows["wanted"].to_numpy(dtype=bool)
    at = (day[wanted], slot[wanted])
    return pd.DataFrame(
        {
            "delivery_point": rows["delivery_point"].iloc[0],
            "quarter": rows["quarter"].to_numpy()[wanted],
            "forecast_wh": np.round(base[at] + slope * np.nan_to_num(warmth[at]), 1),
            "base_wh": np.round(base[at], 1),
            "temperature_c": rows["temperature_c"].to_numpy(dtype=float)[wanted],
            "wh_per_degree": round(slope, 4),
            "tested_mae_wh": _error(taken[tested], guess[tested]),
            "last_week_mae_wh": _error(taken[tested], week_ago[tested]),
        }
    )


def _weeks_before(days: np.ndarray) -> np.ndarray:
    """The mean of the same quarter 7, 14, 21 and 28 days before, of those that are known; NaN where none is."""
    total, known = np.zeros_like(days), np.zeros_like(days)
    for back in range(7, 7 * WEEKS + 1, 7):
        if back < len(days):
            there = ~np.isnan(days[:-back])
            total[back:] += np.where(there, days[:-back], 0)
            known[back:] += there
    return np.divide(total, known, out=np.full_like(days, np.nan), where=known > 0)


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    """Least squares through the origin over what is known; 0 where the temperature did not differ."""
    known = ~np.isnan(x) & ~np.isnan(y)
    square = float(np.sum(x[known] ** 2))
    return float(np.sum(x[known] * y[known])) / square if square > 0 else 0.0


def _error(truth: np.ndarray, guess: np.ndarray) -> float | None:
    known = ~np.isnan(truth) & ~np.isnan(guess)
    return round(float(np.mean(np.abs(truth[known] - guess[known]))), 2) if known.any() else None


def with_weather(points: DataFrame, stations: DataFrame, weather: DataFrame) -> DataFrame:
    """History and the day to forecast, each quarter with its hour's temperature. `stations`: which station a delivery point is near."""
    last = points.groupBy("delivery_point").agg(F.max("quarter").alias("last"))
    # The local day after the last reading's, which may have 23 or 25 hours.
    begins = F.date_trunc("day", F.from_utc_timestamp("last", ZONE)) + F.expr("INTERVAL 1 DAY")
    ends = F.to_utc_timestamp(begins + F.expr("INTERVAL 1 DAY"), ZONE) - F.expr("INTERVAL 15 MINUTES")
    coming = last.select(
        "delivery_point",
        F.explode(F.sequence(F.to_utc_timestamp(begins, ZONE), ends, F.expr("INTERVAL 15 MINUTES"))).alias("quarter"),
        F.lit(None).cast("bigint").alias("wh"),
        F.lit(True).alias("wanted"),
    )
    known = points.select(
        "delivery_point", "quarter", F.when(F.col("complete"), F.col("wh")).alias("wh"), F.lit(False).alias("wanted")
    )
    hours = weather.select("station", "hour", "temperature_c")
    return (
        known.unionByName(coming)
        .join(F.broadcast(stations), "delivery_point")
        .withColumn("hour", F.date_trunc("hour", "quarter"))
        .join(F.broadcast(hours), ["station", "hour"], "left")
        .select("delivery_point", "quarter", "wh", "wanted", "temperature_c")
    )


def forecast(
    spark: SparkSession, paths: list[str], base: Path, register: pd.DataFrame, weather: Path, folder: Path
) -> dict[str, Path]:
    """Write tomorrow's forecast of each delivery point of `paths` below `folder`; returns each one's folder."""
    points = spark.read.option("basePath", str(base)).parquet(*paths)
    stations = spark.createDataFrame(register[["delivery_point", "station"]].drop_duplicates())
    joined = with_weather(points, stations, spark.read.parquet(str(weather)))
    made = joined.groupBy("delivery_point").applyInPandas(forecast_point, FORECAST)
    made.write.partitionBy("delivery_point").parquet(str(folder))
    return {part.name.removeprefix("delivery_point="): part for part in sorted(folder.glob("delivery_point=*"))}
