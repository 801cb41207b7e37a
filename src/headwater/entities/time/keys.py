"""The text of a period and back: what people, URLs and schedulers call an instance.

| calendar | text |
|---|---|
| hours, minutes | `2024-03-10T05`, `2024-03-10T05:30`; in another zone than UTC always with its offset, `2025-10-26T02+02:00` |
| day | `2024-03-10` |
| week from Monday | `2024-W10` (ISO 8601) |
| week from another day | its first date: `2024-03-10/w-sun` |
| month, quarter, year | `2024-03`, `2024-Q1`, `2024` |
| several of a unit, or a year or quarter with an anchor of its own | the first date and what it is: `2024-03-10/3d`, `2024-04-01/y` |
| cron, table | the instant it begins: `2024-03-10T05:00Z`, `2024-03-10T06:00+01:00` |

One text for one period and one period for one text: another spelling is refused, with the one that is meant. An `offset` of the calendar is not
written: the business day that begins at 06:00 is the date it begins on.
"""

import datetime as dt
import re
from functools import lru_cache

from headwater.entities.time.calendar import Calendar
from headwater.entities.time.civil import FIRST, LAST, WEEKDAYS, Civil
from headwater.entities.time.durations import SHORT
from headwater.entities.time.zones import moment, seconds
from headwater.errors import InvalidCalendar, InvalidPeriod

_QUARTER = re.compile(r"(\d{4})-Q([1-4])")
_WEEK = re.compile(r"(\d{4})-W(\d\d)")
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")
_HOUR = re.compile(r"(\d{4}-\d\d-\d\dT\d\d)((?::\d\d){0,2})(Z|[+-]\d\d:\d\d(?::\d\d)?)?")


# At the top of an hour thousands of entities speak of the same few periods.
_REMEMBERED = 65_536


@lru_cache(_REMEMBERED)
def key(calendar: Calendar, ordinal: int) -> str:
    """The text of a period. InvalidCalendar if the ordinal is outside the calendar."""
    start = int(calendar.begins([ordinal])[0])
    nominal = calendar.nominal(ordinal)
    if calendar.civil is not None and nominal is not None:
        return _dated(calendar, calendar.civil, nominal)
    if ordinal >= calendar.end:
        raise InvalidCalendar(f"ordinal {ordinal} is the end of the calendar, not a period", ordinal=ordinal)
    local = moment(start).astimezone(calendar.zone.info)
    time = local.strftime("%Y-%m-%dT%H")
    if local.second:
        time += f":{local.minute:02}:{local.second:02}"
    elif local.minute or not calendar.spec.unit:
        time += f":{local.minute:02}"
    return time + _zone(calendar, local)


@lru_cache(_REMEMBERED)
def ordinal(calendar: Calendar, text: str) -> int:
    """The period a text names. InvalidPeriod if it names none: a date that does not exist, one that was skipped, one of another calendar."""
    civil = calendar.civil
    found = _begun(calendar, text) if civil is None else _numbered(calendar, civil, text)
    if found is None:
        raise InvalidPeriod(
            f"{text!r} is no period of a calendar of every {calendar.every_text} in {calendar.spec.zone}; "
            f"they are written like {_example(calendar)}",
            key=text,
        )
    written = key(calendar, found)
    if written != text:
        raise InvalidPeriod(
            f"{text!r} is not how the period is written: write {written!r}", key=text, canonical=written
        )
    return found


def _example(calendar: Calendar) -> str:
    """Return the key of a period in 2024, or of the first one."""
    new_year = seconds(dt.datetime(2024, 7, 1, tzinfo=dt.UTC))
    try:
        return key(calendar, calendar.at(new_year))
    except InvalidCalendar:
        return key(calendar, calendar.first)


def _zone(calendar: Calendar, local: dt.datetime) -> str:
    """Return the suffix of a time: UTC hours are written bare, as usual; UTC instants of cron and tables with `Z`."""
    if calendar.spec.zone == "UTC":
        return "" if calendar.spec.unit else "Z"
    return local.isoformat()[19:]


def _dated(calendar: Calendar, civil: Civil, nominal: int) -> str:
    date = civil.date(nominal)
    label = _label(calendar, civil)
    if label:
        return f"{date}/{label}"
    match civil.unit:
        case "day":
            return str(date)
        case "week":
            year, week, _ = date.isocalendar()
            return f"{year}-W{week:02}"
        case "month":
            return f"{date:%Y-%m}"
        case "quarter":
            return f"{date.year}-Q{(date.month + 2) // 3}"
        case _:
            return f"{date.year}"


def _label(calendar: Calendar, civil: Civil) -> str:
    """Return the text after the first date; "" if the period has a name of its own."""
    sunday = civil.unit == "week" and calendar.spec.week_start != 0
    if civil.many == 1 and not sunday and (civil.unit in {"day", "week"} or civil.anchor % civil.step == 0):
        return ""
    count = str(civil.many) if civil.many > 1 else ""
    return f"{count}{SHORT[civil.unit]}" + (f"-{WEEKDAYS[calendar.spec.week_start][:3]}" if sunday else "")


def _numbered(calendar: Calendar, civil: Civil, text: str) -> int | None:
    """Look up by the date at the start of the text, in any spelling: the caller compares the spelling."""
    date = _date(text.partition("/")[0])
    if date is None or not FIRST <= date < LAST:
        return None
    nominal = civil.nominal(date)
    found = calendar.numbered(nominal)
    if found is None and civil.unit == "day" and civil.many == 1 and text == str(date):
        raise InvalidPeriod(f"{text} does not exist in {calendar.spec.zone}, where that date was skipped", key=text)
    return found


def _date(text: str) -> dt.date | None:
    """Return the first date of a written period; None for another text."""
    try:
        if match := _QUARTER.fullmatch(text):
            return dt.date(int(match[1]), int(match[2]) * 3 - 2, 1)
        if match := _WEEK.fullmatch(text):
            return dt.date.fromisocalendar(int(match[1]), int(match[2]), 1)
        if match := _DATE.fullmatch(text):
            return dt.date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        return None
    return None


def _begun(calendar: Calendar, text: str) -> int | None:
    """Return the ordinal of a text that is the instant at which a period begins; None for another text."""
    match = _HOUR.fullmatch(text)
    if match is None:
        return None
    hour, minutes, offset = match.groups()
    if offset is None and calendar.spec.zone != "UTC":
        raise InvalidPeriod(
            f"{text!r} lacks its offset from UTC: in {calendar.spec.zone} an hour of the clock may be there twice; "
            f"periods are written like {_example(calendar)}",
            key=text,
        )
    try:
        start = seconds(dt.datetime.fromisoformat(hour + (minutes or ":00") + (offset or "+00:00")))
        found = calendar.at(start)
    except (ValueError, InvalidCalendar):
        return None
    return found if int(calendar.begins([found])[0]) == start else None
