"""Learn how often a dataset is updated from the times of its updates, and judge whether the next update is late. Pure statistics.

Medians make it robust against outages and reruns. Several updates close together (a rerun, a writer in parts) count as one if they form clearly
separate groups. A dataset with too few updates, or without a rhythm, is never late.
"""

import datetime as dt
import enum
import itertools
import statistics
from collections.abc import Collection, Sequence

import msgspec

# A rhythm needs at least this many gaps.
_FEWEST_GAPS = 3
# Groups need at least this many gaps between them: three similar gaps are common by chance.
_FEWEST_BETWEEN = 5
# A gap within this share of the median is "usual". A rhythm needs three quarters of the gaps to be usual.
_NEAR, _MOST = 0.35, 0.75
# A gap this many times longer than the others separates two groups of updates.
_APART = 8.0
_MINUTE, _HOUR, _DAY, _WEEK = 60.0, 3600.0, 86400.0, 604800.0
_NAMED = (("hourly", _HOUR), ("daily", _DAY), ("weekly", _WEEK))
_SHORTEST_SLACK = _MINUTE
_FIRST_DAY = dt.date(1970, 1, 1)


class Rhythm(enum.StrEnum):
    """`unknown`: too few updates. `irregular`: enough updates, without a rhythm."""

    UNKNOWN = "unknown"
    IRREGULAR = "irregular"
    REGULAR = "regular"


class Lateness(enum.StrEnum):
    """`very_late`: at least one more update was missed after the one that is due."""

    UNKNOWN = "unknown"
    ON_TIME = "on_time"
    LATE = "late"
    VERY_LATE = "very_late"


class Cadence(msgspec.Struct, frozen=True):
    """The usual rhythm of updates. Times in seconds.

    `name`: hourly, daily, weekdays (daily, but never on `quiet_days`), weekly, monthly, or None. `gap`: median time between updates.
    `spread`: median absolute deviation of the gaps. `longest`: the 90th percentile of the gaps. `updates`: the number of groups of updates.
    `quiet_days`: ISO weekdays (UTC, 1 = Monday) without updates.
    """

    rhythm: Rhythm
    updates: int
    last: dt.datetime | None = None
    name: str | None = None
    gap: float | None = None
    spread: float | None = None
    longest: float | None = None
    quiet_days: tuple[int, ...] = ()


class Judgement(msgspec.Struct, frozen=True):
    """`expected`: the usual time of the next update. `late_seconds`: how long ago that was. `missed`: how many updates are missing."""

    state: Lateness
    expected: dt.datetime | None = None
    late_seconds: int | None = None
    missed: int = 0


def learn(times: Collection[dt.datetime]) -> Cadence:
    """The cadence of updates at these times, in any order."""
    cadence = learn_seconds([time.timestamp() for time in times])
    return msgspec.structs.replace(cadence, last=max(times)) if times else cadence


def learn_seconds(times: Collection[float]) -> Cadence:
    """Learn as `learn` does, from seconds since 1970 and without `last`: faster for very many datasets."""
    ordered = sorted(set(times))
    grouped = _grouped(ordered)
    gaps = _gaps(grouped)
    if len(gaps) < _FEWEST_GAPS:
        return Cadence(Rhythm.UNKNOWN, len(grouped))
    quiet = _quiet_days(grouped, gaps)
    if quiet:
        # Quiet days between two updates do not count as a gap.
        gaps = [
            max(0.0, gap - _DAY * _quiet_between(int(a // _DAY), int(b // _DAY), quiet))
            for gap, a, b in zip(gaps, grouped, grouped[1:], strict=False)
        ]
    usual = statistics.median(gaps)
    spread = statistics.median([abs(gap - usual) for gap in gaps])
    near = sum(abs(gap - usual) <= _NEAR * usual for gap in gaps)
    regular = usual > 0 and near >= _MOST * len(gaps)
    return Cadence(
        Rhythm.REGULAR if regular else Rhythm.IRREGULAR,
        len(grouped),
        None,
        _name(usual, quiet) if regular else None,
        usual,
        spread,
        _ninth_of_ten(gaps),
        quiet if regular else (),
    )


def due_at(cadence: Cadence) -> dt.datetime | None:
    """Return when the next update is late at the latest: its usual time and the slack; None without a regular cadence."""
    if cadence.rhythm is not Rhythm.REGULAR or cadence.last is None or cadence.gap is None:
        return None
    # With few gaps their spread is uncertain: allow more slack.
    slack = cadence.gap * (0.1 if cadence.updates > 10 else 0.25)
    slack = max(slack, 3 * 1.4826 * (cadence.spread or 0), _SHORTEST_SLACK)
    allowed = max(cadence.gap + slack, (cadence.longest or 0) + _SHORTEST_SLACK)
    return _after(cadence.last, allowed, cadence.quiet_days)


def judge(cadence: Cadence, now: dt.datetime) -> Judgement:
    """Judge whether the next update is late at the time `now`. Only a regular cadence can be late."""
    due = due_at(cadence)
    if due is None or cadence.last is None or cadence.gap is None:
        return Judgement(Lateness.UNKNOWN)
    expected = _after(cadence.last, cadence.gap, cadence.quiet_days)
    if now <= due:
        return Judgement(Lateness.ON_TIME, expected)
    late = int((now - expected).total_seconds())
    missed = 1
    following = _after(due, cadence.gap, cadence.quiet_days)
    if now > following:
        quiet = _quiet_between(_day(due), _day(now), cadence.quiet_days)
        active = (now - due).total_seconds() - _DAY * quiet
        missed = 1 + max(1, int(active // cadence.gap))
    return Judgement(Lateness.VERY_LATE if missed > 1 else Lateness.LATE, expected, max(0, late), missed)


def _gaps(times: Sequence[float]) -> list[float]:
    return [b - a for a, b in itertools.pairwise(times)]


def _grouped(times: list[float]) -> list[float]:
    """The last update of each group, if the updates form clearly separate groups; else all updates."""
    gaps = sorted(_gaps(times))
    for place in range(1, len(gaps)):
        short, long = gaps[place - 1], gaps[place]
        # The gaps between groups must themselves have a rhythm: a single outage forms no groups.
        if len(gaps) - place >= _FEWEST_BETWEEN and long > _APART * max(short, 1.0) and _alike(gaps[place:]):
            return [a for a, b in zip(times, [*times[1:], None], strict=True) if b is None or b - a >= long]
    return times


def _alike(gaps: Sequence[float]) -> bool:
    usual = statistics.median(gaps)
    return sum(abs(gap - usual) <= _NEAR * usual for gap in gaps) >= _MOST * len(gaps)


def _quiet_days(times: Sequence[float], gaps: Sequence[float]) -> tuple[int, ...]:
    """Weekdays without updates of a daily dataset, observed for at least two weeks."""
    if abs(statistics.median(gaps) - _DAY) > 0.1 * _DAY or times[-1] - times[0] < 13 * _DAY:
        return ()
    seen = {_weekday(int(time // _DAY)) for time in times}
    quiet = tuple(day for day in range(1, 8) if day not in seen)
    return quiet if len(quiet) <= 3 else ()


def _day(time: dt.datetime) -> int:
    """Days since 1970, in UTC."""
    return (time.astimezone(dt.UTC).date() - _FIRST_DAY).days


def _weekday(day: int) -> int:
    """The ISO weekday of a day since 1970-01-01, which was a Thursday."""
    return (day + 3) % 7 + 1


def _quiet_between(first: int, last: int, quiet: Sequence[int]) -> int:
    """The number of whole quiet days after the first day and before the last."""
    if not quiet:
        return 0
    weeks, rest = divmod(max(0, last - first - 1), 7)
    return weeks * len(quiet) + sum(_weekday(first + 1 + i) in quiet for i in range(rest))


def _after(time: dt.datetime, seconds: float, quiet: Sequence[int]) -> dt.datetime:
    """The time `seconds` later, not counting quiet days; at most the latest time that `datetime` can hold."""
    latest = dt.datetime.max.replace(tzinfo=dt.UTC)
    try:
        found = time + dt.timedelta(seconds=seconds)
    except OverflowError:
        return latest
    day = time.astimezone(dt.UTC).date()
    for _ in range(400 if quiet else 0):
        if day >= found.astimezone(dt.UTC).date():
            break
        day += dt.timedelta(days=1)
        if day.isoweekday() in quiet:
            found += dt.timedelta(days=1)
    return found


def _ninth_of_ten(gaps: Sequence[float]) -> float:
    ordered = sorted(gaps)
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.9))]


def _name(gap: float, quiet: tuple[int, ...]) -> str | None:
    for name, length in _NAMED:
        if abs(gap - length) <= 0.1 * length:
            return "weekdays" if name == "daily" and quiet else name
    return "monthly" if 27.5 * _DAY <= gap <= 31.5 * _DAY else None
