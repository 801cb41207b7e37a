"""The example on real data, run as a newcomer runs it (`make demo ONCE=1`), and what is known afterwards against hand-checked answers."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.fixtures.demo import Demo
from tests.fixtures.machine import HEADWATER

from headwater.client.ask import ask

ROOT = Path(__file__).parents[2]
CASES = sorted((ROOT / "tests/cases/flights").glob("*.json"))
TABLES = [path for path in CASES if path.name != "report.index.html.json"]
RAW = {"raw/flights", "raw/weather", "raw/planes", "raw/airports", "raw/airports_supplement", "raw/airlines"}
pytestmark = pytest.mark.spark


@pytest.mark.parametrize("case", TABLES, ids=[path.stem for path in TABLES])
def test_column_edges_are_those_worked_out_by_hand(demo: Demo, case: Path) -> None:
    expected = json.loads(case.read_text())
    answer = demo.lineage(expected["output"], direction="upstream", depth=1)
    inputs = {demo.short(node["id"]) for node in answer["nodes"] if node["type"] == "DATASET" and node["hop"] == -1}
    assert inputs == set(expected["inputs"])
    assert {node["name"] for node in answer["nodes"] if node["type"] == "JOB"} == {expected["job"]}
    target = demo.place(expected["output"])
    found = {
        (edge["target_field"], demo.short(edge["source"]), edge["source_field"], t["type"], t["subtype"])
        for edge in answer["column_edges"]
        if edge["target"] == target
        for t in edge["transformations"]
    }
    told = {
        (field, i["dataset"], i["field"], i["type"], i["subtype"])
        for field, items in expected["fields"].items()
        for i in items
    }
    told |= {(None, i["dataset"], i["field"], i["type"], i["subtype"]) for i in expected["dataset"]}
    assert found == told


def test_the_report_is_fed_by_the_columns_taken_to_the_driver(demo: Demo) -> None:
    expected = json.loads((ROOT / "tests/cases/flights/report.index.html.json").read_text())
    answer = demo.lineage("report/index.html", direction="upstream", depth=1)
    assert {demo.short(n["id"]) for n in answer["nodes"] if n["hop"] == -1 and n["type"] == "DATASET"} == set(
        expected["inputs"]
    )
    found = {
        (demo.short(edge["source"]), edge["source_field"], t["type"], t["subtype"])
        for edge in answer["column_edges"]
        if edge["target"].startswith("job:")
        for t in edge["transformations"]
    }
    assert found == {(i["dataset"], i["field"], i["type"], i["subtype"]) for i in expected["columns"]}


def test_the_report_reaches_every_raw_file_through_columns(demo: Demo) -> None:
    """From the report, following column edges only, every raw table is reached."""
    answer = demo.lineage("report/index.html", direction="upstream", depth=100)
    reached, queue = {demo.place("report/index.html"), "job:flights:report"}, ["job:flights:report"]
    while queue:
        node = queue.pop()
        for edge in answer["column_edges"]:
            if edge["target"] == node and edge["source"] not in reached:
                reached.add(edge["source"])
                queue.append(edge["source"])
    assert {demo.short(node) for node in reached} >= RAW
    assert answer["hidden"] == {"nodes": 0, "reason": None, "at_least": False}


def test_what_the_demo_prints(demo: Demo) -> None:
    for text in ("index.html", "raw/flights", "raw/airlines", "Last run", "COMPLETED", demo.url):
        assert text in demo.printed, demo.printed[-2000:]


def test_the_commands_it_ends_with_work_as_printed(demo: Demo) -> None:
    commands = [line.strip() for line in demo.printed.splitlines() if line.startswith("  /") and "/headwater " in line]
    assert len(commands) == 3
    for command in commands:
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert "delay" in done.stdout or "daily_traffic" in done.stdout or "flights:" in done.stdout


def test_every_run_ended_well_and_is_described(demo: Demo) -> None:
    runs = json.loads(ask(demo.url, "/api/v2/runs", {"limit": 1000}))["runs"]
    assert {run["effective_state"] for run in runs} == {"COMPLETED"}
    packages = [run for run in runs if run["parent"] is None]
    assert len({run["job"] for run in packages}) == len(
        [
            line
            for line in (ROOT / "examples/flights/order.txt").read_text().splitlines()
            if line.strip() and line[0] != "#"
        ]
    )
    clean = next(run for run in packages if run["job"] == "job:flights:clean-flights")
    detail = json.loads(ask(demo.url, f"/api/v2/runs/{clean['id']}"))
    assert detail["parameters"]["data"] == str(demo.data)
    assert {child["job"] for child in detail["children"]} == {
        "job:flights:clean-flights.flights",
        "job:flights:clean-flights.rejected",
    }
    child = next(child for child in detail["children"] if child["job"].endswith(".flights"))
    told = json.loads(ask(demo.url, f"/api/v2/runs/{child['id']}"))
    (output,) = told["outputs"]
    assert output["rows"] == 336_776
    assert output["bytes"] > 1_000_000
    staged = next(i for i in told["inputs"] if i["dataset"] == demo.place("staged/flights"))
    assert staged["written_by"]["job"] == "job:flights:ingest.flights"


def test_every_schedule_is_filled_by_its_package(demo: Demo) -> None:
    """No declaration says which package makes an entity, nor where it is: packages and runs do."""
    lines = (ROOT / "examples/flights/entities.yaml").read_text().splitlines()
    entities = [line.split()[1] for line in lines if line.startswith("entity:")]
    assert len(entities) == 12
    for entity in entities:
        counts = json.loads(ask(demo.url, f"/api/v2/entities/{entity}/status"))["counts"]
        assert counts.keys() == {"completed"}, (entity, counts)
        found = json.loads(ask(demo.url, f"/api/v2/entities/{entity}"))
        assert found["entity"]["produced_by"][0]["job"].startswith("package:"), entity
        # Of three reference tables none is the one of this name.
        assert [home["basis"] for home in found["entity"]["homes"]] == ([] if entity == "reference" else ["package"]), (
            entity
        )
    days = json.loads(ask(demo.url, "/api/v2/entities/weather/status", {"instances": ["2013-03-10", "2013-11-03"]}))
    assert days["counts"] == {"completed": 48}, "23 hours and 25"
    assert "yes: it may be used" in demo.run("status", "weekly_traffic@2013-W10").stdout
    assert "daily_traffic, every day, America/New_York" in demo.run("datasets", "marts/daily_traffic").stdout


def test_no_job_is_a_loop_and_tags_flow_down(demo: Demo) -> None:
    shown = json.loads(demo.run("datasets", "enriched/flights", "--json").stdout)
    assert "job:flights:enrich-flights.flights" in shown["producers"]
    assert not set(shown["producers"]) & set(shown["consumers"])
    assert shown["inherited_tags"]


def test_a_second_demo_adds_versions_and_loses_nothing(demo: Demo) -> None:
    """One package again: the same job, another run, a second version."""
    before = json.loads(demo.run("datasets", "reference/airlines", "--json").stdout)
    env = {**demo.env, **{k: v for k, v in os.environ.items() if k in {"JAVA_HOME", "PATH"}}}
    done = subprocess.run(
        [*HEADWATER, "run", "examples/flights/reference", "--param", f"data={demo.data}", "--master", "local[2]"],
        env=env, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    after = json.loads(demo.run("datasets", "reference/airlines", "--json").stdout)
    assert after["version_count"] == before["version_count"] + 1
    assert after["producers"] == before["producers"]
    assert [version["schema_changed"] for version in after["versions"]] == [False, False]


def test_rebuild_makes_the_same_tables(demo: Demo) -> None:
    done = demo.run("rebuild", "--check", "--json")
    assert json.loads(done.stdout)["equal"] is True, done.stdout
