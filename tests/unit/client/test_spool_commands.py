"""`headwater events spool`: what it says is so, and what it sends arrives."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from collector import Collector
from headwater.cli.program import program
from headwater.client import emitter_from_environment, event

DEAD = "http://127.0.0.1:1"


def leave(spool: Path, count: int, url: str = DEAD, transport: str = "http") -> None:
    """Events of a process that was killed. `transport`: `spool` for events that are for no server yet."""
    text = f"""
import os
from headwater.client import emitter_from_environment, event
out = emitter_from_environment()
for number in range({count}):
    out.emit(event.run("OTHER", run_id=event.run_id(), job=("tests", f"job-{{number}}")))
os.kill(os.getpid(), 9)
"""
    env = os.environ | {"HEADWATER_URL": url, "HEADWATER_SPOOL": str(spool), "HEADWATER_TRANSPORT": transport}
    done = subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, check=False, timeout=30)
    assert done.returncode == -9


@pytest.fixture
def spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADWATER_SPOOL", str(tmp_path / "spool"))
    monkeypatch.setenv("HEADWATER_HOME", str(tmp_path / "no-server"))
    return tmp_path / "spool"


def headwater(*words: str) -> Result:
    return CliRunner().invoke(program, ["spool", *words])


def told(*words: str) -> Any:
    return json.loads(headwater(*words, "--json").stdout)


def test_status_tells_each_destination(spool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = f"{DEAD},amqp://user:hunter2@127.0.0.1:1/"
    leave(spool, 7, both)
    monkeypatch.setenv("HEADWATER_URL", both)
    living = emitter_from_environment(transport="spool")
    living.emit(event.run("OTHER", run_id=event.run_id(), job=("tests", "living")))
    rows = told("status")["destinations"]
    assert [row["destination"] for row in rows] == [
        f"{DEAD}/api/v1/lineage",
        "amqp://127.0.0.1:1/?queue=headwater.events",
    ]
    assert [(row["events"], row["left"]) for row in rows] == [(8, 7), (7, 7)]
    assert rows[0]["holders"] in ([os.getpid()], [])
    assert rows[0]["folder"] == str(spool)
    assert all(row["bytes"] > 1000 and 0 < row["oldest_seconds"] < 60 for row in rows)
    plain = headwater("status").stdout
    assert "hunter2" not in plain
    assert str(spool) in plain
    living.close()

    monkeypatch.setenv("HEADWATER_URL", DEAD)
    assert [row["events"] for row in told("status")["destinations"]] == [8, 7], (
        "a folder without a destination is listed"
    )


def test_metrics_are_what_prometheus_reads(spool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    leave(spool, 3)
    monkeypatch.setenv("HEADWATER_URL", DEAD)
    found = {
        sample.name: (sample.labels, sample.value)
        for family in text_string_to_metric_families(headwater("status", "--prometheus").stdout)
        for sample in family.samples
    }
    label = {"destination": f"{DEAD}/api/v1/lineage"}
    assert found["headwater_spool_events"] == (label, 3)
    assert found["headwater_spool_bytes"][1] > 500
    assert 0 < found["headwater_spool_oldest_seconds"][1] < 60


def test_drain_sends_what_the_dead_left(spool: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(spool, 700, transport="spool")
    leave(spool, 5, transport="spool")
    monkeypatch.setenv("HEADWATER_URL", collector.url)
    done = headwater("drain")
    assert done.exit_code == 0, done.output
    assert "705 delivered" in done.stdout
    assert len(collector.events) == 705
    assert list(spool.glob("*.segment")) == []
    assert told("drain")["destinations"][0]["delivered"] == 0


def test_drain_leaves_the_living_theirs(spool: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    living = emitter_from_environment(transport="spool")
    living.emit(event.run("OTHER", run_id=event.run_id(), job=("tests", "living")))
    monkeypatch.setenv("HEADWATER_URL", collector.url)
    done = headwater("drain", "--json")
    assert done.exit_code == 0
    (row,) = json.loads(done.stdout)["destinations"]
    assert (row["delivered"], row["left"], row["held"]) == (0, 0, 1)
    living.close()
    assert headwater("drain").exit_code == 0
    assert len(collector.events) == 1


def test_drain_says_when_something_is_left(spool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(spool, 4)
    monkeypatch.setenv("HEADWATER_URL", DEAD)
    done = headwater("drain", "--timeout", "0.3")
    assert done.exit_code == 1
    assert "4 left" in done.stdout
    assert told("status")["destinations"][0]["events"] == 4


def test_drain_is_resumed_where_it_was(spool: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(spool, 2000, transport="spool")
    seen = 0

    def answer(_path: str, events: list[dict[str, Any]]) -> tuple[int, bytes]:
        nonlocal seen
        seen += 1
        return (204, b"") if seen != 2 else (503, b"")

    collector.answer = answer
    collector.headers = {"Retry-After": "30"}
    monkeypatch.setenv("HEADWATER_URL", collector.url)
    assert headwater("drain", "--timeout", "0.5").exit_code == 1
    before = len(collector.events)
    assert 0 < before < 2000
    assert headwater("drain").exit_code == 0
    assert sorted(e["job"]["name"] for e in collector.events) == sorted(f"job-{n}" for n in range(2000))


def test_the_refused_are_shown_and_sent_again(
    spool: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_URL", collector.url)
    collector.answer = lambda _path, _events: (422, b"no thanks")
    leave(spool, 3, transport="spool")
    assert headwater("drain").exit_code == 0
    answer = told("rejected", "--limit", "2")
    assert answer["total"] == 3
    assert len(answer["rejected"]) == 2
    assert answer["rejected"][0]["reason"] == "HTTP 422: no thanks"
    shown = headwater("rejected").stdout
    assert "tests/job-1" in shown
    assert told("status")["destinations"][0]["rejected"] == 3

    collector.answer = lambda _path, _events: (204, b"")
    assert "3 events wait" in headwater("rejected", "--again").stdout
    assert told("rejected")["total"] == 0
    assert headwater("drain").exit_code == 0
    assert sorted(e["job"]["name"] for e in collector.events) == ["job-0", "job-1", "job-2"]
    assert list(spool.iterdir()) == []


def test_what_waits_for_one_server_is_not_delivered_to_another(
    collector: Collector, spool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(spool, 3)
    monkeypatch.setenv("HEADWATER_URL", collector.url)
    told_first = told("drain")["destinations"]
    assert ([row["delivered"] for row in told_first], collector.events) == ([0], [])
    rows = told("status")["destinations"]
    assert [(row["events"], row["destination"].split(" (")[0]) for row in rows] == [
        (0, f"{collector.url}/api/v1/lineage"),
        (3, "another server"),
    ]
    # Its address is no longer the first one.
    monkeypatch.setenv("HEADWATER_URL", f"{collector.url},{DEAD}")
    second = emitter_from_environment()
    assert not second.flush(1.5)
    assert second.tallies()[f"{DEAD}/api/v1/lineage"].pending == 3
    second.close(0)
    assert collector.events == []
    # An address that a person gives is meant for everything that waits.
    monkeypatch.setenv("HEADWATER_URL", DEAD)
    assert told("drain", "--url", collector.url)["destinations"][0]["delivered"] == 3
    assert len(collector.events) == 3


def test_the_home_decides_where_the_spool_is() -> None:
    from headwater.client.config import destination

    assert destination({"HOME": "/h", "HEADWATER_HOME": "/data/hw"}).spool == Path("/data/hw/spool")
