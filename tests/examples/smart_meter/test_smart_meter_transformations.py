"""Each transformation on rows made by hand: the night with an hour twice, lines that come twice, signs, missing meters, the forecast."""

import datetime as dt
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.spark


def at(*moment: int) -> dt.datetime:
    """Return a time as Spark has it: an instant of UTC without its zone."""
    return dt.datetime(*moment)  # type: ignore[arg-type]  # noqa: DTZ001


def test_lines_become_instants_and_whole_watt_hours(spark: Any, tmp_path: Path) -> None:
    import series

    rows = [
        "a;2013-11-03 00:45;0.100", "a;2013-11-03 01:00;0.200", "a;2013-11-03 01:45;0.300", "a;2013-11-03 01:00;0.400",
        "a;2013-11-03 01:45;0.500", "a;2013-11-03 02:00;0.600", "a;2013-11-03 02:00;0.600", "a;2013-11-03 02:15;",
        "b;2013-07-01 00:00;12.345",
    ]  # fmt: skip
    file = tmp_path / "readings.csv.gz"
    file.write_bytes(gzip.compress("\n".join(["meter_id;timestamp;value_kwh", *rows, ""]).encode()))
    made = series.split(spark, file, tmp_path / "series")
    assert made == {name: tmp_path / f"series/meter={name}" for name in "ab"}
    read = spark.read.parquet(str(tmp_path / "series")).orderBy("meter", "quarter").toPandas()
    assert [(m, f"{q:%m-%d %H:%M}", wh) for m, q, wh in read[["meter", "quarter", "wh"]].itertuples(index=False)] == [
        ("a", "11-03 04:45", 100), ("a", "11-03 05:00", 200), ("a", "11-03 05:45", 300),
        ("a", "11-03 06:00", 400), ("a", "11-03 06:45", 500), ("a", "11-03 07:00", 600),
        ("b", "07-01 04:00", 12345),
    ]  # fmt: skip


def test_a_changed_header_stops_the_import(spark: Any, tmp_path: Path) -> None:
    import series

    file = tmp_path / "readings.csv"
    file.write_text("meter;timestamp;value_kwh\na;2013-11-03 00:45;0.100\n")
    with pytest.raises(Exception, match="CSV header does not conform"):
        series.split(spark, file, tmp_path / "series")


def test_meters_add_up_with_their_signs(spark: Any, tmp_path: Path) -> None:
    import points

    first, second = at(2013, 7, 1, 12), at(2013, 7, 1, 12, 15)
    rows = [("main", first, 500), ("main", second, 600), ("plant", first, 800), ("other", first, 70)]
    spark.createDataFrame(rows, "meter STRING, quarter TIMESTAMP, wh INT").write.partitionBy("meter").parquet(
        str(tmp_path / "series")
    )
    register = pd.DataFrame(
        [("main", "P1", 1), ("plant", "P1", -1), ("other", "P2", 1)], columns=["meter_id", "delivery_point", "sign"]
    )
    paths = [str(path) for path in (tmp_path / "series").glob("meter=*")]
    made = points.aggregate(spark, paths, tmp_path / "series", register, tmp_path / "points")
    assert sorted(made) == ["P1", "P2"]
    read = spark.read.parquet(str(tmp_path / "points")).orderBy("delivery_point", "quarter").collect()
    assert [(r["delivery_point"], r["quarter"], r["wh"], r["complete"]) for r in read] == [
        ("P1", first, -300, True), ("P1", second, 600, False), ("P2", first, 70, True),
    ]  # fmt: skip


def test_the_forecast_is_last_weeks_put_right_for_the_temperature() -> None:
    from forecasting import forecast_point

    # Six weeks of a load of 100 Wh and 5 Wh for each degree below 16 °C; a cold day follows.
    quarters = pd.date_range("2013-02-01 05:00", periods=42 * 96 + 96, freq="15min")
    celsius = np.repeat(np.random.default_rng(1).uniform(-5, 20, 43), 96)
    celsius[-96:] = -10
    load = 100 + 5 * np.maximum(0, 16 - celsius)
    wanted = np.arange(len(quarters)) >= 42 * 96
    rows = pd.DataFrame(
        {
            "delivery_point": "P1",
            "quarter": quarters,
            "wh": np.where(wanted, np.nan, load),
            "wanted": wanted,
            "temperature_c": celsius,
        }
    )
    made = forecast_point(rows.sample(frac=1, random_state=1))
    assert len(made) == 96
    assert set(made["forecast_wh"]) == {230.0}
    assert made["wh_per_degree"].iloc[0] == pytest.approx(5)
    assert made["tested_mae_wh"].iloc[0] == pytest.approx(0, abs=0.01)
    assert made["last_week_mae_wh"].iloc[0] > 5
    rows["temperature_c"] = np.nan
    assert (forecast_point(rows)["forecast_wh"] == forecast_point(rows)["base_wh"]).all(), (
        "without weather the base stands"
    )


def test_the_day_after_the_last_reading_is_forecast_with_its_weather(spark: Any) -> None:
    from forecasting import with_weather

    # The last reading is on 9 March; the day after has 23 hours in New York.
    points = spark.createDataFrame(
        [("P1", at(2013, 3, 10, 4, 30), 50, True), ("P1", at(2013, 3, 10, 4, 45), 60, False)],
        "delivery_point STRING, quarter TIMESTAMP, wh BIGINT, complete BOOLEAN",
    )
    stations = spark.createDataFrame([("P1", "EWR")], "delivery_point STRING, station STRING")
    weather = spark.createDataFrame(
        [("EWR", at(2013, 3, 10, 4), 3.5), ("EWR", at(2013, 3, 10, 5), 2.5), ("JFK", at(2013, 3, 10, 5), 9.9)],
        "station STRING, hour TIMESTAMP, temperature_c DOUBLE",
    )  # fmt: skip
    rows = with_weather(points, stations, weather).orderBy("quarter").collect()
    history, day = rows[:2], rows[2:]
    assert [(r["wh"], r["wanted"], r["temperature_c"]) for r in history] == [(50, False, 3.5), (None, False, 3.5)]
    assert len(day) == 23 * 4
    assert (day[0]["quarter"], day[-1]["quarter"]) == (at(2013, 3, 10, 5), at(2013, 3, 11, 3, 45))
    assert [r["temperature_c"] for r in day[:5]] == [2.5, 2.5, 2.5, 2.5, None]
    assert all(r["wanted"] and r["wh"] is None for r in day)


def test_the_hours_of_the_stations_are_whole_and_celsius() -> None:
    from station_weather import hourly, station_file

    rows = hourly(station_file())
    assert sorted(rows["station"].unique()) == ["EWR", "JFK", "LGA"]
    assert not rows.duplicated(["station", "hour"]).any()
    for _, own in rows.groupby("station"):
        assert (own["hour"].diff().dropna() == pd.Timedelta(hours=1)).all()
    first = rows[(rows["station"] == "EWR") & (rows["hour"] == pd.Timestamp("2013-01-01 06:00", tz="UTC"))]
    assert first["temperature_c"].iloc[0] == pytest.approx((39.02 - 32) / 1.8, abs=0.01)
    assert rows["wind_mph"].max() < 100
