"""The periods of a calendar that an entity has: all from its first on, until it ends.

`period:` of an entity is read here. Nothing here knows which of them were produced.
"""

import datetime as dt
from collections.abc import Mapping
from typing import NamedTuple

from headwater.entities.time.calendar import Calendar, Instant
from headwater.entities.time.ordinals import Ordinals
from headwater.errors import InvalidCalendar
from headwater.model.moments import aware

_WORDS = {"every", "cron", "table", "tz", "starts", "offset", "anchor", "from", "until"}


class Instances(NamedTuple):
    """first ≤ k < end of a calendar. Either is None if undeclared: then the calendar is the bound, 1950 or 2149."""

    calendar: Calendar
    first: int | None = None
    end: int | None = None

    @classmethod
    def of(cls, period: Mapping[str, object]) -> "Instances":
        """Read a declaration: `{every: week, starts: monday, tz: Europe/Paris, offset: 6h, anchor: 2024-01-01, from: 2019-01-07, until: …}`,
        where `cron` or `table` may stand in place of `every`.

        `from` and `until` are dates or instants with which a period begins; `until` is the first one that is no more.
        InvalidCalendar says what is wrong and what would do.
        """
        for word in period:
            if word not in _WORDS:
                raise InvalidCalendar(f"period has no {word!r}; it has {', '.join(sorted(_WORDS))}", field=word)
        calendar = _calendar(period)
        first, end = (_bound(calendar, word, period[word]) if word in period else None for word in ("from", "until"))
        if first is not None and end is not None and first >= end:
            raise InvalidCalendar(f"until {period['until']} is not after from {period['from']}", field="until")
        return cls(calendar, first, end)

    @property
    def all(self) -> Ordinals:
        """Every instance there may ever be."""
        first = self.calendar.first if self.first is None else self.first
        return Ordinals.between(first, self.calendar.end if self.end is None else self.end)

    def begun(self, now: Instant) -> Ordinals:
        """Return those that have begun by now."""
        return self.all & self.calendar.covering(int(self.calendar.begins([self.calendar.first])[0]), now)

    def over(self, now: Instant) -> Ordinals:
        """Return those that have ended by now: a week that is not over is no instance yet."""
        return self.all & self.calendar.within(int(self.calendar.begins([self.calendar.first])[0]), now)


def _calendar(period: Mapping[str, object]) -> Calendar:
    kinds = [word for word in ("every", "cron", "table") if word in period]
    if len(kinds) != 1:
        raise InvalidCalendar(
            f"period says {' and '.join(kinds) or 'none'} of every, cron and table; it needs one", field="every"
        )
    zone, starts = _text(period, "tz", "UTC"), _text(period, "starts", "monday")
    if "every" not in period:
        for word in ("offset", "anchor"):
            if word in period:
                raise InvalidCalendar(f"{word} goes with every, not with {kinds[0]}", field=word)
    if "cron" in period:
        return Calendar.cron(_text(period, "cron", ""), zone, starts)
    if "table" in period:
        bounds = period["table"]
        if not isinstance(bounds, list | tuple):
            raise InvalidCalendar("table is no list of dates or instants", field="table")
        # The meaning of a bound's date does not depend on the table itself.
        days = Calendar.every("day", zone)
        return Calendar.table([_instant(days, "table", bound) for bound in bounds], zone, starts)
    anchor = period.get("anchor")
    if isinstance(anchor, str):
        anchor = _date(anchor, "anchor")
    if anchor is not None and (not isinstance(anchor, dt.date) or isinstance(anchor, dt.datetime)):
        raise InvalidCalendar(f"anchor {anchor!r} is no date", field="anchor")
    offset = _text(period, "offset", "") or None
    return Calendar.every(_text(period, "every", ""), zone, starts, offset, anchor)


def _text(period: Mapping[str, object], word: str, otherwise: str) -> str:
    value = period.get(word, otherwise)
    if not isinstance(value, str):
        raise InvalidCalendar(f"{word} {value!r} is no text; put it in quotes", field=word)
    return value


def _date(text: str, word: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise InvalidCalendar(f"{word} {text!r} is no date; write such as 2024-01-31", field=word) from None


def _instant(calendar: Calendar, word: str, value: object) -> int:
    """A date is its local midnight, later by the calendar's offset; a datetime without an offset is UTC."""
    if isinstance(value, str):
        try:
            value = dt.datetime.fromisoformat(value) if "T" in value or " " in value else _date(value, word)
        except ValueError:
            raise InvalidCalendar(
                f"{word} {value!r} is no date and no instant; write such as 2024-01-31", field=word
            ) from None
    if isinstance(value, dt.datetime):
        return int(aware(value).timestamp())
    if not isinstance(value, dt.date):
        raise InvalidCalendar(f"{word} {value!r} is no date and no instant", field=word)
    return calendar.midnight(value)


def _bound(calendar: Calendar, word: str, value: object) -> int:
    start = _instant(calendar, word, value)
    found = calendar.covering(start, start + 1)
    if not found:
        raise InvalidCalendar(f"{word} {value} is outside the calendar", field=word)
    first = found.first
    if int(calendar.begins([first])[0]) != start:
        here, after = (calendar.interval(first)[side].isoformat() for side in (0, 1))
        raise InvalidCalendar(
            f"{word} {value} is within a period; write where one begins, such as {here} or {after}", field=word
        )
    return first
