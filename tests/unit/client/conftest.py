import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector import Collector, running
from stepping import Told, telling


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
def told(tmp_path: Path) -> Iterator[Told]:
    """Collect the events of the test's steps and of its child processes."""
    with telling(tmp_path) as told:
        yield told
