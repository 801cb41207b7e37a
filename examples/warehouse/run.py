"""Some weeks of a company's warehouse in some minutes: makes the log that `headwater sync query-log` reads.

    python examples/warehouse/run.py --days 28 --data DIR

leaves in DIR: `log/` (PostgreSQL's jsonlog, a file a day), `manifests/` (dbt's, of each version of the project). Nothing in here knows Headwater;
it needs requirements/warehouse.txt, which `scripts/warehouse` installs apart.
"""

import argparse
import datetime as dt
import shutil
import tempfile
from pathlib import Path

import psycopg2
from asking import Asked, asked
from database import Database
from feed import Feed
from modelling import Project
from timeline import Timeline

START = dt.date(2026, 3, 2)
"""A Monday."""
FLOWN = dt.date(2013, 1, 1)
MORE_WEATHER = 4
"""The day from which the weather has a column more."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=28, help="how many days the company works (28)")
    parser.add_argument("--data", type=Path, default=Path(__file__).parent / "data", help="where log and manifests go")
    given = parser.parse_args()
    if not 1 <= given.days <= 364:
        parser.error("--days must be between 1 and 364: the flights are of one year")
    for name in ("log", "manifests"):
        shutil.rmtree(given.data / name, ignore_errors=True)
    given.data.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="warehouse-") as place:
        files = work(Path(place), given.data, given.days)
    print(f"{len(files)} days of log in {given.data / 'log'}")


def work(place: Path, data: Path, days: int) -> list[Path]:
    database = Database(place)
    try:
        timeline = Timeline()
        feed = Feed(database)
        project = Project(place, database)
        database.log_everything()
        with timeline.at(at_time(START, dt.time(1, 0))):
            feed.first()
        for number in range(1, days + 1):
            a_day(number, timeline, database, feed, project)
            print(f"day {number} of {days}", flush=True)
        shutil.copytree(project.manifests, data / "manifests")
        return timeline.moved(database.log, data / "log")
    finally:
        database.stop()


def a_day(
    number: int,
    timeline: Timeline,
    database: Database,
    feed: Feed,
    project: Project,
    queries: list[Asked] | None = None,
) -> None:
    """A day of the company. `queries`: other ones than `asked` has, in order."""
    day, flown = START + dt.timedelta(days=number - 1), FLOWN + dt.timedelta(days=number - 1)
    if number == MORE_WEATHER:
        with timeline.at(at_time(day, dt.time(1, 30))):
            feed.more_weather()
    with timeline.at(at_time(day, dt.time(2, 10))):
        feed.night(flown.month, flown.day, visibility=number >= MORE_WEATHER, monday=day.weekday() == 0)
    project.change(number)
    with timeline.at(at_time(day, dt.time(3, 0))):
        project.build(day)
    for one in asked(number, day, flown) if queries is None else queries:
        with timeline.at(at_time(day, one.at)):
            ask(database, one)


def ask(database: Database, one: Asked) -> None:
    with database.connected(one.user, one.application) as cursor:
        for place, text in enumerate(one.statements):
            try:
                cursor.execute(text)
            except psycopg2.Error:
                if not (one.fails and place == len(one.statements) - 1):
                    raise


def at_time(day: dt.date, time: dt.time) -> dt.datetime:
    return dt.datetime.combine(day, time, dt.UTC)


if __name__ == "__main__":
    main()
