"""The rhythm of a list of starts: pure, over whole minutes since 1970.

Two searches. A *beat* is one run every so many minutes: the smallest period of a declared list (or a median gap of the starts themselves) that most
runs keep. *Slots* are several runs at fixed times of a day or a week. A run keeps a period when at least half of its neighbours, one to three periods
before and after, are where the period puts them: so missing runs, outages, extra runs and a clock that is put forward each disturb only runs near
them. The weeks around tell which runs are missing: a job of working days misses nothing on Sunday.

It refuses to guess below what minutes can show: a period of one minute needs one run a minute, and a statement of many users is no job.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from statistics import median_low
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

Minutes: TypeAlias = "npt.NDArray[np.int64]"

HOUR: Final = 60
DAY: Final = 24 * HOUR
WEEK: Final = 7 * DAY
MONTH: Final = 43_830  # a twelfth of 365.25 days
PERIODS: Final = (
    *(1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 45),
    *(hours * HOUR for hours in (1, 2, 3, 4, 6, 8, 12)),
    *(days * DAY for days in (1, 2, 3, 7, 14)),
    *(MONTH, 3 * MONTH),
)
# Cycle, and how far from its time a run may be, where runs stand at several fixed times of it.
SLOTTED: Final = {DAY: 30, WEEK: 60}
MOST_SLOTS: Final = 6
NEWEST: Final = (100, 500)
"""Starts looked at: first the newest few, so that a new schedule is seen soon, then more."""
KEPT: Final = 0.7
"""Share of the runs that must keep a period for it to be one."""
CLOCK: Final = 65
"""Minutes that a clock may be put forward or back."""
MOST_MISSING: Final = 2_000
FORGOTTEN: Final = 14 * DAY


class Rhythm(NamedTuple):
    """`period` in minutes, None when there is none; then nothing is expected, missing or unexpected. `slots`: runs a period has.

    `next`: the first expected time after the last run, in the past when the run is overdue; None when the job is `retired`, silent for more than
    three periods and 14 days. `missing`, `unexpected`: ascending, among the newest starts that were judged. `kept`: share of the runs that keep it.
    """

    period: int | None
    slots: int
    next: int | None
    missing: tuple[int, ...]
    unexpected: tuple[int, ...]
    kept: float
    judged: int
    retired: bool


NONE: Final = Rhythm(None, 0, None, (), (), 0.0, 0, False)


def rhythm(starts: Sequence[int], executions: int, as_of: int) -> Rhythm:
    """The rhythm of `starts` (distinct, ascending) as known at minute `as_of`. `executions`: how many there were, of which some shared a minute."""
    found: _Beat | None = None
    for count in NEWEST:
        newest = starts[-count:]
        if found is None:
            found = _search(newest, steady=executions <= 1.2 * len(starts))
        elif len(starts) > NEWEST[0]:
            found = _longer(found, _fitting(newest, found.period, found.slack, found.slotted))
        if len(starts) <= count:
            break
    return NONE if found is None else _judged(found, as_of)


def _longer(short: "_Beat", long: "_Beat | None") -> "_Beat":
    """More history, if the rhythm held then, and as densely: before a schedule was changed, the new one was not kept."""
    if long is None:
        return short
    density = [len(beat.runs) / (beat.runs[-1] - beat.runs[0] + beat.period) for beat in (short, long)]
    return long if density[1] >= 0.6 * density[0] else short


class _Beat(NamedTuple):
    period: int
    slack: int
    slotted: bool
    runs: list[int]
    """One for each occasion: a start within `slack` of an occasion's first is part of it."""
    good: list[int]
    kept: float


def slack(period: int) -> int:
    """Return the minutes early or late that are still in time: 15 % of up to 20 hours, 3 hours of days, 5 % of weeks, 9 % of months,
    which differ so much."""
    if period < 20 * HOUR:
        return max(period * 15 // 100, 0 if period < 5 else 1)
    if period <= 2 * DAY + 12 * HOUR:
        return 180
    return period * (5 if period < 4 * WEEK else 9) // 100


def _search(starts: Sequence[int], *, steady: bool) -> _Beat | None:
    gaps = sorted(later - earlier for earlier, later in pairwise(starts))
    seen = {median_low(rest) for floor in (0, 30, 12 * HOUR) if (rest := gaps[bisect_right(gaps, floor) :])}
    own = {gap for gap in seen if all(abs(gap - named) > named // 20 for named in PERIODS)}
    for period in sorted({*PERIODS, *own}):
        if period > 1 or steady:
            found = _fitting(starts, period, slack(period), False)
            if found:
                return found
        if period in SLOTTED:
            found = _fitting(starts, period, SLOTTED[period], True)
            if found:
                return found
    return None


def _least(period: int) -> int:
    """Occasions that make a habit: people repeat a query four times in an hour."""
    return 4 if period >= DAY else 6 if period >= HOUR else 12


def _fitting(starts: Sequence[int], period: int, within: int, slotted: bool) -> _Beat | None:
    if len(starts) < _least(period) or starts[-1] - starts[0] < 3 * period or (not slotted and _sparse(starts, period)):
        return None
    runs = _occasions(starts, within)
    if len(runs) < _least(period):
        return None
    times = np.array(runs, dtype=np.int64)
    if slotted:
        apart = len(runs) <= MOST_SLOTS * len({run // period for run in runs})
    else:
        # Nothing runs between a run and the next beat: what runs all the time keeps every period.
        quiet = 1 + np.count_nonzero(np.diff(times) >= period - within)
        apart = bool(quiet >= KEPT * len(runs)) and not _sparse(runs, period)
    if not apart:
        return None
    good = times[_keeping(times, period, within)]
    firm = np.count_nonzero(_met(times, good - period, within) | _met(times, good + period, within))
    enough = 0.9 if period == 1 else KEPT
    found = _Beat(period, within, slotted, runs, good.tolist(), len(good) / len(runs))
    return found if firm >= enough * len(runs) else None


def _sparse(runs: Sequence[int], period: int) -> bool:
    """Return whether runs fill less than a fifth of the time they span: an hourly job of office hours fills a quarter, a loop in a
    nightly job does not."""
    return len(runs) * period < (runs[-1] - runs[0] + period) / 5


def _occasions(starts: Sequence[int], within: int) -> list[int]:
    times = np.array(starts, dtype=np.int64)
    following = times.searchsorted(times + within, side="right").tolist()
    runs, place = [], 0
    while place < len(starts):
        runs.append(starts[place])
        place = following[place]
    return runs


def _any(runs: Sequence[int], at: int, within: int) -> bool:
    place = bisect_left(runs, at - within)
    return place < len(runs) and runs[place] <= at + within


def _met(runs: Minutes, times: Minutes, within: int) -> "npt.NDArray[np.bool_]":
    """`_any` of each of the times."""
    place = runs.searchsorted(times - within)
    met: npt.NDArray[np.bool_] = (place < len(runs)) & (runs[np.minimum(place, len(runs) - 1)] <= times + within)
    return met


def _keeping(runs: Minutes, period: int, within: int) -> "npt.NDArray[np.bool_]":
    """Return which runs have at least half of their neighbours."""
    asked, met = np.zeros(len(runs), dtype=np.int64), np.zeros(len(runs), dtype=np.int64)
    for times in (-3, -2, -1, 1, 2, 3):
        at = runs + times * period
        known = (runs[0] - within <= at) & (at <= runs[-1] + within)
        asked += known
        met += known & _met(runs, at, within)
    keeping: npt.NDArray[np.bool_] = (asked > 0) & (2 * met >= asked)
    return keeping


def _judged(beat: _Beat, as_of: int) -> Rhythm:
    runs, period = beat.runs, beat.period
    weekly = period < WEEK and WEEK % period == 0
    unexpected = [
        run
        for run in sorted(set(runs) - set(beat.good))
        if not (weekly and (_any(runs, run - WEEK, beat.slack) or _any(runs, run + WEEK, beat.slack)))
    ]
    good = sorted(set(runs) - set(unexpected))
    retired = as_of - runs[-1] > max(3 * period, FORGOTTEN)
    near = max(beat.slack, CLOCK) if period >= 4 * HOUR else beat.slack
    end = (good[-1] if retired else as_of) - near
    missing = (_missing_slots if beat.slotted else _missing_beats)(runs, good, period, near, end)
    slots = max(1, round(len(good) / max(1, len({run // period for run in good})))) if beat.slotted else 1
    following = None if retired else _following(runs, good, period, near, beat.slotted)
    return Rhythm(period, slots, following, tuple(missing), tuple(unexpected), beat.kept, len(runs), retired)


def _missing_beats(runs: list[int], good: list[int], period: int, near: int, end: int) -> list[int]:
    found: list[int] = []
    for earlier, later in pairwise(good):
        steps = round((later - earlier) / period)
        for step in range(1, min(steps, MOST_MISSING)):
            at = earlier + (later - earlier) * step // steps
            if not _any(runs, at, near) and not _free(runs, at, period, near):
                found.append(at)
    at = good[-1] + period
    while at <= end and len(found) < MOST_MISSING:
        if not _free(runs, at, period, near):
            found.append(at)
        at += period
    return found[:MOST_MISSING]


def _missing_slots(runs: list[int], good: list[int], cycle: int, near: int, end: int) -> list[int]:
    found: list[int] = []
    for run in good:
        at = run + cycle
        while at <= end and len(found) < MOST_MISSING and not _any(runs, at, near):
            if not _free(runs, at, cycle, near):
                found.append(at)
            at += cycle
    return sorted(found)


def _following(runs: list[int], good: list[int], period: int, near: int, slotted: bool) -> int | None:
    found: list[int] = []
    for run in good if slotted else good[-1:]:
        if run > good[-1] - period:
            at = run + period
            for _ in range(max(8, 8 * DAY // period)):
                if at > runs[-1] and not _free(runs, at, period, near):
                    found.append(at)
                    break
                at += period
    return min(found, default=None)


def _free(runs: list[int], at: int, period: int, near: int) -> bool:
    """Return whether no run is expected at `at`, which is on the beat: less than half of the seven weeks before and after have a run at
    that time, or,
    where none of them is known, of the seven days."""
    if period >= WEEK or WEEK % period:
        return False
    near = max(near, period // 2)
    for step, least in ((WEEK, 1), (DAY, 4)):
        if step > period:
            others = [
                other
                for times in range(-7, 8)
                if times and runs[0] - near <= (other := at + times * step) <= runs[-1] + near
            ]
            if len(others) >= least:
                return 2 * sum(_any(runs, other, near) for other in others) < len(others)
    return False
