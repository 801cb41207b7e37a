"""The cutting of time into windows."""

import datetime as dt
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import InvalidQuestion
from headwater.pipeline.query_log.pull.windows import MINUTE, Window, floor, lacking, length, named

START = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
seconds = st.integers(0, 3 * 86_400).map(lambda count: START + dt.timedelta(seconds=count))
sizes = st.sampled_from(["1m", "5m", "1h", "7h", "1d"]).map(length)
windows = st.tuples(seconds, seconds).filter(lambda pair: pair[0] < pair[1]).map(lambda pair: Window(*pair))


@given(windows, sizes, st.lists(windows, max_size=6))
def test_what_is_lacking_and_what_is_done_cover_everything_once(
    asked: Window, size: dt.timedelta, done: list[Window]
) -> None:
    found = lacking(asked.since, asked.until, size, done)
    assert found == sorted(found)
    for one in found:
        assert asked.since <= one.since < one.until <= asked.until
        assert floor(one.since, size) == floor(one.until - dt.timedelta(seconds=1), size)
        assert all(one.until <= other.since or other.until <= one.since for other in done)
    for before, after in pairwise(found):
        assert before.until <= after.since
    covered = sorted([*found, *done])
    at = asked.since
    for one in covered:
        if one.since <= at:
            at = max(at, one.until)
    assert at >= asked.until


@given(windows)
def test_halves_are_the_whole_and_come_down_to_a_minute(window: Window) -> None:
    halves = window.halves()
    if halves is None:
        assert window.until - window.since <= MINUTE
        return
    earlier, later = halves
    assert window.since == earlier.since < earlier.until == later.since < later.until == window.until
    assert later.since == floor(later.since, MINUTE)


@given(windows)
def test_a_name_says_the_window(window: Window) -> None:
    assert named("snowflake", window.name("snowflake")) == window
    assert named("trino", window.name("snowflake")) is None


def test_windows_are_cut_at_whole_multiples() -> None:
    found = lacking(START + MINUTE * 90, START + MINUTE * 200, dt.timedelta(hours=1), [])
    assert [(one.since.hour, one.since.minute, one.until.hour, one.until.minute) for one in found] == [
        (1, 30, 2, 0),
        (2, 0, 3, 0),
        (3, 0, 3, 20),
    ]


@pytest.mark.parametrize("text", ["", "0h", "1", "h", "-1h", "1w", "1.5h", "30s", "999999d"])
def test_what_is_no_length_is_said(text: str) -> None:
    with pytest.raises(InvalidQuestion, match="no length of time"):
        length(text)


def test_lengths() -> None:
    assert [length(text) for text in ("15m", "1h", "2d")] == [
        dt.timedelta(minutes=15),
        dt.timedelta(hours=1),
        dt.timedelta(days=2),
    ]
