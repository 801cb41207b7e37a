"""Retention by command, and beside a server that answers."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.events import encoded, run_event
from tests.fixtures.app import Client
from tests.fixtures.processes import Process

from headwater.settings import Settings
from headwater.store.embedded import EmbeddedPostgres

OLD = [run_event("COMPLETE", i, "daily", ["/a"], ["/b"], at=f"2026-01-01T00:00:{i:02}Z") for i in range(30)]


@pytest.fixture
def command(postgres: EmbeddedPostgres, tmp_path: Path) -> Callable[..., tuple[int, str]]:
    def run(*words: str, **settings: str) -> tuple[int, str]:
        env = {
            **os.environ,
            "HEADWATER_HOME": str(tmp_path / "home"),
            "HEADWATER_DATABASE__URL": postgres.url,
            **settings,
        }
        done = subprocess.run([sys.executable, "-m", "headwater", *words], check=False, env=env, capture_output=True, text=True)  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    return run


def test_the_command(client: Client, command: Callable[..., tuple[int, str]]) -> None:
    client.post("/api/v1/lineage/batch", encoded(OLD))
    days = {"HEADWATER_RETENTION__RUNS_DAYS": "30", "HEADWATER_RETENTION__EVENTS_DAYS": "30"}
    assert command("server", "retention", "run")[1] == "nothing is deleted: no HEADWATER_RETENTION__… is set\n"
    code, told = command("server", "retention", "run", "--dry-run", **days)
    assert code == 0, told
    assert "would be deleted" in told
    assert client.get("/api/v2/runs").json()["total"] == 30
    code, told = command("server", "retention", "run", "--json", **days)
    assert code == 0, told
    gone = {one["kind"]: one["deleted"] for one in json.loads(told)["kinds"]}
    assert (gone["reports"], gone["runs"], gone["dataset_versions"]) == (20, 20, 20)
    assert client.get("/api/v2/runs").json()["total"] == 10
    code, told = command("server", "rebuild")
    assert code == 1
    assert "--from-what-is-left" in told
    assert command("server", "rebuild", "--from-what-is-left")[0] == 0
    assert client.get("/api/v2/runs").json()["total"] == 0


def test_a_server_does_it_by_itself(serve: Callable[..., Process]) -> None:
    server = serve(HEADWATER_RETENTION__RUNS_DAYS="30", HEADWATER_RETENTION__EVERY_MINUTES="0.01").ready()
    server.ask("POST", "/api/v1/lineage/batch", encoded(OLD))
    began = time.monotonic()
    while json.loads(server.get("/api/v2/runs")[1])["total"] != 10:
        assert time.monotonic() - began < 30, server.log.read_text()
        time.sleep(0.1)
    assert server.stop() == 0
    assert "RetentionDone kind='runs' deleted=20" in server.log.read_text()


def test_without_a_number_nothing_runs() -> None:
    from headwater.intake.upkeep import retention

    kept: Any = Settings().retention
    policy = retention.Policy(kept.events_days, kept.runs_days, kept.warnings_days, kept.audit_days)
    assert not policy
    assert retention.begin(None, policy, minutes=1) is None  # type: ignore[arg-type]
