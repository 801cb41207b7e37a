"""The declarations of the flights example's packages must hang together, before anything is run."""

import ast
import json
from pathlib import Path

import pytest
from flights_example import EXAMPLE, order, package

CASES = Path(__file__).parents[2] / "cases" / "flights"
DATA = Path("/data")
FOLDERS = order()


def relative(dataset: dict[str, str]) -> str:
    return str(Path(dataset["location"]).relative_to(DATA))


def cases() -> dict[str, dict]:
    return {case["output"]: case for case in map(json.loads, (path.read_text() for path in CASES.glob("*.json")))}


def test_the_order_names_every_package_once():
    assert sorted(FOLDERS) == sorted(path.parent.name for path in EXAMPLE.glob("*/dk.yaml"))


def test_every_input_is_written_before_it_is_read():
    written: set[str] = set()
    for folder in FOLDERS:
        declared = package(folder, DATA)
        assert {relative(dataset) for dataset in declared.get("inputs", [])} <= written, folder
        outputs = {relative(dataset) for dataset in declared["outputs"]}
        assert not outputs & written, f"{folder} writes what another package writes"
        written |= outputs


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_package_says_who_owns_it_and_what_its_data_is(folder: str):
    declared = package(folder, DATA)
    assert declared["metadata"]["namespace"] == "flights"
    assert declared["metadata"]["name"] == folder.replace("_", "-")
    assert declared["metadata"]["owner"]
    assert declared["metadata"]["description"]
    assert all(dataset["description"] for side in ("inputs", "outputs") for dataset in declared.get(side, []))


@pytest.mark.parametrize("folder", FOLDERS)
def test_arguments_name_every_declared_dataset_and_no_other(folder: str):
    declared = package(folder, DATA)
    locations = {dataset["location"] for side in ("inputs", "outputs") for dataset in declared.get(side, [])}
    if declared["run"]["kind"] == "sql":
        assert all(f"'{location}'" in declared["run"]["sql"] for location in locations)
    else:
        assert {value for value in declared["run"]["args"] if value.startswith(str(DATA))} == locations


def test_no_script_knows_headwater():
    for script in EXAMPLE.glob("*/*.py"):
        tree = ast.parse(script.read_text())
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not [name for name in names if name.split(".")[0] == "headwater"], script


def test_every_dataset_that_a_job_writes_has_an_expected_lineage():
    written = {relative(dataset) for folder in FOLDERS for dataset in package(folder, DATA)["outputs"]}
    assert set(cases()) == {name for name in written if not name.startswith("raw/")}


def test_expected_lineage_agrees_with_the_declared_jobs():
    for folder in FOLDERS:
        declared = package(folder, DATA)
        inputs = {relative(dataset) for dataset in declared.get("inputs", [])}
        for output in map(relative, declared["outputs"]):
            if (case := cases().get(output)) is None:
                continue
            assert set(case["inputs"]) <= inputs, output
            short = f".{Path(output).name}" if "fields" in case else ""
            assert case["job"] == declared["metadata"]["name"] + short


def test_expected_edges_lead_to_columns_that_exist():
    known = {output: set(case["fields"]) for output, case in cases().items() if "fields" in case}
    for output, case in cases().items():
        edges = [edge for edges in case.get("fields", {}).values() for edge in edges]
        edges += case.get("dataset", []) + case.get("columns", [])
        assert {edge["dataset"] for edge in edges} == set(case["inputs"]), output
        for edge in edges:
            assert edge["dataset"].startswith("raw/") or edge["field"] in known[edge["dataset"]], (output, edge)


def test_no_expected_edge_is_written_twice_and_only_one_direct_edge_joins_two_columns():
    for output, case in cases().items():
        for name, edges in [*case.get("fields", {}).items(), ("", case.get("dataset", []))]:
            keys = [
                (edge["dataset"], edge["field"], edge["type"] if edge["type"] == "DIRECT" else edge["subtype"])
                for edge in edges
            ]
            assert len(keys) == len(set(keys)), (output, name)
