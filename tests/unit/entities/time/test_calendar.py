"""Periods: the cases people know, the texts of periods, the laws of cover, and what is refused."""

import datetime as dt
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_edges import built
from tests.scale import full
from tests.unit.entities.time.drawn import CRONS, ODD, calendar
from tests.unit.entities.time.periods_by_hand import periods

from headwater.entities.time import keys
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import Ordinals
from headwater.errors import InvalidCalendar, InvalidPeriod

CASES = json.loads((Path(__file__).parents[3] / "cases/entities/calendars.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_period_by_its_text(case: dict[str, Any]) -> None:
    made = Instances.of(case["period"]).calendar
    k = keys.ordinal(made, case["key"])
    # In UTC: Python holds no time of a fold equal to one of another zone.
    start, end = (bound.astimezone(dt.UTC) for bound in made.interval(k))
    assert (start, end) == (dt.datetime.fromisoformat(case["start"]), dt.datetime.fromisoformat(case["end"]))
    assert keys.key(made, k) == case["key"]
    assert made.at(start) == made.at(end - dt.timedelta(microseconds=1)) == k
    if k + 1 < made.end:
        assert made.at(end) == k + 1
    if "next" in case:
        assert keys.key(made, k + 1) == case["next"]


@pytest.mark.parametrize("seed", range(12))
def test_bounds_are_those_made_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    name = chance.choice(list(ODD))
    around = dt.date.fromisoformat(chance.choice(ODD[name]))
    for _ in range(3):
        spec = {**calendar(chance, around), "tz": name}
        made, hand = built(spec), periods(spec, around - dt.timedelta(days=40), around + dt.timedelta(days=40))
        first = made.at(hand[0].start)
        assert made.begins(range(first, first + len(hand) + 1)).tolist() == [*(p.start for p in hand), hand[-1].end], (
            spec
        )


@pytest.mark.parametrize("seed", range(12))
def test_texts_and_ordinals_are_a_bijection(seed: int) -> None:
    chance = random.Random(seed)
    name = chance.choice(list(ODD))
    around = dt.date.fromisoformat(chance.choice(ODD[name]))
    made = built({**calendar(chance, around), "tz": name})
    k = made.covering(
        dt.datetime.combine(around, dt.time(), dt.UTC), dt.datetime.combine(around, dt.time(23), dt.UTC)
    ).first
    some = [n for n in range(k - 60, k + 60) if made.first <= n < made.end]
    texts = [keys.key(made, n) for n in some]
    assert len(set(texts)) == len(some)
    assert [keys.ordinal(made, text) for text in texts] == some


@pytest.mark.parametrize("seed", range(full(20, 8)))
def test_the_laws_of_cover(seed: int) -> None:
    chance = random.Random(seed)
    around = dt.date(2024, 3, 20)
    a, b = (built(calendar(chance, around)) for _ in range(2))
    k = a.at(dt.datetime(2024, 3, 20, tzinfo=dt.UTC))
    low, high = max(k - 90, a.first), min(k + 90, a.end)
    one, other = (
        Ordinals([(low + x, low + x + chance.randrange(1, 9)) for x in chance.sample(range(max(high - low - 9, 1)), 3)])
        for _ in range(2)
    )
    one &= Ordinals.between(low, high)
    other &= Ordinals.between(low, high)
    assert a.cover(one, a) == one == a.inside(one, a)
    assert a.cover(one | other, b) == a.cover(one, b) | a.cover(other, b)
    covered = a.cover(one, b)
    assert a.inside(one, b) <= covered
    if "table" not in b.every_text:
        assert one <= b.cover(covered, a)
    for start, end in one:
        first, last = a.begins([start, end]).tolist()
        assert b.covering(first, last) <= covered
        assert b.within(first, last) <= b.covering(first, last)


def test_periods_that_are_over() -> None:
    weeks = Instances.of({"every": "week", "tz": "Europe/Paris", "from": "2024-01-01", "until": dt.date(2024, 2, 5)})
    assert weeks.all.count == 5
    assert not weeks.over(dt.datetime(2024, 1, 7, 22, 59, 59, tzinfo=dt.UTC))
    assert [keys.key(weeks.calendar, k) for k in weeks.over(dt.datetime(2024, 1, 7, 23, tzinfo=dt.UTC)).members()] == [
        "2024-W01"
    ]
    assert weeks.over(dt.datetime(2030, 1, 1, tzinfo=dt.UTC)) == weeks.all


def test_equal_calendars_are_one() -> None:
    assert Calendar.every("1 day", "Europe/Paris") is Calendar.every("day", "Europe/Paris")
    assert Calendar.every("day", "Europe/Paris") != Calendar.every("day")
    assert hash(Calendar.cron("0  6 * * *")) == hash(Calendar.cron("0 6 * * *"))


def test_ordinals_outside_are_refused_and_instants_outside_too() -> None:
    days = Calendar.every("day")
    with pytest.raises(InvalidCalendar, match=r"outside the calendar's -7305\.\.65744"):
        days.begins([0, 70_000])
    with pytest.raises(InvalidCalendar, match="from 1950-01-01T00:00:00Z to 2150-01-01T00:00:00Z"):
        days.at(dt.datetime(2150, 1, 1, tzinfo=dt.UTC))
    assert days.at(dt.datetime(2149, 12, 31, 23, tzinfo=dt.UTC)) == days.end - 1
    start = dt.datetime(2024, 3, 10, tzinfo=dt.UTC)
    assert days.covering(start, start + dt.timedelta(days=1)).count == 1
    assert days.covering(start, start + dt.timedelta(days=1, microseconds=1)).count == 2
    assert not days.covering(dt.datetime(1900, 1, 1, tzinfo=dt.UTC), dt.datetime(1950, 1, 1, tzinfo=dt.UTC))
    assert days.covering(dt.datetime(1900, 1, 1, tzinfo=dt.UTC), dt.datetime(1950, 1, 1, 1, tzinfo=dt.UTC)).count == 1


@pytest.mark.parametrize(
    ("period", "why"),
    [
        ({"every": "fortnight"}, "'fortnight' is no period; write 2w for every second week"),
        ({"every": "0 days"}, "no period"),
        ({"every": "day", "tz": "Europe/Pari"}, "no time zone 'Europe/Pari'"),
        ({"every": "day", "tz": "../etc"}, "no time zone"),
        ({"every": "week", "starts": "mo"}, "cannot start on 'mo'"),
        ({"every": "day", "offset": "1d"}, "no length in hours or minutes"),
        ({"every": "day", "offset": "24h"}, "not less than a day"),
        ({"every": "hour", "offset": "60m"}, "not less than a period"),
        ({"every": "month", "anchor": "2024-01-15"}, "not the first of a month"),
        ({"every": "day", "anchor": "2024-1-15"}, "is no date"),
        ({"every": "day", "cron": "0 0 * * *"}, "every and cron"),
        ({"tz": "UTC"}, "none of every, cron and table"),
        ({"every": "day", "zone": "UTC"}, "period has no 'zone'"),
        ({"every": 5}, "is no text"),
        ({"cron": "0 0 * *"}, "has 4 fields"),
        ({"cron": "0 24 * * *"}, r"column 3: '24' is no hour; write \*, a number from 0 to 23"),
        ({"cron": "0 0 * * mun"}, "column 9: 'mun' is no day of the week"),
        ({"cron": "0 0 1,32 * *"}, "column 7: '32' is no day of the month"),
        ({"cron": "*/0 0 * * *"}, r"'\*/0' is no minute"),
        ({"cron": "0 0 30 2 *"}, "never ticks twice"),
        ({"cron": "* * * * *"}, "write `every: 5m`"),
        ({"cron": "0 0 * * *", "offset": "6h"}, "offset goes with every"),
        ({"table": ["2024-01-01"]}, "at least two bounds"),
        ({"table": ["2024-01-01", "2024-01-01"]}, "bound 2 of the table"),
        ({"every": "week", "from": "2024-01-03"}, "2024-01-01T00:00:00.00:00 or 2024-01-08"),
        ({"every": "day", "from": "2024-01-03", "until": "2024-01-03"}, "is not after from"),
        ({"every": "day", "from": "1949-01-03"}, "outside the calendar"),
    ],
)
def test_what_makes_no_sense_is_refused(period: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidCalendar, match=why):
        Instances.of(period)


@pytest.mark.parametrize(
    ("period", "text", "why"),
    [
        ({"every": "day", "tz": "Pacific/Apia"}, "2011-12-30", "does not exist in Pacific/Apia"),
        ({"every": "day"}, "2023-02-29", "they are written like 2024-07-01"),
        ({"every": "day"}, "2023-2-9", "no period"),
        ({"every": "day"}, "1949-12-31", "no period"),
        ({"every": "day"}, "2024-03", "write '2024-03-01'"),
        ({"every": "week"}, "2024-03-06", "write '2024-W10'"),
        ({"every": "week"}, "2021-W53", "no period"),
        ({"every": "week", "starts": "sunday"}, "2024-03-06/w-sun", "write '2024-03-03/w-sun'"),
        ({"every": "month"}, "2024-03-01", "write '2024-03'"),
        ({"every": "hour", "tz": "Europe/Paris"}, "2025-10-26T02", "lacks its offset"),
        ({"every": "hour", "tz": "Europe/Paris"}, "2025-10-26T02+00:00", r"write '2025-10-26T03\+01:00'"),
        ({"every": "hour"}, "2025-10-26T02:30", "no period"),
        ({"every": "hour"}, "2025-10-26T25", "no period"),
        ({"every": "hour"}, "2025-10-26T02Z", "write '2025-10-26T02'"),
        ({"cron": "0 6 * * *"}, "2025-10-26T07:00Z", "no period"),
    ],
)
def test_other_texts_are_refused(period: dict[str, Any], text: str, why: str) -> None:
    with pytest.raises(InvalidPeriod, match=why):
        keys.ordinal(Instances.of(period).calendar, text)


@pytest.mark.parametrize("name", ODD)
def test_the_wall_never_goes_back(name: str) -> None:
    """Over all changes of the zone, by quarters of an hour."""
    made = Calendar.every("15m", name)
    for date in ODD[name]:
        k = made.at(dt.datetime.fromisoformat(date).replace(tzinfo=dt.UTC))
        start, end = made.wall(np.arange(k - 300, k + 300))
        assert (np.diff(start) >= 0).all()
        assert (np.diff(end) >= 0).all()
        assert (start < end).all()


@pytest.mark.parametrize("text", CRONS)
def test_cron_in_every_zone(text: str) -> None:
    for name in ("Europe/Paris", "Australia/Lord_Howe"):
        for date in ODD[name]:
            day = dt.date.fromisoformat(date)
            hand = periods({"cron": text, "tz": name}, day - dt.timedelta(days=20), day + dt.timedelta(days=20))
            made = Calendar.cron(text, name)
            first = made.at(hand[0].start)
            assert made.begins(range(first, first + len(hand) + 1)).tolist() == [*(p.start for p in hand), hand[-1].end]
