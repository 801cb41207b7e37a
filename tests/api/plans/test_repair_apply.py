"""`headwater repair --apply`: jobs known by their events alone are run again in order, once; what only a person can run is waited for; a killed
process is taken up where it stopped.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.api.plans.backfilled import TESTS, Place, week, yaml
from tests.events import RUN, facet, run_event
from typer.testing import CliRunner, Result

from headwater.cli.program import program
from headwater.errors import InvalidQuestion

CHAIN = {"load": ("/src", "/raw"), "clean": ("/raw", "/clean"), "report": ("/clean", "/report")}


@pytest.fixture
def place(server_url: str, tmp_path: Path) -> Place:
    """Three jobs in a chain, the first of which is wrong."""
    found = week(server_url, tmp_path, yaml("package:{}"))
    for number, (job, (read, written)) in enumerate(CHAIN.items(), 1):
        found.ask("POST", "/api/v1/lineage", run_event("COMPLETE", number, job, [read], [written]))
    return found


def command(place: Place, job: str, gate: Path | None = None) -> list[str]:
    reads, writes = CHAIN[job]
    words = [sys.executable, TESTS / "repeated_job.py", place.url, place.packages, job, reads, writes, gate or ""]
    return ["--command", f"{job}=" + " ".join(f"'{word}'" for word in words)]


def taint(place: Place, run: int = 1) -> str:
    body = {"origins": [{"kind": "RUN", "ref": RUN.format(run)}], "reason": "last year's rates"}
    return str(place.ask("POST", "/api/v2/incidents", body)["id"])


def repair(place: Place, *words: str) -> Result:
    environ = {"HEADWATER_URL": place.url, "COLUMNS": "200"}
    logs = ("--logs", str(place.logs)) if "--apply" in words else ()
    return CliRunner().invoke(program, ["repair", *words, *logs], env=environ, catch_exceptions=False)


def lines(place: Place) -> list[str]:
    file = place.packages / "runs.txt"
    return file.read_text().splitlines() if file.exists() else []


def steps(text: str) -> list[tuple[str, str]]:
    found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [(one["what"], one["job"].removeprefix("test:")) for one in found if "what" in one]


def started(place: Place, incident: str, *words: str) -> subprocess.Popen[bytes]:
    """The command in its own process and session; what it prints is in `shown.txt`."""
    with (place.packages / "shown.txt").open("ab") as shown:
        return subprocess.Popen(
            [sys.executable, "-m", "headwater", "repair", incident, "--apply", "--logs", place.logs, "--json", *words],
            env={**os.environ, "HEADWATER_URL": place.url},
            stdout=shown,
            start_new_session=True,
        )


def shown(place: Place) -> str:
    file = place.packages / "shown.txt"
    return file.read_text() if file.exists() else ""


def until(reached: Callable[[], bool], place: Place) -> None:
    for _ in range(600):
        if reached():
            return
        time.sleep(0.1)
    raise AssertionError(f"it never came: {lines(place)} {shown(place)}")


def test_each_job_once_in_order(place: Place) -> None:
    incident = taint(place)
    all_ = [word for job in CHAIN for word in command(place, job)]
    dry = repair(place, incident, "--apply", "--dry-run", *all_)
    assert (dry.exit_code, lines(place)) == (3, []), "a dry run runs nothing"
    assert "repeated_job.py" in dry.output
    found = repair(place, incident, "--apply", *all_)
    assert (found.exit_code, found.output.splitlines()[-1]) == (0, "nothing is wrong any more")
    assert lines(place) == [f"{what} {job}" for job in CHAIN for what in ("begin", "end")]
    assert repair(place, incident, "--apply", *all_).exit_code == 0
    assert len(lines(place)) == 6, "nothing is left to run"


def test_a_person_runs_the_middle(place: Place) -> None:
    """`clean` is run by hand while the command waits; without --wait it says so and ends with 3. What needs it never runs before."""
    incident = taint(place)
    words = [*command(place, "load"), *command(place, "report"), "--json"]
    found = repair(place, incident, "--apply", *words)
    assert (found.exit_code, lines(place)) == (3, ["begin load", "end load"])
    assert steps(found.output) == [("runs", "load"), ("done", "load"), ("by hand", "clean")]
    waiting = started(place, incident, *words[:-1], "--wait", "60")
    try:
        until(lambda: ("by hand", "clean") in steps(shown(place)), place)
        place.ask("POST", "/api/v1/lineage", run_event("COMPLETE", 22, "clean", ["/raw"], ["/clean"], at=now()))
        assert waiting.wait(60) == 0
    finally:
        waiting.kill()
        waiting.wait()
    assert lines(place) == ["begin load", "end load", "begin report", "end report"]


def now() -> str:
    import datetime as dt

    return dt.datetime.now(dt.UTC).isoformat()


@pytest.mark.parametrize("with_its_job", [False, True])
def test_a_killed_repair_goes_on(place: Place, tmp_path: Path, with_its_job: bool) -> None:
    """Killed while `clean` runs: a job that still runs is awaited; one that was killed too is run again; `load` never is."""
    incident, gate = taint(place), tmp_path / "gate"
    words = [
        *command(place, "load"),
        *command(place, "clean", gate),
        *command(place, "report"),
        "--reports-within",
        "1",
    ]
    first = started(place, incident, *words)
    try:
        until(lambda: "begin clean" in lines(place), place)
    finally:
        first.kill()
        first.wait()
    if with_its_job:
        (job,) = [int(one) for one in running("repeated_job.py", str(gate))]
        os.kill(job, signal.SIGKILL)
    second = started(place, incident, *words)
    try:
        if with_its_job:
            until(lambda: lines(place).count("begin clean") == 2, place)
        else:
            until(lambda: ("watches", "clean") in steps(shown(place)), place)
        gate.touch()
        assert second.wait(120) == 0
    finally:
        second.kill()
        second.wait()
    again = ["begin clean"] if with_its_job else []
    assert lines(place) == [
        "begin load", "end load", "begin clean", *again, "end clean", "begin report", "end report"
    ]  # fmt: skip
    assert place.ask("GET", f"/api/v2/incidents/{incident}")["incident"]["mended"]


def running(*words: str) -> list[str]:
    """The processes of this machine that have all these words on their command line and are Python's."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = each.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if all(word in text for word in words) and "headwater repair" not in text and " -m " not in text:
            found.append(each.parent.name)
    return found


def test_a_failure_keeps_what_needs_it_from_running(place: Place) -> None:
    incident = taint(place)
    words = [*command(place, "load"), "--command", "clean=false", *command(place, "report"), "--json"]
    found = repair(place, incident, "--apply", *words)
    assert (found.exit_code, lines(place)) == (1, ["begin load", "end load"])
    assert steps(found.output)[-1] == ("failed", "clean")
    nothing = ["--command", "clean=true", *command(place, "report"), "--reports-within", "0.5", "--json"]
    found = repair(place, incident, "--apply", *nothing)
    assert (found.exit_code, steps(found.output)[-1]) == (1, ("unchanged", "clean")), "it ended well and wrote nothing"


def test_once_for_each_run(place: Place) -> None:
    """Two runs of one job wrote two datasets that are both held: `{run}` and `{start}` name each."""
    for number, hour in ((11, "01"), (12, "02")):
        nominal = {"nominalTime": facet(nominalStartTime=f"2026-01-01T{hour}:00:00Z")}
        event = run_event("COMPLETE", number, "hourly", ["/raw"], [f"/hours/{hour}"], run_facets=nominal)
        place.ask("POST", "/api/v1/lineage", event)
    incident = taint(place)
    found = repair(place, incident, "--apply", *command(place, "load"), "--command", "hourly=echo {start} {run}", "--reports-within", "0", "--json")  # fmt: skip
    ran = [json.loads(line) for line in found.output.splitlines() if '"what":"runs"' in line]
    assert [one["command"] for one in ran if one["job"] == "test:hourly"] == [
        f"echo 2026-01-01T01:00:00Z {RUN.format(11)}",
        f"echo 2026-01-01T02:00:00Z {RUN.format(12)}",
    ]


def test_dbt_packages_and_reported_commands(place: Place) -> None:
    """A job is run again as its events say that it can be; a reported command runs only if you allow it."""
    (place.packages / "nightly").mkdir()
    (place.packages / "nightly" / "dk.yaml").write_text("name: nightly\nentrypoint: main.py\n")
    jobs: dict[str, dict[str, Any]] = {
        "shop.orders": {"jobType": facet(processingType="BATCH", integration="DBT", jobType="MODEL")},
        "nightly": {"jobType": facet(processingType="BATCH", integration="PYTHON", jobType="PACKAGE")},
        "dag.task": {
            "jobType": facet(processingType="BATCH", integration="AIRFLOW", jobType="TASK"),
            "sourceCode": facet(language="bash", sourceCode="make daily"),
        },
    }
    for number, (job, facets) in enumerate(jobs.items(), 31):
        event = run_event("COMPLETE", number, job, ["/raw"], [f"/out/{number}"])
        event["job"]["facets"] = facets
        place.ask("POST", "/api/v1/lineage", event)
    incident = taint(place)
    words = ["--apply", "--dry-run", "--json", "--dbt", "dbt-ol run", "--packages", str(place.packages)]

    def commands(*more: str) -> dict[str, Any]:
        last = repair(place, incident, *words, *more).output.splitlines()[-1]
        return {one["job"].removeprefix("test:"): one["command"] for one in json.loads(last)}

    found = commands()
    assert found["shop.orders"] == "dbt-ol run --select orders"
    assert found["nightly"].endswith(f"headwater run {place.packages}/nightly --json")
    assert (found["dag.task"], found["load"]) == (None, None)
    assert commands("--reported-commands")["dag.task"] == "bash -c 'make daily'"


def test_nothing_runs_before_the_cause_is_fixed(place: Place) -> None:
    """Instances that are made again before, are wrong again: the command says so, and what to do; a dry run shows the plan."""
    incident = place.incident("2024-03-04T00..2024-03-04T03")
    words = [incident, "--apply", "--packages", str(place.packages)]
    with pytest.raises(InvalidQuestion, match=f"its 6 instances would .*`headwater incident fix {incident}`"):
        repair(place, *words)
    assert place.ask("GET", "/api/v2/plans")["total"] == 0, "and no plan is stored"
    assert repair(place, *words, "--dry-run").exit_code == 3


def test_what_makes_no_sense(place: Place) -> None:
    incident = taint(place)
    for words in (["--dbt", "dbt run"], ["--apply", "--command", "clean"], ["--apply", "--command", "clean="]):
        with pytest.raises(InvalidQuestion):
            repair(place, incident, *words)
