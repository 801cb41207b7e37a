"""The hours of a day where clocks change: Airflow's `DayWindow` counts 24 steps on the wall clock.

    python benchmarks/versus/entities/airflow_day_window.py

A day of Europe/Paris has 23 hours on 30 March 2025 and 25 on 26 October. `DayWindow` is used both ways: `RollupMapper` gathers the hours that a
daily run waits for, `FanOutMapper` starts an hourly run for each hour of a day. Hours are keyed by the wall clock with its offset; a fanned-out
hour has no offset, so it is taken for the first one that the clock shows so, and where it shows none such, for what it is: no hour.
"""

import datetime as dt
import sys
from zoneinfo import ZoneInfo

from demo import Answers, Demo, run

from headwater.entities.needs.edges import Edge
from headwater.entities.time import keys
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import Ordinals

CASE = {"zone": "Europe/Paris", "days": ["2025-03-29", "2025-03-30", "2025-10-26"]}
ZONE = ZoneInfo(str(CASE["zone"]))
WAYS = ("gathered", "fanned out")


def truth() -> Answers:
    """Every hour of the year, put where its local date is."""
    hours: dict[str, list[str]] = {}
    at = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
    while at.year == 2025:
        local = at.astimezone(ZONE)
        hours.setdefault(str(local.date()), []).append(written(local))
        at += dt.timedelta(hours=1)
    return {f"{day}, hours {way}": hours[day] for way in WAYS for day in CASE["days"]}


def written(local: dt.datetime) -> str:
    return local.isoformat()[:13] + local.isoformat()[19:]


def headwater() -> Answers:
    """Gathered: what the day needs. Fanned out: the hours that the day affects, of an hourly entity that needs its day."""
    days, hours = (Instances.of({"every": every, "tz": CASE["zone"]}) for every in ("day", "hour"))
    gathers, fans_out = Edge(days, hours, Dates.of("same")), Edge(hours, days, Dates.of("same"))
    found = {}
    for way in WAYS:
        for day in CASE["days"]:
            ordinal = keys.ordinal(days.calendar, day)
            one = Ordinals.between(ordinal, ordinal + 1)
            some = gathers.need(one) if way == "gathered" else fans_out.affected(one)
            found[f"{day}, hours {way}"] = [keys.key(hours.calendar, hour) for hour in some.members().tolist()]
    return found


def read(answers: dict[str, dict[str, list[str]]]) -> Answers:
    return {
        f"{day}, hours {way}": [text for _, text in sorted(map(instant, hours))]
        for way, days in answers.items()
        for day, hours in days.items()
    }


def instant(text: str) -> tuple[float, str]:
    """Return the instant of an hour, and its key."""
    if len(text) > 13:
        local = dt.datetime.strptime(text, "%Y-%m-%dT%H%z")
        return local.timestamp(), written(local)
    local = dt.datetime.fromisoformat(text + ":00").replace(tzinfo=ZONE)
    there = local.astimezone(dt.UTC).astimezone(ZONE)
    exists = there.replace(tzinfo=None) == local.replace(tzinfo=None)
    return local.timestamp(), written(there) if exists else f"{text} (no hour)"


DEMO = Demo(
    "airflow_day_window",
    "airflow",
    "Which hours are a day's, in Europe/Paris?",
    CASE,
    truth,
    headwater,
    read,
)

if __name__ == "__main__":
    sys.exit(run(DEMO))
