"""Which instances of an entity a run's events are about, by what they say of it. Pure.

Evidence, the first that there is: what our own facet names; the partitions that were written, as the `subset` facet and the names of datasets tell
them; what Airflow says its run is for; the nominal time. When an event happened says nothing of what it is about, so that is never looked at.
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
from headwater.intake.events.facets import if_understood, is_deleted
from headwater.model import facets as known
from headwater.model.event import Facets
from headwater.model.identity import Identity
from headwater.model.names import DatasetName, from_location, normalised

PERIOD = "headwater_period"

NO_PERIOD = "no_period"
PART = "part_of_an_instance"
OUTSIDE = "outside"
NOT_UNDERSTOOD = "not_understood"


class Found(NamedTuple):
    """`why`: where there are no instances, that nothing names a period (`no_period`), that only a part of an instance was written
    (`part_of_an_instance`), that the entity has none then (`outside`), or that what names them makes no sense (`not_understood`).
    """

    instances: Ordinals
    why: str = ""


class Period(msgspec.Struct):
    """The facet `headwater_period`: of a run, or of one input or output. `start` and `end`: all whose periods overlap that interval.

    `entity`: it is said of that one only; of a run without it of all that it makes. `state`: of the new versions. `reported`: the run reports by
    itself, and nothing is to be learned from its events.
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
    execution_date: str | None = None  # what Airflow 2 calls it


class _Airflow(msgspec.Struct, rename="camel"):
    dag_run: _DagRun | None = None


_period = msgspec.json.Decoder(Period)
_airflow = msgspec.json.Decoder(_Airflow)
_KEY_VALUE = re.compile(r"([^/=]+)=([^/]*)")
_STATIC = Ordinals.between(0, 1)


def period_of(body: bytes) -> Period:
    """What our facet says. msgspec.ValidationError where it has another shape."""
    return _period.decode(body)


def parts(name: DatasetName, here: Facets, identity: Identity) -> list[dict[str, str]]:
    """The parts of a dataset that an input or output is about: dimensions and their values, folded out of its name or told by a `subset` facet."""
    found = [dict(identity.place(name).part)]
    for one in if_understood(known.subset, here.get("subset")) or []:
        if location := one.get("location"):
            place = (
                from_location(location, partitions=True) if "://" in location else normalised(name.namespace, location)
            )
            found.append(dict(identity.place(place).part))
        elif text := one.get("partition"):
            found.append(dict(_KEY_VALUE.findall(text)) or one)
        else:
            found.append(one)
    return [one for one in found if one]


def instances(
    entity: str,
    has: Instances | None,
    here: Facets,
    written: Sequence[Mapping[str, str]],
    runs: Iterable[Facets] = (),
) -> Found:
    """Those of one entity that one input or output of a run is about.

    here: facets of that input or output. written: its `parts`. runs: facets of the run, of its parent, of its root; those nearer count first.
    """
    if has is None:
        return Found(_STATIC)
    runs = tuple(runs)
    said = next((one for facets in (here, *runs) if (one := _said(entity, has, facets)) is not None), None)
    if said is not None:
        return said
    of_parts, near = _written(has, [time for each in written if (time := stretch(has.calendar, each)) is not None])
    if of_parts is not None:
        return of_parts
    found = next((one for facets in runs if (one := _airflow_run(has, facets) or _nominal(has, facets))), None)
    if not near:
        return found or Found(NONE, NO_PERIOD)
    # Pieces of instances were written: only of these it can be told that they are whole now.
    whole = found.instances & near if found is not None else NONE
    return Found(whole, "" if whole else PART)


def _said(entity: str, has: Instances, facets: Facets) -> Found | None:
    """What our own facet says of an entity; None where it says nothing."""
    body = bytes(facets.get(PERIOD, b""))
    if not body or is_deleted(body):
        return None
    try:
        said = period_of(body)
    except msgspec.DecodeError:
        return Found(NONE, NOT_UNDERSTOOD)
    if said.entity not in {None, entity}:
        return None
    try:
        if said.instances:
            return _inside(has, ranges.read(has, said.instances))
        if said.start is not None and said.end is not None:
            return _inside(has, has.calendar.covering(_utc(said.start), _utc(said.end)))
    except InvalidPeriod:
        pass
    return Found(NONE, NOT_UNDERSTOOD)


def _written(has: Instances, told: Sequence[Stretch]) -> tuple[Found | None, Ordinals]:
    """Instances that were written as a whole, where there are any; and those of which a piece was."""
    whole, near = written(has.calendar, told)
    if told and not near:
        return Found(NONE, OUTSIDE), NONE
    return (_inside(has, whole) if whole else None), near


def _airflow_run(has: Instances, facets: Facets) -> Found | None:
    """What Airflow's run is for: its partition, else its data interval, else its logical date, unless that is when somebody pressed a button."""
    told = if_understood(_airflow.decode, facets.get("airflow", facets.get("airflowDagRun")))
    run: _DagRun | None = told.dag_run if told is not None else None
    if run is None:
        return None
    if run.partition_key:
        texts = {str(place): text for place, text in enumerate(run.partition_key.split("|"))}
        if (time := stretch(has.calendar, texts)) is not None:
            whole, near = _written(has, [time])
            return whole or Found(NONE, PART if near else OUTSIDE)
    if (date := _time(run.partition_date)) is not None:
        return _interval(has, date, None)
    start, end = _time(run.data_interval_start), _time(run.data_interval_end)
    if start is not None and end is not None and start < end:
        return _interval(has, start, end)
    alone = start or _time(run.logical_date or run.execution_date)
    return None if alone is None or run.run_type == "manual" else _interval(has, alone, None)


def _nominal(has: Instances, facets: Facets) -> Found | None:
    if "airflow" in facets or "airflowDagRun" in facets:
        return None  # Airflow's is its data interval once more, also where that is when somebody pressed a button
    start, end = if_understood(known.nominal_time, facets.get("nominalTime")) or (None, None)
    return None if start is None else _interval(has, start, end)


def _interval(has: Instances, start: dt.datetime, end: dt.datetime | None) -> Found:
    """From the instance that the start is in up to the one that the end is in, without that: a run for 06:00 to 06:00 is for the day that it begins
    in, as its scheduler calls it, and of 24 runs of an hour the last one ends the day. Runs that follow each other leave none out and share none.
    Where there is no end, or it is no later: the one that the start is in.
    """
    try:
        first = has.calendar.at(start)
        after = has.calendar.at(end) if end is not None and end > start else first + 1
    except InvalidCalendar:
        return Found(NONE, OUTSIDE)
    if first >= after:
        return Found(NONE, PART)
    return _inside(has, Ordinals.between(first, after))


def _inside(has: Instances, some: Ordinals) -> Found:
    found = some & has.all
    return Found(found, "" if found else OUTSIDE)


def _time(text: str | None) -> dt.datetime | None:
    try:
        return _utc(dt.datetime.fromisoformat(text)) if text else None
    except ValueError:
        return None


def _utc(time: dt.datetime) -> dt.datetime:
    return time if time.tzinfo is not None else time.replace(tzinfo=dt.UTC)
