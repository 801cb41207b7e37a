"""The rhythm of starts: cases worked out by hand, and what must hold of any starts."""

import datetime as dt
import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scale import full

from headwater.pipeline.query_log import beats
from headwater.pipeline.query_log.recurrence import judged

CASES = yaml.safe_load(
    (Path(__file__).parents[3] / "cases/query_log/measures/rhythms.yaml").read_text(encoding="utf-8")
)


def minute(text: str) -> int:
    return int(dt.datetime.fromisoformat(f"{text}:00+00:00").timestamp()) // 60


def starts(told: dict[str, Any]) -> list[int]:
    found = []
    for run in told.get("runs", []):
        jitter = run.get("jitter", [0])
        found += [
            minute(run["from"]) + place * run["every"] + jitter[place % len(jitter)]
            for place in range(run["times"])
            if place not in run.get("but", [])
        ]
    if office := told.get("office"):
        first = minute(office["from"]) // beats.DAY * beats.DAY
        without = {minute(one) for one in office.get("but", [])}
        every = [
            first + week * beats.WEEK + day * beats.DAY + hour * 60 + office["minute"]
            for week in range(office["weeks"])
            for day in range(office.get("days", 5))
            for hour in office["hours"]
        ]
        found += [one for one in every if one not in without]
    if months := told.get("months"):
        first = dt.datetime.fromisoformat(f"{months['from']}:00+00:00")
        for place in range(months["times"]):
            years, month = divmod(first.month - 1 + place, 12)
            found.append(int(first.replace(year=first.year + years, month=month + 1).timestamp()) // 60)
    return sorted(set(found))


@pytest.mark.parametrize("name", CASES)
def test_rhythm(name: str) -> None:
    told = CASES[name]
    runs = starts(told)
    found = beats.rhythm(runs, told.get("executions", len(runs)), minute(told["as_of"]))
    wanted = told["found"]
    assert (found.period, found.slots, found.retired) == (
        wanted.get("period"),
        wanted.get("slots", 0),
        wanted.get("retired", False),
    )
    assert found.next == (minute(wanted["next"]) if "next" in wanted else None)
    assert found.missing == tuple(minute(one) for one in wanted.get("missing", []))
    assert found.unexpected == tuple(minute(one) for one in wanted.get("unexpected", []))


@pytest.mark.parametrize("apart", [20, 60, 200, 1440, 5000])
def test_what_comes_at_random_has_no_rhythm(apart: int) -> None:
    for seed in range(10):
        chance, at, runs = random.Random(seed), beats.DAY * 20_000, []
        for _ in range(200):
            at += max(1, int(chance.expovariate(1 / apart)))
            runs.append(at)
        assert beats.rhythm(runs, len(runs), at).period is None, seed


@pytest.mark.parametrize("a_day", [1, 2, 4, 20, 60])
def test_people_at_work_have_no_rhythm(a_day: int) -> None:
    """Somebody who asks at some time of each working day keeps office hours, and no schedule."""
    for seed in range(10):
        chance = random.Random(seed)
        days = [20_000 * beats.DAY + day * beats.DAY for day in range(60) if day % 7 < 5]
        runs = sorted({day + 540 + chance.randint(0, 480) for day in days for _ in range(a_day)})
        assert beats.rhythm(runs, len(runs), runs[-1]).period is None, seed


@settings(max_examples=full(200, 60), deadline=None)
@given(
    st.lists(st.integers(0, 60 * beats.DAY), min_size=1, max_size=300, unique=True).map(sorted),
    st.integers(0, 30 * beats.DAY),
)
def test_of_any_starts(runs: list[int], later: int) -> None:
    as_of = runs[-1] + later
    found = beats.rhythm(runs, len(runs), as_of)
    assert list(found.missing) == sorted(found.missing)
    assert len(found.missing) <= beats.MOST_MISSING
    assert set(found.unexpected) <= set(runs)
    assert found.next is None or found.next > runs[-1]
    assert all(runs[0] < one <= as_of for one in found.missing)
    # Minutes since another year are the same rhythm, by whole weeks.
    moved = beats.rhythm([run + 520 * beats.WEEK for run in runs], len(runs), as_of + 520 * beats.WEEK)
    assert (moved.period, moved.slots, len(moved.missing), len(moved.unexpected)) == (
        found.period,
        found.slots,
        len(found.missing),
        len(found.unexpected),
    )


def hours(runs: list[int], order: random.Random) -> list[dict[str, int]]:
    bits: dict[int, int] = {}
    for run in runs:
        bits[run // 60] = bits.get(run // 60, 0) | 1 << run % 60
    found = [{"hour": hour, "bits": one} for hour, one in bits.items()]
    order.shuffle(found)
    return found


def test_a_shape_is_judged_from_bits_in_any_order() -> None:
    runs = starts(CASES["daily_with_gaps_and_more"])
    as_of = minute(CASES["daily_with_gaps_and_more"]["as_of"])
    first, last = runs[0] * 60_000_000, runs[-1] * 60_000_000
    rows = [judged(as_of, "w", "s", len(runs), first, last, hours(runs, random.Random(seed))) for seed in range(5)]
    assert all(row == rows[0] for row in rows)
    assert rows[0]["class"] == "recurring"
    assert (rows[0]["period_seconds"], rows[0]["missing"], rows[0]["unexpected"]) == (86_400, 3, 1)
    # 27 of 28 keep it × 28 of 31 came × 28/29.
    assert rows[0]["confidence"] == round(27 / 28 * 28 / 31 * 28 / 29, 3)


@pytest.mark.parametrize(
    ("last", "executions", "silent", "kind", "confidence"),
    [
        (0, 1, 7 * beats.DAY, "one_off", 0.5),  # once, a week ago
        (beats.DAY - 1, 3, 21 * beats.DAY, "one_off", 0.75),  # within 24 hours, three weeks ago
        (beats.DAY, 12, 0, "ad_hoc", 0.75),
    ],
)
def test_one_off_and_ad_hoc(last: int, executions: int, silent: int, kind: str, confidence: float) -> None:
    first = 20_000 * beats.DAY
    at = first + last
    row = judged(
        at + silent, "w", "s", executions, first * 60_000_000, at * 60_000_000, hours([first, at], random.Random(1))
    )
    assert (row["class"], row["confidence"]) == (kind, confidence)
    assert (row["period_seconds"], row["next"], row["missing"], row["unexpected"]) == (None, None, 0, 0)
