"""Random edges: calendars around the dates at which clocks and calendars do odd things, and dates of every family, with what they mean by hand."""

import bisect
import datetime as dt
import random
from typing import Any, NamedTuple

from tests.unit.entities.time.periods_by_hand import DAYS, EPOCH, Side

ODD = {
    "UTC": ["2024-02-29", "2020-12-31", "2021-01-01"],
    "Europe/Paris": ["2025-03-30", "2025-10-26", "2024-02-29", "1976-03-28"],
    "America/New_York": ["2024-03-10", "2024-11-03", "2007-03-11"],
    "America/Sao_Paulo": ["2018-11-04", "2018-02-18", "2019-02-17", "1985-11-02"],
    "Africa/Cairo": ["2024-04-26", "2010-09-10", "2023-10-27"],
    "Asia/Beirut": ["2023-03-30", "2024-03-31", "2024-10-27"],
    "America/Havana": ["2024-03-10", "2024-11-03"],
    "Australia/Lord_Howe": ["2024-04-07", "2024-10-06", "1985-03-03"],
    "Pacific/Apia": ["2011-12-30", "2011-12-31", "2012-01-01", "2010-09-26"],
    "Pacific/Kwajalein": ["1993-08-21", "1969-09-30"],
    "Asia/Kolkata": ["2024-03-31", "1960-01-01"],
    "Asia/Kathmandu": ["1986-01-01"],
    "Africa/Casablanca": ["2024-03-10", "2024-04-14"],
    "Antarctica/Troll": ["2024-03-31", "2024-10-27"],
    "Asia/Pyongyang": ["2015-08-15", "2018-05-05"],
}
CRONS = [
    "0 6 * * *",
    "30 2 * * *",
    "0 * * * *",
    "15 */6 * * 1-5",
    "0 0 1,15 * *",
    "45 1,3 * * 0",
    "0 2 1-7 * 1",
    "*/30 0-3 * * *",
]


class Drawn(NamedTuple):
    down: dict[str, Any]
    up: dict[str, Any]
    text: str
    start: Side | None
    end: Side | None
    steps: int
    strict: bool
    around: dt.date


def calendar(random: random.Random, around: dt.date) -> dict[str, Any]:
    spec: dict[str, Any] = {"tz": random.choice(list(ODD)), "starts": random.choice(DAYS)}
    kind = random.randrange(14)
    if kind < 2:
        spec.update(unit="hour", many=random.choice([1, 1, 1, 2, 6]))
        if spec["many"] > 1 and random.random() < 0.3:
            spec["offset"] = "1h"
    elif kind == 2:
        spec.update(unit="minute", many=random.choice([15, 30]))
    elif kind < 6:
        spec.update(unit="day")
    elif kind == 6:
        spec.update(unit="day", many=3, anchor=around - dt.timedelta(days=random.randrange(30)))
    elif kind < 9:
        spec.update(unit="week", many=random.choice([1, 1, 2]))
    elif kind < 12:
        spec.update(unit=random.choice(["month", "month", "quarter", "year"]))
        if random.random() < 0.3:
            spec.update(many=2, anchor=dt.date(2000, random.randrange(1, 13), 1))
    elif kind == 12:
        spec["cron"] = random.choice(CRONS)
    else:
        start = (dt.datetime.combine(around, dt.time(), dt.UTC) - EPOCH) // dt.timedelta(seconds=1) - 400 * 86_400
        bounds = [start]
        for _ in range(300):
            bounds.append(bounds[-1] + 900 * random.randrange(1, 600))
        spec["table"] = bounds
    if spec.get("unit") not in {None, "hour", "minute"} and random.random() < 0.35:
        spec["offset"] = random.choice(["6h", "-2h", "90m", "2h"])
    return spec


def dates(random: random.Random) -> tuple[str, Side | None, Side | None, int]:
    """A text, and both ends of its window or the steps."""
    unit = random.choice(["hour", "day", "week", "month", "quarter", "year"])
    big = random.choice(["day", "week", "month", "quarter", "year"])
    n = random.randrange(1, {"hour": 60, "day": 45, "week": 9, "month": 8, "quarter": 3, "year": 2}[unit] + 1)
    size = {
        "hour": (0, 0, 3600),
        "day": (0, 1, 0),
        "week": (0, 7, 0),
        "month": (1, 0, 0),
        "quarter": (3, 0, 0),
        "year": (12, 0, 0),
    }
    m, d, s = (n * each for each in size[unit])
    match random.randrange(13):
        case 0:
            return "same", Side(False), Side(True), 0
        case 1:
            return f"all_{big}", Side(False, big), Side(True, big, True), 0
        case 2:
            n = random.randrange(1, 6)
            return (f"previous {n}", None, None, -n) if random.random() < 0.5 else (f"next {n}", None, None, n)
        case 3 | 4:
            return f"last {n} {unit}s", Side(True, months=-m, days=-d, seconds=-s), Side(True), 0
        case 5:
            return (
                f"last {n}{unit[0]} ending previous".replace("m ", "mo "),
                Side(True, months=-m, days=-d, seconds=-s, lag=1),
                Side(True, lag=1),
                0,
            )
        case 6:
            return f"{big}_to_date", Side(False, big, True), Side(True), 0
        case 7:
            a, b, h = random.randrange(-40, 3), random.randrange(-20, 10), random.randrange(-30, 5)
            return f"from {a}d to {b:+}d{h:+}h", Side(False, days=a), Side(True, days=b, seconds=h * 3600), 0
        case 8:
            return (
                f"-{n} {unit}",
                Side(False, months=-m, days=-d, seconds=-s),
                Side(True, months=-m, days=-d, seconds=-s),
                0,
            )
        case 9:
            return (
                f"all_{big} + 2mo - 3d",
                Side(False, big, months=2, days=-3),
                Side(True, big, True, months=2, days=-3),
                0,
            )
        case 10:
            day = random.randrange(7)
            week = Side(False, "week", days=-7, weekday=day)
            return f"last {DAYS[day]}", week, week._replace(days=-6), 0
        case 11:
            of = random.choice(["week", "month", "quarter", "year"])
            if random.random() < 0.5:
                return f"end of last {of}", Side(False, of, days=-1), Side(False, of), 0
            m, d, _ = size[of]
            return f"start of last {of}", Side(False, of, months=-m, days=-d), Side(False, of, months=-m, days=1 - d), 0
        case _:
            return "everything", None, Side(True), 0


def edge(random: random.Random) -> Drawn:
    around = dt.date(2024, 1, 1)
    down = calendar(random, around)
    around = dt.date.fromisoformat(random.choice(ODD[down["tz"]])) + dt.timedelta(days=random.randrange(-3, 4))
    down = {**calendar(random, around), "tz": down["tz"]}
    up = calendar(random, around)
    if random.random() < 0.5:
        up["tz"] = down["tz"]
    text, start, end, steps = dates(random)
    strict = not steps and random.random() < 0.25
    return Drawn(down, up, text, start, end, steps, strict, around)


def place(starts: list[int], instant: int) -> int:
    return bisect.bisect_right(starts, instant) - 1
