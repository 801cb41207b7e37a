"""Differences between status and storage, and which of what is gone was meant to go. Sets in, sets out; how storage is listed is not known here."""

import datetime as dt
from typing import NamedTuple

import numpy as np

from headwater.entities.status.marks import Marks
from headwater.entities.time.durations import Length, latest
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.entities.time.zones import seconds


class Drift(NamedTuple):
    """The differences between status and storage. No instance is in two of these.

    agree: both have it. retention: status has it, storage does not, and it is past its retention. external: the same,
    and it is not.
    unknown: storage has it and status does not. unfinished: the same of a period that is not over. underway: one of
    them has it, and a run or a plan is making it, or a report about it came while storage was listed: a later look will
    show which.
    """

    agree: Ordinals
    retention: Ordinals
    external: Ordinals
    unknown: Ordinals
    unfinished: Ordinals
    underway: Ordinals


def drift(marks: Marks, stored: Ordinals, *, over: Ordinals, expired: Ordinals, spoken_of: Ordinals) -> Drift:
    """Return the differences of an entity. `marks` and `stored` cover the same instances.

    over: instances whose periods have ended. expired: instances past their retention. spoken_of: instances reported
    while storage was listed.
    """
    there = marks.exist
    moving = marks.of("running", "repairing") | spoken_of
    missing, unknown = there - stored, stored - there
    lost, new = missing - moving, unknown - moving
    return Drift(there & stored, lost & expired, lost - expired, new & over, new - over, (missing | unknown) & moving)


def expired(instances: Instances | None, retention: Length | None, now: dt.datetime) -> Ordinals:
    """Return the instances whose periods ended longer ago than the retention: days and months by the clock of the
    calendar's zone, hours by a stopwatch.

    None without a retention or without periods.
    """
    if instances is None or retention is None or not instances.all:
        return NONE
    low, high = instances.all.first, instances.all.end
    at = seconds(now)
    first = low
    while low < high:
        middle = (low + high) // 2
        if _retained_until(instances, middle, retention) <= at:
            low = middle + 1
        else:
            high = middle
    return Ordinals.between(first, low)


def _retained_until(instances: Instances, ordinal: int, retention: Length) -> int:
    calendar = instances.calendar
    end = int(calendar.begins([ordinal + 1])[0])
    if retention.civil:
        local = np.array([end + calendar.zone.offset(end)], dtype=np.int64)
        end = int(calendar.zone.instants(latest(local, retention))[0])
    return end + retention.seconds
