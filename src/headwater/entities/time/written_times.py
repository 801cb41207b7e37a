"""The time that a part of a dataset is of, as partitions and dated names write it: `date=2024-03-10`, `year=2024/month=03`, `2024-03-10-05`. Pure.

Refuses to guess: a part that names two different times, or none, is of no time.
"""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from headwater.entities.time import keys
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidCalendar, InvalidPeriod

_YEARS = range(1970, 2101)
_PIECES = {
    name: unit
    for unit, names in {
        "year": ("year", "yyyy", "yr", "y"),
        "month": ("month", "mm", "mon", "m"),
        "day": ("day", "dd", "d"),
        "hour": ("hour", "hh", "hr", "h"),
    }.items()
    for name in names
}
_DAYS = 3  # numbers of a day: year, month, day
_ORDER = ("year", "month", "day", "hour")
_DAY = re.compile(r"(\d{4})(-?)(\d{2})\2(\d{2})", re.ASCII)
_MONTH = re.compile(r"(\d{4})-(\d{2})", re.ASCII)
_COMPACT_MONTH = re.compile(r"(\d{4})(\d{2})", re.ASCII)
_HOUR = re.compile(r"(\d{4})-(\d{2})-(\d{2})[-T ](\d{2})", re.ASCII)
_COMPACT_HOUR = re.compile(r"(\d{4})(\d{2})(\d{2})T?(\d{2})", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?", re.ASCII)


class Stretch(NamedTuple):
    """start ≤ instant < end, in seconds since 1970. `label`: it may name a longer period that begins so, as a week is called by its Monday."""

    start: int
    end: int
    label: bool


class _Date(NamedTuple):
    """Local: the first numbers of year, month, day, hour; or an instant."""

    numbers: tuple[int, ...] = ()
    instant: dt.datetime | None = None


def stretch(calendar: Calendar, part: Mapping[str, str]) -> Stretch | None:
    """The time of a part, by the wall of the calendar's zone; None if it has none, or two. What is no time (`country=FR`) says nothing."""
    pieces: dict[str, int] = {}
    found: set[_Date | Stretch] = set()
    for name, value in part.items():
        unit = _PIECES.get(name.lower())
        if unit is not None and value.isascii() and value.isdigit() and len(value) <= (4 if unit == "year" else 2):
            pieces[unit] = int(value)
        elif (one := _date(name, value) or _own(calendar, value)) is not None:
            found.add(one)
    if pieces.keys() == {"hour"}:
        dates = {date.numbers for date in found if isinstance(date, _Date)}
        (day,) = dates if len(dates) == 1 == len(found) else [()]
        return _of(calendar, (*day, pieces["hour"])) if len(day) == _DAYS else None
    if "year" in pieces:
        given = [unit for unit in _ORDER if unit in pieces]
        if given != list(_ORDER[: len(given)]):
            return None
        found.add(_Date(tuple(pieces[unit] for unit in given)))
    times = {_whole(calendar, one) for one in found}
    return times.pop() if len(times) == 1 else None


def written(calendar: Calendar, told: Sequence[Stretch]) -> tuple[Ordinals, Ordinals]:
    """The periods that these stretches are the whole of, or that one of them names as a label; and those that any of them touches."""
    whole, near = NONE, NONE
    for start, end in joined(told):
        whole |= calendar.within(start, end)
        near |= calendar.covering(start, end)
    for one in told:
        whole |= (
            Ordinals.between(at, at + 1) if one.label and (at := _begins(calendar, one.start)) is not None else NONE
        )
    return whole, near


def joined(told: Sequence[Stretch]) -> list[tuple[int, int]]:
    """Join adjacent stretches: 24 hours are a day."""
    found: list[tuple[int, int]] = []
    for one in sorted(told):
        if found and one.start <= found[-1][1]:
            found[-1] = (found[-1][0], max(one.end, found[-1][1]))
        else:
            found.append((one.start, one.end))
    return found


def _begins(calendar: Calendar, instant: int) -> int | None:
    """The period that begins exactly then."""
    try:
        at = calendar.at(instant)
    except InvalidCalendar:
        return None
    return at if int(calendar.begins([at])[0]) == instant else None


def _own(calendar: Calendar, value: str) -> Stretch | None:
    """Read a text as the entity's own periods are written, unless it is all digits: `2024-W10`, `2024-Q1`."""
    if value.isdigit():
        return None
    try:
        found = keys.ordinal(calendar, value)
    except InvalidPeriod:
        return None
    start, end = (int(bound) for bound in calendar.begins([found, found + 1]))
    return Stretch(start, end, label=False)


def _date(name: str, value: str) -> _Date | None:
    if _MOMENT.fullmatch(value):
        try:
            moment = dt.datetime.fromisoformat(value)
        except ValueError:
            return None
        if moment.tzinfo is None:
            return _Date((moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second))
        return _Date(instant=moment)
    if match := _DAY.fullmatch(value):
        return _valid(match[1], match[3], match[4])
    months = name.lower() in {
        "ym",
        "yyyymm",
        "yearmonth",
        "year_month",
        *(n for n, u in _PIECES.items() if u == "month"),
    }
    for pattern in (_MONTH, *((_COMPACT_MONTH,) if months else ()), _HOUR, _COMPACT_HOUR):
        if match := pattern.fullmatch(value):
            return _valid(*match.groups())
    return None


def _valid(*texts: str) -> _Date | None:
    """Return the date, or None: the digits may be something other than a date."""
    numbers = tuple(map(int, texts))
    year, month, day, hour = (*numbers, *(1, 1, 0)[len(numbers) - 1 :])
    try:
        dt.datetime(year, month, day, hour)  # noqa: DTZ001 - the wall of a zone that the caller knows
    except ValueError:
        return None
    return _Date(numbers) if year in _YEARS else None


def _whole(calendar: Calendar, one: "_Date | Stretch") -> Stretch | None:
    if isinstance(one, Stretch):
        return one
    if one.instant is not None:
        start = int(one.instant.timestamp())
        return Stretch(start, start + 1, label=True)
    return _of(calendar, one.numbers)


def _of(calendar: Calendar, numbers: tuple[int, ...]) -> Stretch | None:
    try:
        first = dt.datetime(*(*numbers, *(1, 1)[len(numbers) - 1 :]))  # type: ignore[arg-type]  # noqa: DTZ001
        match len(numbers):
            case 1:
                after = first.replace(year=first.year + 1)
            case 2:
                after = first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
            case 3:
                after = first + dt.timedelta(1)
            case 4:
                return Stretch(_local(calendar, first), _local(calendar, first + dt.timedelta(hours=1)), label=False)
            case _:
                start = _local(calendar, first)
                return Stretch(start, start + 1, label=True)
    except (ValueError, OverflowError):
        return None
    return Stretch(calendar.midnight(first.date()), calendar.midnight(after.date()), label=True)


def _local(calendar: Calendar, wall: dt.datetime) -> int:
    seconds = int((wall - dt.datetime(1970, 1, 1)).total_seconds())  # noqa: DTZ001 - walls both
    return int(calendar.zone.instants(np.array([seconds], dtype=np.int64))[0])
