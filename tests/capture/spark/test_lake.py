"""Delta and Iceberg, by a real Spark that has them: what was read and written, at which version, and that Spark finds it there."""

import json
import os
import shlex
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
CASES = json.loads((ROOT / "tests/cases/lake/statements.json").read_text())
LOCAL = (
    "--master local[1] --driver-memory 1g --driver-java-options -XX:TieredStopAtLevel=1 --conf spark.ui.enabled=false "
    "--conf spark.sql.shuffle.partitions=1 --conf spark.databricks.delta.snapshotPartitions=1"
)


class Lake:
    """What was told of each statement, and what Spark finds at the versions that were told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        submit = subprocess.run([ROOT / "scripts/lake"], capture_output=True, text=True, check=True)
        command = (
            f"{submit.stdout.strip()} {LOCAL} {ROOT}/tests/lake_job.py {ROOT}/tests/cases/lake/statements.json {folder}"
        )
        env = os.environ | {
            "HEADWATER_TRANSPORT": "file",
            "HEADWATER_EVENTS_FILE": str(folder / "events.ndjson"),
            "HEADWATER_SPOOL": str(folder / "spool"),
            "PYTHONPATH": f"{ROOT}/src:{sysconfig.get_path('purelib')}",
        }
        ended = subprocess.run(shlex.split(command), capture_output=True, text=True, check=False, env=env, cwd=folder)
        assert ended.returncode == 0, ended.stderr[-5000:]
        self.trouble = [line for line in ended.stderr.splitlines() if "headwater capture" in line]
        self.told, self.history, self.found = (self._left(name) for name in ("told", "history", "found"))

    def _left(self, name: str) -> Any:
        return json.loads((self.folder / f"{name}.json").read_text())

    def says(self, number: int) -> dict[str, Any]:
        """Of a statement: by table the version read and written, as its place among all of the table; the change; what feeds each column."""
        (event,) = self.told[number]
        (output,) = event["outputs"]
        found = {"reads": self._versions(event["inputs"]), "writes": self._versions([output])}
        facets = output["facets"]
        if "lifecycleStateChange" in facets:
            found["change"] = facets["lifecycleStateChange"]["lifecycleStateChange"]
        if (rows := output.get("outputFacets", {}).get("outputStatistics", {}).get("rowCount")) is not None:
            found["rows"] = rows
        lineage = facets.get("columnLineage", {})
        if lineage:
            found["columns"] = {name: self._fed(field["inputFields"]) for name, field in lineage["fields"].items()}
        if lineage.get("dataset"):
            found["all"] = self._fed(lineage["dataset"])
        return found

    def _name(self, dataset: dict[str, Any]) -> str:
        return str(dataset["name"].removeprefix(f"{self.folder}/"))

    def _versions(self, datasets: list[dict[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for each in datasets:
            told = each["facets"].get("version", {}).get("datasetVersion")
            known = self.history.get(each["name"], [])
            found[self._name(each)] = known.index(told) if told in known else told and "dropped since"
        return found

    def _fed(self, fields: list[dict[str, Any]]) -> list[str]:
        return [
            f"{self._name(one)}.{one['field']} {' '.join(how['subtype'] for how in one['transformations'])}"
            for one in fields
        ]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return Lake(tmp_path_factory.mktemp("lake"))


@pytest.mark.parametrize("number", range(len(CASES)), ids=[" ".join(case["about"].split()) for case in CASES])
def test_what_is_told_of_a_statement(lake: Lake, number: int) -> None:
    assert lake.says(number) == CASES[number]["says"]


def test_spark_reads_at_each_version_what_was_written(lake: Lake) -> None:
    """Every version of every table was told, by the statement that made it, and is there to be read."""
    told: dict[str, list[str]] = {}
    for event in (event for some in lake.told for event in some):
        (output,) = event["outputs"]
        if output["name"] in lake.history:
            told.setdefault(output["name"], []).append(output["facets"]["version"]["datasetVersion"])
    assert told == lake.history
    assert lake.found[f"{lake.folder}/reads"] == {"0": 5, "1": 8}
    assert [lake.found[f"{lake.folder}/ice/db/m"][version] for version in lake.history[f"{lake.folder}/ice/db/m"]] == [
        16,
        16,
        14,
    ]


def test_nothing_else_is_told(lake: Lake) -> None:
    """Spark's own queries, of the logs of Delta and for its checkpoints, are nobody's; nothing went wrong."""
    assert lake.trouble == []
    read = [
        each["name"]
        for line in (lake.folder / "events.ndjson").read_text().splitlines()
        for each in json.loads(line)["inputs"]
    ]
    assert [name for name in read if "_delta_log" in name or "metadata" in name] == []
    assert all(name.startswith(str(lake.folder)) for name in read)
