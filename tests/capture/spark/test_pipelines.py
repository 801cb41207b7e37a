"""Declarative pipelines (`spark-pipelines run`): a project of Python and SQL, against a Spark Connect server and with the server in the program's process.

What is expected was worked out by hand from tests/cases/pipelines/shop. One flow fails; the others end before it or beside it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest
from tests.fixtures.connect import connect_server

from headwater.capture.spark import environment

CASES = Path(__file__).parents[2] / "cases/pipelines"
HOME = Path(pyspark.__file__).parent
SERVER = ["env", f"SPARK_HOME={HOME}", str(HOME / "bin/spark-submit")]
pytestmark = [pytest.mark.spark, pytest.mark.since("4.1")]

LAND = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
spark.createDataFrame([(1, 'ann', 30)], 'id int, name string, age int').write.parquet(sys.argv[2] + '/people')
spark.createDataFrame([(1, 1, 9.5)], 'no int, person int, amount double').write.parquet(sys.argv[2] + '/orders')
"""


def ran(folder: Path, where: list[str], address: str) -> list[dict[str, Any]]:
    """Run the project in `folder`, and return the events of it. `where`: the words of `spark-pipelines` that say where."""
    for path in (CASES / "shop").rglob("*.*"):
        made = folder / path.relative_to(CASES / "shop")
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(path.read_text().replace("{folder}", str(folder)))
    subprocess.run([sys.executable, "-c", LAND, address, str(folder)], check=True, capture_output=True, timeout=120)
    events = folder / "events.ndjson"
    env = {
        key: value for key, value in os.environ.items() if not key.startswith(("HEADWATER_", "OPENLINEAGE_", "SPARK_"))
    }
    env |= {
        "HEADWATER_TRANSPORT": "file",
        "HEADWATER_EVENTS_FILE": str(events),
        "HEADWATER_SPOOL": str(folder / "spool"),
    }
    env |= {"PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(HOME)} | environment(env)
    command = [str(HOME / "bin/spark-pipelines"), *where, "run", "--spec", str(folder / "spark-pipeline.yml")]
    ended = subprocess.run(command, cwd=folder, env=env, check=False, capture_output=True, text=True, timeout=300)
    assert "not today" in ended.stdout + ended.stderr  # the flow that is refused
    return [json.loads(line) for line in events.read_text().splitlines()]


def short(dataset: dict[str, Any]) -> str:
    return str(dataset["name"]).rsplit("/", 1)[-1]


def fed(fields: list[dict[str, Any]]) -> list[str]:
    return [
        f"{short(one)}.{one['field']} {' '.join(how['subtype'] for how in one['transformations'])}" for one in fields
    ]


def by_output(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The last event about each dataset that a flow writes, in short."""
    found = {}
    for event in events:
        if event["eventType"] in {"COMPLETE", "FAIL", "ABORT"} and event["outputs"]:
            (output,) = event["outputs"]
            assert Path(output["name"]).parent.name in {"warehouse", "spark-warehouse"}
            lineage = output["facets"].get("columnLineage", {})
            columns = {name: fed(one["inputFields"]) for name, one in lineage.get("fields", {}).items()}
            found[short(output)] = {
                "event": event["eventType"],
                "streaming": event["job"]["facets"]["jobType"]["processingType"] == "STREAMING",
                "inputs": sorted(short(one) for one in event["inputs"]),
                "columns": {name: sources for name, sources in columns.items() if sources},
                "all": fed(lineage.get("dataset", [])),
            }
    return found


def test_against_a_server(tmp_path: Path) -> None:
    server = tmp_path / "server"
    server.mkdir()
    with connect_server(SERVER, server, {}) as address:
        events = ran(tmp_path, ["--remote", address], address)
    assert by_output(events) == json.loads((CASES / "shop.expected.json").read_text())
    started = [event["run"]["runId"] for event in events if event["eventType"] == "START"]
    assert {event["run"]["runId"] for event in events} == set(started)
    assert len(started) == len(set(started))


@pytest.mark.soak
def test_with_the_server_in_the_program(tmp_path: Path) -> None:
    events = ran(tmp_path, ["--conf", "spark.ui.enabled=false"], "local[1]")
    assert by_output(events) == json.loads((CASES / "shop.expected.json").read_text())
