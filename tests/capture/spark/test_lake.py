"""Delta and Iceberg, by a real Spark that has them: what was read and written, at which version, and that Spark finds it there.

Statements that are marked `soak` run in `make soak` alone; no other statement reads what they write.
"""

import json
import subprocess
from pathlib import Path

import pytest
from tests.fixtures.statements import ROOT, Statements
from tests.scale import FULL, suite_takes

PATH = ROOT / "tests/cases/lake/statements.json"
CASES = {case["about"]: case for case in json.loads(PATH.read_text())}
TAKEN = [about for about, case in CASES.items() if not case.get("soak")]
RUN = [*CASES] if FULL else TAKEN


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Statements:
    submit = subprocess.run([ROOT / "scripts/lake"], capture_output=True, text=True, check=True)
    cases = tmp_path_factory.mktemp("cases") / "statements.json"
    cases.write_text(json.dumps([CASES[about] for about in RUN]))
    return Statements(submit.stdout.strip(), cases, tmp_path_factory.mktemp("lake"))


@pytest.mark.parametrize("about", suite_takes(CASES, TAKEN))
def test_what_is_told_of_a_statement(lake: Statements, about: str) -> None:
    assert lake.says(RUN.index(about)) == CASES[about]["says"]


def test_spark_reads_at_each_version_what_was_written(lake: Statements) -> None:
    """Every version of every table was reported by the statement that made it, and can be read."""
    told: dict[str, list[str]] = {}
    for event in (event for some in lake.told for event in some):
        (output,) = event["outputs"]
        if output["name"] in lake.history:
            told.setdefault(output["name"], []).append(output["facets"]["version"]["datasetVersion"])
    assert told == lake.history
    assert lake.found[f"{lake.folder}/reads"] == {"0": 5, "1": 8}
    if FULL:
        merged = f"{lake.folder}/ice/db/m"
        assert [lake.found[merged][version] for version in lake.history[merged]] == [16, 16, 14]


def test_the_schema_of_a_write_is_that_of_the_table_after_it(lake: Statements) -> None:
    """Spark finds the columns that were reported with a version, in their order, when it reads that version."""
    schemas = lake.schemas()
    assert len(schemas) > 10
    assert [(name, reported) for name, reported, _ in schemas] == [(name, found) for name, _, found in schemas]


def test_a_run_begins_with_the_schema_that_it_ends_with_or_with_none(lake: Statements) -> None:
    lines = map(json.loads, (lake.folder / "events.ndjson").read_text().splitlines())
    schemas: dict[tuple[str, str], dict[str, list[str]]] = {}
    for event in lines:
        for output in event["outputs"]:
            names = [field["name"] for field in output["facets"].get("schema", {}).get("fields", [])]
            schemas.setdefault((event["run"]["runId"], output["name"]), {})[event["eventType"]] = names
    different = {key: of for key, of in schemas.items() if of.get("START") and of["START"] != of.get("COMPLETE")}
    assert different == {}


def test_a_table_has_one_name_before_it_is_there_and_after_it_is_dropped(lake: Statements) -> None:
    """Also the start of a run that makes a table, and the run that drops it, name the place."""
    lines = (lake.folder / "events.ndjson").read_text().splitlines()
    named = {(one["namespace"], one["name"]) for line in lines for one in json.loads(line)["outputs"]}
    assert {one for one in named if one[0] != "file"} == set()


def test_nothing_else_is_told(lake: Statements) -> None:
    """Spark's own queries, of the logs of Delta and for its checkpoints, belong to no query; nothing went wrong."""
    assert lake.trouble == []
    tables = {"reads", "sums", "warehouse", "ice", "streamed", "grown"} | ({"old", "placed"} if FULL else set())
    assert {Path(name).parts[0] for name in lake.read()} == tables
    assert [name for name in lake.read() if "_delta_log" in name or "metadata" in name] == []
