"""The rhythm of updates and their lateness: laws over drawn histories, and the cases people know."""

import datetime as dt
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.model.cadence import Lateness, Rhythm, judge, learn

# A Monday.
START = dt.datetime(2026, 1, 5, 6, tzinfo=dt.UTC)
HOUR, DAY = dt.timedelta(hours=1), dt.timedelta(days=1)


def every(gap: dt.timedelta, count: int, start: dt.datetime = START) -> list[dt.datetime]:
    return [start + i * gap for i in range(count)]


@pytest.mark.parametrize(
    ("gap", "name"),
    [
        (HOUR, "hourly"),
        (DAY, "daily"),
        (7 * DAY, "weekly"),
        (dt.timedelta(minutes=15), None),
        (dt.timedelta(seconds=3), None),
    ],
)
def test_names(gap: dt.timedelta, name: str | None) -> None:
    found = learn(every(gap, 20))
    assert (found.rhythm, found.name, found.gap, found.spread) == (Rhythm.REGULAR, name, gap.total_seconds(), 0)


def test_months_and_weekdays() -> None:
    months = [dt.datetime(2026, month, 1, tzinfo=dt.UTC) for month in range(1, 12)]
    assert learn(months).name == "monthly"
    assert judge(learn(months), dt.datetime(2026, 12, 2, tzinfo=dt.UTC)).state is Lateness.ON_TIME
    working = [t for t in every(DAY, 26) if t.isoweekday() < 6]
    found = learn(working)
    assert (found.name, found.quiet_days, working[-1].isoweekday()) == ("weekdays", (6, 7), 5)
    # On Sunday nothing is missing; the next is expected on Monday.
    assert judge(found, working[-1] + 2 * DAY).state is Lateness.ON_TIME
    assert judge(found, working[-1] + 2 * DAY).expected == working[-1] + 3 * DAY
    assert judge(found, working[-1] + 3 * DAY + 12 * HOUR).state is Lateness.LATE
    assert judge(found, working[-1] + 5 * DAY + 12 * HOUR).state is Lateness.VERY_LATE


def test_too_few_are_unknown() -> None:
    for count in range(4):
        found = learn(every(DAY, count))
        assert found.rhythm is Rhythm.UNKNOWN
        assert judge(found, START + 400 * DAY).state is Lateness.UNKNOWN
    assert learn(every(DAY, 4)).rhythm is Rhythm.REGULAR


def test_an_outage_does_not_change_what_is_usual() -> None:
    times = every(DAY, 15) + every(DAY, 15, START + 30 * DAY)
    found = learn(times)
    assert (found.name, found.gap) == ("daily", DAY.total_seconds())
    assert judge(found, times[-1] + 30 * HOUR).state is Lateness.LATE


def test_updates_close_together_are_one() -> None:
    times = [t + dt.timedelta(seconds=s) for t in every(DAY, 12) for s in (0, 20, 95)]
    found = learn(times)
    assert (found.name, found.updates) == ("daily", 12)
    assert judge(found, times[-1] + 20 * HOUR).state is Lateness.ON_TIME
    assert judge(found, times[-1] + 40 * HOUR).state is Lateness.LATE


def test_how_late_and_how_many_are_missed() -> None:
    times = every(HOUR, 30)
    found = learn(times)
    at = judge(found, times[-1] + 5 * HOUR + dt.timedelta(minutes=30))
    assert (at.state, at.expected, at.late_seconds, at.missed) == (
        Lateness.VERY_LATE,
        times[-1] + HOUR,
        int(4.5 * 3600),
        5,
    )


jitters = st.lists(st.floats(-0.1, 0.1), min_size=12, max_size=60)
spans = st.sampled_from([dt.timedelta(minutes=5), HOUR, 6 * HOUR, DAY, 7 * DAY])


@given(spans, jitters)
def test_whatever_keeps_a_rhythm_is_found_on_time_and_then_late(gap: dt.timedelta, jitter: list[float]) -> None:
    times = [t + gap * share for t, share in zip(every(gap, len(jitter)), jitter, strict=True)]
    found = learn(times)
    assert found.rhythm is Rhythm.REGULAR
    assert found.gap is not None
    assert abs(found.gap - gap.total_seconds()) <= 0.2 * gap.total_seconds() + 1e-6
    assert judge(found, times[-1]).state is Lateness.ON_TIME
    assert judge(found, times[-1] + 0.9 * gap).state is Lateness.ON_TIME
    assert judge(found, times[-1] + 10 * gap).state is Lateness.VERY_LATE


@given(spans, jitters, st.randoms(use_true_random=False))
def test_order_and_repetition_do_not_matter(gap: dt.timedelta, jitter: list[float], chance: random.Random) -> None:
    times = [t + gap * share for t, share in zip(every(gap, len(jitter)), jitter, strict=True)]
    shuffled = times + chance.sample(times, 3)
    chance.shuffle(shuffled)
    assert learn(shuffled) == learn(times)


@given(spans, jitters, st.floats(0, 30), st.floats(0, 30))
def test_what_is_late_stays_late(gap: dt.timedelta, jitter: list[float], one: float, more: float) -> None:
    times = [t + gap * share for t, share in zip(every(gap, len(jitter)), jitter, strict=True)]
    found = learn(times)
    order = [Lateness.ON_TIME, Lateness.LATE, Lateness.VERY_LATE]
    before, after = judge(found, times[-1] + one * gap), judge(found, times[-1] + (one + more) * gap)
    assert order.index(before.state) <= order.index(after.state)
    assert before.missed <= after.missed


def test_what_never_kept_a_rhythm_is_never_late() -> None:
    """Gaps over three orders of magnitude; the same five hundred histories each time."""
    for seed in range(500):
        chance = random.Random(seed)
        times = [START]
        for _ in range(20 + seed % 40):
            times.append(times[-1] + HOUR * 10 ** chance.uniform(-1.5, 1.5))
        assert judge(learn(times), times[-1] + 10_000 * DAY).state is Lateness.UNKNOWN, seed


def test_the_end_of_time_is_no_error() -> None:
    times = [dt.datetime(9999, 12, day, tzinfo=dt.UTC) for day in range(20, 31)]
    assert judge(learn(times), times[-1]).state is Lateness.ON_TIME
