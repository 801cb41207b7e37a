"""A package of kind dbt, run by dbt itself over a real PostgreSQL: each model's run, what it read and made, its error, what its tests said."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from collector import Collector, running
from headwater.store.embedded import EmbeddedPostgres

ROOT = Path(__file__).parents[3]
FILES = {
    "dk.yaml": """
metadata: {name: shop-models, namespace: shop}
run: {kind: dbt, namespace: "postgres://shop.example:5432", args: [build, --no-version-check, --quiet]}
""",
    "dbt_project.yml": "{name: shop, version: '1.0', profile: shop, flags: {send_anonymous_usage_stats: false}}",
    "models/sources.yml": "{version: 2, sources: [{name: raw, schema: raw, tables: [{name: orders}]}]}",
    "models/paid.sql": "{{ config(materialized='ephemeral') }} select * from {{ source('raw', 'orders') }} where paid",
    "models/revenue.sql": "{{ config(materialized='table') }} select day, sum(amount) as amount from {{ ref('paid') }} group by day",
    "models/average.sql": "{{ config(materialized='table') }} select avg(amount) as amount from {{ ref('revenue') }}",
    "models/broken.sql": "select no_such_column from {{ ref('revenue') }}",
    "models/models.yml": """
version: 2
models:
  - name: revenue
    description: What was paid, by day
    columns: [{name: day, data_tests: [unique]}, {name: amount, data_tests: [not_null: {config: {severity: warn}}]}]
""",
}


@pytest.fixture
def collector() -> Iterator[Collector]:
    with running() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path, postgres: EmbeddedPostgres) -> Iterator[Path]:
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("create schema raw")
        connection.execute("create table raw.orders (day date, amount int, paid bool)")
        connection.execute(
            "insert into raw.orders values ('2024-03-01', 5, true), ('2024-03-01', 6, true), (null, null, true)"
        )
        place = connection.info
        address = f"{{host: '{place.host}', port: {place.port}, user: {place.user}, password: '{place.password}', dbname: {place.dbname}"
        for name, text in (FILES | {
            "profiles.yml": f"shop: {{target: x, outputs: {{x: {address}, type: postgres, schema: marts, threads: 1}}}}}}\n"
        }).items():  # fmt: skip
            (tmp_path / "package" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "package" / name).write_text(text)
        yield tmp_path / "package"
        connection.execute("drop schema raw cascade; drop schema if exists marts cascade")


def test_what_dbt_built_and_tested_is_below_the_package(folder: Path, collector: Collector) -> None:
    python = subprocess.run(
        [ROOT / "scripts/warehouse", "environment"], check=True, capture_output=True, text=True
    ).stdout
    environ = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    done = subprocess.run(
        [sys.executable, "-m", "headwater.cli.capture.run", folder],
        env=environ | {
            "PATH": f"{Path(python.strip()).parent}:{os.environ['PATH']}", "HEADWATER_URL": collector.url,
            "HEADWATER_SPOOL": str(folder.parent / "spool"), "DO_NOT_TRACK": "1",
        },
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    events = collector.events
    runs: dict[str, list[dict[str, Any]]] = {}
    for each in events:
        runs.setdefault(each["job"]["name"], []).append(each)
    assert set(runs) == {"shop-models", "shop.revenue", "shop.average", "shop.broken", "shop.revenue.tests"}, (
        done.stdout
    )
    package = runs["shop-models"]
    assert [each["eventType"] for each in package] == ["START", "FAIL"], "dbt's own exit code counts"
    assert events[-1] is package[1], "the package ends last"
    for name, own in runs.items():
        if name != "shop-models":
            assert own[0]["run"]["facets"]["parent"]["run"]["runId"] == package[0]["run"]["runId"]
            assert own[0]["eventTime"] < own[1]["eventTime"]

    def names(event: dict[str, Any], side: str) -> list[str]:
        assert all(each["namespace"] == "postgres://shop.example:5432" for each in event[side])
        return [each["name"].partition(".")[2] for each in event[side]]

    start, end = runs["shop.revenue"]
    assert (end["eventType"], names(end, "inputs"), names(end, "outputs")) == (
        "COMPLETE",
        ["raw.orders"],
        ["marts.revenue"],
    )
    assert end["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 2
    assert end["outputs"][0]["facets"]["documentation"]["description"] == "What was paid, by day"
    assert "sum(amount)" in start["job"]["facets"]["sql"]["query"]
    _, end = runs["shop.average"]
    assert (end["eventType"], names(end, "inputs"), names(end, "outputs")) == (
        "COMPLETE",
        ["marts.revenue"],
        ["marts.average"],
    )
    _, end = runs["shop.broken"]
    assert (end["eventType"], end["outputs"]) == ("FAIL", [])
    assert "no_such_column" in end["run"]["facets"]["errorMessage"]["message"]
    _, end = runs["shop.revenue.tests"]
    assertions = end["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert [each["severity"] for each in assertions if not each["success"]] == ["warn"]
    assert sorted((each["assertion"], each["column"], each["success"]) for each in assertions) == [
        ("not_null", "amount", False), ("unique", "day", True),
    ]  # fmt: skip
