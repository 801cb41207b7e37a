"""The instances that each run of a producer makes: a daily run makes 24 hours, a weekly one the week, a revision a
period once more.

It is one map of ordinals read both ways (`spans.py`), from an entity's periods to the periods of its producer's runs.
Nothing here knows which runs existed; a run is the ordinal of a period.
"""

import functools
from typing import NamedTuple

import numpy as np

from headwater.entities.needs.graph import Entity
from headwater.entities.needs.kinds import Cumulative
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.ordinals import Bool, Int, Ordinals
from headwater.entities.time.spans import Spans


class Producer(NamedTuple):
    """The job or package that makes instances of an entity: `airflow://prod/reads/compute`.

    calendar: of its runs; None: one run for each instance. Otherwise a period is made by the run in whose period it
    ends: a daily run makes the hours of its day, and the run of a week's last day makes the week.
    max_periods: how many adjacent periods one run may be asked for. pool: the name of the pool that it shares its slots
    with.
    """

    name: str
    calendar: Calendar | None = None
    max_periods: int = 1
    pool: str = ""


class ProducerRuns(NamedTuple):
    """The runs that make one entity. `calendar`: of the runs, None for a static entity's. `spans` None: run k makes
    instance k and nothing else.

    chained: an instance needs all of its runs, one after the other, not the last one alone.
    """

    calendar: Calendar | None
    spans: Spans | None = None
    chained: bool = False

    def runs(self, instances: Ordinals) -> Ordinals:
        """Return all runs that it takes to make these."""
        return instances if self.spans is None else self.spans.of(instances)

    def instances(self, runs: Ordinals, among: Ordinals) -> Ordinals:
        """Return those of `among` that any of these runs makes."""
        return runs & among if self.spans is None else self.spans.touching(runs, among)

    def possible(self, instances: Ordinals) -> Ordinals:
        """Return those that some run makes; the runs of the others would be outside the calendar."""
        return instances if self.spans is None else self.spans.touching(self.spans.of(instances), instances)

    def last(self, instances: Int) -> Int:
        """Return for each possible instance the run after which it exists."""
        return instances if self.spans is None else self.spans.bounds(instances)[1] - 1


def producer_runs(entity: Entity, producer: Producer | None) -> ProducerRuns:
    """Return the runs with which a producer makes an entity; None: by hand, one by one. A cumulative entity's runs are
    always those of its process."""
    if entity.instances is None:
        return ProducerRuns(None)
    own = entity.instances.calendar
    if isinstance(entity.kind, Cumulative):
        return ProducerRuns(
            entity.kind.process.calendar, _revised(own, entity.kind), chained=entity.kind.mode == "incremental"
        )
    if producer is None or producer.calendar is None or producer.calendar == own:
        return ProducerRuns(own)
    return ProducerRuns(producer.calendar, _ending(own, producer.calendar))


@functools.lru_cache(maxsize=4096)
def _ending(own: Calendar, runs: Calendar) -> Spans:
    """The run in whose period an instance ends."""
    start, stop = runs.begins([runs.first, runs.end]).tolist()

    def bounds(ordinals: Int) -> tuple[Int, Int, Bool]:
        last = own.begins(ordinals + 1) - 1
        found = np.clip(runs.floor(last), runs.first, runs.end - 1)
        return found, found + 1, (last < start) | (last >= stop)

    return Spans(bounds, own.first, own.end)


@functools.lru_cache(maxsize=4096)
def _revised(own: Calendar, kind: Cumulative) -> Spans:
    """The last revision, or all where each adds to the one before."""

    def bounds(ordinals: Int) -> tuple[Int, Int, Bool]:
        _, first, end = kind.revisions(own, ordinals)
        if not first.size:
            return ordinals, ordinals, np.ones(ordinals.shape, dtype=np.bool_)
        return (first if kind.mode == "incremental" else end - 1), end, first >= end

    return Spans(bounds, own.first, own.end)
