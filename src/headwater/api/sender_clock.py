"""The offset of a sender's clock, by the standard `Date` header of its request.

The times in a report are by the clock of its sender. A clock that is hours ahead makes a version that outlasts every
later one; a clock that is hours behind makes a repair look older than what it repairs. The request says what that clock
showed when it was sent (RFC 9110, 6.6.1).
"""

import datetime as dt
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from headwater.model.moments import aware

EXACT = dt.timedelta()
_TOLERANCE = dt.timedelta(seconds=30)
"""A request may take so long to arrive."""


def clock_offset(headers: Mapping[str, str]) -> dt.timedelta:
    """Return what to add to the sender's times; nothing if its clock is right to within 30 seconds, or the request does not say.

    At most a second too much: the header has whole seconds.
    """
    text = headers.get("date")
    if text is None:
        return EXACT
    try:
        sent = parsedate_to_datetime(text)
    except ValueError:
        return EXACT
    offset = dt.datetime.now(dt.UTC) - aware(sent)
    return offset if abs(offset) > _TOLERANCE else EXACT
