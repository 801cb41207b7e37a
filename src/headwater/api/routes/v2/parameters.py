"""Query parameters that several questions of `/api/v2` share."""

import datetime as dt
import uuid
from typing import Annotated

from litestar.params import PathParameter, QueryParameter

from headwater.errors import NotFound

Limit = Annotated[int, QueryParameter(ge=0, le=10_000)]
Offset = Annotated[int, QueryParameter(ge=0)]
Text = Annotated[str, QueryParameter(max_length=20_000)]
OptionalText = Annotated[str | None, QueryParameter(max_length=20_000)]
OneOrMore = Annotated[list[str] | None, QueryParameter(description="May be given again; one of them is enough.")]
Flag = Annotated[bool, QueryParameter()]
Depth = Annotated[int, QueryParameter(description="From 0 to 100.")]
MaxNodes = Annotated[int, QueryParameter(ge=1, le=100_000)]
Time = Annotated[dt.datetime | None, QueryParameter(description="ISO 8601; without a zone, UTC.")]
Segment = Annotated[str, PathParameter(description="Percent-encoded whole.")]


def id_of(text: str, what: str) -> uuid.UUID:
    """The id in an address, read behind the guard: who may not ask is not told which ids would be ones. NotFound where it is none."""
    try:
        return uuid.UUID(text)
    except ValueError:
        raise NotFound(f"{text[:100]!r} is the id of no {what}", id=text[:100]) from None


def numbered(text: str) -> int:
    """The number in an address. NotFound where it is none."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise NotFound(f"{text[:100]!r} is the number of nothing", number=text[:100])
    return int(text)
