"""`headwater backfill export` against a real server: what is written, shown and refused."""

import ast
import json
from pathlib import Path

import pytest
from tests.api.plans.backfilled import Place, by_hand, week, yaml

from headwater.cli.plans import backfill_export
from headwater.errors import InvalidPlan, InvalidQuestion, NotFound

YAML = yaml("airflow://prod/{}/make", "weather", "reads")


@pytest.fixture
def place(server_url: str, tmp_path: Path) -> Place:
    return week(server_url, tmp_path, YAML)


def test_written_shown_and_the_same_again(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill_export, "_PAGE", 10)
    plan = place.plan(incident=place.incident("2024-03-06"), apply=False)
    dry = place.headwater("backfill", "export", plan, "--dry-run")
    assert [line.split()[:3] for line in dry.output.splitlines()[1:3]] == [
        ["weather_make_0", "24", "airflow://prod/weather/make"],
        ["reads_make_24", "1", "airflow://prod/reads/make"],
    ]
    file = tmp_path / "repair.py"
    told = place.headwater("backfill", "export", plan, "--to", str(file), "--parallel", "8")
    assert told.output == f"{file}: the DAG headwater_plan_{plan} of 25 items in 2 tasks\n"
    text = file.read_text()
    ast.parse(text)
    assert ".expand(number=[*range(0, 24)])" in text
    assert "max_active_tasks=8" in text
    place.headwater("backfill", "export", plan.upper(), "--to", str(file), "--parallel", "8")
    assert file.read_text() == text == place.headwater("backfill", "export", plan, "--parallel", "8").output
    said = json.loads(place.headwater("backfill", "export", plan, "--json", "--parallel", "8").output)
    assert (said["dag_id"], said["airflow"], said["items"]) == (f"headwater_plan_{plan}", "prod", 25)
    assert (said["file"], said["text"], said["tasks"][1]["after"]) == (None, text, ["weather_make_0"])
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["repair.py"]
    assert place.shown(plan)["plan"]["state"] == "planned"


def test_what_is_refused(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    incident = place.incident("2024-03-06T23")
    plan = place.plan(incident=incident)
    mine = tmp_path / "mine.py"
    mine.write_text("x = 1\n")
    with pytest.raises(InvalidQuestion, match="is not an exported plan"):
        place.headwater("backfill", "export", plan, "--to", str(mine))
    assert mine.read_text() == "x = 1\n"
    with pytest.raises(InvalidQuestion, match="cannot be written: No such file"):
        place.headwater("backfill", "export", plan, "--to", str(tmp_path / "none/a.py"))
    with pytest.raises(NotFound, match="there is no plan"):
        place.headwater("backfill", "export", "0199f3c2-0000-7000-8000-000000000001")
    with pytest.raises(NotFound, match="the id of no plan"):
        place.headwater("backfill", "export", "../x?y")
    monkeypatch.setattr("headwater.runner.plan_as_dag.MOST_ITEMS", 1)
    with pytest.raises(InvalidPlan, match="the plan has 2 items"):
        place.headwater("backfill", "export", plan)
    monkeypatch.undo()
    place.headwater("backfill", "cancel", plan)
    with pytest.raises(InvalidPlan, match="the plan is cancelled"):
        place.headwater("backfill", "export", plan)
    place.declare(YAML + by_hand("reads"))
    place.say("notes", "2024-W10")
    plan = place.plan(wrong=[{"entity": "weather", "instances": ["2024-03-07T00"]}])
    with pytest.raises(InvalidPlan) as refused:
        place.headwater("backfill", "export", plan)
    assert refused.value.detail["problems"] == ["#2 notes 2024-W10: by hand: no job is known to make it"]
