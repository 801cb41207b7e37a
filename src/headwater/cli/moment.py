"""Times on the command line."""

from __future__ import annotations

import datetime as dt

from headwater.errors import InvalidQuestion
from headwater.model.moments import aware


def moment(text: str) -> dt.datetime:
    """Parse a day or a time, ISO 8601; without a zone it is UTC. Raises InvalidQuestion."""
    try:
        at = dt.datetime.fromisoformat(text)
    except ValueError:
        raise InvalidQuestion(f"{text!r} is not a time; write 2026-11-21 or 2026-11-21T08:00:00Z", given=text) from None
    return aware(at)
