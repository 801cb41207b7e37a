"""Resolve a text in storage to an instance: the name of a file, the value of a partition, a date or a timestamp of a
row.

Storage is written by many programs, so this is more generous than `keys.py`: a time stands for the period that it lies
in, a date for the period that holds all of it. A text that would be several instances is none: a month's folder says
nothing of its days. Nothing here reads storage.

| text | of days, weeks, months … | of hours, minutes |
|---|---|---|
| a key of the entity | that one | that one |
| `2024-03-10`, `20240310`, `2024-W10`, `2024-03`, `202403` | the period that it lies in as a whole | that of its whole time, mostly none |
| `2024-03-10T05`, `2024-03-10 05`, `2024031005` | the period that the hour lies in | the hour, of the clock of the entity's zone |
| `2024-03-10T05:30`, `2024-03-10 05:30:00.5` | the period that the clock is in then | the same |
| `2024-03-10T05:30Z`, `… +01:00` | the period of that instant | the same |
"""

import datetime as dt
import re

from headwater.entities.time import keys, ranges
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.instances import Instances
from headwater.entities.time.zones import seconds
from headwater.errors import InvalidCalendar, InvalidPeriod

_COMPACT = re.compile(r"(\d{4})(\d\d)(\d\d)?(\d\d)?")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d)(:\d\d(?::\d\d(?:\.\d{1,9})?)?)?\s?(Z|[+-]\d\d(?::?\d\d(?::\d\d)?)?)?")
_HOUR = 3600


def named(instances: Instances | None, text: str) -> int:
    """The ordinal of the one instance that a text names; 0 of a static entity.

    InvalidPeriod if it names none, several, one that is outside what the entity has, or an hour of the clock that was there twice or never.
    """
    if instances is None:
        if text != ranges.STATIC:
            raise InvalidPeriod(f"{text[:100]!r}: the entity is static and has no periods", key=text[:100])
        return 0
    found = _ordinal(instances.calendar, _spelt(text))
    if found not in instances.all:
        first, last = (keys.key(instances.calendar, each) for each in (instances.all.first, instances.all.end - 1))
        raise InvalidPeriod(f"{text[:100]!r} is outside what the entity has, which is {first} to {last}", key=text)
    return found


def _spelt(text: str) -> str:
    """Return `20240310` as `2024-03-10`, `2024031005` as `2024-03-10T05`."""
    match = _COMPACT.fullmatch(text)
    if match is None:
        return text
    year, month, day, hour = match.groups()
    return f"{year}-{month}" + (f"-{day}" if day else "") + (f"T{hour}" if hour else "")


def _ordinal(calendar: Calendar, text: str) -> int:
    try:
        return keys.ordinal(calendar, text)
    except InvalidPeriod:
        time = _TIME.fullmatch(text)
    if time is not None:
        return _at(calendar, text, *time.groups())
    found = ranges.read_periods(calendar, text[:100])
    if found.count != 1:
        raise InvalidPeriod(
            f"{text[:100]!r} is {found.count} instances, not one: it says nothing of any of them", key=text[:100]
        )
    return found.first


def _at(calendar: Calendar, text: str, date: str, hour: str, rest: str | None, offset: str | None) -> int:
    try:
        time = dt.datetime.fromisoformat(f"{date}T{hour}{_microseconds(rest or ':00')}{offset or ''}")
    except ValueError:
        raise InvalidPeriod(f"{text!r} is no time", key=text) from None
    starts = [seconds(time)] if time.tzinfo is not None else _instants(calendar, time)
    if not starts:
        raise InvalidPeriod(f"{text!r} never was: the clock of {calendar.spec.zone} went past it", key=text)
    # An hour is all of its seconds; a time with minutes is one moment.
    lengths = [0] if rest else [0, _HOUR - 1]
    try:
        found = {calendar.at(start + length) for start in starts for length in lengths}
    except InvalidCalendar as wrong:
        raise InvalidPeriod(f"{text!r} is outside the calendar", key=text) from wrong
    if len(found) != 1:
        twice = (
            f"the clock of {calendar.spec.zone} showed it twice, and the text does not say which"
            if len(starts) > 1
            else ""
        )
        raise InvalidPeriod(f"{text!r} is {len(found)} instances, not one: {twice or 'it is longer'}", key=text)
    return found.pop()


def _microseconds(rest: str) -> str:
    """Return the text with six digits after the second: databases write up to nine, six can be read."""
    whole, dot, part = rest.partition(".")
    return f"{whole}.{part[:6].ljust(6, '0')}" if dot else whole


def _instants(calendar: Calendar, local: dt.datetime) -> list[int]:
    """Return the instants at which the clock on the wall showed this: one, two or none."""
    zone = calendar.zone.info
    both = {seconds(local.replace(tzinfo=zone, fold=fold)) for fold in (0, 1)}
    shown = local.replace(microsecond=0)
    return [each for each in both if dt.datetime.fromtimestamp(each, zone).replace(tzinfo=None) == shown]
