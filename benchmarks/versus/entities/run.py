"""All demos of this folder and the comparison with Dagster, one after the other: `python benchmarks/versus/entities/run.py [--quick]`.

The exit code is 1 where Headwater is wrong in any. Writes what the other systems said to tests/cases/entities/versus. `--quick`: without the
comparison, which takes minutes.
"""

import argparse
import subprocess
import sys

import airflow_day_window
import dagster_stale_window
import demo
import sqlmesh_restate
from environments import HERE

DEMOS = (dagster_stale_window.DEMO, sqlmesh_restate.DEMO, airflow_day_window.DEMO)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    wrong = sum(demo.run(each) for each in DEMOS)
    if not args.quick:
        # A process of its own: nothing is warm from the demos.
        command = [sys.executable, str(HERE / "dagster_taint.py")]
        wrong += sum(
            subprocess.run([*command, *more], check=False).returncode
            for more in ([], ["--assets", "100", "--starts", "own"])
        )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
