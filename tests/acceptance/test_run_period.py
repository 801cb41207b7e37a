"""`headwater run DIR --period` with a real server: asked first, made from exactly the pins, reported directly, and by events if no server answers."""

import getpass
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from collector import running

YAML = """
entity: reads
period: {every: day, tz: Europe/Paris, from: 2024-01-01}
---
entity: report
period: {every: week, tz: Europe/Paris, from: 2024-01-01}
states:
  estimated: {depends_on: {reads: {dates: all_week, min: 1}}}
  completed: {depends_on: {reads: all_week}}
---
entity: hourly
period: {every: hour, tz: Europe/Paris, from: 2024-01-01}
---
entity: of_hours
period: {every: day, tz: Europe/Paris, from: 2024-01-01}
depends_on: hourly
---
entity: stock
kind: snapshot
mode: carry
period: {every: day, tz: Europe/Paris, from: 2024-03-01}
depends_on: {reads: same}
"""
HEAD = "metadata: {name: a-report, namespace: reports, owner: ann, description: Reports}\nrun: {kind: python, script: main.py}\n"
REPORT = (
    HEAD
    + "entity: report\nmax_periods: 4\noutputs: [{name: out, type: csv, location: out, description: Reports, instance: 'week={instance}'}]\n"
)
PROGRAM = """
    import json, os, pathlib
    told = {name.removeprefix("HEADWATER_"): os.environ.get("HEADWATER_" + name.removeprefix("HEADWATER_"))
            for name in ("ENTITY", "PERIOD", "PERIOD_START", "PERIOD_END", "STATE")}
    told["INPUTS"] = json.loads(os.environ.get("HEADWATER_INPUTS", "null"))
    told["INSTANCES"] = json.loads(os.environ.get("HEADWATER_INSTANCES", "null"))
    for each in told["INSTANCES"] or []:
        place = pathlib.Path("out", f"week={each['instance']}"); place.mkdir(parents=True, exist_ok=True)
        (place / f"part-{os.getpid()}.csv").write_text("the same\\n")
        for old in place.iterdir():
            if old.name != f"part-{os.getpid()}.csv": old.unlink()
    print(json.dumps(told))
"""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


class Server:
    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path, timeout=30) as reply:
            return json.load(reply)

    def post(self, path: str, body: Any) -> Any:
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST"
        )
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.load(reply)

    def made(self, entity: str, *instances: str, **more: Any) -> None:
        report = {"entity": entity, "what": "produced", "instances": list(instances), **more}
        assert self.post("/api/v2/instances", {"reports": [report]})["results"][0]["seq"]

    def status(self, entity: str, instances: str) -> dict[str, list[str]]:
        told = self.get(f"/api/v2/entities/{entity}/status?instances={instances}")
        return {each["instances"]: each["states"] for each in told["stretches"]}

    def version(self, entity: str, instance: str) -> Any:
        return self.get(f"/api/v2/entities/{entity}/instances/{instance}")["versions"][0]


@pytest.fixture
def server(server_url: str) -> Server:
    found = Server(server_url)
    found.post("/api/v2/entities", {"files": [{"name": "entities.yaml", "text": YAML}]})
    return found


@pytest.fixture
def package(tmp_path: Path, server_url: str) -> Run:
    """Runs `headwater run` on a package made of a dk.yaml and a program."""

    def begin(manifest: str, *words: str, program: str = PROGRAM, **env: str) -> "subprocess.CompletedProcess[str]":
        folder = tmp_path / "package"
        folder.mkdir(exist_ok=True)
        (folder / "dk.yaml").write_text(manifest)
        (folder / "main.py").write_text(dedent(program))
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("HEADWATER_", "OPENLINEAGE_"))}
        environ = kept | {
            "HEADWATER_URL": server_url,
            "HEADWATER_SPOOL": str(tmp_path / "spool"),
            "HOME": str(tmp_path),
        }
        return subprocess.run(
            [sys.executable, "-m", "headwater", "run", str(folder), *words],
            env=environ | env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    return begin


def test_refused_with_the_reasons_then_made_of_exactly_what_was_there(server: Server, package: Run) -> None:
    nothing = package(REPORT, "--period", "2024-W13")
    assert (nothing.returncode, nothing.stdout) == (75, "")
    assert "report 2024-W13 completed: reads 2024-03-25..2024-03-31 is late" in nothing.stderr
    assert server.status("report", "2024-W13") == {"2024-W13": []}

    server.made("reads", "2024-03-25..2024-03-27")
    first = package(REPORT, "--period", "2024-W13", "--json")
    assert first.returncode == 0, first.stderr
    told, summary = map(json.loads, (first.stdout.splitlines()[0], first.stdout.splitlines()[-1]))
    assert (told["ENTITY"], told["PERIOD"], told["STATE"]) == ("report", "2024-W13", "estimated")
    # The last Sunday of March has 23 hours.
    assert (told["PERIOD_START"], told["PERIOD_END"]) == ("2024-03-25T00:00:00+01:00", "2024-04-01T00:00:00+02:00")
    assert told["INPUTS"] == {
        "reads": [
            {
                "instances": "2024-03-25..2024-03-27",
                "start": "2024-03-25T00:00:00+01:00",
                "end": "2024-03-28T00:00:00+01:00",
            }
        ]
    }
    assert summary["reported"] is True
    assert "warning: made without: report 2024-W13 estimated: reads 2024-03-28..2024-03-31 is late" in first.stderr
    assert server.status("report", "2024-W13") == {"2024-W13": ["estimated"]}
    version = server.version("report", "2024-W13")
    assert version["run"] == summary["run_id"]
    assert [(each["entity"], each["instances"]) for each in version["reads"]] == [("reads", ["2024-03-25..2024-03-27"])]

    assert package(REPORT, "--period", "2024-W13", "--state", "completed").returncode == 75
    server.made("reads", "2024-03-28..2024-03-31")
    second = package(REPORT, "--period", "2024-W13")
    assert second.returncode == 0, second.stderr
    assert server.status("report", "2024-W13") == {"2024-W13": ["completed"]}
    later = server.version("report", "2024-W13")
    # Files of other names, the same content.
    assert later["fingerprint"] == version["fingerprint"]
    assert later["fingerprint"].startswith("xxh3-128:")
    assert later["bytes"] == len("the same\n")


def test_several_periods_each_of_its_own(server: Server, package: Run) -> None:
    server.made("reads", "2024-03-04..2024-03-24")
    done = package(REPORT, "--period", "2024-W10..2024-W12")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["PERIOD"] == "2024-W10..2024-W12"
    assert [(each["instance"], each["inputs"]["reads"][0]["instances"]) for each in told["INSTANCES"]] == [
        ("2024-W10", "2024-03-04..2024-03-10"),
        ("2024-W11", "2024-03-11..2024-03-17"),
        ("2024-W12", "2024-03-18..2024-03-24"),
    ]
    assert server.version("report", "2024-W11")["reads"][0]["instances"] == ["2024-03-11..2024-03-17"]
    many = package(REPORT, "--period", "2024-W09..2024-W13")
    assert (many.returncode, many.stdout) == (2, "")
    assert "2024-W09..2024-W13 are 5 periods, and the package makes 4 periods in one run" in many.stderr
    one = package(REPORT.replace("max_periods: 4\n", ""), "--period", "2024-W10..2024-W12")
    assert one.returncode == 2
    assert "makes one period in one run" in one.stderr


def test_one_run_makes_the_hours_and_the_day_of_them(server: Server, package: Run) -> None:
    done = package(HEAD + "entities: [hourly, of_hours]\n", "--period", "2024-03-31")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ENTITY"] == "hourly,of_hours"
    assert list(server.status("hourly", "2024-03-31").values()) == [["completed"]]
    assert server.get("/api/v2/entities/hourly/status?instances=2024-03-31")["counts"] == {"completed": 23}
    assert server.status("of_hours", "2024-03-31") == {"2024-03-31": ["completed"]}
    # It read what this run made: what was known before says nothing of that.
    assert server.version("of_hours", "2024-03-31")["reads"] is None


def test_what_is_carried_needs_the_one_before(server: Server, package: Run) -> None:
    server.made("reads", "2024-03-01..2024-03-05")
    stock = HEAD + "entity: stock\nmax_periods: 31\n"
    early = package(stock, "--period", "2024-03-03..2024-03-05")
    assert early.returncode == 75
    assert "stock 2024-03-03 completed: stock 2024-03-02 is late" in early.stderr
    assert "2024-03-04" not in early.stderr, "it is made by the same run"
    assert package(stock, "--period", "2024-03-01..2024-03-05").returncode == 0
    assert server.get("/api/v2/entities/stock/status?instances=2024-03-01..2024-03-05")["counts"] == {"completed": 5}


def test_forced_failed_and_waited_for(server: Server, package: Run) -> None:
    failed = package(REPORT, "--period", "2024-W10", "--force", program="raise ValueError('no')")
    assert failed.returncode == 1
    history = server.get("/api/v2/entities/report/instances/2024-W10")["history"]
    assert [(each["what"], each["actor"]) for each in history] == [
        ("failed", getpass.getuser()),
        ("started", getpass.getuser()),
    ]
    assert "ValueError: no" in history[0]["reason"]
    assert server.status("report", "2024-W10") == {"2024-W10": []}
    waited = package(REPORT, "--period", "2024-W10", "--wait", "1")
    assert waited.returncode == 75
    assert package(REPORT, "--period", "2024-W10", "--force").returncode == 0
    assert server.status("report", "2024-W10") == {"2024-W10": ["completed"]}
    assert package(REPORT, "--period", "2024-W99").returncode == 2
    assert package(REPORT, "--wait", "3").returncode == 2


def test_no_server_answers(package: Run, tmp_path: Path) -> None:
    closed = {"HEADWATER_URL": "http://127.0.0.1:9"}
    refused = package(REPORT, "--period", "2024-W10", **closed)
    assert (refused.returncode, refused.stdout) == (75, "")
    assert "--force makes 2024-W10 without asking" in refused.stderr
    events = {"HEADWATER_TRANSPORT": "file", "HEADWATER_EVENTS_FILE": str(tmp_path / "events")}
    done = package(REPORT, "--period", "2024-W10", "--force", "--state", "estimated", **events)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["PERIOD"], told["STATE"], told["PERIOD_START"]) == ("2024-W10", "estimated", None)
    for line in (tmp_path / "events").read_text().splitlines():
        facet = json.loads(line)["run"]["facets"]["headwater_period"]
        found = {key: value for key, value in facet.items() if not key.startswith("_")}
        assert found == {"entity": "report", "instances": ["2024-W10"], "state": "estimated", "reported": False}


def test_events_say_what_was_reported(server: Server, package: Run, tmp_path: Path) -> None:
    """The server that is asked is the first; events go to a second address, too."""
    server.made("reads", "2024-03-04..2024-03-10")
    with running() as collector:
        done = package(REPORT, "--period", "2024-W10", HEADWATER_URL=f"{server.url},{collector.url}")
    assert done.returncode == 0, done.stderr
    assert collector.types() == ["START", "COMPLETE"]
    for each in collector.events:
        facet = each["run"]["facets"]["headwater_period"]
        assert (facet["entity"], facet["instances"], facet["state"], facet["reported"]) == (
            "report",
            ["2024-W10"],
            "completed",
            True,
        )
    nominal = collector.events[0]["run"]["facets"]["nominalTime"]
    assert nominal["nominalStartTime"] == "2024-03-04T00:00:00+01:00"
    assert nominal["nominalEndTime"] == "2024-03-11T00:00:00+01:00"
