"""Clock times of rules: deadlines by which data must be there, and hours in which no message is sent."""

import datetime as dt
import re
import zoneinfo
from collections.abc import Iterator
from typing import Final

import msgspec

from headwater.entities.declaration.document import Part
from headwater.entities.declaration.fields import Fields

_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CLOCK: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_ONE_DAY: Final = dt.timedelta(days=1)
_FURTHEST: Final = 8


class Deadline(msgspec.Struct, frozen=True):
    """Each day at this minute (of the zone) data must have come since the deadline before. `days`: ISO weekdays; empty: every day."""

    minute: int
    zone: str
    days: tuple[int, ...] = ()

    def between(self, first: dt.datetime, last: dt.datetime) -> Iterator[tuple[dt.datetime, dt.datetime]]:
        """The deadlines after `first` and up to `last`, each with the one before it."""
        zone = zoneinfo.ZoneInfo(self.zone)
        day = first.astimezone(zone).date() - _ONE_DAY * _FURTHEST
        before: dt.datetime | None = None
        while True:
            at = _at(day, self.minute, zone)
            if at > last:
                return
            if not self.days or day.isoweekday() in self.days:
                if before is not None and at > first:
                    yield before, at
                before = at
            day += _ONE_DAY

    def __str__(self) -> str:
        days = f" {','.join(_DAYS[day - 1] for day in self.days)}" if self.days else ""
        return f"{self.minute // 60:02}:{self.minute % 60:02} {self.zone}{days}"


class Quiet(msgspec.Struct, frozen=True):
    """Hours from `first` to `last` (minutes of the day; equal: none) and whole `days`, in which messages wait."""

    first: int
    last: int
    zone: str
    days: tuple[int, ...] = ()

    def holds(self, moment: dt.datetime) -> bool:
        local = moment.astimezone(zoneinfo.ZoneInfo(self.zone))
        minute = local.hour * 60 + local.minute
        if local.isoweekday() in self.days:
            return True
        if self.first <= self.last:
            return self.first <= minute < self.last
        return minute >= self.first or minute < self.last

    def end(self, moment: dt.datetime) -> dt.datetime:
        """The first moment from `moment` on that is not quiet."""
        zone = zoneinfo.ZoneInfo(self.zone)
        found = moment
        for _ in range(4 * _FURTHEST):
            if not self.holds(found):
                return found
            day = found.astimezone(zone).date()
            nexts = [
                _at(day + _ONE_DAY * ahead, minute, zone, fold)
                for ahead in (0, 1)
                for minute in (0, self.last)
                for fold in (0, 1)
            ]
            found = _first_change(found, min(one for one in nexts if one > found), zone)
        return found  # every day is quiet: nothing ever leaves, which `read_quiet` refuses


def _at(day: dt.date, minute: int, zone: zoneinfo.ZoneInfo, fold: int = 0) -> dt.datetime:
    """`fold`: 1 for the second of two moments that clocks show so, where they are set back."""
    return dt.datetime.combine(day, dt.time(minute // 60, minute % 60, fold=fold), zone).astimezone(dt.UTC)


def _first_change(after: dt.datetime, upto: dt.datetime, zone: zoneinfo.ZoneInfo) -> dt.datetime:
    """Return when the clocks of the zone are set, to the second, or `upto` if they are not in between."""
    offset = after.astimezone(zone).utcoffset()
    if upto.astimezone(zone).utcoffset() == offset:
        return upto
    first, last = int(after.timestamp()), int(upto.timestamp())
    while last - first > 1:
        middle = (first + last) // 2
        same = dt.datetime.fromtimestamp(middle, zone).utcoffset() == offset
        first, last = (middle, last) if same else (first, middle)
    return dt.datetime.fromtimestamp(last, dt.UTC)


def read_deadline(part: Part | None, fields: Fields) -> Deadline | None:
    """Read `07:00 Europe/Berlin mon-fri`; without a zone UTC, without days every day."""
    text = "" if part is None else fields.text(part, "by")
    if part is None or not text:
        return None
    clock, *rest = text.split()
    match = _CLOCK.fullmatch(clock)
    zone = next((word for word in rest if not _days(word)), "UTC")
    days = tuple(sorted({day for word in rest for day in _days(word)}))
    if match is None or len([word for word in rest if not _days(word)]) > 1:
        fields.note(
            part.place, f"by is {text!r}; write such as 07:00, 07:00 Europe/Berlin or 07:00 Europe/Berlin mon-fri"
        )
        return None
    return Deadline(int(match[1]) * 60 + int(match[2]), zone, days) if _has_zone(zone, part, fields) else None


def read_quiet(part: Part | None, fields: Fields) -> Quiet | None:
    """Read `22:00-07:00 Europe/Berlin sat,sun`: hours, a zone, and whole days, each of which may be left out."""
    text = "" if part is None else fields.text(part, "quiet")
    if part is None or not text:
        return None
    first = last = 0
    zone, days, wrong = "UTC", set[int](), False
    for word in text.split():
        start, dash, end = word.partition("-")
        hours = (_CLOCK.fullmatch(start), _CLOCK.fullmatch(end)) if dash else (None, None)
        if hours[0] is not None and hours[1] is not None:
            first, last = (int(one[1]) * 60 + int(one[2]) for one in hours if one is not None)
        elif found := _days(word):
            days |= set(found)
        elif zone == "UTC":
            zone = word
        else:
            wrong = True
    if wrong or len(days) == 7 or (first == last and not days):
        fields.note(part.place, f"quiet is {text!r}; write such as 22:00-07:00 Europe/Berlin or sat,sun")
        return None
    return Quiet(first, last, zone, tuple(sorted(days))) if _has_zone(zone, part, fields) else None


def _days(word: str) -> list[int]:
    """Return the ISO weekdays of `mon-fri` or `sat,sun`; none of another word."""
    found = []
    for each in word.lower().split(","):
        first, dash, last = each.partition("-")
        if first not in _DAYS or (dash and last not in _DAYS):
            return []
        a = _DAYS.index(first)
        b = _DAYS.index(last) if dash else a
        found += [at % 7 + 1 for at in range(a, b + 1 if b >= a else b + 8)]
    return found


def _has_zone(zone: str, part: Part, fields: Fields) -> bool:
    try:
        zoneinfo.ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        fields.note(
            part.place, f"there is no time zone {zone!r}; write a name of the IANA database, such as Europe/Berlin"
        )
        return False
    return True
