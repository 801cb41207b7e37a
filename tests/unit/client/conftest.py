import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import headwater
from collector import Collector, running
from stepping import Told


@pytest.fixture
def collector() -> Iterator[Collector]:
    with running() as server:
        yield server


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of the machine that runs the tests reaches them."""
    for name in list(os.environ):
        if name.startswith(("HEADWATER_", "OPENLINEAGE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Told]:
    """What the steps of the test and of its child processes tell."""
    path = tmp_path / "told.ndjson"
    monkeypatch.setenv("HEADWATER_TRANSPORT", "file")
    monkeypatch.setenv("HEADWATER_EVENTS_FILE", str(path))
    monkeypatch.setenv("HEADWATER_SPOOL", str(tmp_path / "spool"))
    headwater.use(None)
    yield Told(path)
    headwater.use(None)
