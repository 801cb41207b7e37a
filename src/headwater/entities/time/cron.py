"""The instants a five-field cron expression names, for two centuries at once.

Fields: minute, hour, day of the month, month, day of the week (0 and 7 are Sunday). Each is `*`, a number, a name (`jan`, `mon`), a range `a-b`, any
of them with a step `/n`, or a list of these. Where both days are restricted either is enough (Vixie). No seconds, no `L`, `W`, `#` or `?`.

Where clocks change: a tick in a gap moves to the first instant after it; in a fold a tick is once, at the first of its two times, unless the hour
is `*` or `*/n`, which is every hour that passes: then it is at both. Two ticks on one instant are one.
"""

import datetime as dt
import functools

import numpy as np

from headwater.entities.time.ordinals import Int
from headwater.entities.time.zones import DAY, Zone
from headwater.errors import InvalidCalendar

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, {name: n for n, name in enumerate(_MONTHS, 1)}),
    ("day of the week", 0, 7, {name: n for n, name in enumerate(_DAYS)}),
)
_WORDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
# Ticks that are kept: 8 bytes each. Every hour of two centuries is 1.8 million.
MOST = 4_000_000


def ticks(text: str, zone: Zone, first: dt.date, last: dt.date) -> Int:
    """Ascending instants of the days first ≤ day < last. InvalidCalendar with the field and its column where the expression is wrong, names fewer
    than two instants, or more than are kept."""
    minutes, hours, days, months, weekdays = parsed(text)
    fields = _WORDS.get(text.strip().lower(), text).split()
    dates = np.arange(np.datetime64(first, "D"), np.datetime64(last, "D"))
    month = dates.astype("datetime64[M]")
    of_month = np.isin((dates - month.astype("datetime64[D]")).astype(np.int64) + 1, sorted(days))
    # 1970-01-01 was a Thursday.
    of_week = np.isin((dates.astype(np.int64) + 4) % 7, sorted(day % 7 for day in weekdays))
    either = not fields[2].startswith("*") and not fields[4].startswith("*")
    on = (of_month | of_week) if either else (of_month & of_week)
    on &= np.isin(month.astype(np.int64) % 12 + 1, sorted(months))
    times = np.array(
        [hour * 3600 + minute * 60 for hour in sorted(hours) for minute in sorted(minutes)], dtype=np.int64
    )
    chosen = dates[on].astype(np.int64)
    if chosen.size * times.size > MOST:
        raise InvalidCalendar(
            f"cron {text!r} ticks {chosen.size * times.size:,} times from {first} to {last}, more than {MOST:,}; "
            "write `every: 5m` or the like for periods of equal length",
            cron=text,
        )
    local = (chosen[:, None] * DAY + times).ravel()
    instants = zone.instants(local)
    if fields[1].startswith("*"):
        instants = np.sort(np.concatenate((instants, zone.again(local))), kind="stable")
    # Not np.unique, which hashes: these are in order.
    instants = instants[np.append(True, instants[1:] > instants[:-1])] if instants.size else instants
    if instants.size < 2:
        raise InvalidCalendar(
            f"cron {text!r} never ticks twice from {first} to {last}; is there such a day?", cron=text
        )
    return instants


@functools.lru_cache(maxsize=1024)
def parsed(text: str) -> tuple[frozenset[int], ...]:
    """The numbers each of the five fields allows. InvalidCalendar with what is wrong, where, and what would do."""
    whole = _WORDS.get(text.strip().lower(), text)
    fields = whole.split()
    if len(fields) != len(_FIELDS):
        raise InvalidCalendar(
            f"cron {text!r} has {len(fields)} fields; it needs five: minute, hour, day of the month, month, day of the week",
            cron=text,
        )
    found, column = [], 0
    for written, (name, low, high, names) in zip(fields, _FIELDS, strict=True):
        column = whole.index(written, column)
        allowed: set[int] = set()
        place = column
        for part in written.split(","):
            numbers = _part(part.lower(), low, high, names)
            if numbers is None:
                raise InvalidCalendar(
                    f"cron {text!r}, column {place + 1}: {part!r} is no {name}; "
                    f"write *, a number from {low} to {high}, a range such as {low}-{high}, or */n",
                    cron=text,
                    column=place + 1,
                )
            allowed |= numbers
            place += len(part) + 1
        found.append(frozenset(allowed))
        column += len(written)
    return tuple(found)


def _part(text: str, low: int, high: int, names: dict[str, int]) -> set[int] | None:
    """Read one member of a list. None if it makes no sense."""
    span, slash, step = text.partition("/")
    if slash and not (step.isdecimal() and int(step) > 0):
        return None
    if span == "*":
        # Sunday is both 0 and 7: a step counts it once.
        start, end = low, min(high, 6) if high == 7 else high
    else:
        one, dash, other = span.partition("-")
        first = _number(one, names)
        # `5/15` is from 5 on.
        last = _number(other, names) if dash else high if slash else first
        if first is None or last is None:
            return None
        start, end = first, last
    if not low <= start <= end <= high:
        return None
    return set(range(start, end + 1, int(step) if slash else 1))


def _number(text: str, names: dict[str, int]) -> int | None:
    return int(text) if text.isdecimal() else names.get(text)
