"""The cut of something by time, inferred from intervals, times and updates: known calendars come back from their own periods."""

import datetime as dt
import itertools
import random

import pytest

from headwater.entities.inference.cut import COMMON, begun, of_intervals, of_starts, of_updates
from headwater.entities.time.instances import Instances

CUTS = [
    {"every": "minute"},
    {"every": "15m"},
    {"every": "15m", "offset": "5m"},
    {"every": "hour"},
    {"every": "hour", "offset": "30m"},
    {"every": "6h"},
    {"every": "6h", "offset": "1h"},
    {"every": "12h"},
    {"every": "day"},
    {"every": "day", "offset": "6h"},
    {"every": "day", "tz": "Europe/Paris", "offset": "6h"},
    {"every": "week"},
    {"every": "week", "starts": "sunday"},
    {"every": "week", "starts": "sunday", "offset": "3h"},
    {"every": "month"},
    {"every": "quarter"},
    {"every": "year"},
    *({"every": every, "tz": zone} for zone in COMMON for every in ("day", "week", "month")),
]


def periods(period: dict[str, str], count: int, since: str = "2023-01-01T00:00:00+00:00") -> list[tuple[int, int]]:
    calendar = Instances.of(period).calendar
    first = calendar.at(dt.datetime.fromisoformat(since)) + 1
    bounds = calendar.begins(list(range(first, first + count + 1))).tolist()
    return list(itertools.pairwise(bounds))


@pytest.mark.parametrize("period", CUTS, ids=str)
def test_every_cut_comes_back(period: dict[str, str]) -> None:
    """A cut comes back in its zone or, where others cannot be told from it, in one of these."""
    count = {"week": 60, "month": 24, "quarter": 9, "year": 9}.get(period["every"], 400)
    seen = periods(period, count)
    random.Random(1).shuffle(seen)
    found = of_intervals(seen)
    assert found is not None
    assert (found.fits, found.seen) == (count, count)
    if found.period != period:
        assert period["tz"] in found.alike
        assert periods(found.period, count) == sorted(seen)
    assert found.confidence == ("medium" if found.alike else "high")


@pytest.mark.parametrize(
    ("every", "anchor"),
    [("3d", "2023-01-03"), ("2mo", "2023-02-01"), ("quarter", "2023-02-01"), ("year", "2021-04-01")],
)
def test_what_begins_with_a_day_of_its_own(every: str, anchor: str) -> None:
    period = {"every": every, "anchor": anchor}
    seen = periods(period, 12)
    found = of_intervals(seen)
    assert found is not None
    assert (found.period["every"], periods(found.period, 12)) == (every, seen)


def test_months_that_begin_at_noon_in_utc_are_of_a_zone() -> None:
    found = of_intervals(periods({"every": "month", "tz": "Pacific/Auckland"}, 3, "2016-04-23T00:00:00+00:00"))
    assert found is not None
    assert found.period == {"every": "month", "tz": "Pacific/Auckland"}


def test_where_others_are_cut_is_asked_first() -> None:
    seen = periods({"every": "day", "tz": "Europe/Berlin"}, 60)
    found = of_intervals(seen, zones=("Europe/Berlin",))
    assert found is not None
    assert (found.period["tz"], found.alike, found.confidence) == ("Europe/Berlin", (), "high")


def test_a_zone_that_few_live_in() -> None:
    found = of_intervals(periods({"every": "day", "tz": "Pacific/Chatham"}, 365))
    assert found is not None
    assert (found.period, found.alike, found.confidence) == (
        {"every": "day", "tz": "Pacific/Chatham"},
        (),
        "high",
    )


def test_a_few_intervals_of_their_own_change_nothing() -> None:
    """A person started runs by hand, or ran a month at once."""
    seen = periods({"every": "day", "tz": "Europe/Paris"}, 100)
    odd = [
        (seen[0][0], seen[40][0]),
        (seen[5][0] + 77, seen[5][1] + 77),
        *((start + 3, start + 9) for start, _ in seen[:8]),
    ]
    found = of_intervals([*seen, *odd])
    assert found is not None
    assert (found.period["tz"], found.fits, found.seen) == ("Europe/Paris", 100, 110)
    assert "10 more are not" in found.evidence
    assert of_intervals([*seen[:30], *odd]) is None


def test_no_rhythm() -> None:
    chosen = random.Random(7)
    starts = sorted(chosen.randrange(1_600_000_000, 1_700_000_000) for _ in range(60))
    assert of_intervals([(start, start + chosen.randrange(60, 10**6)) for start in starts]) is None
    assert of_starts(starts, "times") is None
    assert of_updates(starts) is None
    assert of_intervals([]) is None
    assert of_intervals([(5, 5), (9, 3)]) is None
    assert of_starts([1, 2], "times") is None


@pytest.mark.parametrize("every", ["hour", "day", "week", "month"])
def test_times_of_which_some_are_missing(every: str) -> None:
    starts = [start for nth, (start, _) in enumerate(periods({"every": every, "tz": "UTC"}, 40)) if nth % 9]
    found = of_starts(starts, "partitions")
    assert found is not None
    assert (found.period, found.evidence) == (
        {"every": every},
        f"{len(starts)} of {len(starts)} partitions begin one {every}",
    )


def test_times_of_which_too_many_are_others() -> None:
    starts = [start for start, _ in periods({"every": "day"}, 20)]
    assert of_starts([*starts, *(starts[-1] + nth * 3_700 for nth in range(1, 8))], "partitions") is None


def test_updates_say_how_often() -> None:
    daily = [1_700_000_000 + day * 86_400 + day % 7 * 60 for day in range(20)]
    found = of_updates(daily)
    assert found is not None
    assert (found.period, found.confidence) == ({"every": "day"}, "low")
    assert of_updates([1_700_000_000 + day * 86_400 * 17 for day in range(20)]) is None


def test_from_is_a_date_where_one_says_it() -> None:
    at = int(dt.datetime(2024, 3, 31, 12, tzinfo=dt.UTC).timestamp())
    assert begun({"every": "day", "tz": "Europe/Paris"}, at) == "2024-03-31"
    assert begun({"every": "day", "offset": "6h"}, at) == "2024-03-31"
    assert begun({"every": "week"}, at) == "2024-03-25"
    assert begun({"every": "hour"}, at) == "2024-03-31T12:00:00Z"
