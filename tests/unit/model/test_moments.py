"""A time without a zone is UTC; a zone that is there stays."""

import datetime as dt
import re
from pathlib import Path

import headwater
from headwater.model.moments import aware, earlier, later


def test_a_time_without_a_zone_is_utc() -> None:
    assert aware(dt.datetime.fromisoformat("2026-03-01")) == dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    paris = dt.timezone(dt.timedelta(hours=1))
    assert aware(dt.datetime(2026, 3, 1, tzinfo=paris)).tzinfo is paris
    assert aware(None) is None


def test_times_stay_between_the_first_and_the_last() -> None:
    week = dt.timedelta(days=7)
    first, last = (
        dt.datetime.fromisoformat(each) for each in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00")
    )
    assert earlier(first, week) == dt.datetime.min.replace(tzinfo=dt.UTC)
    assert later(last, week) == dt.datetime.max.replace(tzinfo=dt.UTC)
    noon = dt.datetime(2026, 3, 8, 12, tzinfo=dt.UTC)
    assert (earlier(noon, week).day, later(noon, week).day) == (1, 15)


def test_nothing_else_decides_that() -> None:
    own = re.compile(r"if \w+\.tzinfo( is not None)? else \w+\.replace|\.replace\(tzinfo=\S+\) if \w+")
    files = [path for path in Path(headwater.__file__).parent.rglob("*.py") if path.name != "moments.py"]
    assert not [path for path in files if own.search(path.read_text(encoding="utf-8"))]
