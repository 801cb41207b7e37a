"""Partition keys of a real Airflow's runs and asset events, as its OpenLineage provider sends them and as its REST API is read."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.airflow.test_airflow import CASES, Headwater
from tests.fixtures.airflow import RealAirflow

from headwater.connectors import airflow as connector
from headwater.model.connector_kinds import KINDS, check_options
from headwater.model.connector_reports import ConnectorTask

KEYS = ("2026-11-26", "2026-11-27")
ORDERS = "dataset:s3://lake:orders"


@pytest.fixture(scope="module")
def lake(server_process: str) -> Iterator[RealAirflow]:
    folder = Path(tempfile.mkdtemp(prefix="headwater-airflow-"))
    real = RealAirflow(folder, server_process, CASES / "partitions")
    transport = {"type": "http", "url": server_process, "endpoint": "api/v1/lineage"}
    real.env |= {
        "AIRFLOW__OPENLINEAGE__DISABLED": "False",
        "AIRFLOW__OPENLINEAGE__NAMESPACE": "airflow",
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(transport),
    }
    try:
        yield real.start(("loading", "adding"))
    finally:
        real.close()
        shutil.rmtree(folder, ignore_errors=True)


def count_runs(server: str, label: str, *, job: str) -> int:
    found = Headwater(server).get("/api/v2/runs", label=label)["runs"]
    return sum(one["job"] == job and one["state"] == "COMPLETED" for one in found)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_partition_keys_reach_the_runs_and_the_parts_of_assets(lake: RealAirflow, server_process: str) -> None:
    for key in KEYS:
        lake.rest.trigger("loading", logical_date=None, partition=key)

    def is_reported() -> bool:
        return all(count_runs(server_process, f"partition={key}", job="job:airflow:adding") == 1 for key in KEYS)

    lake.until(is_reported, "each partition's run is reported")
    for key in KEYS:
        assert count_runs(server_process, f"partition={key}", job="job:airflow:loading.load") == 1
        assert count_runs(server_process, f"asset:s3://lake/orders={key}", job="job:airflow:adding") == 1

    sent: list[dict[str, Any]] = []
    settings = {"address": lake.url, "user": "admin", "password": "secret", "namespace": "by-rest"}
    options, secrets = check_options(KINDS["airflow"], settings)
    report = connector.pull(ConnectorTask("pull", "airflow", "one", {**options, **secrets}, None), sent.append)
    assert report.warnings == ()
    parts: dict[str, set[str]] = {"input": set(), "output": set()}
    for one in sent:
        for side, places in parts.items():
            for dataset in one.get(f"{side}s", ()):
                condition = dataset.get(f"{side}Facets", {}).get("subset", {}).get(f"{side}Condition", {})
                places.update((dataset["name"], each["identifier"]) for each in condition.get("partitions", ()))
    assert parts["input"] == {("orders", key) for key in KEYS}
    assert parts["output"] == {(name, key) for key in KEYS for name in ("orders", "totals")}
    Headwater(server_process).post("/api/v1/lineage/batch", sent)
    graph = Headwater(server_process).get("/api/v2/lineage", node=ORDERS, depth=5)
    assert {(one["source"], one["target"]) for one in graph["edges"]} >= {
        ("job:by-rest:loading.load", ORDERS),
        (ORDERS, "job:by-rest:adding"),
    }
