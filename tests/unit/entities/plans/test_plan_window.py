"""Times of day at which items may begin: days on which the clock is changed, and every minute of random windows."""

import datetime as dt
import random
from zoneinfo import ZoneInfo

import pytest

from headwater.entities.plans.window import Window
from headwater.entities.time.zones import moment, seconds
from headwater.errors import InvalidCalendar, InvalidPlan


def at(text: str) -> int:
    return seconds(dt.datetime.fromisoformat(text + "+00:00"))


def opening(between: str, tz: str, text: str) -> tuple[str, str]:
    window = Window.of(between, tz)
    assert window is not None
    opens, closes = (moment(each).strftime("%m-%d %H:%M") for each in window.opening(at(text)))
    return opens, closes


def test_it_lasts_past_midnight_where_the_second_time_is_earlier() -> None:
    assert opening("22:00-06:00", "UTC", "2024-03-06T21:59:59") == ("03-06 22:00", "03-07 06:00")
    assert opening("22:00-06:00", "UTC", "2024-03-07T05:59:59") == ("03-06 22:00", "03-07 06:00")
    assert opening("22:00-06:00", "UTC", "2024-03-07T06:00") == ("03-07 22:00", "03-08 06:00")
    assert opening("18:00-00:00", "UTC", "2024-03-07T23:59") == ("03-07 18:00", "03-08 00:00")
    assert opening("06:00-22:00", "Asia/Tokyo", "2024-03-06T21:30") == ("03-06 21:00", "03-07 13:00")


def test_when_it_opens_next() -> None:
    window = Window.of("22:00-06:00", "Europe/Paris")
    assert window is not None
    noon = dt.datetime(2024, 7, 1, 12, tzinfo=dt.UTC)
    assert window.opens(noon) == dt.datetime(2024, 7, 1, 20, tzinfo=dt.UTC)
    assert window.opens(noon + dt.timedelta(hours=8)) is None
    assert window.opens(noon + dt.timedelta(hours=16)) == dt.datetime(2024, 7, 2, 20, tzinfo=dt.UTC)


def test_days_on_which_the_clock_is_changed() -> None:
    # Paris, 2024-03-31: at 01:00 UTC the clock goes from 02:00 to 03:00.
    assert opening("22:00-06:00", "Europe/Paris", "2024-03-30T22:00") == ("03-30 21:00", "03-31 04:00")
    assert opening("02:00-03:00", "Europe/Paris", "2024-03-30T12:00") == ("04-01 00:00", "04-01 01:00")
    assert opening("02:30-04:00", "Europe/Paris", "2024-03-30T12:00") == ("03-31 01:00", "03-31 02:00")
    # Paris, 2024-10-27: at 01:00 UTC it goes from 03:00 back to 02:00; 02:30 is first at 00:30.
    assert opening("22:00-06:00", "Europe/Paris", "2024-10-26T22:00") == ("10-26 20:00", "10-27 05:00")
    assert opening("22:00-02:30", "Europe/Paris", "2024-10-26T22:00") == ("10-26 20:00", "10-27 00:30")
    assert opening("02:30-04:00", "Europe/Paris", "2024-10-27T00:00") == ("10-27 00:30", "10-27 03:00")
    # Apia had no 2011-12-30.
    assert opening("10:00-11:00", "Pacific/Apia", "2011-12-29T22:00") == ("12-30 20:00", "12-30 21:00")


def test_any_minute_is_open_where_the_clock_on_the_wall_says_so() -> None:
    chance = random.Random(1)
    for _ in range(60):
        start, end = chance.sample(range(0, 24 * 60), 2)
        tz = chance.choice(["UTC", "Europe/Paris", "Australia/Lord_Howe", "Asia/Kolkata", "America/New_York"])
        window = Window.of(f"{start // 60:02}:{start % 60:02}-{end // 60:02}:{end % 60:02}", tz)
        assert window is not None
        # A summer's days: no clock is changed.
        begin = at("2024-07-01T00:00") + chance.randrange(86_400)
        was = False
        for instant in range(begin, begin + 2 * 86_400, 60 * 7):
            clock = dt.datetime.fromtimestamp(instant, ZoneInfo(tz))
            minute = clock.hour * 60 + clock.minute
            said = start <= minute < end if start < end else not end <= minute < start
            opens, closes = window.opening(instant)
            assert (opens <= instant) == said
            assert instant < closes
            was |= said
        assert was or (end - start) % 1440 < 8


def test_work_goes_on_at_the_next_opening() -> None:
    window = Window.of("22:00-06:00", "UTC")
    assert window is not None
    noon, hour = at("2024-03-06T12:00"), 3600
    assert [window.over(noon, work * hour) / hour for work in (0, 1, 8, 9, 16, 17)] == [10, 11, 18, 35, 42, 59]
    assert [window.over(noon + 12 * hour, work * hour) / hour for work in (0, 6, 7)] == [0, 6, 23]
    assert window.over(noon, 1e15) > 1e15


@pytest.mark.parametrize("between", ["22:00", "22-06", "22:00-24:00", "22:00-06:60", "9:00-10:00", "22:00 - 06:00", "٢٢:00-06:00", "22:00-06:00\n"])  # fmt: skip
def test_what_is_no_window_is_refused(between: str) -> None:
    with pytest.raises(InvalidPlan, match=r"is no time of day and another; write hours and minutes, as in 22:00-06:00"):
        Window.of(between, "UTC")


def test_what_says_nothing_is_refused_or_none() -> None:
    assert Window.of("", "UTC") is None
    with pytest.raises(InvalidPlan, match="nothing is left out"):
        Window.of("06:00-06:00", "UTC")
    with pytest.raises(InvalidPlan, match="say between which times"):
        Window.of("", "Europe/Paris")
    with pytest.raises(InvalidCalendar, match="no time zone 'Europe/Pari'"):
        Window.of("22:00-06:00", "Europe/Pari")
