"""A DAG from which `clean >> report` was removed, one of whose dependencies is for nothing, and one that is the wrong way round.

`clean` takes as long as the run's configuration says; whether `report` reads what it wrote is luck.
"""

import datetime as dt
import time

from airflow.providers.common.compat.openlineage.facet import Dataset
from airflow.sdk import DAG, get_current_context, task


def lake(name: str) -> Dataset:
    return Dataset(namespace="lake", name=name)


@task(outlets=[lake("raw")])
def load() -> None: ...


@task(inlets=[lake("raw")], outlets=[lake("clean")])
def clean() -> None:
    time.sleep(float(get_current_context()["dag_run"].conf.get("seconds", 0)))


@task(inlets=[lake("clean")], outlets=[lake("report")])
def report() -> None: ...


@task
def wait() -> None:
    """As much as `clean` takes on most nights, and two seconds."""
    time.sleep(6)


@task(inlets=[lake("ledger")])
def audit() -> None: ...


@task(inlets=[lake("totals")])
def mail() -> None: ...


@task(inlets=[lake("report")], outlets=[lake("totals")])
def sum_up() -> None: ...


with DAG("nightly", schedule=None, start_date=dt.datetime(2024, 1, 1, tzinfo=dt.UTC)):
    loaded, cleaned, waited = load(), clean(), wait()
    loaded >> cleaned
    loaded >> waited >> report() >> mail() >> sum_up()
    loaded >> audit()
