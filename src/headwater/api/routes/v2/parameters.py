"""Query parameters that several routes of `/api/v2` share."""

import datetime as dt
import uuid
from typing import Annotated

from litestar.params import PathParameter, QueryParameter

from headwater.errors import NotFound

Limit = Annotated[int, QueryParameter(ge=0, le=10_000)]
Offset = Annotated[int, QueryParameter(ge=0)]
Text = Annotated[str, QueryParameter(max_length=20_000)]
OptionalText = Annotated[str | None, QueryParameter(max_length=20_000)]
OneOrMore = Annotated[list[str] | None, QueryParameter(description="Repeatable; one match is enough.")]
Flag = Annotated[bool, QueryParameter()]
Depth = Annotated[int, QueryParameter(description="From 0 to 100.")]
WalkDepth = Annotated[
    int, QueryParameter(description="From 0 to 100; of runs, versions, items and instances, to 100,000.")
]
MaxNodes = Annotated[int, QueryParameter(ge=1, le=100_000)]
Time = Annotated[dt.datetime | None, QueryParameter(description="ISO 8601; without a zone, UTC.")]
Segment = Annotated[str, PathParameter(description="Percent-encoded whole.")]


def id_of(text: str, what: str) -> uuid.UUID:
    """Read the id in an address, after the guard: unauthorised callers do not learn which ids are valid. Raises NotFound."""
    try:
        return uuid.UUID(text)
    except ValueError:
        raise NotFound(f"{text[:100]!r} is the id of no {what}", id=text[:100]) from None


def numbered(text: str) -> int:
    """Read the number in an address. Raises NotFound."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise NotFound(f"{text[:100]!r} is the number of nothing", number=text[:100])
    return int(text)
