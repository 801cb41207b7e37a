"""The end of a program whose disk goes with it: a server that does not answer is tried until the time is over."""

import threading
import time
from pathlib import Path

import pytest
from tests.receiver import receiving

from headwater.client import emitter_from_environment, event


@pytest.mark.parametrize(("away", "delivered"), [("retry", True), ("once", False)])
def test_a_server_that_comes_back_before_the_time_is_over(
    away: str, delivered: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_FLUSH_AWAY", away)
    with receiving() as receiver:
        back = threading.Event()
        receiver.answer = lambda _path, _body: (204, b"") if back.is_set() else (503, b"")
        emitter = emitter_from_environment(url=receiver.url, spool=tmp_path / "spool", flush_seconds=20)
        emitter.emit(event.run("START", run_id=event.run_id(), job=("test", "nightly")))
        while not receiver.requests:
            time.sleep(0.01)
        threading.Timer(2, back.set).start()
        began = time.monotonic()
        emitter.close()
        assert time.monotonic() - began < 10
        assert bool(receiver.jobs()) == delivered
        back.set()


def test_the_time_is_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_FLUSH_AWAY", "retry")
    with receiving() as receiver:
        receiver.answer = lambda _path, _body: (503, b"")
        emitter = emitter_from_environment(url=receiver.url, spool=tmp_path / "spool", flush_seconds=1.5)
        emitter.emit(event.run("START", run_id=event.run_id(), job=("test", "nightly")))
        began = time.monotonic()
        emitter.close()
        assert 1 < time.monotonic() - began < 4
        assert len(receiver.requests) > 1
    assert emitter.stats().pending == 1
