"""Find the instances of an entity that a run's events are about. Pure.

The first evidence that exists decides: the `headwater_period` facet; the partitions written, from `subset` facets and dataset names; the
period of Airflow's DAG run; the nominal time. The event time is never used: it says when the run happened, not which period it is for.
"""

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from headwater.entities.time import ranges
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.entities.time.written_times import Stretch, stretch, written
from headwater.errors import InvalidCalendar, InvalidPeriod
from headwater.intake.events.facets import decode_or_none, is_deleted
from headwater.model import facets as facet_values
from headwater.model.event import Facets
from headwater.model.identity import Identity
from headwater.model.moments import aware
from headwater.model.names import DatasetName, from_location, normalised

PERIOD = "headwater_period"

NO_PERIOD = "no_period"
PART = "part_of_an_instance"
OUTSIDE = "outside"
NOT_UNDERSTOOD = "not_understood"


class MatchedInstances(NamedTuple):
    """The instances that events are about. `why`, if there are none: nothing names a period (`no_period`), only a part of an instance was
    written (`part_of_an_instance`), the entity has no instances then (`outside`), or the evidence is malformed (`not_understood`).
    """

    instances: Ordinals
    why: str = ""


class Period(msgspec.Struct):
    """The facet `headwater_period` of a run, or of one input or output. `start` and `end`: every instance whose period overlaps them.

    `entity`: the facet applies to this entity only; without it, to all that the run makes. `state`: of the new versions. `reported`: the run
    reports its instances itself, so its events are not used.
    """

    entity: str | None = None
    instances: list[str] | None = None
    start: dt.datetime | None = None
    end: dt.datetime | None = None
    state: str | None = None
    reported: bool = False


class _DagRun(msgspec.Struct):
    run_type: str | None = None
    partition_key: str | None = None
    partition_date: str | None = None
    data_interval_start: str | None = None
    data_interval_end: str | None = None
    logical_date: str | None = None
    execution_date: str | None = None  # Airflow 2's name for logical_date


class _Airflow(msgspec.Struct, rename="camel"):
    dag_run: _DagRun | None = None


_period = msgspec.json.Decoder(Period)
_airflow = msgspec.json.Decoder(_Airflow)
_KEY_VALUE = re.compile(r"([^/=]+)=([^/]*)")
_STATIC = Ordinals.between(0, 1)


def period_of(body: bytes) -> Period:
    """Decode a `headwater_period` facet. Raises msgspec.ValidationError if it is malformed."""
    return _period.decode(body)


def parts(name: DatasetName, io_facets: Facets, identity: Identity) -> list[dict[str, str]]:
    """The parts of a dataset that an input or output is about, as dimensions and values: from its name and its `subset` facet."""
    found = [dict(identity.place(name).part)]
    for part in decode_or_none(facet_values.subset, io_facets.get("subset")) or []:
        if location := part.get("location"):
            place = (
                from_location(location, partitions=True) if "://" in location else normalised(name.namespace, location)
            )
            found.append(dict(identity.place(place).part))
        elif text := part.get("partition"):
            found.append(dict(_KEY_VALUE.findall(text)) or part)
        else:
            found.append(part)
    return [part for part in found if part]


def instances(
    entity: str,
    existing: Instances | None,
    io_facets: Facets,
    written: Sequence[Mapping[str, str]],
    runs: Iterable[Facets] = (),
) -> MatchedInstances:
    """The instances of one entity that one input or output of a run is about.

    `existing`: the entity's instances, None without a schedule. `io_facets`: the facets of the input or output. `written`: its `parts`.
    `runs`: the facets of the run, its parent and its root, nearest first; the nearest evidence wins.
    """
    if existing is None:
        return MatchedInstances(_STATIC)
    runs = tuple(runs)
    matched = next(
        (match for facets in (io_facets, *runs) if (match := _by_period_facet(entity, existing, facets)) is not None),
        None,
    )
    if matched is not None:
        return matched
    stretches = [time for part in written if (time := stretch(existing.calendar, part)) is not None]
    by_parts, touched = _by_stretches(existing, stretches)
    if by_parts is not None:
        return by_parts
    by_run = next(
        (
            match
            for facets in runs
            if (match := _by_airflow_run(existing, facets) or _by_nominal_time(existing, facets))
        ),
        None,
    )
    if not touched:
        return by_run or MatchedInstances(NONE, NO_PERIOD)
    # Only parts of instances were written. The run's own period says which of those instances are complete.
    complete = by_run.instances & touched if by_run is not None else NONE
    return MatchedInstances(complete, "" if complete else PART)


def _by_period_facet(entity: str, existing: Instances, facets: Facets) -> MatchedInstances | None:
    """The instances in a `headwater_period` facet; None if there is no such facet for this entity."""
    body = bytes(facets.get(PERIOD, b""))
    if not body or is_deleted(body):
        return None
    try:
        period = period_of(body)
    except msgspec.DecodeError:
        return MatchedInstances(NONE, NOT_UNDERSTOOD)
    if period.entity not in {None, entity}:
        return None
    try:
        if period.instances:
            return _inside(existing, ranges.read(existing, period.instances))
        if period.start is not None and period.end is not None:
            return _inside(existing, existing.calendar.covering(aware(period.start), aware(period.end)))
    except InvalidPeriod:
        pass
    return MatchedInstances(NONE, NOT_UNDERSTOOD)


def _by_stretches(existing: Instances, stretches: Sequence[Stretch]) -> tuple[MatchedInstances | None, Ordinals]:
    """The instances that were written whole (None if there are none), and all of which a part was written."""
    whole, touched = written(existing.calendar, stretches)
    if stretches and not touched:
        return MatchedInstances(NONE, OUTSIDE), NONE
    return (_inside(existing, whole) if whole else None), touched


def _by_airflow_run(existing: Instances, facets: Facets) -> MatchedInstances | None:
    """The instances of Airflow's DAG run: its partition, else its data interval, else its logical date, unless it was triggered by hand."""
    airflow = decode_or_none(_airflow.decode, facets.get("airflow", facets.get("airflowDagRun")))
    run: _DagRun | None = airflow.dag_run if airflow is not None else None
    if run is None:
        return None
    if run.partition_key:
        texts = {str(place): text for place, text in enumerate(run.partition_key.split("|"))}
        if (time := stretch(existing.calendar, texts)) is not None:
            whole, touched = _by_stretches(existing, [time])
            return whole or MatchedInstances(NONE, PART if touched else OUTSIDE)
    if (date := _time(run.partition_date)) is not None:
        return _interval(existing, date, None)
    start, end = _time(run.data_interval_start), _time(run.data_interval_end)
    if start is not None and end is not None and start < end:
        return _interval(existing, start, end)
    alone = start or _time(run.logical_date or run.execution_date)
    return None if alone is None or run.run_type == "manual" else _interval(existing, alone, None)


def _by_nominal_time(existing: Instances, facets: Facets) -> MatchedInstances | None:
    if "airflow" in facets or "airflowDagRun" in facets:
        return (
            None  # Airflow repeats its data interval here; for a run triggered by hand that is the time of the trigger
        )
    start, end = decode_or_none(facet_values.nominal_time, facets.get("nominalTime")) or (None, None)
    return None if start is None else _interval(existing, start, end)


def _interval(existing: Instances, start: dt.datetime, end: dt.datetime | None) -> MatchedInstances:
    """Return the instances from the one that contains the start up to, and without, the one that contains the end.

    So a run for 06:00 to 06:00 is for the day in which it begins, as its scheduler names it, and the last of 24 hourly runs completes the day.
    Consecutive runs leave no instance out and share none. Without a later end: the instance that contains the start.
    """
    try:
        first = existing.calendar.at(start)
        after = existing.calendar.at(end) if end is not None and end > start else first + 1
    except InvalidCalendar:
        return MatchedInstances(NONE, OUTSIDE)
    if first >= after:
        return MatchedInstances(NONE, PART)
    return _inside(existing, Ordinals.between(first, after))


def _inside(existing: Instances, matched: Ordinals) -> MatchedInstances:
    inside = matched & existing.all
    return MatchedInstances(inside, "" if inside else OUTSIDE)


def _time(text: str | None) -> dt.datetime | None:
    try:
        return aware(dt.datetime.fromisoformat(text)) if text else None
    except ValueError:
        return None
