"""A DAG that makes a partition of an asset, and one that runs once for each of its partitions."""

import datetime as dt

from airflow.sdk import DAG, Asset, PartitionedAssetTimetable, PartitionedAtRuntime, task

ORDERS, TOTALS = Asset(name="orders", uri="s3://lake/orders"), Asset(name="totals", uri="s3://lake/totals")
START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


@task(outlets=[ORDERS])
def load() -> None: ...


@task(inlets=[ORDERS], outlets=[TOTALS])
def add() -> None: ...


with DAG("loading", schedule=PartitionedAtRuntime(), start_date=START, catchup=False):
    load()

with DAG("adding", schedule=PartitionedAssetTimetable(assets=ORDERS), start_date=START, catchup=False):
    add()
