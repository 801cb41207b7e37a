"""Ten hours of weather were delivered wrong. Find what was made from them, make that again and nothing else, and prove it.

    make repair                                              # after `make demo`, or with it: both nights
    python examples/flights/repair.py --nights march         # one of them, with the data of examples/flights/data

Needs the server to which the packages reported. Whatever the story does with Headwater is a command as you would type it.
"""

import argparse
import csv
import datetime as dt
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

HERE = Path(__file__).parent
COMMAND = f"{sys.executable} -m headwater run --master local[2] --conf spark.ui.showConsoleProgress=false"
TABLES = {
    "staged/weather": "date", "clean/weather": "date", "enriched/flights": "flight_date", "marts/hourly_traffic": "flight_date",
    "marts/daily_traffic": "flight_date", "marts/weekly_traffic": "week", "marts/monthly_traffic": "month",
}  # fmt: skip


class Night(NamedTuple):
    """Ten hours as New York writes them, and the first and the last as the reports do, in UTC."""

    hours: str
    first: str
    last: str

    @property
    def days(self) -> list[dt.date]:
        """The days of New York."""
        first, last = (dt.date.fromisoformat(hour[:10]) for hour in self.hours.split(".."))
        return [first, last] if first != last else [first]

    def folders(self) -> list[str]:
        """The folders that the hours reach: those of their days, weeks and months, and of the month after, which is compared with theirs."""
        mondays = {day - dt.timedelta(days=day.weekday()) for day in self.days}
        months = {day.replace(day=1) for day in self.days}
        months |= {(month + dt.timedelta(days=31)).replace(day=1) for month in months}
        starts = {"date": self.days, "flight_date": self.days, "week": sorted(mondays), "month": sorted(months)}
        return [f"{table}/{key}={start}" for table, key in TABLES.items() for start in starts[key]]


NIGHTS = {
    # Clocks go forward: the second day has 23 hours.
    "march": Night("2013-03-09T19-05:00..2013-03-10T05-04:00", "2013-03-10T00:00:00Z", "2013-03-10T09:00:00Z"),
    # They go back: the day has 25 hours, two of which are called one o'clock.
    "november": Night("2013-11-03T01-04:00..2013-11-03T09-05:00", "2013-11-03T05:00:00Z", "2013-11-03T14:00:00Z"),
}


class Example:
    """The example's data, and the commands that make it."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.environment = os.environ | {"HEADWATER_PARAM_DATA": str(data), "COLUMNS": "120"}

    def headwater(self, *words: str, code: int = 0) -> str:
        """Run a command and return its output. SystemExit if it ends with another code."""
        print("$ headwater", shlex.join(words).replace(str(HERE), "examples/flights"), flush=True)
        command = [sys.executable, "-m", "headwater", *words]
        done = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != code:
            raise SystemExit(f"{done.stdout}\nthe command ended with {done.returncode}, not {code}")
        return done.stdout

    def deliver(self, night: Night | None = None) -> None:
        """Deliver all reports as measured; those of a night as a stuck sensor says them: with no sight at all."""
        self.headwater("run", str(HERE / "raw_zone"))
        for day in night.days if night else ():
            file = self.data / f"raw/weather/date={day}/weather.csv"
            with file.open(encoding="utf-8", newline="") as source:
                rows = list(csv.DictReader(source))
            for row in rows:
                if night.first <= row["time_hour"] <= night.last:
                    row["visib"] = "0"
            with file.open("w", encoding="utf-8", newline="") as target:
                writer = csv.DictWriter(target, rows[0], lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)

    def make_again(self, hours: str, reason: str) -> dict[str, int]:
        """Mark hours of the reports as wrong and their cause as fixed, and make again what was made from them; how many of each entity."""
        told = json.loads(self.headwater("taint", "weather_reports", hours, "--reason", reason, "--json"))
        for hit in told["hits"]:
            print(f"  {hit['entity']:17} {hit['count']:3}  {', '.join(hit['instances'])}")
        self.headwater("incident", "fix", told["id"], "--note", "the station delivered again")
        plan = json.loads(self.headwater("repair", told["id"], "--json", code=3))["plan"]["id"]
        self.headwater("backfill", "apply", plan, "--packages", str(HERE), "--run-command", COMMAND)
        print(self.headwater("repair", told["id"]).splitlines()[-1])
        return {hit["entity"]: hit["count"] for hit in told["hits"]}

    def content(self, folders: Collection[str]) -> dict[str, int]:
        """A number for the rows of each folder, whatever their order and files."""
        return {
            folder: int(pd.util.hash_pandas_object(pd.read_parquet(self.data / folder), index=False).sum())
            for folder in folders
        }

    def files(self) -> dict[str, set[str]]:
        """The files of each folder. Spark never writes a name twice."""
        return {
            str(folder.relative_to(self.data)): {file.name for file in folder.glob("*.parquet")}
            for table, key in TABLES.items()
            for folder in (self.data / table).glob(f"{key}=*")
        }


def main(data: Path, nights: Collection[str]) -> None:
    example = Example(data)
    for name in nights:
        night = NIGHTS[name]
        reached = [*night.folders(), "features/departures"]
        right = example.content(reached)
        print(
            f"\n{name}: a sensor is stuck for ten hours. What it says is delivered as a correction, and everything follows it."
        )
        example.deliver(night)
        follow(example, night, "the station corrects ten hours")
        print(f"Other rows than before: {', '.join(changed(right, example.content(reached)))}")
        print("\nThe mistake is noticed. The station delivers what it had measured.")
        example.deliver()
        follow(example, night, f"sensor stuck in {name}")
        if left := changed(right, example.content(reached)):
            raise SystemExit(f"other rows than before the mistake: {', '.join(left)}")
        print("Every row is again as it was before the mistake.")


def follow(example: Example, night: Night, reason: str) -> None:
    """Make again what a delivery changed, and check that no other folder was written."""
    files = example.files()
    example.make_again(night.hours, reason)
    again = changed(files, example.files())
    print(f"Written again, and nothing else: {', '.join(again)}")
    if unneeded := set(again) - set(night.folders()):
        raise SystemExit(f"written without need: {', '.join(sorted(unneeded))}")


def changed(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    return sorted(folder for folder in after if after[folder] != before.get(folder))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE / "data")
    parser.add_argument("--nights", nargs="+", choices=NIGHTS, default=[*NIGHTS])
    given = parser.parse_args()
    main(given.data.absolute(), given.nights)
