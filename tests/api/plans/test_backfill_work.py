"""`headwater backfill work`: one worker for every applied plan, against a real server, with runs that are real processes."""

import datetime as dt
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.api.plans.backfilled import Place, week, yaml

FIRST, SECOND = "2024-03-05T01", "2024-03-07T02"


@pytest.fixture
def place(server_url: str, tmp_path: Path) -> Place:
    return week(server_url, tmp_path, yaml("package:{}"))


def again(place: Place, hour: str, **more: Any) -> str:
    """Return a plan that makes this hour again and nothing from it."""
    return place.plan(wrong=[{"entity": "weather", "instances": [hour]}], only=True, **more)


def state(place: Place, plan: str) -> str:
    return str(place.shown(plan)["plan"]["state"])


def test_it_does_what_is_applied_and_nothing_else(place: Place) -> None:
    planned = again(place, FIRST, apply=False)
    applied = again(place, SECOND)
    done = place.headwater("backfill", "work", *place.options(), "--once")
    assert done.exit_code == 0, done.output
    assert state(place, applied) == "done"
    assert state(place, planned) == "planned"
    assert f"{applied[:13]}  #" in done.output
    assert planned[:13] not in done.output
    assert FIRST not in place.runs()


def test_a_plan_whose_window_is_closed_does_not_hold_up_the_next(place: Place) -> None:
    now = dt.datetime.now(dt.UTC)
    later = f"{now + dt.timedelta(hours=2):%H:%M}-{now + dt.timedelta(hours=3):%H:%M}"
    closed = again(place, FIRST, between=later)
    ready = again(place, SECOND)
    done = place.headwater("backfill", "work", *place.options(), "--once")
    assert done.exit_code == 0, done.output
    assert (state(place, closed), state(place, ready)) == ("running", "done")


@pytest.fixture
def working(place: Place) -> Iterator["subprocess.Popen[bytes]"]:
    words = [sys.executable, "-m", "headwater", "backfill", "work", *place.options(), "--json"]
    process = subprocess.Popen(words, env={**os.environ, "HEADWATER_URL": place.url}, stdout=subprocess.PIPE)
    yield process
    process.kill()
    process.wait()


def test_it_begins_what_is_applied_later_and_ends_when_asked(place: Place, working: "subprocess.Popen[bytes]") -> None:
    plans = [again(place, FIRST), again(place, SECOND)]
    until = time.monotonic() + 120
    while [state(place, plan) for plan in plans] != ["done", "done"]:
        assert time.monotonic() < until, "a plan was not worked on"
        assert working.poll() is None
        time.sleep(0.1)
    assert place.runs() == {FIRST: 1, SECOND: 1}
    working.send_signal(signal.SIGTERM)
    out, _ = working.communicate(timeout=60)
    assert working.returncode == 0
    assert out.count(b'"what":"done"') == 2
