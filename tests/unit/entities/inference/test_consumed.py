"""Dates told from what was read: of random texts and calendars, what is proposed reads the same as what was meant."""

import random

import pytest
from tests.scale import full

from headwater.entities.inference.consumed import Consumed, Read, consumed, kind
from headwater.entities.needs.edges import Edge
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import Ordinals

HOURS = Instances.of({"every": "hour", "from": "2023-12-01T00:00:00Z"})
DAYS = Instances.of({"every": "day", "from": "2023-12-01"})
PARIS = Instances.of({"every": "day", "tz": "Europe/Paris", "from": "2023-12-01"})
WEEKS = Instances.of({"every": "week", "from": "2023-12-04"})
MONTHS = Instances.of({"every": "month", "from": "2023-10-01"})


def reads(down: Instances, up: Instances, text: str, count: int, skip: int = 0) -> list[Read]:
    """Return the reads of runs of an edge with these dates, with all that was over in place."""
    edge = Edge(down, up, Dates.of(text))
    assert down.first is not None
    found = []
    for at in range(down.first + skip, down.first + skip + count):
        there = up.over(down.calendar.interval(at)[1])
        used = (
            edge.resolve(at, there) if edge.dates.meaning.newest else edge.need(Ordinals.between(at, at + 1)) & up.all
        )
        if used:
            found.append(Read(at, used, there))
    return found


@pytest.mark.parametrize(
    ("down", "up", "text", "window"),
    [
        (DAYS, DAYS, "same", ""),
        (DAYS, HOURS, "all_day", ""),
        (PARIS, HOURS, "all_day", ""),
        (WEEKS, DAYS, "all_week", ""),
        (MONTHS, DAYS, "all_month", ""),
        (DAYS, DAYS, "previous", ""),
        (DAYS, DAYS, "previous 3", ""),
        (DAYS, DAYS, "last 30 days", "30 days"),
        (WEEKS, DAYS, "last 28 days ending previous", ""),
        (DAYS, HOURS, "last 2 days", "2 days"),
        (WEEKS, DAYS, "last 28 days", "28 days"),
        (DAYS, DAYS, "last 2 months", "2 months"),
        (MONTHS, DAYS, "last 3 months", "3 months"),
        (DAYS, DAYS, "month_to_date", ""),
        (DAYS, MONTHS, "last_available", ""),
        (DAYS, MONTHS, "same", ""),
        (MONTHS, DAYS, "all_month - 1 month", ""),
        (DAYS, HOURS, "all_day - 1 day", ""),
        (DAYS, HOURS, "same - 5 hours", ""),
        (DAYS, DAYS, "everything", ""),
    ],
)
def test_what_was_meant_is_found(down: Instances, up: Instances, text: str, window: str) -> None:
    found = consumed(down, up, reads(down, up, text, 150, skip=3))
    assert found is not None
    assert (found.dates, found.window) == (text, window)
    assert found.confidence == "high"


@pytest.mark.parametrize("seed", range(full(40, 12)))
def test_what_is_proposed_reads_the_same(seed: int) -> None:
    """The proposal for any text is another spelling of it within the observed runs."""
    chosen = random.Random(seed)
    down, up = chosen.choice([DAYS, PARIS, WEEKS, MONTHS]), chosen.choice([HOURS, DAYS, WEEKS, MONTHS])
    number = chosen.randint(1, 9)
    text = chosen.choice(
        [
            f"last {number} weeks",
            f"same - {number} days",
            f"previous {number}",
            "year_to_date",
            "all_quarter",
            f"last_available {number}",
        ]
    )
    seen = reads(down, up, text, 30, skip=2)
    found = consumed(down, up, seen)
    if found is None:
        return
    edge = Edge(down, up, Dates.of(found.dates))
    right = 0
    for at, used, there in seen[-60:]:
        single = Ordinals.between(at, at + 1)
        got = edge.resolve(at, there) if edge.dates.meaning.newest else edge.need(single) & up.all
        right += set(got.members().tolist()) == set(used.members().tolist())
    assert right >= 0.9 * len(seen[-60:])


def test_the_newest_that_was_there_and_not_the_one_before() -> None:
    """The month before came late, and was not waited for."""
    seen = []
    for read in reads(DAYS, MONTHS, "last_available", 75, skip=3):
        day = DAYS.calendar.interval(read.ordinal)[0].day
        used = read.used if day > 5 else Ordinals.between(read.used.first - 1, read.used.first)
        seen.append(Read(read.ordinal, used, Ordinals.between(read.there.first, used.end)))
    found = consumed(DAYS, MONTHS, seen)
    assert found is not None
    assert found.dates == "last_available"


def test_nothing_is_proposed_where_nothing_was_seen() -> None:
    assert consumed(DAYS, DAYS, []) is None
    assert consumed(DAYS, DAYS, reads(DAYS, DAYS, "same", 1)) is None
    chosen = random.Random(3)
    assert DAYS.first is not None
    some = [
        Read(at, Ordinals.of(sorted(chosen.sample(range(DAYS.first, at + 1), min(3, at + 1 - DAYS.first)))), DAYS.all)
        for at in range(DAYS.first + 5, DAYS.first + 40)
    ]
    assert consumed(DAYS, DAYS, some) is None


def test_the_kind() -> None:
    window = Consumed("last 30 days", "", "high", "30 days")
    every = Consumed("everything", "", "high")
    same = Consumed("same", "", "high")
    assert kind({}) == ("timeseries", "")
    assert kind({"a": same}) == ("timeseries", "")
    assert kind({"a": every}) == ("snapshot", "")
    assert kind({"a": every, "b": same}) == ("timeseries", "")
    assert kind({"a": window, "b": same}) == ("sliding", "30 days")
