"""A time without a zone is UTC; a zone that is there stays."""

import datetime as dt
import re
from pathlib import Path

import headwater
from headwater.model.moments import aware


def test_a_time_without_a_zone_is_utc() -> None:
    assert aware(dt.datetime.fromisoformat("2026-03-01")) == dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    paris = dt.timezone(dt.timedelta(hours=1))
    assert aware(dt.datetime(2026, 3, 1, tzinfo=paris)).tzinfo is paris
    assert aware(None) is None


def test_nothing_else_decides_that() -> None:
    own = re.compile(r"if \w+\.tzinfo( is not None)? else \w+\.replace|\.replace\(tzinfo=\S+\) if \w+")
    files = [path for path in Path(headwater.__file__).parent.rglob("*.py") if path.name != "moments.py"]
    assert not [path for path in files if own.search(path.read_text(encoding="utf-8"))]
