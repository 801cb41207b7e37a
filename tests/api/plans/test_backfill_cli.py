"""`headwater backfill` and `headwater impact` against a real server, with runs that are real processes and report by themselves."""

import datetime as dt
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.api.plans.backfilled import Place, by_hand, week, yaml

from headwater.errors import InvalidManifest, InvalidQuestion, NotFound
from headwater.runner.backfill import ItemEvent

YAML = yaml("package:{}")
TWO_DAYS = "2024-03-06T23..2024-03-07T00"
ONCE = {"2024-03-06T23": 1, "2024-03-07T00": 1, "2024-03-06": 1, "2024-03-07": 1, "2024-W10": 1}


@pytest.fixture
def place(server_url: str, tmp_path: Path) -> Place:
    return week(server_url, tmp_path, YAML)


def until(true: Callable[[], Any]) -> None:
    """Waits for as long as a slow machine may need; the awaited event comes by itself."""
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def test_from_a_plan_to_what_is_right(place: Place) -> None:
    incident = place.incident(TWO_DAYS)
    tried = place.headwater("backfill", "plan", "--incident", incident, "--dry-run").output
    assert "A dry run: nothing is stored." in tried
    assert "5 items make 5 instances" in tried
    assert place.ask("GET", "/api/v2/plans")["total"] == 0
    told = place.headwater("backfill", "plan", "--incident", incident).output
    rows = [line.split() for line in told.splitlines()]
    assert ["0", "rerun", "package:weather", "weather", TWO_DAYS, "2"] in rows
    assert ["2", "rerun", "package:reads", "reads", "2024-03-06..2024-03-07", "2"] in rows
    assert ["4", "rerun", "package:report", "report", "2024-W10", "1"] in rows
    (listed,) = place.ask("GET", "/api/v2/plans")["plans"]
    assert told.splitlines()[-1].split() == ["headwater", "backfill", "apply", listed["id"], "--packages", "FOLDER"]
    dry = place.apply(listed["id"], "--dry-run")
    assert f"{place.packages}/weather --period 2024-03-06T23 --json" in dry.output
    assert place.shown(listed["id"])["plan"]["state"] == "planned"
    done = place.apply(listed["id"], "--parallel", "2")
    assert done.exit_code == 0
    assert f"plan {listed['id']} done: 5 done" in done.output
    assert place.runs() == ONCE
    assert place.wrong() == []
    again = place.apply(listed["id"])
    assert (again.exit_code, place.runs()) == (0, ONCE)
    shown = place.headwater("backfill", "show", listed["id"]).output
    assert [line.split()[1] for line in shown.splitlines() if line[:1].isdigit()] [1:] == ["done"] * 5  # fmt: skip


def test_a_failure_stops_what_needs_it_and_nothing_else(place: Place) -> None:
    (place.packages / "weather/fail").write_text("2024-03-06T23")
    plan = place.plan(incident=place.incident(TWO_DAYS))
    failed = place.apply(plan, "--json")
    assert failed.exit_code == 1
    lines = [json.loads(line) for line in failed.output.splitlines()]
    assert [line["what"] for line in lines[:-1]].count("failed") == 1
    assert (lines[-1]["ended"], lines[-1]["plan"]["failed"], lines[-1]["plan"]["waiting"]) == ("failed", 1, 2)
    note = lines[-1]["failed"][0]["note"]
    assert "the source is empty" in note
    assert Path(note.rpartition("; ")[2].rstrip(")")).read_text().strip()
    assert place.runs() == {"2024-03-06T23": 1, "2024-03-07T00": 1, "2024-03-07": 1}
    (place.packages / "weather/fail").unlink()
    assert place.headwater("backfill", "retry", plan).exit_code == 0
    done = place.apply(plan)
    assert "plan" in done.output
    assert (done.exit_code, place.runs()) == (0, ONCE | {"2024-03-06T23": 2})
    assert place.wrong() == []


def test_a_run_that_repairs_nothing_is_no_success(place: Place) -> None:
    (place.packages / "weather/same").write_text("2024-03-06T23")
    failed = place.apply(place.plan(incident=place.incident("2024-03-06T23")))
    assert failed.exit_code == 1
    assert "these instances are not right: weather 2024-03-06T23" in failed.output


def test_a_package_that_makes_something_else_is_not_run(place: Place) -> None:
    (place.packages / "weather/dk.yaml").write_text("entity: climate\n")
    events = list[ItemEvent]()
    plan = place.plan(incident=place.incident("2024-03-06T23"))
    assert (place.worker(plan, on_event=events.append).run_items(), place.runs()) == ("failed", {})
    assert "makes climate, and not weather" in events[-1].note


def test_outside_of_its_window_a_plan_waits(place: Place) -> None:
    now = dt.datetime.now(dt.UTC)
    between = "-".join((now + dt.timedelta(hours=hours)).strftime("%H:%M") for hours in (2, 4))
    told = place.headwater("backfill", "plan", "--incident", place.incident("2024-03-06T23"), "--between", between)
    assert f"items begin {between} UTC only" in told.output
    (listed,) = place.ask("GET", "/api/v2/plans")["plans"]
    assert f"only {between} UTC: opens at" in place.headwater("backfill", "show", listed["id"]).output
    place.ask("POST", f"/api/v2/plans/{listed['id']}/apply", {})
    heard: list[ItemEvent] = []

    def tell(one: ItemEvent) -> None:
        heard.append(one)
        worker.stop()

    worker = place.worker(listed["id"], on_event=tell)
    assert worker.run_items() == "stopped"
    assert [one.note for one in heard] == [f"the plan's window opens at {place.shown(listed['id'])['plan']['opens']}"]
    assert place.runs() == {}


def test_what_a_person_must_do_is_left_and_said(place: Place) -> None:
    place.declare(YAML + by_hand("report"))
    place.say("notes", "2024-W10")
    plan = place.plan(incident=place.incident("2024-03-06T23"))
    left = place.apply(plan)
    assert left.exit_code == 3
    assert "#3 notes 2024-W10: by hand (manual)" in left.output
    place.say("notes", "2024-W10", ref="ann")
    assert place.apply(plan).exit_code == 0
    assert place.shown(plan)["plan"]["skipped"] == 1


def test_who_has_no_packages_for_it_says_so(place: Place, tmp_path: Path) -> None:
    plan = place.plan(incident=place.incident("2024-03-06T23"))
    (place.packages / "weather/dk.yaml").unlink()
    left = place.apply(plan)
    assert left.exit_code == 3
    assert "#0 weather 2024-03-06T23: package:weather" in left.output
    with pytest.raises(InvalidQuestion, match="no folder in it"):
        place.headwater("backfill", "apply", plan, "--packages", str(tmp_path), "--dry-run")


@pytest.mark.parametrize("step", ["taken", "renewed", "begun", "over", "ended"])
def test_a_worker_killed_at_any_step_loses_and_repeats_nothing(place: Place, step: str) -> None:
    plan = place.plan(incident=place.incident("2024-03-06T23"))
    killed = 0
    while True:
        with place.start(plan, step, 1 + killed % 2 if step in {"taken", "renewed"} else 1) as process:
            said, _ = process.communicate(timeout=120)
        if process.returncode != -signal.SIGKILL:
            break
        killed += 1
    assert (process.returncode, said) == (0, b"done\n")
    assert killed >= 3
    assert place.runs() == {"2024-03-06T23": 1, "2024-03-06": 1, "2024-W10": 1}
    assert place.wrong() == []


def test_a_run_outlives_its_worker_and_is_waited_for(place: Place) -> None:
    plan = place.plan(incident=place.incident("2024-03-06T23"))
    hold = place.packages / "weather/hold"
    hold.touch()
    with place.start(plan, "begun", 1) as process:
        assert process.wait(timeout=120) == -signal.SIGKILL
    with place.start(plan, "given_back", 1) as process:
        until(lambda: place.shown(plan)["items"][0]["attempt"] == 2)
        hold.unlink()
        assert process.wait(timeout=120) == -signal.SIGKILL
    told: list[ItemEvent] = []
    assert place.worker(plan, on_event=told.append).run_items() == "done"
    assert [each.count for each in told if each.what == "skipped"] == [1]
    assert place.runs() == {"2024-03-06T23": 1, "2024-03-06": 1, "2024-W10": 1}
    assert place.wrong() == []


def test_who_comes_back_after_its_lease_leaves_it_to_others(place: Place) -> None:
    plan = place.plan(incident=place.incident("2024-03-06T23"))
    hold = place.packages / "weather/hold"
    hold.touch()
    with place.start(plan) as process:
        until(lambda: place.runs())
        process.send_signal(signal.SIGSTOP)
        with place.start(plan) as other:
            until(lambda: place.shown(plan)["items"][0]["attempt"] == 2)
            process.send_signal(
                signal.SIGCONT
            )  # the item is another's: it stops what it runs, and the other runs it again
            until(lambda: place.runs()["2024-03-06T23"] == 2)
            hold.unlink()
            assert other.wait(timeout=120) == 0
        assert process.wait(timeout=120) == 0
    assert place.runs() == {"2024-03-06T23": 2, "2024-03-06": 1, "2024-W10": 1}
    assert place.wrong() == []


def test_two_workers_on_one_plan_share_it(place: Place) -> None:
    plan = place.plan(incident=place.incident("2024-03-06T20..2024-03-07T03"))
    with place.start(plan) as one, place.start(plan) as other:
        assert (one.wait(timeout=120), other.wait(timeout=120)) == (0, 0)
    runs = place.runs()
    assert (len(runs), set(runs.values())) == (11, {1})
    assert place.wrong() == []


def test_two_plans_over_the_same_instances(place: Place) -> None:
    incident = place.incident(TWO_DAYS)
    plans = [place.plan(incident=incident) for _ in range(2)]
    with place.start(plans[0]) as one, place.start(plans[1]) as other:
        assert (one.wait(timeout=120), other.wait(timeout=120)) == (0, 0)
    assert place.runs() == ONCE
    found = [place.shown(plan)["plan"] for plan in plans]
    assert [each["state"] for each in found] == ["done", "done"]
    assert sum(each["done"] for each in found) == 5
    assert place.wrong() == []


def test_paused_waited_for_and_gone_on_with(place: Place) -> None:
    plan = place.plan(incident=place.incident("2024-03-06T23"))
    (place.packages / "weather/hold").touch()
    with place.start(plan) as process:
        until(lambda: place.runs())
        assert "is paused" in place.headwater("backfill", "pause", plan).output
        (place.packages / "weather/hold").unlink()
        until(lambda: place.shown(plan)["plan"]["done"] == 1)
        assert place.runs() == {"2024-03-06T23": 1}
        assert process.poll() is None
        assert "is running" in place.headwater("backfill", "resume", plan).output
        assert process.wait(timeout=120) == 0
    assert "paused" not in place.headwater("backfill", "list", "--state", "paused").output.splitlines()[1:]


def test_cancelled_while_something_runs(place: Place) -> None:
    plan = place.plan(incident=place.incident("2024-03-06T23"))
    (place.packages / "weather/hold").touch()
    with place.start(plan) as process:
        until(lambda: place.runs())
        place.headwater("backfill", "cancel", plan)
        (place.packages / "weather/hold").unlink()
        said, _ = process.communicate(timeout=120)
    assert said == b"cancelled\n"
    assert place.apply(plan).exit_code == 1
    assert place.runs() == {"2024-03-06T23": 1}
    assert place.wrong() == ["reads 2024-03-06 wrong", "report 2024-W10 wrong"]


def test_what_runs_by_itself_meanwhile(place: Place) -> None:
    """The schedule makes a day that the plan would make too, and one that it knows nothing of."""
    plan = place.plan(incident=place.incident(TWO_DAYS))
    hold = place.packages / "weather/hold"
    hold.touch()
    with place.start(plan) as process:
        until(lambda: place.runs())
        place.say("weather", "2024-03-07T00", ref="scheduled", code="v2")
        place.say("weather", "2024-03-11T00", ref="scheduled", code="v2")
        hold.unlink()
        assert process.wait(timeout=120) == 0
    assert place.runs() == {name: count for name, count in ONCE.items() if name != "2024-03-07T00"}
    assert place.wrong() == []


@pytest.mark.parametrize(("times", "runs"), [(1, 1), (2, 2)])
def test_ctrl_c_lets_end_what_runs_and_again_ends_it(place: Place, times: int, runs: int) -> None:
    plan = place.plan(incident=place.incident("2024-03-06T23"))
    hold = place.packages / "weather/hold"
    hold.touch()
    words = [sys.executable, "-m", "headwater", "backfill", "apply", plan, *place.options()]
    with subprocess.Popen(
        words, env=os.environ | {"HEADWATER_URL": place.url}, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        until(lambda: place.shown(plan)["items"][0]["run"] and place.runs())
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)  # two signals at once are one
        if times == 1:
            hold.unlink()
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert f"go on: headwater backfill apply {plan}" in said.decode()
    assert place.shown(plan)["plan"]["state"] == "running"
    hold.unlink(missing_ok=True)
    assert place.worker(plan).run_items() == "done"
    assert place.runs() == {"2024-03-06T23": runs, "2024-03-06": 1, "2024-W10": 1}
    assert place.wrong() == []


def test_what_makes_no_sense(place: Place) -> None:
    with pytest.raises(InvalidQuestion, match="has no partner"):
        place.headwater("backfill", "plan", "weather")
    with pytest.raises(InvalidQuestion, match="--limit takes PRODUCER=N"):
        place.headwater("backfill", "plan", "--limit", "two")
    with pytest.raises(InvalidQuestion, match="--of takes ENTITY=INSTANCES"):
        place.headwater("backfill", "plan", "--of", "weather")
    with pytest.raises(InvalidQuestion, match="--packages FOLDER"):
        place.headwater("backfill", "apply", "x")
    with pytest.raises(NotFound):
        place.headwater("backfill", "show", "0199f3c2-0000-7000-8000-000000000000")


def test_what_is_named_is_made_again_though_it_is_right(place: Place) -> None:
    words = ["reads", "2024-03-06", "--of", "reads=2024-03-08", "--only", "--newest-first", "--limit", "package:reads=1", "--json"]  # fmt: skip
    made = json.loads(place.headwater("backfill", "plan", *words).output)
    assert made["makes"] == [{"entity": "reads", "instances": ["2024-03-06", "2024-03-08"]}]
    assert place.apply(made["id"], "--parallel", "2").exit_code == 0
    assert (place.packages / "reads/runs.txt").read_text().split() == ["2024-03-08", "2024-03-06"]


def test_what_a_failed_run_means(place: Place) -> None:
    place.say("weather", "2024-03-11T03..2024-03-11T05", what="failed", ref="r9")
    told = place.headwater(
        "impact", "--producer", "package:weather", "--start", "2024-03-11T03:00", "--end", "2024-03-11T06:00"
    ).stdout
    assert [line.split()[:2] for line in told.splitlines()[1:]] == [
        ["clear", "package:weather"],
        ["start", "package:reads"],
        ["start", "package:report"],
    ]
    assert "report 2024-W11 ← reads 2024-03-11 ← weather 2024-03-11T03" in told
    by_run = json.loads(place.headwater("impact", "--producer", "package:weather", "--run", "r9", "--json").stdout)
    assert [run["period"] for run in by_run["clear"][0]["runs"]] == ["2024-03-11T03", "2024-03-11T04", "2024-03-11T05"]
    for words in (["--run", "x"], ["--dag", "x", "--producer", "y"], ["--producer", "y", "--task", "t"]):
        with pytest.raises(InvalidQuestion):
            place.headwater("impact", *words)


DISAGREEING = [
    (
        "entity: weather\n",
        "max_periods: is 1, and 'weather' is declared with 24 in one run; raise it here, or lower that",
    ),
    (
        "entity: rain\nmax_periods: 24\n",
        "entity: the package makes rain, and 'weather' is declared with `produced_by: package:weather`; add it here, or correct that",
    ),
    ("{}\n", "entity: is required with --period"),
]


@pytest.mark.parametrize(("manifest", "text"), DISAGREEING, ids=["max_periods", "another entity", "no entity"])
def test_what_package_and_declaration_disagree_on_is_said_before_anything_runs(
    place: Place, manifest: str, text: str
) -> None:
    place.declare(YAML.replace("[package:weather]", "[{job: package:weather, max_periods: 24}]"))
    plan = place.plan(incident=place.incident("2024-03-06T22..2024-03-07T01"), apply=False)
    file = place.packages / "weather" / "dk.yaml"
    file.write_text(manifest)
    for words in ([], ["--dry-run"]):
        with pytest.raises(InvalidManifest, match=re.escape(f"weather/dk.yaml: {text}")):
            place.headwater("backfill", "apply", plan, *place.options(), *words)
    assert place.shown(plan)["plan"]["state"] == "planned"
    assert place.runs() == {}
    found = json.loads(place.headwater("doctor", "--packages", str(place.packages), "--json").output)
    assert next(each["finding"] for each in found if each["verdict"] == "bad").startswith(text)
    file.write_text("entity: weather\nmax_periods: 24\n")
    assert json.loads(place.headwater("doctor", "--packages", str(place.packages), "--json").output)[-1] == {
        "name": "packages",
        "verdict": "ok",
        "finding": f"3 packages in {place.packages} agree with the declarations",
    }


def test_what_no_plan_would_run_is_a_warning(place: Place) -> None:
    (place.packages / "reads" / "dk.yaml").write_text("entities: [reads, rides, notes]\n")
    place.declare("entity: notes\nperiod: {every: week, from: 2024-01-01}\n")
    found = json.loads(place.headwater("doctor", "--packages", str(place.packages), "--json").output)
    assert [
        (each["verdict"], re.split(";|: `", each["finding"])[0])
        for each in found
        if each["name"].startswith("package ")
    ] == [
        ("warn", "entity: 'rides' is not declared"),
        ("warn", "entity: 'notes' was declared without its packages, so no plan runs this one for it"),
    ]
