"""The effect of wrong upstream instances on each kind, by the cases of the model and against a walk over instances one by one."""

import datetime as dt
import random

import numpy as np
import pytest
from tests.scale import full

from headwater.entities.needs.edges import Edge
from headwater.entities.needs.kinds import Cumulative, Sliding, Snapshot, Static, TimeSeries, carried
from headwater.entities.time import keys
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidDates

DAYS = Instances.of({"every": "day", "from": "2024-01-01"})
WEEKS = Instances.of({"every": "week", "from": "2024-01-01"})


def day(text: str) -> int:
    return keys.ordinal(DAYS.calendar, text)


def until(text: str) -> Ordinals:
    """Days that exist: all until one."""
    return Ordinals.between(day("2024-01-01"), day(text) + 1)


def edge(dates: str) -> Edge:
    return Edge(DAYS, DAYS, Dates.of(dates))


def test_a_time_series_is_wrong_where_it_is_affected() -> None:
    kind = TimeSeries()
    bad = kind.tainted(edge("last 2 days"), Ordinals.of([day("2024-03-10")]), until("2024-03-10"))
    assert bad == Ordinals.of([day("2024-03-10")])
    assert kind.repair(bad).redo == bad


def test_a_sliding_window_is_wrong_as_often_as_it_reaches() -> None:
    kind = Sliding("30 days")
    bad = kind.tainted(edge(kind.default_dates), Ordinals.of([day("2024-02-10")]), until("2024-12-31"))
    assert bad == Ordinals.between(day("2024-02-10"), day("2024-03-11"))
    assert kind.repair(bad) == (bad, False, NONE)


def test_a_window_of_a_month_in_hours_reaches_720_hours() -> None:
    hours = Instances.of({"every": "hour", "from": "2024-01-01"})
    asked = Edge(hours, hours, Dates.of("last 30 days"))
    u = keys.ordinal(hours.calendar, "2024-03-10T05")
    assert asked.affected(Ordinals.of([u])) == Ordinals.between(u, u + 720)


def test_a_rebuilt_snapshot_is_wrong_from_there_on_and_its_newest_is_repaired() -> None:
    kind, exist = Snapshot(), until("2024-12-31")
    bad = kind.tainted(edge("everything"), Ordinals.of([day("2024-02-10")]), exist)
    assert bad == Ordinals.between(day("2024-02-10"), day("2025-01-01"))
    latest = kind.repair(bad, exist)
    assert latest.redo == Ordinals.of([day("2024-12-31")])
    assert latest.left == bad - latest.redo
    assert kind.repair(bad, exist, "all") == (bad, False, NONE)
    assert kind.repair(bad, exist, day("2024-12-01")).redo.count == 31
    alone = Ordinals.of([day("2024-02-10")])
    assert kind.spread(alone, exist) == alone
    assert kind.repair(alone, exist).redo == NONE


def test_a_carried_snapshot_is_wrong_until_it_is_made_anew() -> None:
    kind, exist = Snapshot("carry"), until("2024-12-31")
    bad, cut = Ordinals.of([day("2024-02-10")]), Ordinals.of([day("2024-03-01")])
    assert kind.tainted(edge("same"), bad, exist) == Ordinals.between(day("2024-02-10"), day("2025-01-01"))
    assert kind.tainted(edge("same"), bad, exist, cut) == Ordinals.between(day("2024-02-10"), day("2024-03-01"))
    assert kind.spread(bad, exist, cut) == Ordinals.between(day("2024-02-10"), day("2024-03-01"))
    assert kind.repair(bad, exist).ordered


@pytest.mark.parametrize("seed", range(full(200, 50)))
def test_carrying_is_a_walk(seed: int) -> None:
    chance = random.Random(seed)

    def some(most: int) -> set[int]:
        return set(chance.sample(range(60), chance.randrange(most)))

    exist, seeds, cuts = set(range(60)) - some(15), some(5), some(8)
    wrong, found = False, set()
    for k in range(60):
        if k not in exist:
            continue
        wrong = k in seeds or (wrong and k not in cuts)
        if wrong:
            found.add(k)
    sets = (Ordinals.of(sorted(each)) for each in (seeds, exist, cuts & exist))
    assert carried(*sets) == Ordinals.of(sorted(found))


def test_static_is_wrong_for_who_used_it() -> None:
    exist = until("2024-12-31")
    current = Ordinals.between(day("2024-02-01"), day("2025-02-01"))
    assert Static().tainted(exist, current) == (current & exist, "declared")
    used = Ordinals.of([day("2024-03-01")])
    assert Static().tainted(exist, current, used) == (used, "exact")
    with pytest.raises(InvalidDates, match="which version was used"):
        edge("static")


def revisions(
    kind: Cumulative, changed: str, since: dt.datetime | None = None, done: str | None = None
) -> list[tuple[str, list[str]]]:
    """A weekly table of daily data, as week and days of the revisions."""
    bad = kind.tainted(
        Edge(WEEKS, DAYS, Dates.of("same")),
        Ordinals.of([day(changed)]),
        WEEKS.all,
        None if done is None else until(done),
        since,
    )
    bad = kind.repair(bad)
    return [
        (keys.key(WEEKS.calendar, int(d)), [keys.key(DAYS.calendar, q) for q in range(first, end)])
        for d, first, end in zip(*bad, strict=True)
    ]


def test_accumulation_monday_is_in_every_later_revision() -> None:
    """Wednesday's revision is Monday, Tuesday and Wednesday."""
    kind = Cumulative(DAYS, "incremental")
    assert revisions(kind, "2024-03-04") == [("2024-W10", [f"2024-03-{n:02}" for n in range(4, 11)])]
    assert revisions(kind, "2024-03-06") == [("2024-W10", [f"2024-03-{n:02}" for n in range(6, 11)])]
    assert revisions(kind, "2024-03-06", done="2024-03-07") == [("2024-W10", ["2024-03-06", "2024-03-07"])]
    assert revisions(kind, "2024-03-06", done="2024-03-05") == []


def test_a_correction_of_monday_is_in_wednesdays_revision() -> None:
    kind = Cumulative(DAYS, "incremental")
    wednesday = dt.datetime(2024, 3, 6, 9, tzinfo=dt.UTC)
    assert revisions(kind, "2024-03-04", wednesday) == [("2024-W10", [f"2024-03-{n:02}" for n in range(6, 11)])]


def test_what_is_corrected_after_its_end_is_wrong_after_its_end() -> None:
    late = dt.datetime(2024, 3, 11, 9, tzinfo=dt.UTC)
    assert revisions(Cumulative(DAYS, "incremental"), "2024-03-04", late) == []
    assert revisions(Cumulative(DAYS, "incremental", corrections=2), "2024-03-04", late) == [
        ("2024-W10", ["2024-03-11", "2024-03-12"])
    ]


def test_what_was_there_before_a_period_is_in_its_first_revision() -> None:
    found = Cumulative(DAYS, "incremental").tainted(
        Edge(WEEKS, DAYS, Dates.of("last 2 weeks")), Ordinals.of([day("2024-03-06")]), WEEKS.all
    )
    assert [keys.key(DAYS.calendar, int(q)) for q in found.first] == ["2024-03-06", "2024-03-11"]
    assert (found.end - found.first).tolist() == [5, 7]


def test_a_rebuilt_period_is_repaired_by_its_last_revision() -> None:
    assert revisions(Cumulative(DAYS), "2024-03-04") == [("2024-W10", ["2024-03-10"])]
    assert revisions(Cumulative(DAYS), "2024-03-04", done="2024-03-07") == [("2024-W10", ["2024-03-07"])]


def test_several_changes_count_from_the_first_that_a_period_needs() -> None:
    kind = Cumulative(DAYS, "incremental")
    changed = Ordinals.of([day(text) for text in ("2024-03-06", "2024-03-08", "2024-03-14", "2024-03-25")])
    found = kind.tainted(Edge(WEEKS, DAYS, Dates.of("same")), changed, WEEKS.all)
    assert [keys.key(DAYS.calendar, int(q)) for q in found.first] == ["2024-03-06", "2024-03-14", "2024-03-25"]
    assert (found.end - found.first).tolist() == [5, 4, 7]
    none = kind.tainted(Edge(WEEKS, DAYS, Dates.of("same")), NONE, WEEKS.all)
    assert all(part.size == 0 for part in none)


def test_what_was_last_available_is_what_was_there() -> None:
    asked = edge("last_available 3")
    k = day("2024-03-10")
    there = Ordinals.of([day(text) for text in ("2024-02-01", "2024-03-01", "2024-03-02", "2024-03-08", "2024-03-11")])
    assert asked.resolve(k, there) == Ordinals.of([day(text) for text in ("2024-03-01", "2024-03-02", "2024-03-08")])
    assert asked.resolve(k, until("2024-12-31")) == Ordinals.between(k - 2, k + 1)
    assert asked.resolve(k, Ordinals.of([k - 1])) == Ordinals.of([k - 1])
    assert edge("last 2 days").resolve(k, Ordinals.of([k, k - 2])) == Ordinals.of([k])
    now = Edge(DAYS, DAYS, Dates.of({"dates": "last_available", "as_of": "now"}))
    assert now.resolve(k, there, dt.datetime(2024, 3, 11, 23, tzinfo=dt.UTC)) == Ordinals.of([day("2024-03-08")])
    assert now.resolve(k, there, dt.datetime(2024, 3, 12, tzinfo=dt.UTC)) == Ordinals.of([day("2024-03-11")])
    with pytest.raises(InvalidDates, match="without a time"):
        now.resolve(k, there)


@pytest.mark.parametrize("seed", range(full(50, 16)))
def test_the_newest_are_the_newest(seed: int) -> None:
    chance = random.Random(seed)
    k = day("2024-03-10")
    there = sorted(chance.sample(range(k - 40, k + 5), 20))
    newest = chance.randrange(1, 25)
    assert edge(f"last_available {newest}").resolve(k, Ordinals.of(there)) == Ordinals.of(
        [u for u in there if u <= k][-newest:]
    )


def test_what_can_never_be_ready() -> None:
    upstream = Instances.of({"every": "day", "from": "2024-03-01", "until": "2024-04-01"})
    downstream = Instances(Calendar.every("day"), day("2024-01-01"), day("2025-01-01"))
    required = Edge(downstream, upstream, Dates.of("last 5 days"))
    assert required.first_complete() == day("2024-03-05")
    assert required.incomplete().count == 366 - 27
    ignored = Edge(downstream, upstream, Dates.of({"dates": "last 5 days", "before_start": "ignore"}))
    assert ignored.first_complete() == day("2024-01-01")
    assert ignored.incomplete() == Ordinals.between(day("2024-04-01"), day("2025-01-01"))
    assert Edge(downstream, upstream, Dates.of("fixed 2020-01-01..2020-02-01")).first_complete() is None
    assert np.array_equal(required.incomplete(until("2024-01-05")).members(), until("2024-01-05").members())
