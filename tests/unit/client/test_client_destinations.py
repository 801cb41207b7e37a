"""Several destinations at once, pauses a server asks for, and what is too large for one."""

import json
import os
import socket
import subprocess
import sys
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from collector import Collector, running
from headwater.client import Emitter, emitter_from_environment, event
from headwater.client.connection import retry_after
from headwater.client.spool import readdress


def make(number: int = 0, **more: Any) -> dict[str, Any]:
    return event.run("OTHER", run_id=event.run_id(), job=("tests", f"job-{number}"), **more)


def names(events: list[dict[str, Any]]) -> list[str]:
    return sorted(e["job"]["name"] for e in events)


def emitter(url: str, tmp_path: Path, **more: Any) -> Emitter:
    return emitter_from_environment(url=url, spool=tmp_path / "spool", **more)


def test_every_destination_gets_every_event(collector: Collector, tmp_path: Path) -> None:
    with running() as other:
        out = emitter(f"{collector.url},{other.url},file://{tmp_path}/events.ndjson", tmp_path, api_key="first only")
        for number in range(50):
            out.emit(make(number))
        assert out.flush(10)
        stats = out.stats()
        assert (stats.emitted, stats.delivered, stats.pending) == (50, 150, 0)
        out.close()
        expected = names([make(n) for n in range(50)])
        written = [json.loads(line) for line in (tmp_path / "events.ndjson").read_text().splitlines()]
        assert names(collector.events) == names(other.events) == names(written) == expected
        assert collector.requests[0][1]["Authorization"] == "Bearer first only"
        assert "Authorization" not in other.requests[0][1]


@pytest.mark.parametrize("down_first", [True, False])
def test_a_destination_that_is_down_does_not_delay_others(
    collector: Collector, tmp_path: Path, down_first: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Down means that no server listens, or that one accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        dead = ["http://127.0.0.1:1", f"http://127.0.0.1:{silent.getsockname()[1]}"]
        addresses = [*dead, collector.url] if down_first else [collector.url, *dead]
        out = emitter(",".join(addresses), tmp_path, flush_seconds=1.0)
        for number in range(30):
            out.emit(make(number))
        assert names(collector.wait_for(30, timeout=3)) == names([make(n) for n in range(30)])
        began = time.monotonic()
        out.close()
        assert time.monotonic() - began < 3
        pending = {shown: tally.pending for shown, tally in out.tallies().items()}
        assert sorted(pending.values()) == [0, 30, 30]
        assert pending[f"{collector.url}/api/v1/lineage"] == 0
    # Each keeps its own: the next process with the same addresses delivers to the one that was down, and to it alone.
    with running() as back:
        (folder,) = [each.spool for each in out.destination.each if each.url.startswith("http://127.0.0.1:1/")]
        readdress(folder)
        heir = emitter_from_environment(url=back.url, spool=folder)
        assert heir.flush(10)
        heir.close()
        assert len(back.events) == 30
    assert len(collector.events) == 30


def test_a_file_that_refuses_costs_the_others_nothing(
    collector: Collector, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = emitter(f"file://{tmp_path}/no/such/folder,{collector.url}", tmp_path)
    for number in range(3):
        out.emit(make(number))
    assert out.flush(5)
    assert len(collector.events) == 3
    assert (out.stats().delivered, out.stats().dropped) == (3, 3)
    assert len(caplog.records) == 1
    out.close()


def test_a_server_that_asks_for_a_pause_gets_it(collector: Collector, tmp_path: Path) -> None:
    times: list[float] = []

    def answer(_path: str, _events: list[dict[str, Any]]) -> tuple[int, bytes]:
        times.append(time.monotonic())
        collector.headers = {"Retry-After": "1"} if len(times) == 1 else {}
        return (503, b"") if len(times) == 1 else (204, b"")

    collector.answer = answer
    out = emitter(collector.url, tmp_path)
    out.emit(make())
    assert out.flush(10)  # waiting does not shorten the server's pause
    assert 1.0 <= times[1] - times[0] < 3
    assert len(times) == 2
    out.close()


def test_the_end_of_the_program_does_not_wait_for_a_pause_to_pass(collector: Collector, tmp_path: Path) -> None:
    collector.answer = lambda _path, _events: (429, b"")
    collector.headers = {"Retry-After": "60"}
    out = emitter(collector.url, tmp_path, flush_seconds=30)
    out.emit(make())
    while not collector.requests:
        time.sleep(0.01)
    time.sleep(0.1)
    began = time.monotonic()
    out.close()
    assert time.monotonic() - began < 1
    assert len(collector.requests) == 1
    assert out.stats().pending == 1


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("3", 3), ("0.5", 0.5), ("-1", 0), ("86400", 3600)],
)
def test_retry_after(text: str, seconds: float) -> None:
    assert retry_after(text) == seconds


def test_retry_after_a_date() -> None:
    found = retry_after(formatdate(time.time() + 600))
    assert found is not None
    assert 500 <= found <= 600


@pytest.mark.parametrize("text", [None, "soon", "", "nan", "inf"])
def test_a_retry_after_that_says_nothing(text: str | None) -> None:
    assert retry_after(text) is None


def test_one_event_too_large_for_the_server_is_set_aside(collector: Collector, tmp_path: Path) -> None:
    def answer(_path: str, events: list[dict[str, Any]]) -> tuple[int, bytes]:
        return (413, b"too large") if len(json.dumps(events)) > 20_000 else (204, b"")

    collector.answer = answer
    quiet = emitter("http://127.0.0.1:1", tmp_path, transport="spool")
    for number in range(30):
        quiet.emit(make(number, run_facets={"x": {"text": "y" * (30_000 if number == 7 else 900)}}))
    quiet.close()
    out = emitter(collector.url, tmp_path)
    assert out.flush(10)
    assert names(collector.events) == names([make(n) for n in range(30) if n != 7])
    assert (out.stats().rejected, out.stats().pending) == (1, 0)
    out.close()
    (line,) = (tmp_path / "spool" / "rejected.ndjson").read_text().splitlines()
    assert json.loads(line)["event"]["job"]["name"] == "job-7"


def test_backends_without_batches_are_not_asked_for_them(collector: Collector, tmp_path: Path) -> None:
    out = emitter(collector.url.replace("http://", "openmetadata+http://"), tmp_path)
    for number in range(3):
        out.emit(make(number))
    assert out.flush(5)
    out.close()
    assert {path for path, _, _ in collector.requests} == {"/api/v1/openlineage/lineage"}
    assert len(collector.events) == 3


def test_a_missing_broker_library_is_one_line_and_the_events_stay(tmp_path: Path) -> None:
    text = """
import sys
sys.modules["aio_pika"] = None
from headwater.client import emitter_from_environment, event
out = emitter_from_environment()
for number in range(5):
    out.emit(event.run("OTHER", run_id=event.run_id(), job=("tests", str(number))))
assert not out.flush(0.5)
out.close()
print(out.stats().pending)
"""
    done = subprocess.run(
        [sys.executable, "-c", text],
        env=os.environ | {"HEADWATER_URL": "amqp://user:hunter2@h/", "HEADWATER_SPOOL": str(tmp_path / "spool")},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout.strip() == "5"
    assert done.stderr.count("\n") == 1
    assert "headwater[amqp]" in done.stderr
    assert "hunter2" not in done.stderr


def test_a_forked_child_goes_on_to_all(collector: Collector, tmp_path: Path) -> None:
    text = """
import os
from headwater.client import emitter_from_environment, event
out = emitter_from_environment()
def say(name):
    out.emit(event.run("OTHER", run_id=event.run_id(), job=("tests", name)))
say("before")
child = os.fork()
say("child" if child == 0 else "parent")
if child:
    os.waitpid(child, 0)
"""
    with running() as other:
        env = {
            "HEADWATER_URL": f"{collector.url},{other.url}",
            "HEADWATER_SPOOL": str(tmp_path / "spool"),
            "HEADWATER_SPOOL_FSYNC": "interval",
        }
        done = subprocess.run(
            [sys.executable, "-c", text], env=os.environ | env, capture_output=True, text=True, timeout=30, check=True
        )
        assert done.stderr == ""
        for each in (collector, other):
            assert names(each.wait_for(3)) == ["before", "child", "parent"]


def test_a_disk_that_fills_in_the_middle_of_a_record_keeps_whole_ones(collector: Collector, tmp_path: Path) -> None:
    """A write that is cut short is taken back; what the disk has no room for goes from memory."""
    text = """
import resource, sys
from headwater.client import emitter_from_environment, event
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
out = emitter_from_environment()
for number in range(20):
    out.emit(event.run("OTHER", run_id=event.run_id(), job=("tests", f"job-{number}")))
out.close()
print(out.stats().dropped, out.stats().pending)
"""

    def run(url: str) -> tuple[int, int, str]:
        env = {"HEADWATER_URL": url, "HEADWATER_SPOOL": str(tmp_path / "spool")}
        done = subprocess.run(
            [sys.executable, "-c", text], env=os.environ | env, capture_output=True, text=True, timeout=30, check=True
        )
        dropped, pending = map(int, done.stdout.split())
        return dropped, pending, done.stderr

    dropped, pending, said = run("http://127.0.0.1:1")
    assert dropped > 10
    assert dropped + pending == 20
    assert "does not accept events" in said
    assert "are lost" in said
    readdress(tmp_path / "spool")
    heir = emitter(collector.url, tmp_path)
    assert heir.flush(5)
    assert (len(collector.events), heir.stats().torn) == (pending, 0)
    heir.close()
    collector.events.clear()
    dropped, pending, _ = run(collector.url)
    assert (dropped, pending, len(collector.events)) == (0, 0, 20)
