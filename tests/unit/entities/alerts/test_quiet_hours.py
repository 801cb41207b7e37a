"""Quiet hours end at the first moment that is not quiet: minute by minute around changes of clocks, over midnight and over whole days."""

import datetime as dt
from itertools import product

import pytest

from headwater.entities.alerts.times import Quiet

MINUTE = dt.timedelta(minutes=1)
# Clocks set forth and back by an hour, by half an hour, at midnight, and a day that was left out.
CHANGES = [
    ("Europe/Berlin", "2026-10-24T20:00"),
    ("Europe/Berlin", "2026-03-28T20:00"),
    ("America/New_York", "2026-10-31T22:00"),
    ("Australia/Lord_Howe", "2026-04-04T08:00"),
    ("America/Sao_Paulo", "2018-11-03T20:00"),
    ("Africa/Cairo", "2026-04-23T18:00"),
    ("Pacific/Apia", "2011-12-29T00:00"),
    ("UTC", "2026-03-28T20:00"),
]
HOURS = [(1320, 420), (1320, 150), (60, 150), (120, 180), (0, 0), (1380, 30), (0, 60), (1439, 1), (150, 120), (90, 135)]
DAYS: list[tuple[int, ...]] = [(), (7,), (6, 7), (1, 2, 3, 4, 5, 6)]


@pytest.mark.parametrize(("zone", "begin"), CHANGES)
def test_they_end_at_the_first_moment_that_is_not_quiet(zone: str, begin: str) -> None:
    start = dt.datetime.fromisoformat(begin).replace(tzinfo=dt.UTC)
    for (first, last), days in product(HOURS, DAYS):
        if first == last and not days:
            continue
        quiet = Quiet(first, last, zone, days)
        length = 9 * 24 * 60 if days else 3 * 24 * 60
        holding = [quiet.holds(start + MINUTE * ahead) for ahead in range(length)]
        for ahead in range(0, 24 * 60, 11):
            ends = next(place for place in range(ahead, length) if not holding[place])
            assert quiet.end(start + MINUTE * ahead) == start + MINUTE * ends, (first, last, days, ahead)
