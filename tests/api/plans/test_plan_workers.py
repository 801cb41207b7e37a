"""Workers of plans that are connected: in the answers about plans, and gone when they fall silent or end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.api.plans.backfilled import Place, week, yaml

HOUR = "2024-03-05T01"


@pytest.fixture
def place(server_url: str, tmp_path: Path) -> Iterator[Place]:
    """The server is that of other tests too: no worker of this one stays connected to it."""
    found = week(server_url, tmp_path, yaml("package:{}"))
    yield found
    for worker in connected(found):
        register(found, worker, expires_seconds=0)


def plan_of(place: Place, **more: Any) -> str:
    return place.plan(wrong=[{"entity": "weather", "instances": [HOUR]}], only=True, **more)


def register(place: Place, worker: str, **more: Any) -> bool:
    return bool(place.ask("POST", "/api/v2/plan-workers", {"worker": worker, **more})["connected"])


def connected(place: Place, plan: str = "") -> list[str]:
    where = f"/api/v2/plans/{plan}" if plan else "/api/v2/plans"
    return [one["name"] for one in place.ask("GET", where)["workers"]]


def wait_for(question: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not question():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_worker_is_connected_until_it_falls_silent_or_ends(place: Place) -> None:
    assert connected(place) == []
    assert register(place, "host/1", expires_seconds=60)
    assert register(place, "host/2", expires_seconds=0.5)
    assert connected(place)[0] == "host/1"
    wait_for(lambda: connected(place) == ["host/1"])
    assert not register(place, "host/1", expires_seconds=0)
    assert connected(place) == []


def test_a_worker_of_one_plan_is_not_one_of_another(place: Place) -> None:
    first, second = plan_of(place, apply=False), plan_of(place, apply=False)
    register(place, "all")
    register(place, "one", plan=first)
    assert connected(place, first) == ["all", "one"]
    assert connected(place, second) == ["all"]
    assert connected(place) == ["all", "one"]


def test_the_commands_say_who_is_connected(place: Place) -> None:
    plan = plan_of(place)
    for words in (("list",), ("show", plan)):
        assert (
            "no worker is connected: start one with `headwater backfill work`"
            in place.headwater("backfill", *words).output
        )
    register(place, "a")
    assert "1 worker is connected, last seen " in place.headwater("backfill", "show", plan).output
    register(place, "b")
    assert "2 workers are connected, last seen " in place.headwater("backfill", "list").output


def test_an_idle_worker_is_seen_and_says_when_it_ends(place: Place) -> None:
    words = [sys.executable, "-m", "headwater", "backfill", "work", *place.options(), "--worker", "idle"]
    process = subprocess.Popen(words, env={**os.environ, "HEADWATER_URL": place.url})
    try:
        wait_for(lambda: connected(place) == ["idle"])
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert connected(place) == []
    finally:
        process.kill()
        process.wait()


def test_apply_is_connected_to_its_plan_while_it_runs(place: Place) -> None:
    plan, other = plan_of(place), plan_of(place, apply=False)
    words = [sys.executable, "-m", "headwater", "backfill", "apply", plan, *place.options(), "--worker", "here"]
    process = subprocess.Popen(words, env={**os.environ, "HEADWATER_URL": place.url})
    try:
        wait_for(lambda: connected(place, plan) == ["here"] or process.poll() is not None)
        assert process.poll() is None, "it ended before it was seen"
        assert connected(place, other) == []
        assert process.wait(60) == 0
        assert connected(place) == []
    finally:
        process.kill()
        process.wait()
