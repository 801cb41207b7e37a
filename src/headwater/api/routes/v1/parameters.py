"""Query parameters as Marquez reads them: an unreadable one is 404, one out of bounds is 400, names match fuzzily."""

import datetime as dt
import re
from collections.abc import Collection
from typing import Annotated
from urllib.parse import unquote

from litestar.params import PathParameter, QueryParameter

from headwater.errors import InvalidQuestion, NotFound
from headwater.model.moments import aware

Segment = Annotated[str, PathParameter(description="Percent-encoded whole.")]
Text = Annotated[str | None, QueryParameter()]
Whole = Annotated[str | None, QueryParameter(description="A whole number.")]
Flag = Annotated[str | None, QueryParameter(description="true or false, in any case.")]
# The largest that Java's int holds.
_LARGEST = 2**31 - 1
# An unescaped `+` arrives as a space.
_LOST_PLUS = re.compile(r" (?=\d\d:?\d\d$)")


def decoded(segment: str) -> str:
    return unquote(segment)


def whole(name: str, text: str | None, default: int, minimum: int | None = 0) -> int:
    """Parse a whole number. Raises NotFound for other text, InvalidQuestion below the minimum."""
    if text is None or not text.strip():
        return default
    if not re.fullmatch(r"[+ -]?\d{1,10}", text) or abs(number := int(text.strip())) > _LARGEST:
        raise NotFound("HTTP 404 Not Found")
    if minimum is not None and number < minimum:
        raise refused(f"query param {name} must be greater than or equal to {minimum}")
    return number


def flag(text: str | None) -> bool:
    return text is not None and text.strip().lower() == "true"


def choice(name: str, text: str | None, options: Collection[str]) -> str | None:
    """Return one of the options, in any case, with `-` and `.` for `_`. Raises InvalidQuestion."""
    if text is None or not text.strip():
        return None
    spelled = re.sub(r"[-.]", "_", text.strip()).upper()
    if spelled not in options:
        raise InvalidQuestion(f"query param {name} must be one of [{', '.join(options)}]")
    return spelled


def present(name: str, text: str | None) -> str:
    """Return a required value. Raises InvalidQuestion if it is missing."""
    if text is None:
        raise refused(f"query param {name} must not be null")
    return text


def not_blank(name: str, text: str | None) -> str:
    if text is None or not text.strip():
        raise refused(f"query param {name} must not be blank")
    return text


def time(name: str, text: str | None) -> dt.datetime | None:
    """Parse ISO 8601; without a zone, UTC. Raises InvalidQuestion."""
    if text is None or not text.strip():
        return None
    try:
        found = dt.datetime.fromisoformat(_LOST_PLUS.sub("+", text.strip()))
        return aware(found).astimezone(dt.UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidQuestion(f"query param {name} is not a time: {text[:40]!r}") from error


def day(name: str, text: str | None) -> dt.date | None:
    """Parse YYYY-MM-DD. Raises InvalidQuestion."""
    if text is None or not text.strip():
        return None
    try:
        if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            raise ValueError(text)
        return dt.date.fromisoformat(text)
    except ValueError as error:
        raise refused(f"query param {name} must be a date as YYYY-MM-DD") from error


def refused(*messages: str) -> InvalidQuestion:
    return InvalidQuestion(messages[0], errors=list(messages))
