"""The time that a DAG run is about, out of the several that Airflow knows. Does not know calendars: the server decides which instances these are.

The first of these that the run has:

1. a data interval that is not empty: all instances that overlap it
2. a partition's date: the instance that contains it
3. a logical date; else when the run was due: the last instance that had ended by then. Airflow 3 gives cron schedules no interval, and a
   run at six in the morning is about the day before.
"""

import datetime as dt
from typing import Any, Literal

import msgspec

Kind = Literal["interval", "within", "over"]


class Period(msgspec.Struct, frozen=True):
    """`interval`: from `start` to `end`. `within`: the instance that contains `start`. `over`: the last instance that had ended by `start`."""

    kind: Kind
    start: dt.datetime
    end: dt.datetime


def of(dag_run: Any) -> Period:
    """Return the period of a task context's DAG run. ValueError if it has no time at all."""
    start, end = getattr(dag_run, "data_interval_start", None), getattr(dag_run, "data_interval_end", None)
    if start is not None and end is not None and start < end:
        return Period("interval", _plain(start), _plain(end))
    partition = getattr(dag_run, "partition_date", None)
    if partition is not None:
        return Period("within", _plain(partition), _plain(partition))
    moment = getattr(dag_run, "logical_date", None) or getattr(dag_run, "run_after", None)
    if moment is None:
        raise ValueError(f"run {getattr(dag_run, 'run_id', dag_run)!r} has no data interval, partition or date")
    return Period("over", _plain(moment), _plain(moment))


def _plain(moment: dt.datetime) -> dt.datetime:
    """Convert from the date class of Airflow's library."""
    return dt.datetime.fromtimestamp(moment.timestamp(), dt.UTC)
