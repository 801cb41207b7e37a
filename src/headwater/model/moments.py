"""Times without a zone."""

import datetime as dt
from typing import overload


@overload
def aware(moment: dt.datetime) -> dt.datetime: ...
@overload
def aware(moment: None) -> None: ...
def aware(moment: dt.datetime | None) -> dt.datetime | None:
    """The time with its zone, which it keeps; one without a zone is UTC, everywhere in Headwater. None stays None."""
    return moment if moment is None or moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)
