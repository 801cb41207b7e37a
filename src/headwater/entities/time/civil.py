"""Periods of the wall calendar: days, weeks, months, quarters, years, and several of them at a time.

A period is known by its *nominal* number, counted from its anchor whether or not the date ever existed; its bounds are local times. Which instants
those are is asked of the zone.
"""

import datetime as dt
from typing import NamedTuple

import numpy as np

from headwater.entities.time.durations import UNITS
from headwater.entities.time.ordinals import Int
from headwater.entities.time.zones import DAY, Zone

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
FIRST, LAST = dt.date(1950, 1, 1), dt.date(2150, 1, 1)
_EPOCH = dt.date(1970, 1, 1)


class Civil(NamedTuple):
    """The periods of every `many` units from the anchor on, `offset` seconds after local midnight."""

    unit: str
    many: int
    anchor: int  # days since 1970 of the first day of period 0; months since 1970 for units made of months
    offset: int

    @property
    def monthly(self) -> bool:
        return UNITS[self.unit][0] > 0

    @property
    def step(self) -> int:
        """The days, or months, of a period."""
        months, days, _ = UNITS[self.unit]
        return self.many * (months or days)

    def starts(self, nominal: Int) -> Int:
        """The local time at which each begins."""
        steps = self.anchor + nominal * self.step
        days = steps.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) if self.monthly else steps
        return days * DAY + self.offset

    def nominal(self, date: dt.date) -> int:
        """The period that the date belongs to."""
        return (self._place(date) - self.anchor) // self.step

    def date(self, nominal: int) -> dt.date:
        """The first date of a period."""
        place = self.anchor + nominal * self.step
        if self.monthly:
            return dt.date(1970 + place // 12, place % 12 + 1, 1)
        return _EPOCH + dt.timedelta(days=place)

    def _place(self, date: dt.date) -> int:
        return (date.year - 1970) * 12 + date.month - 1 if self.monthly else (date - _EPOCH).days


class CivilPeriods(NamedTuple):
    """The periods of 1950 to 2149. `bounds` is one longer than `nominal`; ordinal 0 is the period at place `zero`."""

    bounds: Int
    nominal: Int
    zero: int


def civil_periods(civil: Civil, zone: Zone) -> CivilPeriods:
    """Periods that begin at the same instant are one, known as the last of them: a date that never existed has no ordinal."""
    low, high = civil.nominal(FIRST), civil.nominal(LAST)
    # Whole periods of the two centuries: the first that begins in them, to the last that is over.
    low += civil.date(low) < FIRST
    nominal = np.arange(low, high + 1, dtype=np.int64)
    bounds = zone.instants(civil.starts(nominal))
    apart = np.append(bounds[:-1] < bounds[1:], True)
    nominal, bounds = nominal[apart], bounds[apart]
    return CivilPeriods(bounds, nominal[:-1], int(np.searchsorted(nominal, 0)))


def anchored(unit: str, anchor: dt.date | None, week_start: int) -> int:
    """The anchor as `Civil` counts it. Without one: 1970-01-01, its month, or the week it is in.

    A week's anchor is moved back to the week's first day.
    """
    date = anchor or _EPOCH
    if UNITS[unit][0]:
        return (date.year - 1970) * 12 + date.month - 1
    if unit == "week":
        date -= dt.timedelta(days=(date.weekday() - week_start) % 7)
    return (date - _EPOCH).days
