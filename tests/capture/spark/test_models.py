"""Programs that fit, save, load and use models, and the lineage expected of them: tests/cases/models/NAME.py and NAME.expected.json.

`runs`: the complete runs in order, as in test_cases, with the facet of the model that is saved; `loads`: models that the application itself read.
"""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from test_cases import field, named, run, short

CASES = Path(__file__).parents[2] / "cases" / "models"
pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.mark.parametrize("name", sorted(path.name.removesuffix(".expected.json") for path in CASES.glob("*.json")))
def test_program(
    name: str, spark: Any, attachment: Any, kept: Any, land: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expected = json.loads((CASES / f"{name}.expected.json").read_text())
    attachment.flush()
    kept.events.clear()
    attachment._application._reported.clear()
    with caplog.at_level(logging.WARNING, "headwater"):
        run(name, spark, land, tmp_path, __import__("pyspark.sql.functions", fromlist=["F"]), None, CASES)
        assert attachment.flush()
    assert [record.getMessage() for record in caplog.records if record.name == "headwater"] == []
    runs = [told(event) for event in kept.events if event["eventType"] == "COMPLETE" and event["outputs"]]
    for one, wanted in zip(runs, expected["runs"], strict=False):
        if params := wanted.get("params"):  # of the many, those that the program sets
            one["params"] = {key: value for key, value in one["params"].items() if key in params}
    assert runs == expected["runs"], json.dumps(runs, indent=1)
    read = [one for event in kept.events if event["eventType"] == "RUNNING" for one in named(event["inputs"])]
    assert sorted(set(read) - {"people", "orders"}) == expected["loads"]


def told(event: dict[str, Any]) -> dict[str, Any]:
    (output,) = event["outputs"]
    facets = output["facets"]
    lineage = facets.get("columnLineage", {})
    entry: dict[str, Any] = {
        "inputs": named(event["inputs"]),
        "output": short(output["name"]),
        "lifecycle": facets.get("lifecycleStateChange", {}).get("lifecycleStateChange", ""),
        "fields": {
            column: sorted(field(item) for item in made["inputFields"])
            for column, made in lineage.get("fields", {}).items()
        },
        "dataset": sorted(field(item) for item in lineage.get("dataset", [])),
    }
    if model := facets.get("headwater_model"):
        entry["stages"] = [stage["class"] for stage in model["stages"]]
        entry["metrics"] = sorted(model["metrics"])
        params = {key: value for stage in model["stages"] for key, value in stage["params"].items()}
        entry["params"] = {**params, **model.get("params", {})}
    return entry
