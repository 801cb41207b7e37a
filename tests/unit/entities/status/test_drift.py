"""Drift between status and storage, against sets of single instances."""

import datetime as dt
import random
from zoneinfo import ZoneInfo

import pytest

from headwater.entities.status.drift import drift, expired
from headwater.entities.status.marks import Kind, Mark, Marks
from headwater.entities.time.durations import Length, length
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import NONE, Ordinals

KINDS: list[tuple[Kind, str]] = [
    ("state", "completed"),
    ("state", "estimated"),
    ("running", "r"),
    ("repairing", "p"),
    ("deleted", "external"),
    ("tainted", "i"),
]


def test_every_instance_is_in_the_one_set_where_it_belongs() -> None:
    draw = random.Random(5)

    def some() -> Ordinals:
        return Ordinals.of([each for each in range(12) if draw.random() < draw.choice([0.1, 0.5, 0.9])])

    for _ in range(800):
        marks = Marks({Mark(kind, ref): some() for kind, ref in KINDS if draw.random() < 0.7})
        stored, over, old, spoken = some(), some(), some(), some()
        found = drift(marks, stored, over=over, expired=old, spoken_of=spoken)
        for each in range(12):
            kinds = {mark.kind for mark in marks.at(each)}
            known, there = "state" in kinds, each in stored
            if known and there:
                belongs = "agree"
            elif not known and not there:
                belongs = ""
            elif kinds & {"running", "repairing"} or each in spoken:
                belongs = "underway"
            elif known:
                belongs = "retention" if each in old else "external"
            else:
                belongs = "unknown" if each in over else "unfinished"
            assert {name for name in found._fields if each in getattr(found, name)} == ({belongs} - {""})


@pytest.mark.parametrize("text", ["400 days", "13 months", "36h", "1 month 2 days 3h", "0 days"])
@pytest.mark.parametrize("every", ["day", "hour", "month"])
def test_what_retention_does_not_keep(text: str, every: str) -> None:
    zone = ZoneInfo("Europe/Paris")
    instances = Instances.of({"every": every, "tz": "Europe/Paris", "from": "2022-01-01", "until": "2025-01-01"})
    kept = length(text)
    assert kept is not None
    draw = random.Random(every + text)
    for _ in range(15):
        now = dt.datetime(2022, 1, 1, tzinfo=zone) + dt.timedelta(minutes=draw.randrange(4 * 525_600))
        found = expired(instances, kept, now)
        near = {found.end - 1, found.end} if found else {instances.all.first}
        for ordinal in near | {draw.randrange(instances.all.first, instances.all.end) for _ in range(5)}:
            if ordinal not in instances.all:
                continue
            assert (ordinal in found) == (_until(instances, ordinal, kept) <= now.timestamp()), (ordinal, now)


def test_the_second_in_which_it_is_kept_no_more() -> None:
    instances = Instances.of({"every": "day", "from": "2024-01-01"})
    end = dt.datetime(2024, 1, 12, tzinfo=dt.UTC)  # ten days after the end of the first
    assert expired(instances, Length(days=10), end - dt.timedelta(seconds=1)) == NONE
    assert expired(instances, Length(days=10), end).count == 1


def _until(instances: Instances, ordinal: int, kept: Length) -> float:
    """The wall clock of the end moved by months and days, then so many seconds."""
    end = instances.calendar.interval(ordinal)[1]
    month = end.month - 1 + kept.months
    year, month = end.year + month // 12, month % 12 + 1
    day = end.day
    while True:
        try:
            moved = end.replace(tzinfo=None, year=year, month=month, day=day)
            break
        except ValueError:
            # Beyond the end of a shorter month: that month's end.
            day -= 1
    if day != end.day:
        moved = (moved + dt.timedelta(days=1)).replace(hour=0, minute=0)
    moved += dt.timedelta(days=kept.days)
    return moved.replace(tzinfo=end.tzinfo).timestamp() + kept.seconds


def test_what_is_kept_for_good() -> None:
    instances = Instances.of({"every": "day", "from": "2022-01-01"})
    assert expired(instances, None, dt.datetime.now(dt.UTC)) == NONE
    assert expired(None, Length(days=1), dt.datetime.now(dt.UTC)) == NONE
