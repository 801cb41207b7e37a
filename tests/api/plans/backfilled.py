"""A server with a week of three entities, each made from the one before, and ways to ask it: for tests of what is made again."""

import collections
import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from headwater.cli.program import program
from headwater.runner.backfill import Worker
from headwater.runner.executors.packages import Packages
from headwater.runner.plans import PlanOnServer

TESTS = Path(__file__).parents[2]
RUN = [sys.executable, str(TESTS / "backfill_run.py")]
WEEK = "2024-03-04..2024-03-10"
_ENTITIES = {
    "weather": "period: {every: hour, from: 2024-01-01}",
    "reads": "period: {every: day, from: 2024-01-01}\ndepends_on: {weather: same}",
    "report": "period: {every: week, from: 2024-01-01}\ndepends_on: {reads: all_week}",
}


def yaml(producer: str, *entities: str) -> str:
    """These, or all three, each made by `producer` with its name in place of `{}`."""
    return "---\n".join(
        f"entity: {name}\nproduced_by: [{producer.format(name)}]\n{_ENTITIES[name]}\n" for name in entities or _ENTITIES
    )


def by_hand(upstream: str) -> str:
    """Return one more document: an entity that a person makes by hand every week."""
    return f"---\nentity: notes\nperiod: {{every: week, from: 2024-01-01}}\ndepends_on: {{{upstream}: same}}\n"


class Place:
    """A server, and packages that make what is declared there."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.packages, self.logs = url, folder / "packages", folder / "logs"
        for name in ("weather", "reads", "report"):
            (self.packages / name).mkdir(parents=True)
            (self.packages / name / "dk.yaml").write_text(f"entity: {name}\n")

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.load(reply)

    def declare(self, text: str) -> None:
        self.ask("POST", "/api/v2/entities", {"files": [{"name": "entities.yaml", "text": text}]})

    def say(self, entity: str, *instances: str, what: str = "produced", **more: Any) -> None:
        one = {"entity": entity, "what": what, "instances": list(instances), **more}
        (found,) = self.ask("POST", "/api/v2/instances", {"reports": [one]})["results"]
        assert not found["refused"]

    def incident(self, *hours: str) -> str:
        body = {"wrong": [{"entity": "weather", "instances": list(hours)}], "reason": "stuck sensor"}
        return str(self.ask("POST", "/api/v2/incidents", body)["id"])

    def plan(self, *, apply: bool = True, **wanted: Any) -> str:
        found = str(self.ask("POST", "/api/v2/plans", wanted)["id"])
        if apply:
            self.ask("POST", f"/api/v2/plans/{found}/apply", {})
        return found

    def shown(self, plan: str, **more: str) -> Any:
        words = "&".join(f"{name}={value}" for name, value in more.items())
        return self.ask("GET", f"/api/v2/plans/{plan}?{words}")

    def runs(self) -> dict[str, int]:
        files = sorted(self.packages.glob("*/runs.txt"))
        return dict(collections.Counter(line for file in files for line in file.read_text().split()))

    def wrong(self) -> list[str]:
        """Return the marks of all three entities that say wrong or being made."""
        found = []
        for entity in ("weather", "reads", "report"):
            status = self.ask("GET", f"/api/v2/entities/{entity}/status?instances={WEEK}")
            for each in status["stretches"]:
                kinds = {mark["kind"] for mark in each["marks"]} - {"state", "repaired", "outdated"}
                found += [f"{entity} {each['instances']} {kind}" for kind in sorted(kinds)]
        return found

    def worker(self, plan: str, **more: Any) -> Worker:
        executor = Packages(self.packages, self.logs, command=RUN, environ={"HEADWATER_URL": self.url})
        return Worker(PlanOnServer(self.url, plan), [executor], name="here", **{"lease": 0.3, **more})

    def start(self, plan: str, step: str = "never", count: int = 0) -> "subprocess.Popen[bytes]":
        """A worker in a process of its own, which kills itself after that step."""
        words = [self.url, plan, str(self.packages), str(self.logs), step, str(count)]
        return subprocess.Popen([sys.executable, str(TESTS / "backfill_worker.py"), *words], stdout=subprocess.PIPE)

    def headwater(self, *words: str) -> Result:
        return CliRunner().invoke(program, words, env={"HEADWATER_URL": self.url}, catch_exceptions=False)

    def apply(self, plan: str, *words: str) -> Result:
        return self.headwater("backfill", "apply", plan, *self.options(), *words)

    def options(self) -> list[str]:
        command = f"{sys.executable} {TESTS / 'backfill_run.py'}"
        return ["--packages", str(self.packages), "--logs", str(self.logs), "--run-command", command]


def week(url: str, folder: Path, text: str) -> Place:
    """Return a place where the text is declared and a week of it is made."""
    place = Place(url, folder)
    place.declare(text)
    place.say("weather", WEEK, code="v1")
    place.say("reads", WEEK)
    if "entity: report" in text:
        place.say("report", "2024-W10")
    return place
