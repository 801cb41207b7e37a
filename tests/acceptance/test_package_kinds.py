"""Packages that are no Python, and a manifest as seed 003 prints it: run by `headwater run`, each with its events."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collector import Collector, running

PRINTED = """
metadata:
  name: user-events-to-s3-parquet
  namespace: analytics
inputs:
  - name: user-events
    type: kafka-topic
    description: "Real-time user behavior events from web app"
outputs:
  - name: customer-data
    classification:
      pii: true
      sensitivity: confidential
"""
BINDINGS = """
dev: {user-events: {servers: "localhost:9092", topic: user-events}, customer-data: {location: out/customers}}
prod: {user-events: {servers: "kafka.prod:9092", topic: production/user-events}, customer-data: "s3://analytics-bucket/processed/"}
"""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with running() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "package"
    made.mkdir()
    return made


def run(folder: Path, collector: Collector, *words: str) -> tuple[int, str, list[dict[str, Any]]]:
    """The exit code, standard error and the events."""
    done = subprocess.run(
        [sys.executable, "-m", "headwater.cli.capture.run", folder, *words],
        env=os.environ | {"HEADWATER_URL": collector.url, "HEADWATER_SPOOL": str(folder.parent / "spool")},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr, collector.events


def test_a_manifest_as_printed_runs_where_its_environment_says(folder: Path, collector: Collector) -> None:
    (folder / "dk.yaml").write_text(PRINTED)
    (folder / "bindings.yaml").write_text(BINDINGS)
    (folder / "main.py").write_text(
        "import pathlib; p = pathlib.Path('out/customers'); p.mkdir(parents=True); (p / 'a.parquet').write_bytes(b'abc')"
    )
    code, said, (start, end) = run(folder, collector, "--env", "dev")
    assert code == 0, said
    assert (start["eventType"], end["eventType"]) == ("START", "COMPLETE")
    assert [(each["namespace"], each["name"]) for each in start["inputs"]] == [
        ("kafka://localhost:9092", "user-events")
    ]
    (output,) = start["outputs"]
    assert (output["namespace"], output["name"]) == ("file", str(folder / "out/customers"))
    tags = {tag["key"]: tag["value"] for tag in output["facets"]["tags"]["tags"]}
    assert tags == {"pii": "true", "sensitivity": "confidential"}
    assert end["outputs"][0]["outputFacets"]["outputStatistics"]["size"] == 3
    assert start["job"]["facets"]["headwater_package"]["environment"] == "dev"
    collector.events.clear()
    code, said, (start, _) = run(folder, collector, "--env", "prod")
    assert (start["outputs"][0]["namespace"], start["outputs"][0]["name"]) == ("s3://analytics-bucket", "processed")
    collector.events.clear()
    code, said, events = run(folder, collector)
    assert (code, events) == (2, [])
    assert "choose one with --env or HEADWATER_ENVIRONMENT: dev, prod" in said


def test_a_command_has_the_run_in_its_environment_and_its_exit_code_counts(folder: Path, collector: Collector) -> None:
    (folder / "dk.yaml").write_text(
        "metadata: {name: daily-load, namespace: sales}\nparameters: {year: 2013}\n"
        "run: {kind: command, command: [sh, load.sh, '${outputs.loaded}']}\noutputs: [{name: loaded, location: 'my out'}]\n"
    )
    (folder / "load.sh").write_text(
        'echo "$HEADWATER_PARAM_YEAR $OPENLINEAGE_PARENT_ID" > "$1"; echo broken >&2; exit $2\n'
    )
    code, said, (start, _) = run(folder, collector, "--", "0")
    assert code == 0, said
    assert (folder / "my out").read_text().split() == ["2013", f"sales/daily-load/{start['run']['runId']}"]
    assert start["job"]["facets"]["jobType"]["integration"] == "COMMAND"
    code, _, events = run(folder, collector, "--", "3")
    assert (code, events[-1]["eventType"]) == (3, "FAIL")
    assert events[-1]["run"]["facets"]["errorMessage"]["message"] == "broken"


def test_a_command_that_is_nowhere_fails_with_its_name(folder: Path, collector: Collector) -> None:
    (folder / "dk.yaml").write_text(
        "metadata: {name: daily-load, namespace: sales}\nrun: {kind: command, command: no-such-program}\n"
    )
    code, _, events = run(folder, collector)
    assert (code, events[-1]["eventType"]) == (126, "FAIL")
    assert "no-such-program" in events[-1]["run"]["facets"]["errorMessage"]["message"]


def test_a_jar_runs_in_spark(folder: Path, collector: Collector) -> None:
    (folder / "dk.yaml").write_text(
        "metadata: {name: daily-jar, namespace: sales}\n"
        "run:\n  kind: jar\n  jar: app.jar\n  class: org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver\n"
        "  conf: {spark.sql.catalogImplementation: in-memory, spark.ui.enabled: 'false'}\n"
        "  args: [-e, \"insert overwrite directory '${outputs.numbers}' using json select id from range(3)\"]\n"
        "outputs: [{name: numbers, type: json, location: out/numbers}]\n"
    )
    # The class is Spark's own command line; what matters is that spark-submit got the jar, the class, the conf and the arguments.
    with zipfile.ZipFile(folder / "app.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
    code, said, (start, end) = run(folder, collector, "--master", "local[1]")
    assert code == 0, said
    rows = [
        json.loads(line) for file in (folder / "out/numbers").glob("*.json") for line in file.read_text().splitlines()
    ]
    assert sorted(row["id"] for row in rows) == [0, 1, 2]
    assert start["run"]["facets"]["processing_engine"]["name"] == "spark"
    assert end["outputs"][0]["outputFacets"]["outputStatistics"]["size"] > 0
