"""Find when a series of numbers changed its level: robust change points. Pure; no distribution is assumed.

A series is cut where two medians fit it best (least absolute deviations), if a rank test, corrected for the number of places tried, finds that the
two sides differ, and the medians are far enough apart to matter. A single spike is not a level.
"""

import bisect
import functools
import math
import statistics
from collections.abc import Sequence

import msgspec

# The fewest values of a level, and of a series.
_SHORTEST, _FEWEST = 3, 8
# The smallest change that matters: relative to the median before, and in scaled median absolute deviations of either side.
_FACTOR, _DEVIATIONS = 1.2, 2.0
_SURE = 0.95
_SCALE = 1.4826
# Samples up to this size are tested exactly, larger ones with the normal approximation.
_SMALL = 8


class Level(msgspec.Struct, frozen=True):
    """`count` values around `median`, from the index `first` on. `confidence`: that the level before was different (0 for the first level)."""

    first: int
    count: int
    median: float
    spread: float
    confidence: float


class Rise(msgspec.Struct, frozen=True):
    """The current level is higher than an earlier one. `first`: index of the first value of the rise. `factor`: after / before."""

    first: int
    before: float
    after: float
    factor: float
    spread: float
    confidence: float


def levels(values: Sequence[float]) -> list[Level]:
    """The levels of a series, in order: one if it never changed, none if it is empty."""
    if not values:
        return []
    starts: dict[int, float] = {0: 0.0}
    _cut(list(values), 0, starts)
    ordered = sorted(starts)
    found = []
    for first, end in zip(ordered, [*ordered[1:], len(values)], strict=True):
        part = values[first:end]
        found.append(Level(first, len(part), statistics.median(part), _spread(part), starts[first]))
    return found


def rise(found: Sequence[Level]) -> Rise | None:
    """Return the rise that the last level is, or None; steps that lead up to it in a row are one rise."""
    if len(found) < 2 or not _higher(found[-2], found[-1]):
        return None
    first = len(found) - 1
    while first > 1 and _higher(found[first - 2], found[first - 1]):
        first -= 1
    before, after = found[first - 1], found[-1]
    factor = after.median / before.median if before.median > 0 else math.inf
    sure = min(level.confidence for level in found[first:])
    return Rise(found[first].first, before.median, after.median, factor, before.spread, sure)


def _higher(one: Level, two: Level) -> bool:
    return two.median > one.median * _FACTOR


def _spread(values: Sequence[float]) -> float:
    middle = statistics.median(values)
    return statistics.median([abs(value - middle) for value in values])


def _cut(values: list[float], offset: int, starts: dict[int, float]) -> None:
    """Add the indexes at which the values change their level, with the confidence."""
    if len(values) < _FEWEST:
        return
    place = _best(values)
    before, after = values[:place], values[place:]
    low, high = sorted((statistics.median(before), statistics.median(after)))
    noise = _SCALE * min(_spread(before), _spread(after))
    if high < low * _FACTOR or high - low < _DEVIATIONS * noise or high == low:
        return
    sure = 1 - min(1.0, _chance(before, after) * _tries(len(values)))
    if sure < _SURE:
        return
    starts[offset + place] = round(sure, 4)
    _cut(before, offset, starts)
    _cut(after, offset + place, starts)


def _tries(count: int) -> float:
    """The effective number of places tried. Adjacent cuts are nearly one trial, so it grows with the logarithm (verified on noise)."""
    return 2 * math.log2(count - 2 * _SHORTEST + 1)


def _best(values: list[float]) -> int:
    """The place to cut at which the two medians leave the least absolute deviation; of equal places, the latest."""
    forward, backward = _deviations(values), _deviations(values[::-1])
    places = range(_SHORTEST, len(values) - _SHORTEST + 1)
    return min(places, key=lambda place: (forward[place] + backward[len(values) - place], -place))


def _deviations(values: list[float]) -> list[float]:
    """Sum of absolute deviations from the median of the first n values, for each n."""
    ordered: list[float] = []
    found = [0.0]
    for value in values:
        bisect.insort(ordered, value)
        half = len(ordered) // 2
        found.append(sum(ordered[-half:]) - sum(ordered[:half]) if half else 0.0)
    return found


def _chance(before: Sequence[float], after: Sequence[float]) -> float:
    """The probability that two samples of one population differ this much in their ranks (Mann-Whitney, two-sided).

    Exact if one of them is small, where few values must suffice; else the normal approximation.
    """
    n, m = len(before), len(after)
    ordered = sorted(before)
    below = sum((bisect.bisect_left(ordered, x) + bisect.bisect_right(ordered, x)) / 2 for x in after)
    if min(n, m) <= _SMALL and n + m <= 128:
        return min(1.0, 2 * _tail(min(n, m), max(n, m), math.floor(min(below, n * m - below))))
    away = max(0.0, abs(below - n * m / 2) - 0.5)
    return math.erfc(away / math.sqrt(n * m * (n + m + 1) / 12) / math.sqrt(2))


@functools.lru_cache(maxsize=2048)
def _tail(few: int, many: int, most: int) -> float:
    """The share of all orders of two samples with at most `most` inverted pairs; counts partitions that fit into a box."""
    # ways[k][u]: the orders of k values of the smaller sample with u inverted pairs.
    ways = [[0] * (most + 1) for _ in range(few + 1)]
    ways[0][0] = 1
    for wrong in range(many + 1):
        for placed in range(1, few + 1):
            for pairs in range(wrong, most + 1):
                ways[placed][pairs] += ways[placed - 1][pairs - wrong]
    return sum(ways[few]) / math.comb(few + many, few)


def percentile(ordered: Sequence[float], share: float) -> float:
    """A percentile of sorted values, interpolated linearly. Raises IndexError for no values."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
