"""The kinds of entities: which of an entity's instances are wrong because of wrong upstream instances, and the least
that repairs them.

| kind | instance k holds | wrong because of u | repair |
|---|---|---|---|
| `TimeSeries` | its own period | what the edge affects | those, in any order |
| `Sliding` | the window that ends with its period | the same: as many as windows reach u | those, in any order |
| `Snapshot`, rebuild | everything up to its end | the same: of `everything` all that end after u begins | the newest, unless all are wanted |
| `Snapshot`, carry | k - 1 and what was new | these and all after, until one was made anew | those, in order |
| `Static` | versions without dates | the instances that used the version | the version, then those |
| `Cumulative` | a period revised again and again | of each period the revisions from the first that read u on | the last, or all in order |

Declarations give what *could* have been used. Recorded reads are exact: the caller intersects with them.
"""

from typing import Literal, NamedTuple

import numpy as np

from headwater.entities.needs.edges import Edge
from headwater.entities.time.calendar import Calendar, Instant
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import NONE, Int, Ordinals
from headwater.entities.time.zones import seconds


class Repair(NamedTuple):
    """The instances to make again, ascending, and one after the other if `ordered`; `left` stays wrong and gets the mark `wont_fix`."""

    redo: Ordinals
    ordered: bool = False
    left: Ordinals = NONE


class TimeSeries(NamedTuple):
    """One instance for each period, of that period's data."""

    default_dates: str = "same"

    def tainted(self, edge: Edge, changed: Ordinals, exist: Ordinals) -> Ordinals:
        """The existing instances that need any upstream instance of `changed`."""
        return edge.affected(changed, exist)

    def repair(self, tainted: Ordinals) -> Repair:
        """Return the repair that makes all of them again."""
        return Repair(tainted)


class Sliding(NamedTuple):
    """An instance for each period of the data of a longer window: `30 days`, `2 months`. A wrong instance is wrong alone, the next one reads anew."""

    window: str

    @property
    def default_dates(self) -> str:
        """The dates of a dependency that declares none."""
        return f"last {self.window}"

    def tainted(self, edge: Edge, changed: Ordinals, exist: Ordinals) -> Ordinals:
        """Return the affected instances, as of a time series: the window is in the edge's dates."""
        return edge.affected(changed, exist)

    def repair(self, tainted: Ordinals) -> Repair:
        """Return the repair that makes all of them again."""
        return Repair(tainted)


class Snapshot(NamedTuple):
    """The full state at the end of each period. `rebuild`: made from the upstream alone; `carry`: from the snapshot before and what was new."""

    mode: Literal["rebuild", "carry"] = "rebuild"
    default_dates: str = "everything"

    def tainted(self, edge: Edge, changed: Ordinals, exist: Ordinals, rebuilt: Ordinals = NONE) -> Ordinals:
        """`rebuilt`: instances of `carry` that were, this once, made from the upstream alone: what was wrong before does not pass them."""
        return self.spread(edge.affected(changed, exist), exist, rebuilt)

    def spread(self, bad: Ordinals, exist: Ordinals, rebuilt: Ordinals = NONE) -> Ordinals:
        """Return the instances that are wrong if these are, whatever the cause: only these, or all after them too if snapshots are carried on."""
        return bad & exist if self.mode == "rebuild" else carried(bad, exist, rebuilt)

    def repair(self, tainted: Ordinals, exist: Ordinals, what: Literal["latest", "all"] | int = "latest") -> Repair:
        """Rebuilt snapshots are read by their newest: `latest` makes that again if it is wrong and leaves the older ones; `all`, or all from an
        ordinal on, if history must be right too. Carried ones are all made again, in order: each needs the one before.
        """
        if self.mode == "carry":
            return Repair(tainted, ordered=True)
        if what == "all" or not exist:
            return Repair(tainted)
        since = exist.end - 1 if what == "latest" else int(what)
        redo = tainted & Ordinals.between(since, exist.end)
        return Repair(redo, left=tainted - redo)


def carried(bad: Ordinals, exist: Ordinals, cuts: Ordinals = NONE) -> Ordinals:
    """Return these and every one after them that exists, as far as the next cut: an instance that did not use the one
    before.

    A cut that is bad itself is bad, and so are those after it. One that is missing passes on what is wrong: the next one carries on from the last
    that is there. O(r log r), no matter how long the chain.
    """
    seeds = bad & exist
    if not seeds:
        return NONE
    ends = np.maximum(seeds.ends, exist.end)
    if cuts:
        run = np.searchsorted(cuts.ends, seeds.ends, "right")
        some = run < cuts.runs
        ends = np.where(some, np.maximum(seeds.ends, cuts.starts[np.minimum(run, cuts.runs - 1)]), ends)
    return Ordinals.joined(seeds.starts, ends) & exist


class Static(NamedTuple):
    """A dataset without periods: a list of countries, a model. It has versions, and the use of each is recorded or guessed."""

    default_dates: str = "static"

    def tainted(
        self, exist: Ordinals, made_while_current: Ordinals, used: Ordinals | None = None
    ) -> tuple[Ordinals, Literal["exact", "declared"]]:
        """Instances that a wrong version makes wrong, and on what basis: exact where it is recorded which `used` it; otherwise those that were
        made while it was the current one.
        """
        if used is not None:
            return used & exist, "exact"
        return made_while_current & exist, "declared"


class Revisions(NamedTuple):
    """The process periods `first` ≤ q < `end` of each data period; three arrays of equal length, periods ascending."""

    periods: Int
    first: Int
    end: Int


class Cumulative(NamedTuple):
    """A period of data that is processed again and again until it closes: a weekly table that is corrected each day.

    `process`: when it is processed. `corrections`: in how many process periods after its end a data period is still corrected.
    """

    process: Instances
    mode: Literal["rebuild", "incremental"] = "rebuild"
    corrections: int = 0
    default_dates: str = "same"

    def revisions(self, data: Calendar, periods: Int) -> Revisions:
        """Return all revisions there will be of each data period: its process periods, and those of corrections."""
        process = self.process.calendar
        first = process.floor(data.begins(periods))
        end = process.ceil(data.begins(periods + 1)) + self.corrections
        made = self.process.all
        if not made:
            return Revisions(periods[:0], first[:0], end[:0])
        return Revisions(periods, np.maximum(first, made.first), np.minimum(end, made.end))

    def tainted(
        self, edge: Edge, changed: Ordinals, exist: Ordinals, done: Ordinals | None = None, since: Instant | None = None
    ) -> Revisions:
        """Return, for each data period that exists, the revisions from the first that read any of `changed` on.

        Revision q reads what has begun by its end. `since`: when the wrong version of the upstream came to be; revisions that were over by then
        read the right one: Monday spoilt on Wednesday spoils Wednesday's revision, not Monday's. `done`: only revisions up to the last of these.
        """
        found = self.revisions(edge.downstream.calendar, edge.affected(changed, exist).members())
        periods, first, end = found
        if not periods.size:
            return found
        process = self.process.calendar
        read = process.floor(edge.upstream.calendar.begins(edge.first_needed(periods, changed)))
        first = np.maximum(first, read)
        if since is not None:
            # A change during a process period may be read in that period.
            at = since if isinstance(since, int) else seconds(since)
            first = np.maximum(first, process.floor(np.array([at], dtype=np.int64)))
        if done is not None:
            end = np.minimum(end, done.end if done else first)
        some = first < end
        return Revisions(periods[some], first[some], end[some])

    def repair(self, tainted: Revisions) -> Revisions:
        """Return the revisions to make again: only the last one if each is made from all the data, otherwise all in order."""
        if self.mode == "incremental":
            return tainted
        return tainted._replace(first=tainted.end - 1)
