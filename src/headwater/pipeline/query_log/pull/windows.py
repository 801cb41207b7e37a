"""Windows of time: how a stretch is cut into them, and how a file's name says which one it holds."""

import datetime as dt
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from headwater.errors import InvalidQuestion

MINUTE: Final = dt.timedelta(minutes=1)
"""The shortest window; a shorter stretch is never halved."""
_STAMP: Final = "%Y%m%dT%H%M%SZ"
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """[since, until), in whole seconds, UTC."""

    since: dt.datetime
    until: dt.datetime

    def halves(self) -> "tuple[Window, Window] | None":
        """Both halves, cut at a whole minute; None of a window of a minute or less."""
        if self.until - self.since <= MINUTE:
            return None
        middle = floor(self.since + (self.until - self.since) / 2, MINUTE)
        if middle <= self.since:
            middle = floor(self.since, MINUTE) + MINUTE
        return Window(self.since, middle), Window(middle, self.until)

    def name(self, source: str) -> str:
        """`snowflake-20260301T050000Z-20260301T060000Z`: sorted by name is sorted by time."""
        return f"{source}-{self.since:{_STAMP}}-{self.until:{_STAMP}}"

    def __str__(self) -> str:
        return f"{self.since:%Y-%m-%dT%H:%M:%SZ} to {self.until:%Y-%m-%dT%H:%M:%SZ}"


def named(source: str, stem: str) -> Window | None:
    """The window that a name speaks of; None when it is none of this source's."""
    found = re.fullmatch(re.escape(source) + r"-(\d{8}T\d{6}Z)-(\d{8}T\d{6}Z)", stem)
    if not found:
        return None
    try:
        since, until = (dt.datetime.strptime(one, _STAMP).replace(tzinfo=dt.UTC) for one in found.groups())
    except ValueError:
        return None
    return Window(since, until) if since < until else None


def floor(at: dt.datetime, length: dt.timedelta) -> dt.datetime:
    """The whole multiple of `length` (counted from 1970, UTC) that is not after `at`."""
    return at.astimezone(dt.UTC) - (at - _EPOCH) % length


def length(text: str) -> dt.timedelta:
    """Return the length of `15m`, `1h` or `1d`. Raises InvalidQuestion for anything else, or nothing at all."""
    found = re.fullmatch(r"(\d{1,5})([mhd])", text.strip())
    if not found or not int(found[1]):
        raise InvalidQuestion(f"{text!r} is no length of time; write 15m, 1h or 1d", given=text)
    return dt.timedelta(**{_UNITS[found[2]]: int(found[1])})


def lacking(since: dt.datetime, until: dt.datetime, size: dt.timedelta, done: Iterable[Window]) -> list[Window]:
    """Return the parts of [since, until) that no window of `done` covers, cut at whole multiples of `size`, oldest first."""
    gaps, at = [], since
    for window in sorted(done):
        if window.until <= at:
            continue
        if window.since >= until:
            break
        if window.since > at:
            gaps.append(Window(at, window.since))
        at = window.until
    if at < until:
        gaps.append(Window(at, until))
    return [piece for gap in gaps for piece in _cut(gap, size)]


def _cut(gap: Window, size: dt.timedelta) -> list[Window]:
    pieces, at = [], gap.since
    while at < gap.until:
        end = min(floor(at, size) + size, gap.until)
        pieces.append(Window(at, end))
        at = end
    return pieces
