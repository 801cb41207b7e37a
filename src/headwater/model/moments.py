"""Times without a zone, and times at the ends of what a datetime holds."""

import datetime as dt
from typing import overload


@overload
def aware(moment: dt.datetime) -> dt.datetime: ...
@overload
def aware(moment: None) -> None: ...
def aware(moment: dt.datetime | None) -> dt.datetime | None:
    """The time with its zone, which it keeps; one without a zone is UTC, everywhere in Headwater. None stays None."""
    return moment if moment is None or moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)


def earlier(moment: dt.datetime, span: dt.timedelta) -> dt.datetime:
    """The time a span before one with a zone; the first that there is (0001-01-01 in UTC) where that is before it."""
    try:
        return moment - span
    except OverflowError:
        return dt.datetime.min.replace(tzinfo=dt.UTC)


def later(moment: dt.datetime, span: dt.timedelta) -> dt.datetime:
    """The time a span after one with a zone; the last that there is (of year 9999, in UTC) where that is after it."""
    try:
        return moment + span
    except OverflowError:
        return dt.datetime.max.replace(tzinfo=dt.UTC)
