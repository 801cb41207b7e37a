"""Programs in Spark and the lineage expected of them: tests/cases/spark/NAME.py|sql and NAME.expected.json.

A case in SQL is a query whose rows are written to {root}/out as Parquet, or, when it starts with a command, is run as it is. A case in Python
has `spark`, `root`, `F` and `Window`. In what is expected, datasets are named from the last folder; each column is a list of
"dataset.field SUBTYPE[ masking][ unseen]"; `dataset` is what decides about the rows. `since`: the first line of Spark that reads the statement. `any_order`: the program fixes no order of its writes.
"""

import json
from pathlib import Path
from typing import Any

import pyspark
import pytest

from headwater.model.lineage import UNSEEN_INSIDE

CASES = Path(__file__).parents[2] / "cases" / "spark"


def line(version: str) -> tuple[int, ...]:
    """The line of Spark that a version is of."""
    return tuple(int(part) for part in version.split(".")[:2])


LINE = line(pyspark.__version__)
NAMES = sorted(
    path.name.removesuffix(".expected.json")
    for path in CASES.glob("*.expected.json")
    if line(json.loads(path.read_text()).get("since", "3.5")) <= LINE
)
pytestmark = [
    pytest.mark.spark,
    # pyspark leaves sockets of its gateway to the collector, and pandas speaks of its own future.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::UserWarning:pyspark"),
]


@pytest.mark.parametrize("name", NAMES)
def test_case(name: str, spark: Any, attachment: Any, kept: Any, land: Path, tmp_path: Path) -> None:
    attachment.flush()
    kept.events.clear()
    attachment._application._reported.clear()  # or a read of an earlier case would not be reported again
    from pyspark.sql import Window, functions

    run(name, spark, land, tmp_path, functions, Window)
    assert attachment.flush()
    expected = json.loads((CASES / f"{name}.expected.json").read_text())
    actual = told(kept.events, any_order=expected.get("any_order", False))
    assert actual == expected["events"], json.dumps(actual, indent=1)


def run(name: str, spark: Any, land: Path, out: Path, functions: Any, window: Any, cases: Path = CASES) -> None:
    statement = cases / f"{name}.sql"
    if statement.exists():
        text = statement.read_text().replace("{land}", str(land)).replace("{out}", str(out))
        first = text.split(None, 1)[0].lower()
        if first in {"select", "with", "from"}:
            spark.sql(text).write.parquet(str(out / "out"))
        else:
            for part in text.split(";\n"):
                if part.strip():
                    spark.sql(part)
        return
    code = compile((cases / f"{name}.py").read_text(), name, "exec")
    exec(code, {"spark": spark, "land": str(land), "out": str(out), "F": functions, "Window": window})


def told(events: list[dict[str, Any]], any_order: bool = False) -> list[dict[str, Any]]:
    """The events in short: runs by their end, reads as they are. `any_order`: by the names of outputs."""
    result = []
    started: dict[str, dict[str, Any]] = {}
    for event in events:
        if event["eventType"] == "START":
            started[event["run"]["runId"]] = event
            continue
        entry: dict[str, Any] = {"event": event["eventType"]}
        if event["eventType"] == "RUNNING":
            (lineage,) = event["job"]["facets"]["lineage"]["entries"]
            assert lineage["type"] == "JOB"
            entry["driver"] = [field(item) for item in lineage["inputs"]]
        else:
            start = started[event["run"]["runId"]]
            assert start["job"]["name"] == event["job"]["name"]
            assert named(start["inputs"]) == named(event["inputs"])
            assert named(start["outputs"]) == named(event["outputs"])
            assert "parent" in event["run"]["facets"]
        entry["inputs"] = named(event["inputs"])
        for output in event["outputs"]:
            facets = output["facets"]
            entry["output"] = short(output["name"])
            entry["job"] = event["job"]["name"]
            if "lifecycleStateChange" in facets:
                entry["lifecycle"] = facets["lifecycleStateChange"]["lifecycleStateChange"]
            lineage = facets.get("columnLineage", {})
            for name, made in lineage.get("fields", {}).items():
                entry.setdefault("fields", {})[name] = [field(item) for item in made["inputFields"]]
            if lineage.get("dataset"):
                entry["dataset"] = [field(item) for item in lineage["dataset"]]
            statistics = output.get("outputFacets", {}).get("outputStatistics", {})
            if "rowCount" in statistics:
                entry["rows"] = statistics["rowCount"]
        result.append(entry)
    return sorted(result, key=lambda entry: str(entry.get("output"))) if any_order else result


def named(datasets: list[dict[str, Any]]) -> list[str]:
    return sorted(short(item["name"]) for item in datasets)


def short(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def field(item: dict[str, Any]) -> str:
    column = f"{short(item['name'])}.{item['field']}" if "field" in item else short(item["name"])
    hows = [
        how["subtype"]
        + (" masking" if how.get("masking") else "")
        + (" unseen" if how.get("description") == UNSEEN_INSIDE else "")
        for how in item.get("transformations", [])
    ]
    return " ".join([column, *hows])
