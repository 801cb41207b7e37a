"""Delta and Iceberg through Spark Connect: the statements of tests/cases/lake and what is told of them, with the versions and counts that the tables' histories
have.

tests/cases/lake/connect.json names what differs, and why. The suite takes the writers of DataFrames; `make soak` takes all.
"""

import json
import shlex
import subprocess
import sysconfig
from collections.abc import Iterator
from typing import Any

import pytest
from tests.fixtures.connect import connect_server
from tests.fixtures.statements import ROOT, Statements
from tests.scale import FULL, suite_takes

CASES = {case["about"]: case for case in json.loads((ROOT / "tests/cases/lake/statements.json").read_text())}
DIFFERENT = json.loads((ROOT / "tests/cases/lake/connect.json").read_text())
TAKEN = [
    "Delta: rows in place of some, by path",
    "Delta: more rows",
    "Iceberg: writeTo, create",
    "Iceberg: writeTo, createOrReplace of no table yet",
    "Iceberg: writeTo, append",
    "Iceberg: writeTo, overwrite of some rows",
    "Iceberg: writeTo, overwritePartitions",
    "Iceberg: mergeInto, a column at a time",
    "Iceberg: mergeInto, all columns by name",
    "Delta: saveAsTable",
    "Delta: mergeInto",
    "Delta: insertInto, by position",
    "Delta: a table by path that gets columns",
    "Delta: rows by path with a further column, without another",
    "Delta: a table that a MERGE extends",
    "Delta: MERGE WITH SCHEMA EVOLUTION",
    "Iceberg: a table that gets columns",
    "Iceberg: rows with a further column, without another",
]
COMPARED = [about for about in CASES if "never" not in DIFFERENT.get(about, {})]
RUN = COMPARED if FULL else TAKEN


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Statements]:
    """The events of a client whose server has the tables."""
    folder = tmp_path_factory.mktemp("lake")
    cases = tmp_path_factory.mktemp("cases") / "statements.json"
    cases.write_text(json.dumps([CASES[about] for about in RUN]))
    submit = subprocess.run([ROOT / "scripts/lake"], capture_output=True, text=True, check=True).stdout
    python = subprocess.run([ROOT / "scripts/environment", "lake"], capture_output=True, text=True, check=True).stdout
    (packages,) = (ROOT / ".tools/lake/lib").glob("python3*/site-packages")
    extensions = (
        "io.delta.sql.DeltaSparkSessionExtension,org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    )
    settings = {
        "spark.sql.extensions": extensions,
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": f"{folder}/ice",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.databricks.delta.snapshotPartitions": 1,
    }
    with connect_server(shlex.split(submit), tmp_path_factory.mktemp("server"), settings) as address:
        path = f"{packages}:{ROOT}/src:{sysconfig.get_path('purelib')}"
        client = f"env SPARK_REMOTE={address} PYTHONPATH={path} {python.strip()}"
        yield Statements(client, cases, folder, "connect")


@pytest.mark.parametrize("about", suite_takes(COMPARED, TAKEN))
def test_as_with_a_jvm(lake: Statements, about: str) -> None:
    says: dict[str, Any] = DIFFERENT.get(about, CASES[about])["says"]
    found, expected = lake.says(RUN.index(about)), says
    if about not in TAKEN:  # what the history says of other statements was not compared by hand yet
        found, expected = ({**one, "writes": dict.fromkeys(one["writes"]), "rows": None} for one in (found, expected))
    assert found == expected


def test_the_schema_of_a_write_is_that_of_the_table_after_it(lake: Statements) -> None:
    schemas = lake.schemas()
    assert len(schemas) > 5
    assert [(name, reported) for name, reported, _ in schemas] == [(name, found) for name, _, found in schemas]


def test_a_table_has_one_name_before_it_is_there_and_after_it_is_dropped(lake: Statements) -> None:
    lines = (lake.folder / "events.ndjson").read_text().splitlines()
    named = {(one["namespace"], one["name"]) for line in lines for one in json.loads(line)["outputs"]}
    assert {one for one in named if one[0] != "file"} == set()
    assert lake.trouble == []
