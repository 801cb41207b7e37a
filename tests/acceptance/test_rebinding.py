"""A page on the internet that points its name at this machine, in a real Chromium."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fixtures.processes import Process

CHROMIUM = Path(__file__).parents[2] / "scripts/chromium"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
)


@pytest.mark.parametrize(("name", "answered"), [("localhost", True), ("rebound.example", False)])
def test_a_browser_with_a_rebound_name(
    serve: Callable[..., Process], tmp_path: Path, name: str, answered: bool
) -> None:
    server = serve().ready()
    program = subprocess.run([CHROMIUM], capture_output=True, text=True, check=True).stdout.strip()
    shown = subprocess.run(
        [
            program, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--host-resolver-rules=MAP rebound.example 127.0.0.1",
            "--dump-dom", f"http://{name}:{server.port}/api/v2/status",
        ],
        capture_output=True, text=True, timeout=120, check=True,
    ).stdout  # fmt: skip
    assert ("started_at" in shown) is answered
    assert ("misdirected" in shown) is not answered
