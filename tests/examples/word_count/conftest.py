"""A quarter of the word count example, made with a real server and real Spark as its driver makes it, and looked at after each stage."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.postgres import empty

EXAMPLE = Path(__file__).parents[3] / "examples/word_count"
SHOWN = {
    "articles_by_author": "2019-01-01..2019-03-31",
    "words_count": "2019-01-01..2019-03-31",
    "word_prominence": "2019-01..2019-03",
    "nb_read_exact": "2019-W05..2019-W13",
    "user_weekly_reads": "2019-W05..2019-W13",
}


class Quarter:
    """The data, and what the server says of it."""

    def __init__(self, url: str, data: Path, jvm: str) -> None:
        self.url, self.data, self.jvm = url, data, jvm
        self.states: dict[str, Any] = {}
        self.wrong: Any = None
        self.said = ""
        self.before: dict[str, dict[str, set[str]]] = {}
        self.versions: dict[str, dict[tuple[str, str], Any]] = {}

    def drive(self, *words: str) -> str:
        """The driver's stdout."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("HEADWATER_", "OPENLINEAGE_", "PYSPARK_"))}
        folder = self.data.parent
        environ = kept | {
            "HEADWATER_URL": self.url,
            "HEADWATER_JVM": self.jvm,
            "HEADWATER_SPOOL": str(folder / "spool"),
            "HOME": str(folder),
        }
        done = subprocess.run(
            [sys.executable, EXAMPLE / "run.py", "--data", self.data, *words],
            env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1200, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr[-4000:]
        return done.stdout

    def ask(self, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            self.url + path,
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"},
            method="GET" if body is None else "POST",
        )
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.load(reply)

    def status(self, entity: str) -> list[tuple[str, str]]:
        """Stretches that are alike, and the word for them."""
        told = self.ask(f"/api/v2/entities/{entity}/status?instances={SHOWN[entity]}")
        return [(each["instances"], each["status"]) for each in told["stretches"]]

    def counts(self, entity: str) -> dict[str, int]:
        """Return the number of instances in each state."""
        told: dict[str, int] = self.ask(f"/api/v2/entities/{entity}/status?instances={SHOWN[entity]}")["counts"]
        return told

    def files(self) -> dict[str, set[str]]:
        """Data files by folder of an instance. Spark never writes a name twice."""
        found: dict[str, set[str]] = {}
        for entity in SHOWN:
            for file in (self.data / entity).glob("*=*/*.parquet"):
                found.setdefault(f"{entity} {file.parent.name.partition('=')[2]}", set()).add(file.name)
        return found

    def fingerprints(self) -> dict[str, list[str]]:
        """Return the fingerprints of each instance's versions, the latest first."""
        return {
            name: [
                each["fingerprint"]
                for each in self.ask("/api/v2/entities/{}/instances/{}".format(*name.split()))["versions"]
            ]
            for name in self.files()
        }


@pytest.fixture(scope="module")
def jvm() -> Iterator[str]:
    """The folder of a JVM that the packages of all stages share."""
    pytest.importorskip("pyspark")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HEADWATER_", "OPENLINEAGE_", "PYSPARK_"))}
    command = ["headwater", "jvm", "--", "bash", "-c", 'echo "$HEADWATER_JVM"; cat']
    with subprocess.Popen(command, env=kept, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as held:
        assert held.stdin is not None
        assert held.stdout is not None
        yield held.stdout.readline().strip()
        held.stdin.close()


@pytest.fixture(scope="module")
def quarter(
    server_process: str, migrated: Any, run: Any, jvm: str, tmp_path_factory: pytest.TempPathFactory
) -> Quarter:
    """Made in two stages of a feed in which the articles of 29 January lost their spaces; that was found, and repaired."""
    run(empty(migrated))
    found = Quarter(server_process, tmp_path_factory.mktemp("word_count") / "data", jvm)
    found.drive("--stages", "first", "--corrupt", "2019-01-29")
    found.states["first"] = {entity: found.status(entity) for entity in SHOWN}
    found.drive("--stages", "rest", "--corrupt", "2019-01-29")
    found.states["rest"] = {entity: found.status(entity) for entity in SHOWN}
    reason = {"wrong": [{"entity": "articles_by_author", "instances": ["2019-01-29"]}], "reason": "no spaces"}
    found.wrong = found.ask("/api/v2/incidents", reason)
    found.states["wrong"] = {entity: found.status(entity) for entity in SHOWN}
    found.ask(f"/api/v2/incidents/{found.wrong['id']}/fix", {"note": "the feed was sent again"})
    found.before = {"files": found.files(), "fingerprints": found.fingerprints()}  # type: ignore[dict-item]
    found.said = found.drive("--repair", found.wrong["id"])
    found.states["repaired"] = {entity: found.counts(entity) for entity in SHOWN}
    return found
