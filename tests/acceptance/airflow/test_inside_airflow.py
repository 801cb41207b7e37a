"""The cases of `inside.py`, run once by Airflow's own Python."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
INSIDE = HERE / "inside.py"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("inside")
    python = subprocess.run([ROOT / "scripts/airflow"], capture_output=True, text=True, check=True).stdout.strip()
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HEADWATER_", "OPENLINEAGE_", "AIRFLOW", "PYTHON"))
    }
    env = kept | {
        "PYTHONPATH": str(ROOT / "src"),
        "HOME": str(folder),
        "AIRFLOW_HOME": str(folder),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "HEADWATER_SPOOL": str(folder / "spool"),
    }
    done = subprocess.run([python, INSIDE], env=env, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("case", re.findall(r"^def (case_\w+)", INSIDE.read_text(), re.MULTILINE))
def test_inside(told: dict[str, str], case: str) -> None:
    assert told[case] == ""
