"""Infer the `dates` of a dependency from the upstream instances that the runs of the downstream read. Pure.

Every proposal is a text of the language of dates, and is checked by asking its edge what each instance needs: the
plainest proposal that is right for nine of ten reads is taken. Without reads nothing is proposed.
"""

import datetime as dt
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from headwater.entities.inference.cut import Confidence
from headwater.entities.needs.edges import Edge
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import Ordinals

_MOST = 0.9
_FEWEST = 2
_SURE = 8
_LOOKED_AT = 60  # reads of one dependency; the latest
_DAYS = {"day": 1, "week": 7, "month": 30, "quarter": 91, "year": 365}
_GROWN = 3  # so many different numbers of instances say that everything is read


class Read(NamedTuple):
    """A run that made the instance `ordinal` read `used` of the upstream, of which `there` was there then."""

    ordinal: int
    used: Ordinals
    there: Ordinals


class Consumed(NamedTuple):
    """`window`: how long it reaches back, where it is one that overlaps with that of the next period: `30 days`."""

    dates: str
    evidence: str
    confidence: Confidence
    window: str = ""


def consumed(down: Instances, up: Instances, reads: Sequence[Read]) -> Consumed | None:
    """The dates that say what was read. None if fewer than two reads are known, or no text says it."""
    some = sorted(reads, key=lambda read: read.ordinal)[-_LOOKED_AT:]
    if len({read.ordinal for read in some}) < _FEWEST:
        return None
    best, text = 0, ""
    for proposed in dict.fromkeys(_proposals(down, up, some)):
        fits = _fitting(Edge(down, up, Dates.of(proposed)), some)
        if fits > best:
            best, text = fits, proposed
        if fits == len(some):
            break
    if best < _MOST * len(some):
        return None
    counts = sorted({read.used.count for read in some})
    number = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    evidence = f"{number} for each {down.calendar.every_text}, as read by {best} of {len(some)} runs"
    confidence: Confidence = "high" if best >= _SURE and best == len(some) else "medium"
    window = text.removeprefix("last ") if text in _windows(up, some) and _overlaps(some) else ""
    return Consumed(text, evidence, confidence, window)


def kind(found: Mapping[str, Consumed]) -> tuple[str, str]:
    """Return `timeseries`, `sliding` or `snapshot`, and the window of a sliding one, by the evidence of its dependencies."""
    windows = Counter(each.window for each in found.values() if each.window)
    if windows:
        window, _ = max(windows.items(), key=lambda item: (item[1], item[0]))
        return "sliding", window
    if found and all(each.dates == "everything" for each in found.values()):
        return "snapshot", ""
    return "timeseries", ""


def _proposals(down: Instances, up: Instances, reads: Sequence[Read]) -> Iterator[str]:
    """The plainest first; of those that say the same of one calendar the one that says it of others, too."""
    unit = down.calendar.spec.unit if down.calendar.spec.many == 1 else ""
    finer, coarser = _length(up) < _length(down), _length(up) > _length(down)
    one = {read.used.count for read in reads} == {1}
    if finer and unit in _DAYS:
        yield f"all_{unit}"
    yield "same"
    if one and coarser:
        yield "last_available"
    if finer and unit in _DAYS:
        yield f"all_{unit} - 1 {unit}"
    yield from _moved(down, up, reads) if finer else _before(reads)
    windows = _windows(up, reads)
    yield from windows
    yield from (f"{text} ending previous" for text in windows)
    yield from _units(down, reads)
    yield from _before(reads) if finer else _moved(down, up, reads)
    counts = {read.used.count for read in reads}
    if len(counts) >= _GROWN:
        yield "everything"
    if len(counts) == 1:
        yield "last_available" if one else f"last_available {counts.pop()}"


def _units(down: Instances, reads: Sequence[Read]) -> Iterator[str]:
    """Yield whole weeks, months … that are longer than the period; reads that never began anew are of everything, though a year may be all so far."""
    grows = all(one.used.first == other.used.first for one, other in itertools.pairwise(reads))
    for unit, days in _DAYS.items():
        if days > _length(down) / 86_400:
            if not grows:
                yield f"{unit}_to_date"
            yield f"all_{unit}"
        yield f"all_{unit} - 1 {unit}"


def _before(reads: Sequence[Read]) -> Iterator[str]:
    counts = {read.used.count for read in reads}
    if counts == {1}:
        yield "previous"
    elif len(counts) == 1:
        yield f"previous {counts.pop()}"


def _windows(up: Instances, reads: Sequence[Read]) -> list[str]:
    """Windows that end with the period: as many of the upstream's units as were read at most, or as many months.

    A number that was read once may still be growing.
    """
    counts = Counter(read.used.count for read in reads)
    most = max(counts)
    if len(counts) > 1 and counts[most] < _FEWEST:
        return []
    unit, many = up.calendar.spec.unit, most * up.calendar.spec.many
    found = []
    if unit == "hour" and many % 24 == 0:
        found.append(f"last {_counted(many // 24, 'day')}")
    if unit:
        found.append(f"last {_counted(many, unit)}")
    days = _length(up) * most / 86_400
    months = (
        range(max(1, int(days / 31)), int(days / 28) + 2) if days >= 28 and unit not in {"month", "quarter"} else ()
    )
    found += [f"last {_counted(each, 'month')}" for each in months]
    return found


def _counted(many: int, unit: str) -> str:
    return f"{many} {unit}s" if many != 1 else f"1 {unit}"


def _moved(down: Instances, up: Instances, reads: Sequence[Read]) -> Iterator[str]:
    """Yield the period moved by so many days or hours, by the first instance that the last run read."""
    last = reads[-1]
    start, first = down.calendar.interval(last.ordinal)[0], up.calendar.interval(last.used.first)[0]
    days = (start.date() - first.astimezone(start.tzinfo).date()).days
    hours = (start - first) // dt.timedelta(hours=1)
    for count, unit in ((days, "day"), (hours, "hour")):
        if count:
            yield f"same {'-' if count > 0 else '+'} {_counted(abs(count), unit)}"


def _fitting(edge: Edge, reads: Sequence[Read]) -> int:
    """Return how many reads are exactly what the edge says."""
    every = edge.upstream.all
    fits = 0
    for read in reads:
        if edge.dates.meaning.newest:
            fits += edge.resolve(read.ordinal, read.there) == read.used
        else:
            fits += edge.need(Ordinals.between(read.ordinal, read.ordinal + 1)) & every == read.used
    return fits


def _overlaps(reads: Sequence[Read]) -> bool:
    """Return whether the runs of two consecutive periods read some of the same instances."""
    by_ordinal = {read.ordinal: read.used for read in reads}
    return any(bool(used & by_ordinal[at + 1]) for at, used in by_ordinal.items() if at + 1 in by_ordinal)


def _length(instances: Instances) -> float:
    """Return about how many seconds a period has."""
    calendar = instances.calendar
    start, end = (int(each) for each in calendar.begins([0, 1]))
    return end - start
