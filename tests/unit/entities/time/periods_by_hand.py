"""Periods and windows one instance at a time, with `zoneinfo` and loops: what the arrays of `headwater.entities` must agree with.

Nothing of the package is used. Zones are asked every quarter of an hour what their clock shows; so this holds where clocks change at full quarters.
"""

import bisect
import calendar as months_of
import datetime as dt
import functools
import itertools
import zoneinfo
from typing import Any, NamedTuple

QUARTER = 900
DAY = 86_400
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS_OF = {"month": 1, "quarter": 3, "year": 12}


class Period(NamedTuple):
    start: int
    end: int
    wall: int  # local time it is meant to begin at, and to end at
    wall_end: int
    offset: int = 0  # of these two, what is the calendar's offset and not the date


@functools.cache
def zone(name: str) -> zoneinfo.ZoneInfo:
    return zoneinfo.ZoneInfo(name)


@functools.lru_cache(maxsize=2_000_000)
def clock(name: str, instant: int) -> int:
    """Return the clock's time, in seconds since 1970 on the wall."""
    shown = dt.datetime.fromtimestamp(instant, zone(name)).replace(tzinfo=dt.UTC)
    return (shown - EPOCH) // dt.timedelta(seconds=1)


@functools.cache
def largest(name: str) -> int:
    """The furthest east of UTC that the zone was at the start of any month, and two hours more."""
    return max(clock(name, month * 30 * DAY) - month * 30 * DAY for month in range(-260, 1000)) + 7200


@functools.lru_cache(maxsize=500_000)
def first_instant(name: str, local: int) -> int:
    """The first instant at which the clock shows this or later."""
    instant = (local - largest(name)) // QUARTER * QUARTER
    assert clock(name, instant) < local
    while clock(name, instant) < local:
        instant += QUARTER
    return instant


def least(name: str, instant: int) -> int:
    """The least the clock will show from here on."""
    hours = 26 if name == "Pacific/Kwajalein" else 4
    return min(clock(name, instant + QUARTER * i) for i in range(hours * 4))


def furthest(name: str, instant: int) -> int:
    """Return the furthest time that the clock showed just before."""
    hours = 26 if name == "Pacific/Kwajalein" else 4
    return max(clock(name, instant - QUARTER * i) + QUARTER for i in range(1, hours * 4))


def day_number(date: dt.date) -> int:
    return (date - dt.date(1970, 1, 1)).days


def seconds_of(text: str | None) -> int:
    """`6h`, `-90m`."""
    return int(text[:-1]) * {"h": 3600, "m": 60}[text[-1]] if text else 0


def periods(spec: dict[str, Any], first: dt.date, last: dt.date) -> list[Period]:
    """All that begin from `first` until before `last`, and one more."""
    name = spec.get("tz", "UTC")
    if "table" in spec:
        return _between(name, spec["table"])
    if "cron" in spec:
        return _between(name, _ticks(spec["cron"], name, first, last))
    unit, many = spec["unit"], spec.get("many", 1)
    offset = seconds_of(spec.get("offset"))
    if unit in {"minute", "hour"}:
        step = many * {"minute": 60, "hour": 3600}[unit]
        start = day_number(first) * DAY // step * step + offset
        return _between(name, list(range(start, day_number(last) * DAY + 2 * step, step)))
    walls = []
    anchor = spec.get("anchor") or dt.date(1970, 1, 1)
    if unit in MONTHS_OF:
        step = many * MONTHS_OF[unit]
        begun = anchor.year * 12 + anchor.month - 1
        month = first.year * 12 + first.month - 1
        month -= (month - begun) % step
        while True:
            date = dt.date(month // 12, month % 12 + 1, 1)
            walls.append(day_number(date) * DAY + offset)
            if date > last:
                break
            month += step
    else:
        step = many * (7 if unit == "week" else 1)
        while unit == "week" and anchor.weekday() != DAYS.index(spec.get("starts", "monday")):
            anchor -= dt.timedelta(days=1)
        date = first - dt.timedelta(days=(first - anchor).days % step)
        while True:
            walls.append(day_number(date) * DAY + offset)
            if date > last:
                break
            date += dt.timedelta(days=step)
    starts = [first_instant(name, wall) for wall in walls]
    return [
        Period(starts[i], starts[i + 1], walls[i], walls[i + 1], offset)
        for i in range(len(walls) - 1)
        if starts[i] < starts[i + 1]
    ]


def _between(name: str, bounds: list[int]) -> list[Period]:
    return [Period(a, b, -1, -1) for a, b in itertools.pairwise(bounds)]


def walls(name: str, period: Period) -> tuple[int, int]:
    """From and until which local time it is; of periods that are physical what the clock showed."""
    if period.wall != -1:
        return period.wall, period.wall_end
    return least(name, period.start), furthest(name, period.end)


def _ticks(text: str, name: str, first: dt.date, last: dt.date) -> list[int]:
    """Only full quarters, lists, ranges and steps of digits."""
    minutes, hours, days, months, weekdays = text.split()

    def allowed(field: str, low: int, high: int) -> set[int]:
        found: set[int] = set()
        for part in field.split(","):
            span, _, step = part.partition("/")
            a, _, b = span.partition("-")
            start, end = (low, high) if span == "*" else (int(a), int(b or a))
            found |= set(range(start, end + 1, int(step or 1)))
        return found

    found = set()
    date = first
    while date < last:
        by_day = date.day in allowed(days, 1, 31)
        by_weekday = (date.weekday() + 1) % 7 in {d % 7 for d in allowed(weekdays, 0, 7)}
        either = "*" not in days[:1] and "*" not in weekdays[:1]
        if date.month in allowed(months, 1, 12) and (by_day or by_weekday if either else by_day and by_weekday):
            for hour in allowed(hours, 0, 23):
                for minute in allowed(minutes, 0, 59):
                    local = day_number(date) * DAY + hour * 3600 + minute * 60
                    start = (local - largest(name)) // QUARTER * QUARTER
                    shown = [s for s in range(start, start + 30 * 3600, QUARTER) if clock(name, s) == local]
                    if not shown:
                        found.add(first_instant(name, local))
                    elif hours.startswith("*"):
                        found.update(shown)
                    else:
                        found.add(shown[0])
        date += dt.timedelta(days=1)
    return sorted(found)


def months_later(local: int, months: int) -> int:
    """Clamped: 31 January and a month is 28 February."""
    day, time = divmod(local, DAY)
    date = dt.date(1970, 1, 1) + dt.timedelta(days=day)
    month = date.year * 12 + date.month - 1 + months
    year, month = month // 12, month % 12 + 1
    clamped = dt.date(year, month, min(date.day, months_of.monthrange(year, month)[1]))
    return day_number(clamped) * DAY + time


def moved(local: int, months: int, days: int, late: bool) -> int:
    """Move a local time by months, so that no later time comes out earlier, then by days."""
    if months:
        midnights = [local // DAY * DAY + i * DAY for i in range(-4, 5)]
        if late:
            before = [months_later(m - 1, months) + 1 for m in midnights if m <= local]
            local = max([months_later(local, months), *before])
        else:
            after = [months_later(m, months) for m in midnights if m >= local]
            local = min([months_later(local, months), *after])
    return local + days * DAY


class Side(NamedTuple):
    """An end of a window, as `text` below writes it."""

    end: bool
    unit: str | None = None
    last: bool = False
    months: int = 0
    days: int = 0
    seconds: int = 0
    lag: int = 0
    weekday: int | None = None


def unit_spec(spec: dict[str, Any], unit: str) -> dict[str, Any]:
    of = {"unit": unit, "tz": spec.get("tz", "UTC"), "starts": spec.get("starts", "monday")}
    if unit not in {"minute", "hour"} and spec.get("unit") not in {None, "minute", "hour"}:
        of["offset"] = spec.get("offset")
    return of


class Windows:
    """Windows of one downstream calendar's periods."""

    def __init__(self, spec: dict[str, Any], mine: list[Period], first: dt.date, last: dt.date) -> None:
        self.spec, self.mine, self.first, self.last = spec, mine, first, last
        self.name = spec.get("tz", "UTC")
        self._units: dict[str, tuple[list[int], list[Period]]] = {}

    def instant(self, place: int, side: Side, late: bool) -> int:
        period = self.mine[place - side.lag]
        days = side.days
        if side.unit:
            at = period.end - 1 if side.last else period.start
            if side.unit not in self._units:
                some = periods(unit_spec(self.spec, side.unit), self.first, self.last)
                self._units[side.unit] = ([p.start for p in some], some)
            starts, some = self._units[side.unit]
            period = some[bisect.bisect_right(starts, at) - 1]
            assert period.start <= at < period.end
            if side.weekday is not None:
                day = DAYS.index(self.spec.get("starts", "monday"))
                while day != side.weekday:
                    day, days = (day + 1) % 7, days + 1
        if not side.months and not days:
            return (period.end if side.end else period.start) + side.seconds
        local = walls(self.name, period)[side.end]
        date = moved(local - period.offset, side.months, days, late)
        return first_instant(self.name, date + period.offset) + side.seconds


def need(upstream: list[Period], alpha: int | None, beta: int, strict: bool) -> list[int]:
    """Places in `upstream`; alpha None is since ever."""
    found = []
    if alpha is not None and alpha >= beta:
        return []
    begin = 0 if alpha is None else max(0, bisect.bisect_right(upstream, (alpha,)) - 2)
    for place in range(begin, len(upstream)):
        u = upstream[place]
        if u.start >= beta:
            break
        overlaps = alpha is None or u.end > alpha
        if (alpha is None or u.start >= alpha) and u.end <= beta if strict else overlaps:
            found.append(place)
    return found
