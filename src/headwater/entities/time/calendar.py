"""Calendars: sequences of instants that cut time into numbered periods.

A calendar is b(k), strictly increasing; period k is b(k) ≤ instant < b(k + 1). Hours and minutes are physical: counted in UTC, always as long.
Days and above are of the wall calendar of a zone: a period begins at the first instant at which the local clock has come to its start, so days have
23, 24, 25 or other hours, and a date that a country skipped has no number. Cron and table calendars have the periods that they list.

Every period lies in 1950 to 2149. Instants are whole seconds since 1970 in UTC, int64; a `datetime` will do where one instant is asked for.
The part of a calendar that an entity has, from its first instance on, is in `instances.py`.
"""

import datetime as dt
import functools
import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headwater.entities.time import civil, cron
from headwater.entities.time.civil import FIRST, LAST, WEEKDAYS, Civil
from headwater.entities.time.durations import SHORT, UNITS, Length, length, unit
from headwater.entities.time.ordinals import Int, Ordinals
from headwater.entities.time.zones import DAY, Zone, moment, seconds, zone
from headwater.errors import InvalidCalendar

Instant = int | dt.datetime

_EARLIEST, _LATEST = ((date - dt.date(1970, 1, 1)).days * DAY for date in (FIRST, LAST))


class Spec(NamedTuple):
    """The definition of a calendar. Calendars of equal specs are the same object, so what is computed for one serves all."""

    zone: str
    week_start: int
    unit: str = ""  # empty: cron or table
    many: int = 1
    offset: int = 0
    anchor: dt.date | None = None
    cron: str = ""
    table: tuple[int, ...] = ()


class Calendar:
    """A calendar, made by `every`, `cron` or `table`, or by `Instances.of` from a declaration. Ordinals are first ≤ k <
    end; b(end) ends the last one."""

    first: int
    end: int

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self._hash = hash(spec)  # of a table that is long
        self.zone: Zone = zone(spec.zone)
        self.civil: Civil | None = None
        self._step = self._origin = 0
        if spec.unit in {"minute", "hour"}:
            self._step = spec.many * UNITS[spec.unit][2]
            days = (spec.anchor - dt.date(1970, 1, 1)).days if spec.anchor else 0
            self._origin = days * DAY + spec.offset
            self.first = -((self._origin - _EARLIEST) // self._step)
            self.end = (_LATEST - self._origin) // self._step
            return
        if spec.unit:
            anchor = civil.anchored(spec.unit, spec.anchor, spec.week_start)
            self.civil = Civil(spec.unit, spec.many, anchor, spec.offset)
            self._bounds, self._nominal, zero = civil.civil_periods(self.civil, self.zone)
            if self._bounds.size < 2:
                raise InvalidCalendar(f"no period of {spec.many} {spec.unit}s lies between {FIRST} and {LAST}")
        elif spec.cron:
            self._bounds = cron.ticks(spec.cron, self.zone, FIRST, LAST)
            zero = int(np.searchsorted(self._bounds, 0))
        else:
            self._bounds, zero = np.array(spec.table, dtype=np.int64), 0
        self.first, self.end = -zero, self._bounds.size - 1 - zero

    @staticmethod
    def every(
        every: str,
        zone: str = "UTC",
        week_start: str = "monday",
        offset: str | None = None,
        anchor: dt.date | None = None,
    ) -> "Calendar":
        """`every`: minute, hour, day, week, month, quarter, year, or several: `6h`, `3 days`, `2w`.

        zone: that of days and above, and the one hours are written in.
        offset: every period begins so much later on the wall (`6h`: a business day from 06:00), or earlier (`-2h`); less than a day, and of hours
        and minutes less than a period, counted in UTC.
        anchor: a date with which a period begins: 2024-04-01 for fiscal years, any day for `3 days`. 1970-01-01 otherwise (for weeks: theirs).
        InvalidCalendar if these make no sense.
        """
        return _calendar(_spec(every, zone, week_start, offset, anchor))

    @staticmethod
    def cron(expression: str, zone: str = "UTC", week_start: str = "monday") -> "Calendar":
        """A period begins at every tick. What the expression may be, and where clocks change: `cron.py`. Ordinal 0: the first from 1970 on."""
        cron.parsed(expression)
        return _calendar(Spec(zone, _weekday(week_start), cron=" ".join(expression.split())))

    @staticmethod
    def table(bounds: Sequence[Instant], zone: str = "UTC", week_start: str = "monday") -> "Calendar":
        """Bounds as listed, the end of the last period among them: a retailer's 4-4-5 weeks, school terms. Ordinal 0 is the first period.

        InvalidCalendar unless there are two or more, each later than the one before, all from 1950 to 2150.
        """
        instants = tuple(seconds(bound) if isinstance(bound, dt.datetime) else bound for bound in bounds)
        if len(instants) < 2:
            raise InvalidCalendar("a table calendar needs at least two bounds: a period's start and its end")
        for place, (one, other) in enumerate(itertools.pairwise(instants), 2):
            if one >= other:
                raise InvalidCalendar(
                    f"bound {place} of the table, {_written(other)}, is not later than the one before, {_written(one)}",
                    bound=place,
                )
        if instants[0] < _EARLIEST or instants[-1] > _LATEST:
            raise InvalidCalendar(
                "a table calendar lies between 1950-01-01 and 2150-01-01", first=_written(instants[0])
            )
        return _calendar(Spec(zone, _weekday(week_start), table=instants))

    def begins(self, ordinals: ArrayLike) -> Int:
        """Return b(k) of each ordinal first ≤ k ≤ end. InvalidCalendar for others."""
        asked = np.asarray(ordinals, dtype=np.int64)
        if asked.size and (asked.min() < self.first or asked.max() > self.end):
            wrong = int(asked.min() if asked.min() < self.first else asked.max())
            raise InvalidCalendar(f"ordinal {wrong} is outside the calendar's {self.first}..{self.end}", ordinal=wrong)
        if self._step:
            return self._origin + asked * self._step
        return self._bounds[asked - self.first]

    def interval(self, ordinal: int) -> tuple[dt.datetime, dt.datetime]:
        """Start and end of one period, in the calendar's zone."""
        start, end = self.begins([ordinal, ordinal + 1])
        return moment(int(start)).astimezone(self.zone.info), moment(int(end)).astimezone(self.zone.info)

    def wall(self, ordinals: Int) -> tuple[Int, Int]:
        """Return the local times from and until which each period is, as it is meant: midnight, even if a gap begins it
        at one o'clock.

        Neither goes back as ordinals grow. For hours, cron and tables: the least and the furthest that the clock shows,
        so that both passes of an hour that is repeated are that hour. first ≤ k < end.
        """
        if self.civil is not None:
            nominal = self._nominal[ordinals - self.first]
            return self.civil.starts(nominal), self.civil.starts(nominal + 1)
        return self.zone.local_from(self.begins(ordinals)), self.zone.local_until(self.begins(ordinals + 1))

    def nominal(self, ordinal: int) -> int | None:
        """Return for a calendar of days and above the number of a period, counting dates that never existed. None if it is outside."""
        place = ordinal - self.first
        return int(self._nominal[place]) if self.civil is not None and 0 <= place < self._nominal.size else None

    def numbered(self, nominal: int) -> int | None:
        """The ordinal of what `nominal` says. None if that period never existed or is outside."""
        place = int(np.searchsorted(self._nominal, nominal))
        return self.first + place if place < self._nominal.size and self._nominal[place] == nominal else None

    def floor(self, instants: Int) -> Int:
        """The period that each instant is in; `first` before the calendar, `end` after it."""
        if self._step:
            return np.clip((instants - self._origin) // self._step, self.first, self.end)
        return np.maximum(np.searchsorted(self._bounds, instants, "right") - 1, 0) + self.first

    def ceil(self, instants: Int) -> Int:
        """The first period that begins at each instant or later; `first` before the calendar, `end` after it."""
        if self._step:
            return np.clip(-((self._origin - instants) // self._step), self.first, self.end)
        return np.minimum(np.searchsorted(self._bounds, instants, "left"), self._bounds.size - 1) + self.first

    def at(self, instant: Instant) -> int:
        """The ordinal of the period that an instant is in. InvalidCalendar outside the calendar."""
        asked = np.array([seconds(instant) if isinstance(instant, dt.datetime) else instant], dtype=np.int64)
        found = int(self.floor(asked)[0])
        if found == self.end or self.begins([found])[0] > asked[0]:
            low, high = (_written(int(bound)) for bound in self.begins([self.first, self.end]))
            raise InvalidCalendar(f"{_written(int(asked[0]))} is outside the calendar, which is from {low} to {high}")
        return found

    def midnight(self, date: dt.date) -> int:
        """The instant with which a date begins here: its local midnight, or the calendar's offset after it. Of hours, cron and tables: midnight."""
        local = (date - dt.date(1970, 1, 1)).days * DAY + (self.spec.offset if self.civil is not None else 0)
        return int(self.zone.instants(np.array([local], dtype=np.int64))[0])

    def covering(self, start: Instant, end: Instant) -> Ordinals:
        """Periods that have any instant of start ≤ instant < end. Nothing where end ≤ start; what is outside the calendar has none."""
        low, high = _ends(start, end)
        return Ordinals.between(*self._rounded(low, high, inwards=False)) if low < high else Ordinals()

    def within(self, start: Instant, end: Instant) -> Ordinals:
        """Periods of which no instant is outside start ≤ instant < end."""
        low, high = _ends(start, end)
        return Ordinals.between(*self._rounded(low, high, inwards=True))

    def _rounded(self, low: int, high: int, *, inwards: bool) -> tuple[int, int]:
        start, end = np.array([low]), np.array([high])
        low_, high_ = (self.ceil(start), self.floor(end)) if inwards else (self.floor(start), self.ceil(end))
        return int(low_[0]), int(high_[0])

    def cover(self, ordinals: Ordinals, other: "Calendar") -> Ordinals:
        """The other calendar's periods that overlap any of these. Distributes over union; the same set where both are one calendar. By runs."""
        starts, ends = self.begins(ordinals.starts), self.begins(ordinals.ends)
        low, high = other.floor(starts), other.ceil(ends)
        return Ordinals.joined(low, np.maximum(low, high))

    def inside(self, ordinals: Ordinals, other: "Calendar") -> Ordinals:
        """The other calendar's periods that lie in the time of these altogether: a subset of `cover`. By runs."""
        low, high = other.ceil(self.begins(ordinals.starts)), other.floor(self.begins(ordinals.ends))
        return Ordinals.joined(low, np.maximum(low, high))

    def unit(self, name: str) -> "Calendar":
        """Whole hours, days, weeks … as this calendar sees them: in its zone, with its weeks, and its days' offset."""
        offset = self.spec.offset if self.civil is not None and name not in {"minute", "hour"} else 0
        return _calendar(Spec(self.spec.zone, self.spec.week_start, name, offset=offset))

    @property
    def every_text(self) -> str:
        """The text of `every`: `day`, `6h`, `2w`, `cron 0 6 * * *`, `table`."""
        if self.spec.unit:
            return self.spec.unit if self.spec.many == 1 else f"{self.spec.many}{SHORT[self.spec.unit]}"
        return f"cron {self.spec.cron}" if self.spec.cron else "table"

    def __eq__(self, other: object) -> bool:
        return self.spec == other.spec if isinstance(other, Calendar) else NotImplemented

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"<Calendar every {self.every_text}, {self.spec.zone}>"


@functools.cache
def _calendar(spec: Spec) -> Calendar:
    return Calendar(spec)


def _spec(every: str, zone: str, week_start: str, offset: str | None, anchor: dt.date | None) -> Spec:
    count, name = _counted(every)
    by = length(offset) if offset else Length()
    if by is None or by.civil:
        raise InvalidCalendar(
            f"offset {offset!r} is no length in hours or minutes; write such as 6h or 90m", offset=offset
        )
    most = DAY if name not in {"minute", "hour"} else count * UNITS[name][2]
    if abs(by.seconds) >= most:
        raise InvalidCalendar(
            f"offset {offset!r} is not less than {'a day' if most == DAY else 'a period'}; move the anchor instead",
            offset=offset,
        )
    if anchor is not None:
        if not FIRST <= anchor < LAST:
            raise InvalidCalendar(f"anchor {anchor} is not between {FIRST} and {LAST}", anchor=str(anchor))
        if UNITS[name][0] and anchor.day != 1:
            raise InvalidCalendar(
                f"anchor {anchor} is not the first of a month, with which every {name} begins", anchor=str(anchor)
            )
    return Spec(zone, _weekday(week_start), name, count, by.seconds, anchor)


# A week begins on Monday, unless `starts` says otherwise; cron's own `@weekly` on Sunday (`cron: "@weekly"`).
_NAMED = {
    "hourly": "hour",
    "daily": "day",
    "midnight": "day",
    "weekly": "week",
    "monthly": "month",
    "quarterly": "quarter",
    "yearly": "year",
    "annually": "year",
}
"""Periods as schedulers and people name them."""
_SECOND_WEEK = "2w for every second week"
_MEANT = {
    "biweekly": _SECOND_WEEK,
    "fortnight": _SECOND_WEEK,
    "fortnightly": _SECOND_WEEK,
    "bimonthly": "2 months for every second month",
    "semiannually": "6 months",
    "half-hourly": "30m",
}
_LISTED = f"{', '.join(UNITS)}, their names such as weekly, or several of them such as 6h, 3d or 2w"


def _counted(every: str) -> tuple[int, str]:
    """`6h` is (6, hour), and so on; `hourly`, and `@hourly`, are (1, hour). More than a year's worth of anything is refused with the rest that is no
    period.
    """
    text = every.strip().lower()
    if (named := _NAMED.get(text.removeprefix("@"))) is not None:
        return 1, named
    number = text[: len(text) - len(text.lstrip("0123456789"))]
    name, count = unit(text[len(number) :].strip()), int(number or 1)
    if name is None or not 1 <= count <= 10_000:
        raise InvalidCalendar(
            f"every {every!r} is no period; write {_meant(text)}",
            every=every,
        )
    return count, name


def _meant(text: str) -> str:
    """Return what to write in place of a text that is no period."""
    if re.fullmatch(r"[\d*/,-]+(\s+[\w*/,#-]+){4}", text):
        return f'{{cron: "{text}"}} for a schedule of cron'
    first, _, rest = text.partition(" ")
    words = rest if first in {"every", "each"} else text
    if words in _NAMED or (words != text and unit(words.lstrip("0123456789 ")) is not None):
        return repr(words)
    return _MEANT.get(text) or _LISTED


def _weekday(name: str) -> int:
    found = [place for place, day in enumerate(WEEKDAYS) if len(name) >= 3 and day.startswith(name.lower())]
    if not found:
        raise InvalidCalendar(f"a week cannot start on {name!r}; write one of {', '.join(WEEKDAYS)}", starts=name)
    return found[0]


def _ends(start: Instant, end: Instant) -> tuple[int, int]:
    """Return whole seconds: the end is rounded up, since an instant amid a second belongs to it."""
    high = seconds(end) + (end.microsecond > 0) if isinstance(end, dt.datetime) else end
    return seconds(start) if isinstance(start, dt.datetime) else start, high


def _written(instant: int) -> str:
    return moment(instant).isoformat().replace("+00:00", "Z")
