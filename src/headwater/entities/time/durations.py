"""Lengths of time as people write them, and local time moved by them.

A length has three parts that do not turn into each other: months, days, and seconds. A day is not 24 hours where clocks change, a month is not 30
days; hours and minutes are physical.
"""

import re
from typing import NamedTuple

import numpy as np

from headwater.entities.time.ordinals import Int
from headwater.entities.time.zones import DAY

# The length of each unit in (months, days, seconds).
UNITS = {
    "minute": (0, 0, 60),
    "hour": (0, 0, 3600),
    "day": (0, 1, 0),
    "week": (0, 7, 0),
    "month": (1, 0, 0),
    "quarter": (3, 0, 0),
    "year": (12, 0, 0),
}
_SHORT = {
    "min": "minute",
    "m": "minute",
    "h": "hour",
    "d": "day",
    "w": "week",
    "mo": "month",
    "q": "quarter",
    "y": "year",
}
SHORT = {"minute": "m", "hour": "h", "day": "d", "week": "w", "month": "mo", "quarter": "q", "year": "y"}
_PART = re.compile(r"\s*([+-]?)\s*(\d{1,6})\s*([a-z]+)")


class Length(NamedTuple):
    """Months, days and seconds; each may be negative."""

    months: int = 0
    days: int = 0
    seconds: int = 0

    def __neg__(self) -> "Length":
        return Length(-self.months, -self.days, -self.seconds)

    @property
    def civil(self) -> bool:
        """True if the length is measured on the wall, not with a stopwatch."""
        return bool(self.months or self.days)


def unit(word: str) -> str | None:
    """Return the unit of a word: `day` for day, days and d; None if it is no unit."""
    if word in _SHORT:
        return _SHORT[word]
    return next((name for name in UNITS if word in {name, f"{name}s"}), None)


def length(text: str) -> Length | None:
    """Read `6h`, `30 days`, `-1w`, `1mo 2d`, `-1mo-2d`: parts one after the other, each with the sign before it or that
    of the part before. None: no length."""
    total, place, sign = Length(), 0, 1
    while place < len(text.rstrip()):
        part = _PART.match(text, place)
        name = unit(part[3]) if part else None
        if part is None or name is None:
            return None
        sign = -1 if part[1] == "-" else 1 if part[1] == "+" else sign
        count = sign * int(part[2])
        total = Length(*(was + count * each for was, each in zip(total, UNITS[name], strict=True)))
        place = part.end()
    return total if place else None


def earliest(local: Int, by: Length) -> Int:
    """Return local times moved by months, then days: no later for an earlier one."""
    return _moved(local, by, late=False)


def latest(local: Int, by: Length) -> Int:
    """Return times as `earliest` does, for the end of a window: a day beyond the end of a shorter month becomes that
    month's end, not its last day's start."""
    return _moved(local, by, late=True)


def _moved(local: Int, by: Length, *, late: bool) -> Int:
    if by.months:
        day, time = np.divmod(local, DAY)
        dates = day.astype("datetime64[D]")
        month = dates.astype("datetime64[M]")
        nth = (dates - month.astype("datetime64[D]")).astype(np.int64)
        target = month + np.timedelta64(by.months, "M")
        starts = target.astype("datetime64[D]").astype(np.int64)
        ends = (target + np.timedelta64(1, "M")).astype("datetime64[D]").astype(np.int64)
        longest = ((month + np.timedelta64(1, "M")).astype("datetime64[D]") - month.astype("datetime64[D]")).astype(
            np.int64
        )
        plain = (starts + nth) * DAY + time
        # Several days of a longer month come to the last one of the shorter: all to its start, but for the hours after which no such day begins.
        last = (ends - 1) * DAY + np.where(nth == longest - 1, time, 0)
        start = np.where(longest > ends - starts, np.minimum(plain, last), plain)
        local = np.minimum(plain, ends * DAY) if late else start
    return local + by.days * DAY
