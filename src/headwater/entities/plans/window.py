"""The time of day at which a plan's items may begin: from one time to another, as the clock on the wall of a zone
shows.

There is one opening a day. Times that the clock leaves out do not exist, so an opening that lies in a gap is none;
where the clock goes back, an opening begins and ends at the first of two equal times. Nothing here looks at a clock:
every question gives the time.
"""

import datetime as dt
import re
from typing import NamedTuple

import numpy as np

from headwater.entities.time.zones import DAY, moment, seconds, zone
from headwater.errors import InvalidPlan

_TIMES = re.compile("([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])")


class Window(NamedTuple):
    """A daily opening from `start` until `end`, seconds after midnight of the day it opens; `end` is later, by less than a day."""

    start: int
    end: int
    zone: str

    @classmethod
    def of(cls, between: str, tz: str) -> "Window | None":
        """Read a window such as `22:00-06:00`, past midnight if the second time is the earlier one. None if unset.

        InvalidPlan if that is no window, InvalidCalendar if there is no such zone.
        """
        zone(tz)
        if not between:
            if tz != "UTC":
                raise InvalidPlan(
                    f"the time zone {tz} is of nothing; say between which times, as in 22:00-06:00", tz=tz
                )
            return None
        times = _TIMES.fullmatch(between)
        if times is None:
            raise InvalidPlan(
                f"between {between!r} is no time of day and another; write hours and minutes, as in 22:00-06:00",
                between=between,
            )
        start, end = (int(times[n]) * 3600 + int(times[n + 1]) * 60 for n in (1, 3))
        if start == end:
            raise InvalidPlan(
                f"between {between} nothing is left out; write two different times, or nothing", between=between
            )
        return cls(start, end if end > start else end + DAY, tz)

    def opening(self, instant: int) -> tuple[int, int]:
        """Return the start and end of the opening that an instant is in, or of the next one."""
        clock = zone(self.zone)
        today = int(clock.local(np.array([instant]))[0]) // DAY
        # Begun yesterday, or after days that were left out.
        days = np.arange(today - 2, today + 4) * DAY
        opens, closes = clock.instants(days + self.start), clock.instants(days + self.end)
        nth = int(np.flatnonzero((closes > instant) & (closes > opens))[0])
        return int(opens[nth]), int(closes[nth])

    def opens(self, at: dt.datetime) -> dt.datetime | None:
        """Return when the window opens next; None if it is open."""
        opens, _ = self.opening(seconds(at))
        return moment(opens) if opens > seconds(at) else None

    def over(self, instant: int, work: float) -> float:
        """Return the seconds after an instant until `work` seconds of openings are over. Days of 23 or 25 hours count as others here."""
        opens, closes = self.opening(instant)
        here = closes - max(opens, instant)
        if work <= here:
            return max(opens - instant, 0) + work
        length = self.end - self.start
        days, rest = divmod(work - here, length)
        # Work that ends with an opening does not wait for the next.
        return closes - instant + days * DAY + (DAY - length + rest if rest else 0)


__all__ = ["Window"]
