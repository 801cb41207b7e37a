"""The tour without the story that needs Spark; `make tour` tells all five."""

import os
import subprocess
import sys
from pathlib import Path

from headwater.store.database import Database

TOUR = Path(__file__).parents[3] / "examples/tour/tour.py"


def test_four_stories_of_one_world(server_process: str, database: Database, tmp_path: Path) -> None:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("HEADWATER_", "OPENLINEAGE_"))
    }
    chapters = ("run", "failure", "repair", "trace")
    done = subprocess.run(
        [sys.executable, TOUR, "--url", server_process, "--data", tmp_path / "data", "--chapters", *chapters],
        env=environment | {"HEADWATER_HOME": str(tmp_path / "home"), "HEADWATER_SPOOL": str(tmp_path / "spool")},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert "29 commands, each with the expected answer." in done.stdout
    assert "Made again, and nothing else: day=2024-03-06, hour=2024-03-06T02" in done.stdout
