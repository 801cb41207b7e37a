"""One world of datasets, told five times: a package run, a failed run explained, wrong hours repaired, a file traced, a log read.

    python examples/tour/tour.py                       # against the server that `headwater up` started
    python examples/tour/tour.py --chapters run repair

Each step is a command as you would type it. Its output is checked; the tour stops at the first answer that is not the expected one.
"""

import argparse
import csv
import datetime as dt
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

HERE = Path(__file__).parent
MONDAY = dt.date(2024, 3, 4)
STUCK = "2024-03-06"
STUCK_HOURS = range(2, 6)


class Tour:
    """The commands of the tour. `data`: where the station delivers, and the packages write."""

    def __init__(self, data: Path, url: str) -> None:
        self.data = data
        self.environment = os.environ | {
            "HEADWATER_URL": url, "HEADWATER_TOUR_DATA": str(data), "HEADWATER_ENVIRONMENT": "tour", "COLUMNS": "160",
        }  # fmt: skip
        self.steps = 0

    def say(self, text: str) -> None:
        print(f"\n{text}\n", flush=True)

    def headwater(self, *words: str, shows: Sequence[str] = (), hides: Sequence[str] = (), code: int = 0) -> str:
        """Run a command, print what it says, and check it. Raises SystemExit where it says something else."""
        shown = " ".join(
            f"'{word}'" if " " in word or "*" in word else word.replace(str(self.data), "DATA") for word in words
        )
        print(f"$ headwater {shown}", flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "headwater", *words],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        text = done.stdout + done.stderr
        print(text.replace(str(self.data), "DATA"), flush=True)
        missing = [each for each in shows if each not in text]
        wrong = [each for each in hides if each in text]
        if done.returncode != code or missing or wrong:
            raise SystemExit(
                f"the tour is lost: exit code {done.returncode}, not {code}; missing {missing}; not expected {wrong}"
            )
        self.steps += 1
        return text

    def package(self, name: str, *words: str, code: int = 0, shows: Sequence[str] = ()) -> str:
        return self.headwater("run", str(HERE / name), *words, code=code, shows=shows)

    def deliver(self, day: dt.date, *, column: str = "celsius", stuck: bool = False) -> None:
        """The station's file of a day. `stuck`: some hours are not what was measured."""
        (self.data / "deliveries").mkdir(parents=True, exist_ok=True)
        with (self.data / "deliveries" / f"{day}.csv").open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(("hour", column))
            for hour in range(24):
                celsius = 8 + 5 * math.sin((hour - 8) / 24 * 2 * math.pi) + (day - MONDAY).days / 10
                rows.writerow((f"{day}T{hour:02}", -40 if stuck and hour in STUCK_HOURS else round(celsius, 1)))


def run(tour: Tour) -> None:
    """A package run: what it read and wrote, by instance and by dataset."""
    tour.say("1. A package run. The station delivers a file a day; three packages make hours, days and weeks of it.")
    for number in range(7):
        tour.deliver(MONDAY + dt.timedelta(days=number), stuck=str(MONDAY + dt.timedelta(days=number)) == STUCK)
    tour.headwater("entities", "apply", str(HERE), shows=["3 entities"])
    tour.headwater("ready", "weekly", "2024-W10", code=1, shows=["daily"])
    tour.package("readings", "--period", "2024-03-04..2024-03-10", shows=["tour/cut-deliveries COMPLETE"])
    tour.package("daily", "--period", "2024-03-04..2024-03-10", shows=["tour/daily-means COMPLETE"])
    tour.package("weekly", "--period", "2024-W10", shows=["tour/weekly-means COMPLETE"])
    tour.package("load", shows=["tour/load-weekly COMPLETE"])
    tour.headwater("status", "weekly@2024-W10", shows=["completed", "yes: it may be used"])
    tour.headwater("lineage", "RAW.WEEKLY", "--upstream", shows=["weekly", "daily", "readings", "COMPLETED"])
    tour.headwater("datasets", str(tour.data / "daily"), shows=["schedule", "every day, UTC"])
    tour.headwater("sources", shows=["snowflake://acme-tour", "file"])


def failure(tour: Tour) -> None:
    """A failed run explained: what failed, since when, what was the last good run, and that a good run ends it."""
    tour.say("2. A failed run explained. The delivery of 11 March has another header.")
    day = MONDAY + dt.timedelta(days=7)
    tour.deliver(day, column="temp_c")
    tour.package("readings", "--period", str(day), code=1, shows=["KeyError: 'celsius'", "FAIL"])
    tour.headwater("incident", "open", shows=["failed", "cut-deliveries"])
    tour.headwater(
        "lineage", "tour/cut-deliveries", shows=["FAILED", "KeyError: 'celsius'", "Last successful run", "COMPLETED"]
    )
    tour.headwater("status", "readings", str(day), shows=["missing            24"])
    tour.say("The station sends it again, and the run is repeated: that ends the incident.")
    tour.deliver(day)
    tour.package("readings", "--period", str(day), shows=["COMPLETE"])
    tour.headwater("incident", "open", hides=["cut-deliveries"])


def repair(tour: Tour) -> None:
    """Wrong hours repaired: what used them, made again and nothing else, and proven."""
    tour.say(f"3. Wrong hours repaired. The sensor was stuck for four hours in the night of {STUCK}.")
    before = {path: path.stat().st_mtime_ns for path in tour.data.rglob("*.csv")}
    hours = f"{STUCK}T{STUCK_HOURS[0]:02}..{STUCK}T{STUCK_HOURS[-1]:02}"
    said = tour.headwater("taint", "readings", hours, "--reason", "sensor stuck", "--json")
    incident = json.loads(said)["id"]
    tour.headwater("incident", "show", incident, shows=["daily", "weekly"])
    tour.headwater("status", "weekly@2024-W10", shows=["no"], hides=["yes: it may be used"])
    tour.say(
        "The station delivers what it had measured, and the incident is fixed at its cause: what is made from now on is right."
    )
    tour.deliver(dt.date.fromisoformat(STUCK))
    tour.headwater("incident", "fix", incident, "--note", "delivered again")
    plan = json.loads(tour.headwater("repair", incident, "--json", code=3))["plan"]["id"]
    tour.headwater("backfill", "apply", plan, "--packages", str(HERE), shows=["done"])
    tour.say(
        "What the warehouse holds was made from the wrong week too: its load has no schedule, but it was recorded what it read."
    )
    tour.headwater("repair", incident, code=3, shows=["tour:load-weekly"], hides=["tour:weekly-means"])
    tour.package("load", shows=["tour/load-weekly COMPLETE"])
    tour.headwater("repair", incident, shows=["nothing is wrong any more"])
    tour.headwater("status", "weekly@2024-W10", shows=["yes: it may be used"])
    made = {path.parent.name for path, at in before.items() if path.stat().st_mtime_ns != at} - {"deliveries"}
    wanted = {*(f"hour={STUCK}T{hour:02}" for hour in STUCK_HOURS), f"day={STUCK}", "week=2024-W10"}
    if made != wanted:
        raise SystemExit(f"the tour is lost: made again was {sorted(made)}, not {sorted(wanted)}")
    print(f"Made again, and nothing else: {', '.join(sorted(made))}")


def trace(tour: Tour) -> None:
    """A file traced: from the delivery of a day to the week that it is in, and back."""
    tour.say("4. A file traced: what was made from the delivery of 6 March, and what a week was made from.")
    delivery = tour.data / "deliveries" / f"{STUCK}.csv"
    tour.headwater("lineage", str(delivery), "--downstream", shows=["cut delivery", "average day", "average week"])
    tour.headwater(
        "trace",
        str(tour.data / "weekly/week=2024-W10/mean.csv"),
        "--up",
        shows=["average week", "average day", "cut delivery"],
    )
    tour.headwater("log", str(tour.data / "weekly"), shows=["correction", "import"])


def warehouse(tour: Tour) -> None:
    """A warehouse's log read: who uses the weeks there."""
    tour.say("5. A warehouse's log read. There is nothing but the log: statements, users, times.")
    log = tour.data / "log" / "queries.csv"
    log.parent.mkdir(exist_ok=True)
    statements = [
        (
            "dbt",
            "create or replace table climate.mart.heat as select week, celsius from climate.raw.weekly where celsius > 5",
        ),
        ("dashboard", "select week, celsius from climate.mart.heat order by week"),
        ("ann", "select avg(celsius) from climate.mart.heat"),
    ]
    with log.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(
            (
                "query_id",
                "query_text",
                "start_time",
                "end_time",
                "user_name",
                "database_name",
                "schema_name",
                "execution_status",
            )
        )
        start = dt.datetime.now(dt.UTC) - dt.timedelta(hours=2)
        for number, (user, text) in enumerate(statements):
            at = start + dt.timedelta(minutes=number)
            rows.writerow(
                (
                    f"q{number}",
                    text,
                    at.isoformat(),
                    (at + dt.timedelta(seconds=2)).isoformat(),
                    user,
                    "CLIMATE",
                    "PUBLIC",
                    "SUCCESS",
                )
            )
    tour.headwater(
        "sync", "query-log", "--source", "snowflake", "--namespace", "snowflake://acme-tour", "--input", str(log.parent),
        "--store", str(tour.data / "store"), "--master", "local[2]",
    )  # fmt: skip
    tour.headwater("lineage", "MART.HEAT", "--upstream", "--columns", shows=["RAW.WEEKLY", "CELSIUS"])
    tour.headwater("usage", shows=["HEAT"])
    tour.say(
        "The graph goes from the station's files to the table that the dashboard reads, although three programs reported it in parts."
    )
    tour.headwater("lineage", "MART.HEAT", "--upstream", shows=["deliveries"])


CHAPTERS: dict[str, Callable[[Tour], None]] = {
    "run": run, "failure": failure, "repair": repair, "trace": trace, "warehouse": warehouse
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE / "data")
    parser.add_argument("--url", default=os.environ.get("HEADWATER_URL", "http://127.0.0.1:5000"))
    parser.add_argument("--chapters", nargs="+", choices=CHAPTERS, default=[*CHAPTERS], help="the first one is `run`")
    given = parser.parse_args()
    shutil.rmtree(given.data, ignore_errors=True)
    tour = Tour(given.data.absolute(), given.url)
    for name in given.chapters:
        CHAPTERS[name](tour)
    print(f"\n{tour.steps} commands, each with the expected answer.")


if __name__ == "__main__":
    main()
