"""Deletion of a subject from Delta and Iceberg, by a real Spark: the statements of the report run there, and leave the value in no old version."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.events import encoded
from tests.fixtures.statements import ROOT, Statements

from headwater.cli.privacy.stored_values import scan

CASES = ROOT / "tests/cases/lake/deletion.json"
VALUE = "cleo@example.com"


def execute(submit: str, cases: list[Any], folder: Path, name: str, *words: str) -> None:
    file = folder / f"{name}.json"
    file.write_text(json.dumps(cases))
    Statements(submit, file, folder, *words)


def files_with_it(folder: Path) -> set[str]:
    """The files that have the value, as `headwater privacy scan` finds them."""
    return {one.path.removeprefix(f"{folder}/") for one in scan(VALUE, [folder]) if one.state == "found"}


def test_nothing_of_a_subject_is_left_in_tables_that_keep_versions(client: Any, tmp_path: Path) -> None:
    submit = subprocess.run([ROOT / "scripts/lake"], capture_output=True, text=True, check=True).stdout.strip()
    execute(submit, json.loads(CASES.read_text()), tmp_path, "written")
    for line in (tmp_path / "events.ndjson").read_text().splitlines():
        assert client.post("/api/v1/lineage", line.encode()).status_code == 201
    reply = client.post("/api/v2/privacy/deletion", encoded({"key": "people.csv.email"}), content_type="application/json")  # fmt: skip
    report = json.loads(reply.json()["document"])
    places = {one["dataset"].removeprefix(f"dataset:file:{tmp_path}/"): one for one in report["places"]}
    assert {name: one["action"] for name, one in places.items()} == {
        "people.csv": "rewrite", "plain": "rewrite", "by_path": "delete", "warehouse/marked": "delete", "ice/db/people": "delete",
        "ice/db/Old Names": "delete",
    }  # fmt: skip
    tables = {"by_path", "warehouse/marked", "ice/db/people", "ice/db/Old Names"}
    found = files_with_it(tmp_path)
    assert all(any(name.startswith(f"{table}/") for name in found) for table in tables), found
    steps = []
    for name in tables:
        one = places[name]
        for text in (*one["before"], one["delete"], *one["then"]):
            steps.append({"sql": text.replace(":subject", f"'{VALUE}'")})
        for text in one["prove"]:
            if text.startswith("select"):
                steps.append(
                    {"python": [f"assert spark.sql({text.replace(':subject', repr(VALUE))!r}).first()[0] == 0"]}
                )
    execute(submit, steps, tmp_path, "deleted", "gone")
    left = {name for name in files_with_it(tmp_path) if "/" in name and "/_delta_log/" not in name}
    assert {name.partition("/")[0] for name in left} == {"plain"}, left
    assert any("log of a Delta table" in one for one in report["elsewhere"])
