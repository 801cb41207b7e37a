"""One day of a source is corrected and restated: which rows of what is built on it are wrong, and are they right afterwards?

    python benchmarks/versus/entities/sqlmesh_restate.py

A daily table, the sum of the last 30 days of it for each day, and its weeks from Sunday. SQLMesh restates the same day of each model, for it does
not know that a row of one reads other days of another: 29 rows and a week keep the old sum. Headwater names the rows; they are computed anew here,
and nothing else, and the tables are those of a full rebuild.
"""

import datetime as dt
import sys
from typing import Any

from demo import Answers, Demo, run

from headwater.entities.needs.graph import Dependency, Entity, Graph
from headwater.entities.needs.kinds import Sliding, TimeSeries
from headwater.entities.status.taint import tainted
from headwater.entities.time import keys
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import Ordinals

CASE = {"first": "2024-01-01", "last": "2024-04-20", "changed": "2024-02-10", "before": 1, "after": 100}
FIRST, LAST, CHANGED = (dt.date.fromisoformat(str(CASE[word])) for word in ("first", "last", "changed"))
Table = dict[dt.date, int]
MADE = ("rolling", "weekly")


def daily(*, corrected: bool) -> Table:
    days = [FIRST + dt.timedelta(day) for day in range((LAST - FIRST).days + 1)]
    return {day: int(CASE["after" if corrected and day == CHANGED else "before"]) for day in days}


def row(table: str, day: dt.date, source: Table) -> int:
    """One row of a table, of all that the source has. A week is written as its first day."""
    first, last = (day - dt.timedelta(29), day) if table == "rolling" else (day, day + dt.timedelta(6))
    return sum(total for of, total in source.items() if first <= of <= last)


def rebuilt(table: str, source: Table) -> Table:
    sundays = {day - dt.timedelta(day.isoweekday() % 7) for day in source}
    # SQLMesh makes no week that began before its model, nor one that is not over.
    weeks = [day for day in sundays if day >= FIRST and day + dt.timedelta(6) <= LAST]
    return {day: row(table, day, source) for day in (sorted(source) if table == "rolling" else sorted(weeks))}


def differing(one: Table, other: Table) -> list[str]:
    return [str(day) for day in sorted(one.keys() | other.keys()) if one.get(day) != other.get(day)]


def truth() -> Answers:
    """Rows that a full rebuild changes; after it none is wrong."""
    old, new = daily(corrected=False), daily(corrected=True)
    changed = {table: differing(rebuilt(table, old), rebuilt(table, new)) for table in MADE}
    return {f"{table}: rows to make again": changed[table] for table in MADE} | {
        f"{table}: rows still wrong afterwards": [] for table in MADE
    }


def headwater() -> Answers:
    old, new = daily(corrected=False), daily(corrected=True)
    redo = affected()
    found = {f"{table}: rows to make again": [str(day) for day in redo[table]] for table in MADE}
    for table in MADE:
        repaired = rebuilt(table, old) | {day: row(table, day, new) for day in redo[table]}
        found[f"{table}: rows still wrong afterwards"] = differing(repaired, rebuilt(table, new))
    return found


def affected() -> dict[str, list[dt.date]]:
    """The rows to make again, as `tainted` says."""
    until = LAST + dt.timedelta(1)
    days = Instances.of({"every": "day", "from": str(FIRST), "until": str(until)})
    weeks = Instances.of({"every": "week", "starts": "sunday", "from": "2024-01-07", "until": "2024-04-21"})
    graph = Graph(
        [
            Entity("daily", TimeSeries(), days),
            Entity("rolling", Sliding("30 days"), days, {"completed": (Dependency("daily"),)}),
            Entity("weekly", TimeSeries(), weeks, {"completed": (Dependency("daily", Dates.of("all_week")),)}),
        ]
    )
    changed = keys.ordinal(days.calendar, str(CHANGED))
    hits = tainted(graph, {"daily": Ordinals.between(changed, changed + 1)}).hits
    calendars = {"rolling": days.calendar, "weekly": weeks.calendar}
    return {
        table: [calendars[table].interval(ordinal)[0].date() for ordinal in hits[table].instances.members().tolist()]
        for table in MADE
    }


def read(answers: dict[str, dict[str, dict[str, Any]]]) -> Answers:
    """Compare its tables before and after: a rebuilt day shows in the sums, for every row that reads the corrected day has another one."""
    tables = {
        when: {
            name: {dt.date.fromisoformat(day): int(total) for day, total in rows.items()} for name, rows in all_.items()
        }
        for when, all_ in answers.items()
    }
    old, new = daily(corrected=False), daily(corrected=True)
    for table in MADE:
        if tables["before"][table] != rebuilt(table, old):
            raise SystemExit(f"SQLMesh's {table} is another one from the start")
    found = {
        f"{table}: rows to make again": differing(tables["before"][table], tables["after"][table]) for table in MADE
    }
    return found | {
        f"{table}: rows still wrong afterwards": differing(tables["after"][table], rebuilt(table, new))
        for table in MADE
    }


DEMO = Demo(
    "sqlmesh_restate",
    "sqlmesh",
    "One day is corrected and restated: what is made again, and what stays wrong?",
    CASE,
    truth,
    headwater,
    read,
)

if __name__ == "__main__":
    sys.exit(run(DEMO))
