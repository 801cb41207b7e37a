"""The list of programs in Spark, and how what is told of them is counted."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[4]
SPEC = importlib.util.spec_from_file_location("spark_programs", ROOT / "benchmarks/versus/spark/run.py")
assert SPEC is not None
assert SPEC.loader is not None
programs: Any = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(programs)
LIST = yaml.safe_load(programs.PROGRAMS.read_text())
PROGRAM = {"name": "p", "kind": "ETL", "writes": {"out/a": {"from": ["land/x"], "columns": {"k": ["land/x.id"]}}}}


def event(inputs: list[str], fed: str = "", how: str = "DIRECT") -> dict[str, Any]:
    made = {
        "inputFields": [{"namespace": "file", "name": "/f/land/x", "field": fed, "transformations": [{"type": how}]}]
    }
    facets = {"columnLineage": {"fields": {"k": made}}} if fed else {}
    return {
        "run": {"runId": "1"},
        "inputs": [{"name": name} for name in inputs],
        "outputs": [{"name": "/f/out0/a", "facets": facets}],
    }


@pytest.mark.parametrize(
    ("events", "wrong", "missing"),
    [
        ([event(["/f/land/x"], "id")], set(), set()),
        ([event(["/f/land/x"]), event([], "id")], set(), set()),
        ([event(["/f/land/x"], "id", "INDIRECT")], set(), {("column", "land/x.id", "out/a.k")}),
        ([event(["/f/land/x", "/f/land/y"], "id")], {("edge", "land/y", "out/a")}, set()),
        ([], set(), {("edge", "land/x", "out/a"), ("column", "land/x.id", "out/a.k")}),
    ],
)
def test_what_is_told_is_counted(events: list[dict[str, Any]], wrong: set[Any], missing: set[Any]) -> None:
    (found,) = programs.judge([PROGRAM], Path("/f"), "opt/spark/", [{"events": events}])
    assert found[1:] == (wrong, missing)


def test_every_program_has_an_expectation() -> None:
    assert len(LIST) >= 25
    assert len({one["name"] for one in LIST}) == len(LIST)
    assert all(programs.expected(one) for one in LIST)
