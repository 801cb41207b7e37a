"""Infer how a dataset is cut by time, from the intervals of its runs, the partitions they wrote, or its update times. Pure.

What is proposed is always checked with the calendar itself: an interval counts only where it is exactly one of its periods. Zones are told by where
midnights lie: those of the clock's changes are what tells Paris from UTC. Several zones may fit alike; which were left is said.

Finds no rhythm if a fifth of the observations does not fit.
"""

import datetime as dt
import functools
import itertools
import zoneinfo
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from headwater.entities.time.civil import WEEKDAYS
from headwater.entities.time.instances import Instances
from headwater.entities.time.zones import moment
from headwater.errors import InvalidCalendar
from headwater.model.cadence import Rhythm, learn_seconds

Interval = tuple[int, int]
Confidence = Literal["high", "medium", "low"]

# The first of equivalent rules is taken; the others are reported.
COMMON = (
    "Europe/Paris", "Europe/London", "America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles", "America/Sao_Paulo",
    "Asia/Kolkata", "Asia/Tokyo", "Asia/Shanghai", "Asia/Singapore", "Asia/Dubai", "Australia/Sydney", "Pacific/Auckland", "Europe/Athens",
    "Europe/Istanbul", "Africa/Johannesburg", "America/Mexico_City", "America/Toronto", "Europe/Berlin", "Europe/Madrid",
)  # fmt: skip
_MOST = 0.8
_NEXT = 0.6  # of times without ends: some of the periods may be missing
_SURE, _SOME = 8, 3
_LOOKED_AT = 64  # bounds, where all zones there are are tried
_HOUR, _NOON, _DAY = 3600, 43_200, 86_400
_CADENCES = {"hourly": "hour", "daily": "day", "weekdays": "day", "weekly": "week", "monthly": "month"}


class Cut(NamedTuple):
    """`period` as YAML has it, without `from`. `fits` of `seen` intervals are exactly one of its periods. `alike`: other zones that fit as well."""

    period: dict[str, str]
    evidence: str
    confidence: Confidence
    fits: int
    seen: int
    alike: tuple[str, ...] = ()


def of_intervals(
    intervals: Iterable[Interval], what: str = "nominal intervals", zones: Sequence[str] = (), least: float = _MOST
) -> Cut | None:
    """Find the rhythm of intervals start ≤ t < end, in seconds since 1970; each is counted once.

    `zones`: those that others are cut in, asked first. None: no rhythm.

    least: this share must fit.
    """
    every = sorted({(start, end) for start, end in intervals if start < end})
    if not every:
        return None
    best: tuple[int, dict[str, str], tuple[str, ...]] | None = None
    for period, alike in _periods(every, tuple(zones)):
        fits = _fitting(period, every)
        if best is None or fits > best[0]:
            best = (fits, period, alike)
        if fits == len(every):
            break
    if best is None or best[0] < least * len(every):
        return None
    fits, period, alike = best
    unlike = f"; {len(every) - fits} more are not" if fits < len(every) else ""
    evidence = f"{fits} {what}, all of one {_called(period)}{unlike}"
    certain = not alike and (fits == len(every) or fits >= 0.95 * len(every))
    confidence: Confidence = "high" if fits >= _SURE and certain else "medium" if fits >= _SOME else "low"
    return Cut(period, evidence, confidence, fits, len(every), alike)


def of_starts(starts: Iterable[int], what: str, zones: Sequence[str] = ()) -> Cut | None:
    """Find the rhythm of times with which periods begin, some of which may be missing. None for fewer than three, and where there is no rhythm."""
    every = sorted(set(starts))
    if len(every) < _SOME:
        return None
    found = of_intervals(itertools.pairwise(every), what, zones, _NEXT)
    if found is None:
        return None
    begun = _beginning(found.period, every)
    if begun < _MOST * len(every):
        return None
    confidence: Confidence = "medium" if found.fits >= _SURE else "low"
    evidence = f"{begun} of {len(every)} {what} begin one {_called(found.period)}"
    return found._replace(evidence=evidence, confidence=confidence)


def of_updates(times: Iterable[float]) -> Cut | None:
    """Find the rhythm of updates, which says how often and nothing else: no zone, no offset. None if there is no rhythm that has a name."""
    found = learn_seconds(list(times))
    every = _CADENCES.get(found.name or "")
    if found.rhythm is not Rhythm.REGULAR or every is None:
        return None
    evidence = f"{found.updates} updates, {found.name}; nothing says of which {every} each is"
    return Cut({"every": every}, evidence, "low", found.updates, found.updates)


def begun(period: dict[str, str], instant: int) -> str:
    """Return the text of `from` that means the period which contains an instant."""
    calendar = Instances.of(period).calendar
    start = int(calendar.begins([calendar.at(instant)])[0])
    local = moment(start).astimezone(calendar.zone.info)
    if calendar.civil is not None and calendar.midnight(local.date()) == start:
        return str(local.date())
    return moment(start).isoformat().replace("+00:00", "Z")


def _called(period: dict[str, str]) -> str:
    words = [period["every"]]
    if "tz" in period:
        words.append(f"in {period['tz']}")
    if "offset" in period:
        words.append(f"from {period['offset']}")
    if "starts" in period:
        words.append(f"beginning with {period['starts']}")
    return " ".join(words)


def _fitting(period: dict[str, str], intervals: Sequence[Interval]) -> int:
    """Return how many intervals are exactly one period."""
    try:
        calendar = Instances.of(period).calendar
    except InvalidCalendar:
        return 0
    starts, ends = (np.array(side, dtype=np.int64) for side in zip(*intervals, strict=True))
    found = calendar.floor(starts)
    inside = (found >= calendar.first) & (found < calendar.end)
    found = np.clip(found, calendar.first, calendar.end - 1)
    return int((inside & (calendar.begins(found) == starts) & (calendar.begins(found + 1) == ends)).sum())


def _beginning(period: dict[str, str], starts: Sequence[int]) -> int:
    calendar = Instances.of(period).calendar
    asked = np.array(starts, dtype=np.int64)
    return int((calendar.begins(calendar.floor(asked)) == asked).sum())


def _periods(intervals: Sequence[Interval], zones: tuple[str, ...]) -> Iterator[tuple[dict[str, str], tuple[str, ...]]]:
    """Yield the periods that these intervals may be, the likeliest first, each with the zones that fit as well."""
    lengths = Counter(end - start for start, end in intervals)
    length, _ = max(lengths.items(), key=lambda item: (item[1], -item[0]))
    if length <= _DAY // 2 and length % 60 == 0:
        yield _physical(length, Counter(start % length for start, _ in intervals).most_common(1)[0][0]), ()
        return
    bounds = sorted({bound for interval in intervals for bound in interval})
    for names, offset in _walls(bounds, zones):
        days = [(_date(names[0], start, offset), _date(names[0], end, offset)) for start, end in intervals]
        if (period := _civil(days)) is None:
            continue
        if names[0] != "UTC":
            period["tz"] = names[0]
        if offset:
            period["offset"] = _short(offset)
        yield period, tuple(names[1:])


def _physical(length: int, offset: int) -> dict[str, str]:
    many, unit = (length // _HOUR, "h") if length % _HOUR == 0 else (length // 60, "m")
    every = {"1h": "hour", "1m": "minute"}.get(f"{many}{unit}", f"{many}{unit}")
    if not offset:
        return {"every": every}
    return {"every": every, "offset": _short(offset)}


def _short(offset: int) -> str:
    return f"{offset // _HOUR}h" if offset % _HOUR == 0 else f"{offset // 60}m"


def _civil(days: Sequence[tuple[dt.date, dt.date]]) -> dict[str, str] | None:
    """Return the period by how many days or months most of these last, and by the day with which they begin."""
    shapes = Counter(_shape(*each) for each in days)
    (unit, many), _ = max(shapes.items(), key=lambda item: (item[1], -item[0][1], item[0][0]))
    firsts = sorted(first for first, end in days if _shape(first, end) == (unit, many))
    if many < 1:
        return None
    if unit == "month":
        usual = {1: ("month", 1), 3: ("quarter", 3), 12: ("year", 12)}.get(many)
        if usual is not None and firsts[0].month % usual[1] == 1 % usual[1]:
            return {"every": usual[0]}
        return {"every": usual[0] if usual else f"{many}mo", "anchor": str(firsts[0])}
    if many == 1:
        return {"every": "day"}
    if many == 7:
        weekday = Counter(each.weekday() for each in firsts).most_common(1)[0][0]
        return {"every": "week"} | ({"starts": WEEKDAYS[weekday]} if weekday else {})
    return {"every": f"{many}d", "anchor": str(firsts[0])}


def _shape(first: dt.date, end: dt.date) -> tuple[str, int]:
    if first.day == 1 == end.day and first < end:
        return "month", (end.year - first.year) * 12 + end.month - first.month
    return "day", (end - first).days


def _walls(bounds: Sequence[int], zones: tuple[str, ...]) -> Iterator[tuple[list[str], int]]:
    """Yield zones in whose days most of these bounds begin a day, and its offset; those of one entry see all bounds
    alike, the likeliest first.

    What is always at the same time in UTC, before noon, is a business day rather than a midnight in the Americas.
    """
    asked = tuple(dict.fromkeys(("UTC", *zones, *COMMON)))
    shares = {zone: _midnights(zone, bounds) for zone in asked}
    best = max(shares.values())
    fitting = [zone for zone in asked if shares[zone] == best] if best >= _MOST else []
    offset, always = Counter(bound % _DAY for bound in bounds).most_common(1)[0]
    if fitting and (fitting[0] == "UTC" or fitting[0] in zones):
        yield fitting[:1], 0  # no evidence against it
    elif always == len(bounds):
        midnights, business = [*fitting, f"UTC from {_short(offset)}"], ["UTC", *fitting]
        if offset <= _NOON or not fitting:
            yield business, offset
        if fitting:
            yield midnights, 0
    elif fitting:
        yield fitting, 0
    if always >= _MOST * len(bounds):
        yield ["UTC"], offset
    if best < 1:
        some = bounds[:: -(-len(bounds) // _LOOKED_AT)]
        if others := [zone for zone in _others() if zone not in asked and _midnights(zone, some) == 1]:
            yield others, 0
        for zone in asked:
            offset, share = Counter(_time(zone, bound) for bound in bounds).most_common(1)[0]
            if offset and share >= _MOST * len(bounds):
                yield [zone], offset


@functools.cache
def _others() -> tuple[str, ...]:
    return tuple(sorted(zone for zone in zoneinfo.available_timezones() if "/" in zone and not zone.startswith("Etc/")))


def _midnights(zone: str, bounds: Sequence[int]) -> float:
    """The share of the bounds with which a date begins, be it at one o'clock."""
    info = zoneinfo.ZoneInfo(zone)
    begin = sum(
        dt.datetime.fromtimestamp(bound, info).date() != dt.datetime.fromtimestamp(bound - 1, info).date()
        for bound in bounds
    )
    return begin / len(bounds)


def _time(zone: str, bound: int) -> int:
    """Return the seconds since midnight on the wall."""
    local = dt.datetime.fromtimestamp(bound, zoneinfo.ZoneInfo(zone))
    return local.hour * _HOUR + local.minute * 60 + local.second


def _date(zone: str, bound: int, offset: int) -> dt.date:
    """The date that begins, so much later, at this bound."""
    local = dt.datetime.fromtimestamp(bound, zoneinfo.ZoneInfo(zone))
    return (local.replace(tzinfo=None) - dt.timedelta(seconds=offset)).date()
