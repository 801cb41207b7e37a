"""`headwater lineage X`, `taint X` and `repair` for whatever X is, against a real server."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.api.plans.backfilled import Place, week, yaml
from tests.events import RUN, dataset, facet, run_event, schema
from typer.testing import CliRunner, Result

from headwater.cli.program import program
from headwater.errors import Ambiguous, InvalidQuestion, NotFound


@pytest.fixture
def place(server_url: str, tmp_path: Path) -> Place:
    found = week(server_url, tmp_path, yaml("package:{}"))
    hour = "2026-01-01T{:02}:00:00Z".format
    for event in (
        run_event("COMPLETE", 1, "load", ["/src"], [dataset("/lake/raw", **schema("id", "who.name"))], at=hour(1)),
        run_event(
            "COMPLETE",
            2,
            "clean",
            ["/lake/raw"],
            [dataset("/lake/clean", version=facet(datasetVersion="7"))],
            at=hour(2),
        ),
        run_event("COMPLETE", 3, "report", ["/lake/clean"], ["/lake/report"], at=hour(3)),
    ):
        found.ask("POST", "/api/v1/lineage", event)
    return found


def run(place: Place, *words: str) -> Result:
    return CliRunner().invoke(
        program, words, env={"HEADWATER_URL": place.url, "COLUMNS": "200"}, catch_exceptions=False
    )


def meant(place: Place, text: str) -> Any:
    from urllib.parse import quote

    return place.ask("GET", f"/api/v2/objects?text={quote(text, safe='')}")


def test_what_a_text_means(place: Place) -> None:
    expected = {
        "lake/raw": ("DATASET", "dataset:file:/lake/raw"),
        "clean": ("JOB", "job:test:clean"),
        "lake/raw.id": ("COLUMN", "dataset:file:/lake/raw#id"),
        "lake/raw.who.name": ("COLUMN", "dataset:file:/lake/raw#who.name"),
        RUN.format(1): ("RUN", RUN.format(1)),
        f"run:{RUN.format(1)}": ("RUN", RUN.format(1)),
        "weather@2024-03-06T22": ("INSTANCE", "weather@2024-03-06T22"),
        "weather": ("ENTITY", "weather"),
    }
    for text, wanted in expected.items():
        found = meant(place, text)["object"]
        assert (found["type"], found["id"]) == wanted, text
    version = meant(place, "lake/clean@7")["object"]
    assert (version["type"], version["node"], version["run"]) == ("VERSION", "dataset:file:/lake/clean", RUN.format(2))
    assert meant(place, f"lake/clean@{version['id']}")["object"] == version == meant(place, version["id"])["object"]
    place.ask("POST", "/api/v1/lineage", run_event("COMPLETE", 4, "copy", ["/lake/raw"], ["/other/raw"]))
    candidates = meant(place, "raw")["candidates"]
    assert {each["id"] for each in candidates} == {"dataset:file:/lake/raw", "dataset:file:/other/raw"}
    with pytest.raises(Ambiguous):
        run(place, "lineage", "raw")
    near = meant(place, "lake/claen")
    assert (near["object"], near["candidates"], near["suggestions"][0]) == (None, [], "dataset:file:/lake/clean")
    assert meant(place, "lake/clean@8")["object"] is None
    assert meant(place, "lake/raw.nothing")["object"] is None


def test_lineage_of_whatever_it_is(place: Place) -> None:
    assert "report" in run(place, "lineage", "lake/raw").output
    assert json.loads(run(place, "lineage", "lake/raw.id", "--json").output)["root"] == "dataset:file:/lake/raw"
    for text, first in (
        (RUN.format(2), f"run of clean, 2026-01-01 02:00:00 UTC ({RUN.format(2)})"),
        ("lake/clean@7", "/lake/clean@7: version"),
    ):
        shown = run(place, "lineage", text).output
        assert shown.splitlines()[0] == first
        assert all(word in shown for word in ("load", "clean", "report", "Upstream", "Downstream"))
    shown = run(place, "lineage", "report@2024-W10").output
    assert "report 2024-W10: instance" in shown
    assert "weather" in shown
    with pytest.raises(InvalidQuestion, match="is a run; columns are recorded of jobs"):
        run(place, "lineage", RUN.format(2), "--columns")
    with pytest.raises(
        InvalidQuestion, match="weather is an entity; name its instances: headwater lineage weather@INSTANCE"
    ):
        run(place, "lineage", "weather")
    with pytest.raises(NotFound, match="nothing is named 'nosuchthing'"):
        run(place, "lineage", "nosuchthing")


@pytest.mark.parametrize(
    ("what", "jobs"),
    [
        (RUN.format(1), ["load", "clean", "report"]),
        ("lake/raw", ["load", "clean", "report"]),
        ("lake/clean@7", ["clean", "report"]),
        (RUN.format(3), ["report"]),
    ],
)
def test_taint_and_repair_without_any_schedule(place: Place, what: str, jobs: list[str]) -> None:
    dry = run(place, "taint", what, "--dry-run")
    assert "would be wrong; nothing was written" in dry.output
    with pytest.raises(InvalidQuestion, match="say why"):
        run(place, "taint", what)
    opened = json.loads(run(place, "taint", what, "--reason", "wrong rates", "--json").output)
    assert [each["label"] for each in opened["reads"]["repeat"]] == jobs
    repair = run(place, "repair", opened["id"])
    assert repair.exit_code == 3
    lines = [
        line.split()[1]
        for line in repair.output.split("run again, in this order")[1].splitlines()[2:]
        if line[:1].isdigit()
    ]
    assert lines == [f"test:{job}" for job in jobs]
    outputs = {
        "load": ("/src", "/lake/raw"),
        "clean": ("/lake/raw", "/lake/clean"),
        "report": ("/lake/clean", "/lake/report"),
    }
    for number, job in enumerate(jobs):
        reads, writes = outputs[job]
        place.ask(
            "POST",
            "/api/v1/lineage",
            run_event("COMPLETE", 50 + number, job, [reads], [writes], at=f"2026-01-02T{number:02}:00:00Z"),
        )
    again = run(place, "repair", opened["id"], "--wait", "5")
    assert (again.exit_code, again.output.splitlines()[-1]) == (0, "nothing is wrong any more")
    assert "open, mended" in run(place, "incident", "list").output
    assert (
        f"run {what}" in run(place, "incident", "show", opened["id"]).output
        or "version" in run(place, "incident", "show", opened["id"]).output
    )


def test_a_column_of_a_dataset(place: Place) -> None:
    found = json.loads(run(place, "taint", "lake/raw.id", "--dry-run", "--json").output)
    assert found["reads"]["versions"][0]["columns"] == ["id"]
    assert "id" in run(place, "taint", "lake/raw", "--column", "id", "--dry-run").output


def test_a_schedule_s_incident_has_one_plan(place: Place) -> None:
    opened = json.loads(run(place, "taint", "weather@2024-03-06T22", "--reason", "stuck sensor", "--json").output)
    assert [hit["entity"] for hit in opened["hits"]] == ["weather", "reads", "report"]
    dry = json.loads(run(place, "repair", opened["id"], "--dry-run", "--json").output)
    assert (dry["plan"]["id"], dry["reads"]) == (None, None)
    first, again = (json.loads(run(place, "repair", opened["id"], "--json").output)["plan"]["id"] for _ in range(2))
    assert first == again is not None
    assert "fix the cause first" in run(place, "repair", opened["id"]).output
    with pytest.raises(
        InvalidQuestion, match="is not an incident's id: mark what is wrong with `headwater taint lake/raw`"
    ):
        run(place, "repair", "lake/raw")


def test_a_bad_run_by_its_id(place: Place) -> None:
    dry = run(place, "repair", "--run", RUN.format(2), "--dry-run")
    assert (dry.exit_code, "test:clean" in dry.output, "test:load" in dry.output) == (3, True, False)
    assert place.ask("GET", "/api/v2/incidents")["total"] == 0, "a dry run writes nothing"
    with pytest.raises(InvalidQuestion, match="say why"):
        run(place, "repair", "--run", RUN.format(2))
    first, again = (
        json.loads(run(place, "repair", "--run", RUN.format(2), *why, "--json").output)
        for why in (["--reason", "wrong rates"], [])
    )
    assert [each["label"] for each in first["reads"]["repeat"]] == ["clean", "report"]
    assert first["incident"]["id"] == again["incident"]["id"], "started again it goes on with its incident"
    assert place.ask("GET", "/api/v2/incidents")["total"] == 1
    for words in (
        [],
        ["--execution-date", "2024-03-06"],
        [first["incident"]["id"], "--run", RUN.format(2)],
        ["--run", "lake/raw"],
    ):
        with pytest.raises(InvalidQuestion):
            run(place, "repair", *words)


def test_a_bad_run_of_a_dag(place: Place) -> None:
    """The DAG's run of an hour: its task is cleared, the day and the week are made again, and their incident is one."""
    place.declare(yaml("airflow://one/weather_dag/load", "weather") + "---\n" + yaml("package:{}", "reads", "report"))
    asked = ("repair", "--dag", "weather_dag", "--execution-date", "2024-03-06T22:00:00Z")
    look = json.loads(run(place, *asked, "--dry-run", "--json").output)
    assert [(each["task_id"], each["makes"]) for each in look["impact"]["clear"] if each["dag_id"]] == [
        ("load", [{"entity": "weather", "instances": ["2024-03-06T22"]}])
    ]
    assert [hit["entity"] for hit in look["incident"]["hits"]] == ["weather", "reads", "report"]
    assert look["plan"]["items"] == 3
    assert "weather_dag" in run(place, *asked, "--dry-run").output
    first = json.loads(run(place, *asked, "--reason", "a sensor was stuck", "--json").output)
    again = json.loads(run(place, *asked, "--json").output)
    assert (first["incident"]["wrong"], first["plan"]["id"]) == (3, again["plan"]["id"])
    assert place.ask("GET", "/api/v2/incidents")["total"] == 1


def test_a_bad_run_of_a_dag_that_makes_no_entity(place: Place) -> None:
    """It is found by its events: its own, or those of its tasks alone; what used it, by what runs read."""
    interval = "2026-01-02T00:00:00Z"
    of = {"nominalTime": facet(nominalStartTime=interval, nominalEndTime="2026-01-03T00:00:00Z")}

    def send(run_: int, job: str, inputs: list[str], outputs: list[str], namespace: str, dag: int | None) -> None:
        facets = of
        if dag is not None:
            parent = facet(run={"runId": RUN.format(dag)}, job={"namespace": namespace, "name": "rates"})
            facets = of | {"parent": parent}
        event = run_event(
            "COMPLETE",
            run_,
            job,
            inputs,
            outputs,
            at=f"2026-01-03T{run_ - 40:02}:00:00Z",
            namespace=namespace,
            run_facets=facets,
        )
        place.ask("POST", "/api/v1/lineage", event)

    send(41, "rates", [], [], "one", None)
    send(42, "rates.fetch", ["/src"], ["/rates/raw"], "one", 41)
    send(43, "model", ["/rates/raw"], ["/rates/model"], "one", None)
    asked = ("repair", "--dag", "rates", "--execution-date", interval)
    look = json.loads(run(place, *asked, "--dry-run", "--json").output)
    assert (look["impact"], look["plan"]) == (None, None)
    assert [each["label"] for each in look["incident"]["reads"]["repeat"]] == ["rates.fetch", "model"]
    assert "one:rates.fetch" in run(place, *asked, "--dry-run").output
    by_id = json.loads(run(place, "repair", "--dag", "rates", "--run", RUN.format(41), "--dry-run", "--json").output)
    assert by_id["incident"]["reads"] == look["incident"]["reads"]
    first, again = (
        json.loads(run(place, *asked, *why, "--json").output)["incident"]["id"] for why in (["--reason", "old"], [])
    )
    assert first == again
    # In the other namespace only a task reports.
    send(45, "rates.fetch", ["/src"], ["/two/raw"], "two", 44)
    with pytest.raises(InvalidQuestion, match="in 2 namespaces, one, two: name one"):
        run(place, *asked, "--dry-run")
    body = {"dag": "rates", "execution_date": interval, "airflow": "two"}
    repeat = place.ask("POST", "/api/v2/repair", body)["incident"]["reads"]["repeat"]
    assert [each["job"] for each in repeat] == ["job:two:rates.fetch"]
    with pytest.raises(NotFound, match="begins at 2026-01-05T00:00:00Z; the latest begin at 2026-01-02T00:00:00Z"):
        run(place, "repair", "--dag", "rates", "--execution-date", "2026-01-05T00:00:00Z", "--dry-run")
    with pytest.raises(NotFound, match="with the id"):
        run(place, "repair", "--dag", "rates", "--run", RUN.format(43), "--dry-run")
    with pytest.raises(InvalidQuestion, match="by `execution_date` or by `run`"):
        run(place, "repair", "--dag", "rates", "--dry-run")


def test_a_file_by_its_content(place: Place, tmp_path: Path) -> None:
    from headwater.client.fingerprint import fingerprint

    file = tmp_path / "delivered.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(NotFound, match="nothing is recorded about"):
        run(place, "taint", str(file), "--dry-run")
    read = dataset("/inbox/x.csv", version=facet(datasetVersion=fingerprint(str(file)).text))
    place.ask(
        "POST",
        "/api/v1/lineage",
        run_event("COMPLETE", 7, "import", [read], ["/lake/imported"], at="2026-01-03T00:00:00Z"),
    )
    found = json.loads(run(place, "taint", str(file), "--reason", "sent twice", "--json").output)
    assert [each["label"] for each in found["reads"]["repeat"]] == ["import"]
    assert "import" in run(place, "lineage", str(file)).output


def test_a_verdict_about_what_a_check_doubts(place: Place) -> None:
    failed = facet(assertions=[{"assertion": "not_null", "column": "id", "success": False}])
    look = run_event(
        "COMPLETE", 8, "check", [dataset("/lake/raw", dataQualityAssertions=failed)], at="2026-01-01T04:00:00Z"
    )
    place.ask("POST", "/api/v1/lineage", look)
    doubted = ("incident", "open", "--kind", "doubted", "--json")
    (entry,) = json.loads(run(place, *doubted).output)["incidents"]
    assert (entry["id"], len(entry["hit"])) == ("dataset:file:/lake/raw", 2)
    assert "/lake/raw: dataset is fine" in run(place, "verdict", "lake/raw", "fine", "--note", "looked").output
    assert json.loads(run(place, *doubted).output)["total"] == 0
    wrong = json.loads(run(place, "verdict", "lake/raw", "wrong", "--note", "no ids", "--json").output)
    assert "retracted" in run(place, "verdict", wrong["id"], "fine").output
    place.ask(
        "POST",
        "/api/v2/instances",
        {"reports": [{"entity": "weather", "what": "doubted", "instances": ["2024-03-06T22"], "ref": "rows"}]},
    )
    assert "is fine" in run(place, "verdict", "weather@2024-03-06T22", "fine").output
    # The run that made an hour wrote a version that a later check doubts.
    place.ask(
        "POST", "/api/v1/lineage", run_event("COMPLETE", 31, "fetch", [], ["/lake/hours"], at="2026-01-01T04:00:00Z")
    )
    produced = {"entity": "weather", "what": "produced", "instances": ["2024-03-06T23"], "ref": RUN.format(31)}
    place.ask("POST", "/api/v2/instances", {"reports": [produced]})
    look = run_event(
        "COMPLETE", 32, "check", [dataset("/lake/hours", dataQualityAssertions=failed)], at="2026-01-01T05:00:00Z"
    )
    place.ask("POST", "/api/v1/lineage", look)
    (entry,) = json.loads(run(place, *doubted).output)["incidents"]
    assert [each["label"] for each in entry["hit"]] == ["weather@2024-03-06T23"]
    assert "/lake/hours: check not_null(id) failed" in run(place, "status", "weather@2024-03-06T23").output
    assert "is fine" in run(place, "verdict", "weather@2024-03-06T23", "fine").output
    assert "check not_null" not in run(place, "status", "weather@2024-03-06T23").output
    assert json.loads(run(place, *doubted).output)["incidents"][0]["hit"] == []
    with pytest.raises(InvalidQuestion, match="no check doubts weather 2024-03-06T22"):
        run(place, "verdict", "weather@2024-03-06T22", "fine")
