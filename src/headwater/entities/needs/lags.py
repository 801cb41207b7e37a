"""The lag of a dependency, in time and in periods. With it a chain of needs is shown to end, and long chains are closed
at once.

Followed around a cycle of entities, needs have to lead to earlier and earlier periods; otherwise an instance needs
itself. If the least lag of each dependency is known, a cycle whose lags together are positive is sure to end.
"""

import functools

import numpy as np

from headwater.entities.needs.edges import Edge, spans
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.dates import Meaning
from headwater.entities.time.ordinals import Int, Ordinals
from headwater.entities.time.relations import Relation
from headwater.entities.time.spans import Spans

# The lag of an edge that never needs anything: more than the whole supported time.
NEVER = 1 << 40
_AT_ONCE = 1 << 20


def least(edge: Edge) -> int:
    """Seconds from the end of the last needed upstream period to the end of the one that needs it, the least of all instances. Negative where
    something is needed that ends later; `NEVER` where nothing is needed at all.

    Every instance the downstream may ever have is looked at, in blocks, once for edges that mean the same. Of `previous` the shortest period of the
    downstream is taken: no more than the truth, and a cycle that needs more to be let through is refused.
    """
    exist = edge.downstream.all
    if not exist:
        return NEVER
    counted = edge.dates.meaning.steps < 0 and edge.dates.meaning.custom is None
    return _least(edge.spans, edge.downstream.calendar, edge.upstream.calendar, counted, exist.first, exist.end)


@functools.lru_cache(maxsize=4096)
def _least(
    spans: Spans | Relation, downstream: Calendar, upstream: Calendar, counted: bool, first: int, end: int
) -> int:
    found = NEVER
    every = Ordinals.between(upstream.first, upstream.end)
    for start in range(first, end, _AT_ONCE):
        ordinals = np.arange(start, min(start + _AT_ONCE, end), dtype=np.int64)
        ends = downstream.begins(ordinals + 1)
        if counted:
            # Periods counted back from a period are over when it starts. All calendars but the finest are one block.
            found = min(found, int((ends - downstream.begins(ordinals)).min()))
            if downstream.spec.unit in {"minute", "hour"}:
                break
            continue
        last, some = spans.last_of(ordinals, every)
        if some.any():
            found = min(found, int((ends[some] - upstream.begins(last[some] + 1)).min()))
    return found


def shift(edge: Edge, exist: Ordinals) -> tuple[int, int] | None:
    """Return the shift of an entity's edge on itself.

    (a, b) where each instance of the hull of `exist` needs just those from b to a periods before it; what a
    `custom` table says of some is not looked at.

    None if it is not the same for all: months of days, days that a country skipped. `previous 3` is (1, 3), `-7 days` of days (7, 7).
    """
    meaning = edge.dates.meaning._replace(custom=None)
    if meaning.steps < 0:
        return 1, -meaning.steps
    if not exist or edge.downstream.calendar != edge.upstream.calendar:
        return None
    return _shift(edge.downstream.calendar, meaning, exist.first, exist.end)


@functools.lru_cache(maxsize=4096)
def _shift(calendar: Calendar, meaning: Meaning, first: int, end: int) -> tuple[int, int] | None:
    bounds = spans(calendar, calendar, meaning)
    if first < bounds.first:
        return None
    found: tuple[int, int] | None = None
    for start in range(first, end, _AT_ONCE):
        ordinals: Int = np.arange(start, min(start + _AT_ONCE, end), dtype=np.int64)
        low, high, empty = bounds.bounds(ordinals)
        far, near = ordinals - low, ordinals - high + 1
        here = int(near[0]), int(far[0])
        if found is None:
            found = here
        if here != found or empty.any() or (far != found[1]).any() or (near != found[0]).any():
            return None
    return found if found is not None and 1 <= found[0] <= found[1] else None
