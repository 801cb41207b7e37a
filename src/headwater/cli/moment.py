"""Times on the command line."""

from __future__ import annotations

import datetime as dt
import re

from headwater.errors import InvalidQuestion
from headwater.model.moments import aware

_AGO = re.compile(r"([0-9]{1,6})\s*(s|m|h|d|w)(?:\s+ago)?", re.IGNORECASE)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def moment(text: str, now: dt.datetime | None = None) -> dt.datetime:
    """Parse a time: ISO 8601, without a zone UTC; `now`, `today` and `yesterday`, which begin at midnight UTC; or how long ago, as in `2h` or `3d`.

    Raises InvalidQuestion.
    """
    now = now or dt.datetime.now(dt.UTC)
    word = text.strip().lower()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if word in {"now", "today", "yesterday"}:
        return {"now": now, "today": midnight, "yesterday": midnight - dt.timedelta(days=1)}[word]
    try:
        if ago := _AGO.fullmatch(word):
            return now - dt.timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        at = dt.datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise InvalidQuestion(
            f"{text!r} is not a time; write 2026-11-21, 2026-11-21T08:00:00Z, yesterday, or 2h for two hours ago",
            given=text,
        ) from None
    return aware(at)
