"""The period of a run, out of the times that Airflow knows."""

import datetime as dt
from types import SimpleNamespace

import pytest

from headwater.capture.airflow.period import Period, of

ONE, TWO = dt.datetime(2024, 3, 10, tzinfo=dt.UTC), dt.datetime(2024, 3, 11, tzinfo=dt.UTC)
PARIS = dt.timezone(dt.timedelta(hours=1))


def test_an_interval_comes_first() -> None:
    run = SimpleNamespace(data_interval_start=ONE, data_interval_end=TWO, partition_date=TWO, logical_date=TWO)
    assert of(run) == Period("interval", ONE, TWO)


def test_an_interval_of_nothing_is_none() -> None:
    """Airflow 3 gives cron schedules an empty interval: the run is about the periods that were over when it was due."""
    due = TWO + dt.timedelta(hours=6)
    run = SimpleNamespace(data_interval_start=due, data_interval_end=due, partition_date=None, logical_date=due)
    assert of(run) == Period("over", due, due)


def test_a_partition_is_what_its_date_lies_in() -> None:
    run = SimpleNamespace(
        data_interval_start=None, data_interval_end=None, partition_date=ONE, logical_date=None, run_after=TWO
    )
    assert of(run) == Period("within", ONE, ONE)


def test_without_a_logical_date_it_is_when_it_was_due() -> None:
    run = SimpleNamespace(data_interval_start=None, data_interval_end=None, logical_date=None, run_after=TWO)
    assert of(run) == Period("over", TWO, TWO)


def test_times_are_in_utc() -> None:
    run = SimpleNamespace(data_interval_start=ONE.astimezone(PARIS), data_interval_end=TWO.astimezone(PARIS))
    found = of(run)
    assert (found.start.tzinfo, found.end.tzinfo) == (dt.UTC, dt.UTC)


def test_a_run_without_any_time_is_an_error() -> None:
    with pytest.raises(ValueError, match="'manual' has no data interval"):
        of(SimpleNamespace(run_id="manual"))
