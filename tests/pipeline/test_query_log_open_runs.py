"""The runs of a sync that was killed are ended by the next one, and those of a living one are not."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headwater.client import output
from headwater.pipeline.folder import LocalFolder
from headwater.pipeline.query_log import open_runs


class Sent:
    """An emitter that keeps its events."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def emit(self, event: dict[str, Any], /) -> None:
        self.events.append(event)


def note(store: Path, run: str, pid: int, host: str | None = None) -> None:
    told = {"run": run, "job": ["spark", "query-log"], "host": host or socket.gethostname(), "pid": pid}
    (store / "_open").mkdir(exist_ok=True)
    (store / "_open" / f"run-{run}.json").write_text(json.dumps(told), encoding="utf-8")


def test_a_killed_sync_ends_aborted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = Sent()
    monkeypatch.setattr(output._Process, "output", sent)
    with subprocess.Popen([sys.executable, "-c", "pass"]) as gone:
        pass
    note(tmp_path, "01990000-0000-7000-8000-000000000001", gone.pid)
    note(tmp_path, "01990000-0000-7000-8000-000000000002", 1, host="another-pod")
    note(tmp_path, "01990000-0000-7000-8000-000000000003", os.getpid())
    ended = open_runs.abort_killed_runs(LocalFolder(), str(tmp_path))
    assert ended == ["01990000-0000-7000-8000-000000000001", "01990000-0000-7000-8000-000000000002"]
    assert [(one["eventType"], one["run"]["runId"], one["job"]["name"]) for one in sent.events] == [
        ("ABORT", run, "query-log") for run in ended
    ]
    assert "killed" in sent.events[0]["run"]["facets"]["errorMessage"]["message"]
    # Each is ended once.
    assert open_runs.abort_killed_runs(LocalFolder(), str(tmp_path)) == []


def test_an_end_of_any_kind_takes_the_note_away(tmp_path: Path) -> None:
    class Step:
        id, job = "01990000-0000-7000-8000-000000000004", ("spark", "query-log")

    step: Any = Step()
    with open_runs.noted(LocalFolder(), str(tmp_path), step):
        assert len(list((tmp_path / "_open").iterdir())) == 1
    with pytest.raises(ValueError), open_runs.noted(LocalFolder(), str(tmp_path), step):  # noqa: PT011
        raise ValueError
    assert list((tmp_path / "_open").iterdir()) == []
