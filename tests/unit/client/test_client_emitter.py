"""Delivery: at once when the server is there, later when it is not, and never at the host's expense."""

import errno
import json
import logging
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from collector import Collector
from headwater.client import Emitter, emitter_from_environment, event
from headwater.client.sender import Sender


def make(number: int = 0) -> dict[str, Any]:
    return event.run("OTHER", run_id=event.run_id(), job=("tests", f"job-{number}"))


def emitter(collector: Collector, tmp_path: Path, **more: Any) -> Emitter:
    return emitter_from_environment(url=collector.url, spool=tmp_path / "spool", **more)


def names(events: list[dict[str, Any]]) -> list[str]:
    return [e["job"]["name"] for e in events]


def test_the_first_event_goes_at_once(collector: Collector, tmp_path: Path) -> None:
    out = emitter(collector, tmp_path, api_key="secret")
    given = make()
    out.emit(given)
    assert collector.wait_for(1, timeout=1.0) == [given]
    path, headers, _ = collector.requests[0]
    assert path == "/api/v1/lineage/batch"
    assert headers["Authorization"] == "Bearer secret"
    out.close()
    assert list((tmp_path / "spool").iterdir()) == []


def test_many_events_go_in_batches_on_one_connection(collector: Collector, tmp_path: Path) -> None:
    out = emitter(collector, tmp_path)
    for number in range(1000):
        out.emit(make(number))
    assert out.flush(20)
    assert names(collector.events) == [f"job-{n}" for n in range(1000)]
    assert len(collector.requests) < 200
    assert collector.connections == 1
    assert any(headers.get("Content-Encoding") == "gzip" for _, headers, _ in collector.requests)
    assert (out.stats().delivered, out.stats().pending, out.stats().dropped) == (1000, 0, 0)
    out.close()


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_server_without_batches_gets_single_events(collector: Collector, tmp_path: Path, status: int) -> None:
    collector.answer = lambda path, _events: (status, b"") if path.endswith("/batch") else (201, b"")
    out = emitter(collector, tmp_path)
    for number in range(5):
        out.emit(make(number))
    assert out.flush(10)
    assert names(collector.events) == [f"job-{n}" for n in range(5)]
    assert [path for path, _, _ in collector.requests].count("/api/v1/lineage/batch") == 1
    out.close()


@pytest.mark.parametrize("status", [500, 503, 429, 401, 404])
def test_what_is_not_the_events_fault_is_tried_again(collector: Collector, tmp_path: Path, status: int) -> None:
    refusals = iter([status] * 4)
    collector.answer = lambda _path, _events: (next(refusals, 204), b"")
    out = emitter(collector, tmp_path)
    out.emit(make())
    assert out.flush(10)
    assert len(collector.events) == 1
    assert out.stats().rejected == 0
    assert out.stats().failed_attempts >= 1
    out.close()


def test_one_bad_event_does_not_cost_the_others(
    collector: Collector, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A server that refuses a whole batch is asked event by event; what it refuses then is set aside with its reason."""

    def answer(_path: str, events: list[dict[str, Any]]) -> tuple[int, bytes]:
        return (422, b"no producer") if any(e["job"]["name"] == "job-2" for e in events) else (204, b"")

    collector.answer = answer
    out = emitter(collector, tmp_path)
    for number in range(5):
        out.emit(make(number))
    assert out.flush(10)
    assert sorted(names(collector.events)) == ["job-0", "job-1", "job-3", "job-4"]
    out.close()
    rejected = [json.loads(line) for line in (tmp_path / "spool" / "rejected.ndjson").read_text().splitlines()]
    assert [line["event"]["job"]["name"] for line in rejected] == ["job-2"]
    assert rejected[0]["reason"] == "HTTP 422: no producer"
    assert [r.getMessage() for r in caplog.records if "refused for good" in r.getMessage()] != []
    assert out.stats().rejected == 1


def test_a_batch_reply_says_which_events_failed(collector: Collector, tmp_path: Path) -> None:
    out = emitter(collector, tmp_path)
    collector.answer = lambda _path, _events: (503, b"")
    out.emit(make(99))
    for number in range(5):
        out.emit(make(number))
    busy = True

    def answer(_path: str, events: list[dict[str, Any]]) -> tuple[int, bytes]:
        nonlocal busy
        failed = []
        for index, given in enumerate(events):
            if given["job"]["name"] == "job-1":
                failed.append({"index": index, "reason": "bad", "retriable": False})
            if given["job"]["name"] == "job-3" and busy:
                busy = False
                failed.append({"index": index, "reason": "busy", "retriable": True})
        summary = {"received": len(events), "successful": len(events) - len(failed), "failed": len(failed)}
        return 200, json.dumps({"status": "partial_success", "summary": summary, "failed_events": failed}).encode()

    collector.answer = answer
    assert out.flush(10)
    stats = out.stats()
    assert (stats.delivered, stats.rejected, stats.pending) == (5, 1, 0)
    assert names(collector.requests[-1][2]) == ["job-3"]
    out.close()


@pytest.mark.parametrize("again", [True, False])
def test_stored_events_stay_when_the_disk_becomes_full(
    collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    """The server takes half of a batch: the rest, or the refused, may be in no place that a kill -9 would empty."""
    collector.answer = lambda _path, _events: (503, b"")
    out = emitter(collector, tmp_path)
    for number in range(4):
        out.emit(make(number))
    failing = True

    def answer(_path: str, events: list[dict[str, Any]]) -> tuple[int, bytes]:
        told = [{"index": index, "reason": "busy", "retriable": again} for index in range(len(events)) if failing]
        return 200, json.dumps({"failed_events": told}).encode()

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    collector.answer = answer
    with monkeypatch.context() as disk:
        disk.setattr("headwater.client.spool.Spool.put_back", full)
        disk.setattr("headwater.client.sender._write_rejected", full)
        assert not out.flush(1)
        (route,) = out._routes
        assert (list(route._sender._memory), route.spool.count(), out.stats().rejected) == ([], 4, 0)
    failing = False
    assert out.flush(10)
    assert names(collector.requests[-1][2]) == [f"job-{n}" for n in range(4)]
    out.close()


def test_the_spool_drains_when_the_server_comes_back(
    collector: Collector, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = emitter(collector, tmp_path)
    out.emit(make(0))
    assert out.flush(5)
    collector.stop()
    for number in range(1, 50):
        out.emit(make(number))
    assert not out.flush(0.3)
    assert out.stats().pending == 49
    collector.start()
    assert out.flush(10)
    assert names(collector.events) == [f"job-{n}" for n in range(50)]
    assert len([r for r in caplog.records if r.levelno >= logging.WARNING]) == 1, caplog.text
    out.close()


def test_events_of_a_process_that_is_gone_are_delivered_by_the_next(collector: Collector, tmp_path: Path) -> None:
    dead = emitter_from_environment(transport="spool", spool=tmp_path / "spool")
    for number in range(300):
        dead.emit(make(number))
    dead.close()
    assert dead.stats().delivered == 0
    out = emitter(collector, tmp_path)
    out.emit(make(1000))
    assert out.flush(10)
    assert names(collector.events)[0] == "job-1000", "a fresh event does not queue behind a backlog"
    assert sorted(names(collector.events)) == sorted(f"job-{n}" for n in [*range(300), 1000])
    out.close()
    assert list((tmp_path / "spool").glob("*.segment")) == []


def test_closing_with_a_dead_server_does_not_wait(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    out = emitter_from_environment(url="http://127.0.0.1:1", spool=tmp_path / "spool", flush_seconds=30)
    out.emit(make())
    started = time.monotonic()
    out.close()
    assert time.monotonic() - started < 5
    assert len(caplog.records) == 1
    assert "kept in" in caplog.text


def test_a_silent_server_costs_at_most_the_flush_time(tmp_path: Path) -> None:
    """A server that accepts the connection and never answers."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        out = emitter_from_environment(
            url=f"http://127.0.0.1:{server.getsockname()[1]}", spool=tmp_path / "spool", flush_seconds=0.5
        )
        out.emit(make())
        started = time.monotonic()
        out.close()
        assert 0.4 < time.monotonic() - started < 2
        assert len(list((tmp_path / "spool").glob("*.segment"))) == 1


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


def test_an_event_that_cannot_be_encoded_is_counted_and_logged_once(
    collector: Collector, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = emitter(collector, tmp_path)
    loop: dict[str, Any] = {}
    loop["self"] = loop
    for bad in ({"x": Hostile()}, loop):
        out.emit(bad)
    out.emit({**make(7), "odd": {1: Path("/x"), "nan": float("nan")}})
    assert out.flush(5)
    assert names(collector.events) == ["job-7"]
    assert collector.events[0]["odd"] == {"1": "/x", "nan": None}
    assert out.stats().dropped == 2
    assert len(caplog.records) == 1
    out.close()


def test_a_disk_that_refuses_costs_no_event_while_the_server_answers(
    collector: Collector, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "spool").write_text("a file where the folder should be")
    out = emitter(collector, tmp_path)
    for number in range(5):
        out.emit(make(number))
    assert out.flush(5)
    assert names(collector.events) == [f"job-{n}" for n in range(5)]
    assert len(caplog.records) == 1
    out.close()


def test_memory_is_bounded_when_neither_disk_nor_server_takes_events(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("")
    out = emitter_from_environment(url="http://127.0.0.1:1", spool=tmp_path / "spool")
    for number in range(1500):
        out.emit(make(number))
    stats = out.stats()
    assert stats.pending <= 1200
    assert stats.pending + stats.dropped == 1500
    out.close()


def test_what_is_being_sent_from_memory_is_counted_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spool").write_text("")
    begun, answered = threading.Event(), threading.Event()

    def send(_: Sender, records: list[bytes]) -> None:
        begun.set()
        assert answered.wait(20)
        raise ConnectionRefusedError

    monkeypatch.setattr(Sender, "_send", send)
    out = emitter_from_environment(url="http://127.0.0.1:1", spool=tmp_path / "spool")
    out.emit(make(0))
    assert begun.wait(20)
    for number in range(1, 1500):
        out.emit(make(number))
    stats = out.stats()
    answered.set()
    assert (stats.pending, stats.dropped) == (1000, 500)
    out.close()


def test_file_console_and_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "events.ndjson"
    out = emitter_from_environment(transport="file", file=target)
    for number in range(3):
        out.emit(make(number))
    assert out.flush()
    assert names([json.loads(line) for line in target.read_text().splitlines()]) == ["job-0", "job-1", "job-2"]
    shown = emitter_from_environment(transport="console")
    shown.emit(make(5))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert json.loads(captured.err)["job"]["name"] == "job-5"
    silent = emitter_from_environment(transport="none", spool=tmp_path / "spool")
    silent.emit(make())
    silent.close()
    assert not (tmp_path / "spool").exists()


def script(text: str, tmp_path: Path, url: str, **env: str) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {"HEADWATER_URL": url, "HEADWATER_SPOOL": str(tmp_path / "spool")} | env
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)],
        env=environ,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_a_forked_child_goes_on_by_itself(collector: Collector, tmp_path: Path) -> None:
    done = script(
        """
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
            say("after")
        """,
        tmp_path,
        collector.url,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(names(collector.wait_for(4))) == ["after", "before", "child", "parent"]
    assert list((tmp_path / "spool").iterdir()) == []


def test_a_daemon_that_closes_everything_keeps_the_files_it_opens(collector: Collector, tmp_path: Path) -> None:
    """A forked child that closed all descriptors has the parent's numbers for files of its own: none of them is ours to close."""
    done = script(
        """
        import os, sys
        from headwater.client import emitter_from_environment, event
        out = emitter_from_environment()
        def say(name):
            out.emit(event.run("OTHER", run_id=event.run_id(), job=("tests", name)))
        say("before")
        child = os.fork()
        if child == 0:
            os.closerange(3, 64)
            files = [open(os.path.join(os.environ["FILES"], str(number)), "w") for number in range(10)]
            say("daemon")
            for file in files:
                file.write("theirs")
                file.close()
        else:
            sys.exit(os.waitpid(child, 0)[1])
        """,
        tmp_path,
        collector.url,
        FILES=str(tmp_path),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [(tmp_path / str(number)).read_text() for number in range(10)] == ["theirs"] * 10
    assert sorted(names(collector.wait_for(2))) == ["before", "daemon"]


def test_a_process_that_gets_no_more_threads_keeps_its_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    out = emitter_from_environment(url="http://127.0.0.1:1", spool=tmp_path / "spool")
    with monkeypatch.context() as limited:
        limited.setattr(threading.Thread, "start", _no_thread)
        out.emit(make())
        stats = out.stats()
    assert (stats.dropped, stats.pending) == (0, 1)
    assert [record.getMessage() for record in caplog.records] == [
        "lineage events do not reach http://127.0.0.1:1/api/v1/lineage (can't start new thread);"
        f" they are kept in {tmp_path / 'spool'} and sent later"
    ]
    out.close()


def _no_thread(self: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_memory_is_bounded_in_bytes_too(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("")
    out = emitter_from_environment(url="http://127.0.0.1:1", spool=tmp_path / "spool")
    for number in range(60):
        out.emit({**make(number), "large": "x" * (1 << 20)})
    out.close()
    assert 60 - 33 <= out.stats().dropped <= 60
    assert len(out._routes[0]._sender._memory) <= 33


def test_the_end_of_a_script_delivers_what_is_left(collector: Collector, tmp_path: Path) -> None:
    text = """
        from headwater.client import emitter_from_environment, event
        out = emitter_from_environment()
        for n in range(50):
            out.emit(event.run("OTHER", run_id=event.run_id(), job=("tests", f"job-{n}")))
    """
    done = script(text, tmp_path, collector.url)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(collector.events) == 50
    done = script(text, tmp_path, "http://127.0.0.1:1")
    assert done.returncode == 0
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert "kept in" in done.stderr


def test_an_unreferenced_emitter_delivers_at_exit(collector: Collector, tmp_path: Path) -> None:
    text = """
        import gc
        from headwater.client import emitter_from_environment, event
        emitter_from_environment().emit(event.run("OTHER", run_id=event.run_id(), job=("tests", "lone")))
        gc.collect()
    """
    done = script(text, tmp_path, collector.url)
    assert (done.returncode, done.stderr) == (0, "")
    assert names(collector.events) == ["lone"]


def test_events_of_a_pool_of_forked_workers_arrive(collector: Collector, tmp_path: Path) -> None:
    """multiprocessing's children skip exit handlers: what they leave is taken over by their parent."""
    text = """
        import multiprocessing
        from headwater.client import emitter_from_environment, event
        out = emitter_from_environment()
        def work(n):
            out.emit(event.run("OTHER", run_id=event.run_id(), job=("tests", f"job-{n}")))
        work(-1)
        with multiprocessing.get_context("fork").Pool(3) as pool:
            pool.map(work, range(30))
        out.flush(10)
    """
    done = script(text, tmp_path, collector.url)
    assert done.returncode == 0, done.stderr
    assert sorted(set(names(collector.events))) == sorted(f"job-{n}" for n in range(-1, 30))


def test_import_brings_nothing_heavy(tmp_path: Path) -> None:
    done = script(
        """
        import sys, headwater.client
        print([m for m in ("http.client", "ssl", "yaml", "email", "asyncio", "pydantic", "pyspark", "random") if m in sys.modules])
        """,
        tmp_path,
        "",
    )
    assert done.stdout.strip() == "[]", done.stderr
