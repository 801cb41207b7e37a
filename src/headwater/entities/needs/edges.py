"""An edge between two entities: which upstream instances each downstream instance needs, and which downstream instances each upstream one affects.

Both are one map of ordinals (`spans.py`) read in two directions. The map's bounds are computed from the `dates` alone: a window [alpha(k), beta(k))
of instants whose ends never go back, rounded to upstream periods. The inverse is never written; a window added to the language has one.
Where a `custom` table lists what some instances need, the map is that one with these put in its place (`relations.py`).

Edges with the same calendars and dates share their map. Windows are exact as far as they lie in the calendars' 1950 to 2149.
"""

import functools

import numpy as np

from headwater.entities.time.calendar import Calendar, Instant
from headwater.entities.time.custom_tables import relation
from headwater.entities.time.dates import Dates, Meaning, Point
from headwater.entities.time.durations import earliest, latest
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import Bool, Int, Ordinals
from headwater.entities.time.relations import Relation
from headwater.entities.time.spans import Spans
from headwater.errors import InvalidDates


class Edge:
    """An edge between two entities. `need` and `affected` are exact for what is declared: u is in need({k}) just where
    k is in affected({u}).

    For `last_available` they return what may have been used, everything over by then; `resolve` chooses what was used,
    and its choice must be recorded.
    """

    def __init__(self, downstream: Instances, upstream: Instances, dates: Dates) -> None:
        """Raises InvalidDates for `static`, which has no dates (see `kinds.Static`), and for a `custom` table that is wrong."""
        if dates.meaning.static:
            raise InvalidDates("static has no dates: which version was used is recorded, not computed", text=dates.text)
        self.downstream = downstream
        self.upstream = upstream
        self.dates = dates
        custom = dates.meaning.custom
        rule = spans(downstream.calendar, upstream.calendar, dates.meaning._replace(custom=None))
        self.spans: Spans | Relation = rule if custom is None else relation(downstream, upstream, custom, rule)
        calendar = upstream.calendar
        # `everything` is since the first instance: what would be before it is nothing that could be lacking.
        self.clipped = dates.ignore_before_start or (dates.meaning.start is None and not dates.meaning.steps)
        first = upstream.first if self.clipped and upstream.first is not None else calendar.first
        self.needed = Ordinals.between(first, calendar.end)
        self._exist = downstream.all

    def need(self, wanted: Ordinals) -> Ordinals:
        """The upstream instances that any of these downstream ones needs; those that are no instances need nothing.

        Among them are instances before the upstream's first one unless the dates say `before_start: ignore`, and after its last: see `incomplete`.
        """
        return self.spans.of(wanted & self._exist) & self.needed

    def hulls(self, starts: Int, ends: Int) -> tuple[Int, Int, Bool]:
        """Return for each run of downstream instances the hull of what it needs, and whether it needs all of the hull; (0, 0) for nothing."""
        exist = self._exist
        if not exist:
            return np.zeros_like(starts), np.zeros_like(starts), np.ones(starts.shape, dtype=np.bool_)
        first = np.clip(starts, exist.first, exist.end)
        low, high, whole = self.spans.hulls(first, np.clip(ends, exist.first, exist.end))
        low, high = np.maximum(low, self.needed.first), np.minimum(high, self.needed.end)
        some = low < high
        return np.where(some, low, 0), np.where(some, high, 0), whole

    def affected(self, changed: Ordinals, among: Ordinals | None = None) -> Ordinals:
        """The downstream instances that need any of these upstream ones. `among`: only of those, and nothing beyond them is computed."""
        exist = self._exist if among is None else self._exist & among
        return self.spans.touching(changed & self.needed, exist)

    def first_needed(self, affected: Int, changed: Ordinals) -> Int:
        """Return for each downstream instance of `affected(changed)`, ascending, the first upstream one of `changed` that it needs."""
        return self.spans.first_of(affected, changed & self.needed)[0]

    def incomplete(self, among: Ordinals | None = None) -> Ordinals:
        """Return the downstream instances that can never be ready: they need upstream ones before the first or after the last."""
        calendar = self.upstream.calendar
        return self.affected(Ordinals.between(calendar.first, calendar.end) - self.upstream.all, among)

    def first_complete(self) -> int | None:
        """The first downstream instance that needs nothing that can never be; None if there is none."""
        complete = self._exist - self.incomplete()
        return complete.first if complete else None

    def resolve(self, ordinal: int, available: Ordinals, now: Instant | None = None) -> Ordinals:
        """Return the available instances that one downstream instance takes: for `last_available` the newest of them,
        otherwise all that it needs.

        `as_of: now` needs `now` to know what is over. The answer changes as more becomes available: record it with what
        was made from it.
        """
        meaning = self.dates.meaning
        found = self.need(Ordinals.between(ordinal, ordinal + 1)) & available
        if meaning.newest and meaning.end is None:
            if now is None:
                raise InvalidDates("last_available as of now cannot be resolved without a time", text=self.dates.text)
            found &= self.upstream.over(now)
        if not meaning.newest or found.count <= meaning.newest:
            return found
        # The members of the newest runs that hold as many as are wanted; of the oldest of these only the newest.
        held = np.cumsum((found.ends - found.starts)[::-1])
        run = int(np.searchsorted(held, meaning.newest))
        start = int(found.starts[found.runs - 1 - run] + held[run] - meaning.newest)
        return found & Ordinals.between(start, found.end)


@functools.lru_cache(maxsize=4096)
def spans(downstream: Calendar, upstream: Calendar, meaning: Meaning) -> Spans:
    """The map of need, one for all edges that mean the same but for what a `custom` table says."""
    points = [point for point in (meaning.start, meaning.end) if point is not None]
    lag = max((point.lag for point in points), default=0)

    def bounds(ordinals: Int) -> tuple[Int, Int, Bool]:
        if meaning.steps:
            return _counted(downstream, upstream, meaning.steps, ordinals)
        never = np.zeros(ordinals.shape, dtype=np.bool_)
        low = high = alpha = beta = None
        if meaning.start is not None:
            alpha = _instants(downstream, meaning.start, ordinals, late=False)
            low = upstream.ceil(alpha) if meaning.strict else upstream.floor(alpha)
        if meaning.end is not None:
            beta = _instants(downstream, meaning.end, ordinals, late=True)
            high = upstream.floor(beta) if meaning.over else upstream.ceil(beta)
        # An empty window within a period would round to that period.
        empty = never if alpha is None or beta is None else alpha >= beta
        return (
            np.full(ordinals.shape, upstream.first) if low is None else low,
            np.full(ordinals.shape, upstream.end) if high is None else high,
            empty,
        )

    return Spans(bounds, downstream.first + lag, downstream.end)


def _counted(downstream: Calendar, upstream: Calendar, steps: int, ordinals: Int) -> tuple[Int, Int, Bool]:
    """Return so many upstream periods before those that overlap mine, or after them."""
    if steps < 0:
        high = upstream.floor(downstream.begins(ordinals))
        low = high + steps
    else:
        low = upstream.ceil(downstream.begins(ordinals + 1))
        high = low + steps
    low, high = (np.clip(bound, upstream.first, upstream.end) for bound in (low, high))
    return low, high, low >= high


def _instants(calendar: Calendar, point: Point, ordinals: Int, *, late: bool) -> Int:
    """Return where each downstream period's window starts, or ends if `late`: never earlier for a later period.

    A length in days or months is measured on the wall, in dates, from where the period is meant to begin or end
    (`Calendar.wall`); hours and minutes are added after it.
    """
    if point.date is not None:
        return np.full(ordinals.shape, calendar.midnight(point.date))
    places = ordinals - point.lag
    at = calendar
    by = point.by
    if point.unit is not None:
        at = calendar.unit(point.unit)
        inside = calendar.begins(places) if point.of == "first" else calendar.begins(places + 1) - 1
        places = np.minimum(at.floor(inside), at.end - 1)
        if point.weekday is not None:
            by = by._replace(days=by.days + (point.weekday - calendar.spec.week_start) % 7)
    if not by.civil:
        return at.begins(places + (point.side == "end")) + by.seconds
    start, end = at.wall(places)
    # Dates are what months are counted in: a business day that begins at six, or the evening before, is moved as its date and begins as it does.
    offset = at.civil.offset if at.civil is not None else 0
    local = (start if point.side == "start" else end) - offset
    return calendar.zone.instants((latest if late else earliest)(local, by) + offset) + by.seconds
