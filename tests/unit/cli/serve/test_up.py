"""`headwater up` while the server makes its tables again."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.processes import free_port

from headwater.cli.serve import local
from headwater.errors import ServerUnavailable

_SLOW = "echo 'INFO headwater RebuildStarted'; exec sleep 60"


@pytest.mark.parametrize(("says", "alive"), [("RebuildStarted", True), ("something else", False)])
def test_a_server_that_rebuilds_is_not_ended_when_up_has_waited_long_enough(
    says: str, alive: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def slow(_: Any, **given: Any) -> subprocess.Popen[bytes]:
        started.append(popen(["sh", "-c", _SLOW.replace("RebuildStarted", says)], **given))
        return started[-1]

    monkeypatch.setenv("HEADWATER_HOME", str(tmp_path))
    monkeypatch.setattr(subprocess, "Popen", slow)
    try:
        with pytest.raises(ServerUnavailable, match="and continues" if alive else "did not start"):
            local.up(port=free_port(), wait=1.0)
        (child,) = started
        if alive:
            assert child.poll() is None
        else:
            assert child.wait(timeout=10) != 0
    finally:
        for child in started:
            child.kill()
            child.wait()
