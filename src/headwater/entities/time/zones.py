"""A time zone as numpy sees it: between which instants which offset from UTC holds.

Local time jumps (a gap) and goes back (a fold), by an hour, half an hour, or a day where a country crosses the date line. The questions a calendar
asks are answered here once, for whole arrays. Instants are seconds since 1970 in UTC; *local* is the same count, of what the clock on the wall shows.
"""

import datetime as dt
import functools
import zoneinfo

import numpy as np

from headwater.entities.time.ordinals import Int
from headwater.errors import InvalidCalendar
from headwater.model.moments import aware

DAY = 86_400
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
# Two years more than calendars have, on both sides: a period at an end may look beyond it.
_KNOWN = (dt.datetime(1948, 1, 1, tzinfo=dt.UTC), dt.datetime(2152, 1, 1, tzinfo=dt.UTC))
_FAR = 1 << 61


def seconds(moment: dt.datetime) -> int:
    """The instant, rounded down to a second. A naive datetime is read as UTC."""
    return (aware(moment) - _EPOCH) // dt.timedelta(seconds=1)


def moment(instant: int) -> dt.datetime:
    """The instant as a datetime in UTC."""
    return _EPOCH + dt.timedelta(seconds=instant)


class Zone:
    """Pieces of time, each with its offset. Before 1948 and after 2151 the nearest offset is taken to hold.

    Changes come from the data of `zoneinfo`: a new release of the IANA database may move them.
    """

    def __init__(self, name: str) -> None:
        """Raises InvalidCalendar if the IANA database has no zone of that name."""
        try:
            self.info = zoneinfo.ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            raise InvalidCalendar(
                f"there is no time zone {name!r}; write a name of the IANA database, such as Europe/Paris or UTC",
                tz=name,
            ) from None
        self.name = name
        changes, offsets = self._changes()
        self._starts = np.array([-_FAR, *changes], dtype=np.int64)
        self._offsets = np.array(offsets, dtype=np.int64)
        ends = np.array([*changes, _FAR], dtype=np.int64)
        # The furthest that the clock has come when a piece is over, and the least that it will show from the start of a piece on.
        self._furthest = np.maximum.accumulate(ends + self._offsets)
        self._least = np.minimum.accumulate((self._starts + self._offsets)[::-1])[::-1]

    def offset(self, instant: int) -> int:
        """Return the seconds east of UTC at an instant."""
        local = dt.datetime.fromtimestamp(instant, self.info).utcoffset()
        return int(local.total_seconds()) if local is not None else 0

    def _changes(self) -> tuple[list[int], list[int]]:
        """Find the changes day by day and then by halves; no zone has changed to and back within a day since 1948."""
        changes: list[int] = []
        first, last = (seconds(known) for known in _KNOWN)
        was = self.offset(first)
        offsets = [was]
        for day in range(first, last, DAY):
            low, end = day, day + DAY
            while self.offset(end) != was:
                high = end
                while high - low > 1:
                    middle = (low + high) // 2
                    low, high = (middle, high) if self.offset(middle) == was else (low, middle)
                was = self.offset(high)
                changes.append(high)
                offsets.append(was)
                low = high
        return changes, offsets

    def local(self, instants: Int) -> Int:
        """Return the local times that the clock shows at these instants."""
        shown: Int = instants + self._offsets[np.searchsorted(self._starts, instants, "right") - 1]
        return shown

    def local_from(self, instants: Int) -> Int:
        """The least that the clock shows from each instant on. Unlike `local` it never goes back: hours before a fold count as the fold's."""
        piece = np.searchsorted(self._starts, instants, "right") - 1
        later = np.append(self._least[1:], _FAR)[piece]
        least: Int = np.minimum(instants + self._offsets[piece], later)
        return least

    def local_until(self, instants: Int) -> Int:
        """The furthest that the clock came before each instant: at the end of a gap that is where the gap began. It never goes back."""
        piece = np.searchsorted(self._starts, instants, "left") - 1
        earlier = np.insert(self._furthest[:-1], 0, -_FAR)[piece]
        furthest: Int = np.maximum(instants + self._offsets[piece], earlier)
        return furthest

    def instants(self, local: Int) -> Int:
        """The first instant at which the clock has come to each local time: of two the first; what a gap leaves out is the gap's end."""
        piece = np.searchsorted(self._furthest, local, "right")
        first: Int = np.maximum(self._starts[piece], local - self._offsets[piece])
        return first

    def again(self, local: Int) -> Int:
        """Return every later instant at which the clock shows one of these local times once more. `local` is sorted; the result need not be."""
        found = []
        for piece in np.flatnonzero(self._offsets[1:] < self._offsets[:-1]) + 1:
            start, now = self._starts[piece], self._offsets[piece]
            low, high = np.searchsorted(local, (start + now, start + self._offsets[piece - 1]))
            found.append(local[low:high] - now)
        every: Int = np.concatenate([local[:0], *found])
        return every


@functools.cache
def zone(name: str) -> Zone:
    """The zone of that name, made once. InvalidCalendar if there is none."""
    return Zone(name)
