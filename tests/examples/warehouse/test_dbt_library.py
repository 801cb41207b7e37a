"""A dbt project of 56 models that dbt builds in DuckDB: `headwater sql` finds the relations and columns that are really there, in order.

The project (tests/cases/dbt) has macros, a package, snapshots, incremental, ephemeral and versioned models, and names that several things have.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

ROOT = Path(__file__).parents[3]
BIN = ROOT / ".tools/warehouse/bin"
COLUMNS = """
    select table_catalog || '.' || table_schema || '.' || table_name, list(lower(column_name) order by ordinal_position)
    from information_schema.columns where table_schema <> 'raw' group by all
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the project, built: `library`, with its package beside it."""
    folder = tmp_path_factory.mktemp("dbt")
    shutil.copytree(ROOT / "tests/cases/dbt", folder, dirs_exist_ok=True)
    dbt = [str(BIN / "dbt"), "--quiet", "--no-send-anonymous-usage-stats", "--no-version-check"]
    for words in (["deps"], ["seed"], ["build", "--exclude", "resource_type:seed"]):
        environment = os.environ | {"DBT_PROFILES_DIR": "."}
        done = subprocess.run(
            [*dbt, *words], cwd=folder / "library", env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def built(folder: Path) -> dict[str, list[str]]:
    """Every relation that dbt made, with its columns, by DuckDB's account."""
    with duckdb.connect(str(folder / "library/library.duckdb"), read_only=True) as connection:
        return dict(connection.execute(COLUMNS).fetchall())


def read(folder: Path, *words: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "headwater", "sql", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer | {"said": done.stderr.decode()}


def outputs(answer: dict[str, Any]) -> dict[str, list[str]]:
    return {
        one["writes"][0]["name"]: [column["name"].lower() for column in one["flows"][0]["columns"]]
        for one in answer["statements"]
        if one["writes"]
    }


def edges(answer: dict[str, Any]) -> set[tuple[str, str, str, str]]:
    return {
        (given["table"]["name"], given["field"], one["writes"][0]["name"], column["name"])
        for one in answer["statements"]
        if one["writes"]
        for column in one["flows"][0]["columns"]
        for given in column["inputs"]
    }


def test_every_model_has_the_columns_that_it_has(folder: Path, built: dict[str, list[str]]) -> None:
    answer = read(folder, "library", "--json")
    assert outputs(answer) == built
    assert len(built) == 52
    assert answer["totals"] == {"statements": 52, "full": 52, "partial": 0, "tables": 0, "nothing": 0, "unresolved": 0}
    assert answer["said"] == ""


def test_names_that_several_things_have_stay_apart(folder: Path) -> None:
    found = edges(read(folder, "library", "--json"))
    assert ("library.raw.members", "email", "library.stg.members", "email") in found
    assert ("library.stg.members", "email", "library.mart.dim_members_v2", "email_hash") in found
    assert ("library.calendar.holidays", "label", "library.report.report_holidays", "label") in found
    assert ("library.stg.stg_loans", "lent_at", "library.mart.fct_loans", "days_out") in found
    assert ("library.raw.branches", "opened", "library.stg.stg_branches", "opened_on") in found


def test_without_a_manifest_what_is_read_is_the_same(folder: Path, tmp_path: Path) -> None:
    exact = edges(read(folder, "library", "--json"))
    shutil.copytree(folder / "library", tmp_path / "library", ignore=shutil.ignore_patterns("target", "*.duckdb"))
    answer = read(tmp_path, "library", "--json")
    unknown = {"library.mart.all_activity", "library.report.report_activity"}
    # A macro's text is not known: what it makes has no inputs, and its model is `partial`.
    partial = {one["writes"][0]["name"] for one in answer["statements"] if one["level"] == "partial"}
    assert {edge for edge in exact if edge[2] not in unknown | partial} == {
        edge for edge in edges(answer) if edge[2] not in unknown | partial
    }
    assert partial == {
        "library.calendar.dates",
        "library.mart.dim_books",
        "library.mart.dim_dates",
        "library.stg.stg_books",
        "library.stg.stg_fines",
    }


def test_events_have_what_dbt_says_and_the_columns(folder: Path) -> None:
    told = read_events(folder)
    manifest = json.loads((folder / "library/target/manifest.json").read_text())
    models = [
        node
        for node in manifest["nodes"].values()
        if node["resource_type"] in {"model", "snapshot"} and node["config"]["materialized"] != "ephemeral"
    ]
    assert len(told) == len(models)
    for node in models:
        (event,) = [one for one in told if one["outputs"][0]["name"] == node["relation_name"].replace('"', "")]
        assert set(relations(manifest, node)) <= {one["name"] for one in event["inputs"]}
        assert event["outputs"][0]["facets"]["columnLineage"]["fields"] or node["name"] == "dates"


def test_events_name_the_tables_that_dbt_ol_names(folder: Path) -> None:
    """Recorded of dbt-ol (tests/cases/dbt_ol.yaml): the same tables but for what is listed there, and more columns."""
    recorded = yaml.safe_load((ROOT / "tests/cases/dbt_ol.yaml").read_text(encoding="utf-8"))["models"]
    ours = {event["outputs"][0]["name"]: {one["name"] for one in event["inputs"]} for event in read_events(folder)}
    manifest = json.loads((folder / "library/target/manifest.json").read_text())
    every = [*manifest["nodes"].values(), *manifest["sources"].values()]
    kinds: dict[str, str] = {}
    for node in every:
        name = f"{node['database']}.{node['schema']}.{node.get('alias') or node['name']}"
        kinds[name] = "ephemeral" if node["config"].get("materialized") == "ephemeral" else node["resource_type"]
        if node["resource_type"] == "source" and node["identifier"] != node["name"]:
            kinds[name] = "identifier"
            kinds[f"{node['database']}.{node['schema']}.{node['identifier']}"] = "identifier"
    different = 0
    for one in recorded.values():
        (written,) = one["writes"]
        theirs = set(one["reads"])
        only_theirs, only_ours = theirs - ours[written], ours[written] - theirs
        assert {kinds[name] for name in only_theirs} <= {"ephemeral", "identifier"}
        behind = any(kinds[name] == "ephemeral" for name in only_theirs)
        assert behind or {kinds[name] for name in only_ours} <= {"seed", "snapshot", "identifier"}
        different += bool(only_theirs or only_ours)
    assert (len(recorded), different) == (len(ours), 10)


def relations(manifest: dict[str, Any], node: dict[str, Any]) -> Iterator[str]:
    for id_ in node["depends_on"]["nodes"]:
        read = (manifest["nodes"] | manifest["sources"])[id_]
        if read["relation_name"]:
            yield read["relation_name"].replace('"', "")
        else:
            yield from relations(manifest, read)


def read_events(folder: Path) -> list[dict[str, Any]]:
    """The ends of the runs of models and snapshots."""
    return [one for one in all_events(folder) if one["eventType"] == "COMPLETE" and one["outputs"]]


def all_events(folder: Path) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "headwater", "sql", "library/target", "--openlineage", "duckdb://library.duckdb"]
    events: list[dict[str, Any]] = json.loads(
        subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout
    )
    return events


def bare(content: Any) -> Any:
    """A facet without who wrote it and without what is empty."""
    if isinstance(content, dict):
        told = {key: bare(value) for key, value in content.items() if key not in {"_producer", "_schemaURL"}}
        return {key: value for key, value in told.items() if value not in ([], {})}
    return [bare(one) for one in content] if isinstance(content, list) else content


def test_jobs_runs_and_facets_are_those_of_dbt_ol(folder: Path) -> None:
    """Recorded of dbt-ol 1.54 after the same `dbt build` (tests/cases/dbt_ol_events.json): all of it, and columns."""
    recorded = json.loads((ROOT / "tests/cases/dbt_ol_events.json").read_text(encoding="utf-8"))
    # A test of several tables counts as a check of none of them; dbt-ol takes the last by name, be it one that is no table.
    for model in ("library.main.library.int_loans_with_book", "library.mart.library.fct_loans"):
        del recorded[f"{model}.build.test"]
    found: dict[str, dict[str, Any]] = {}
    for event in all_events(folder):
        one = found.setdefault(event["job"]["name"], {"states": []})
        one["states"].append(event["eventType"])
        one["job"] = {key: bare(facet) for key, facet in event["job"]["facets"].items() if key != "sql"}
        one["run"] = set(event["run"]["facets"])
        one["told"] = {
            key: bare(event["run"]["facets"][key]) for key in ("tags", "test") if key in event["run"]["facets"]
        }
        for side in ("inputs", "outputs"):
            one[side] = {entry["name"]: entry["facets"] for entry in event[side]}
    assert set(found) == set(recorded)
    for name, theirs in recorded.items():
        ours = found[name]
        assert (ours["states"], ours["job"]) == (theirs["states"], theirs["job"]), name
        assert ours["run"] | {"tags"} >= set(theirs["run"])  # dbt-ol's own version is a tag of each of its runs.
        assert ours["told"] == theirs["told"], name
        assert set(ours["outputs"]) == set(theirs["outputs"])
        for side in ("inputs", "outputs"):
            for table, facets in theirs[side].items():
                # What the tables differ in is the test above.
                given = bare({key: facet for key, facet in ours[side].get(table, {}).items() if key in facets})
                assert given == facets or table not in ours[side], (name, table)
