"""Times on the command line."""

import datetime as dt

import pytest

from headwater.cli.moment import moment
from headwater.errors import InvalidQuestion

NOW = dt.datetime(2026, 11, 23, 14, 30, 15, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-03-04", "2026-03-04T00:00:00+00:00"),
        ("2026-03-04T05:06", "2026-03-04T05:06:00+00:00"),
        ("2026-03-04T05:06:07Z", "2026-03-04T05:06:07+00:00"),
        ("2026-03-04T05:06:07+02:00", "2026-03-04T05:06:07+02:00"),
        ("now", "2026-11-23T14:30:15+00:00"),
        ("Today", "2026-11-23T00:00:00+00:00"),
        ("yesterday", "2026-11-22T00:00:00+00:00"),
        ("2h", "2026-11-23T12:30:15+00:00"),
        ("2h ago", "2026-11-23T12:30:15+00:00"),
        (" 30m ", "2026-11-23T14:00:15+00:00"),
        ("45s", "2026-11-23T14:29:30+00:00"),
        ("3d", "2026-11-20T14:30:15+00:00"),
        ("1w", "2026-11-16T14:30:15+00:00"),
    ],
)
def test_times(text: str, at: str) -> None:
    assert moment(text, NOW) == dt.datetime.fromisoformat(at)


@pytest.mark.parametrize(
    "text", ["", "soon", "2h30", "-2h", "2x", "h", "999999w", "2026-13-01", "the day before", "2 h 3 m", "٢h"]
)
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(InvalidQuestion, match="yesterday, or 2h"):
        moment(text, NOW)
