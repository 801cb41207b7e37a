"""The example as a package: its `dk.yaml` resolves, and says nothing that the program does not take."""

import json
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples/smart_meter"


def test_the_package_resolves_to_the_flow(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "headwater", "run", str(EXAMPLE), "--dry-run", "--json", "--param", f"data={tmp_path}"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    package = json.loads(done.stdout)
    assert [one["place"] for one in package["outputs"]] == [f"{tmp_path}/warehouse/forecasts"]
    assert Path(package["program"]["target"]) == EXAMPLE / "flow.py"
    said = [word for word in package["program"]["args"] if word.startswith("--")]
    usage = subprocess.run(
        [sys.executable, str(EXAMPLE / "flow.py"), "--help"], capture_output=True, text=True, check=True
    )
    assert said
    assert all(word in usage.stdout for word in said)
