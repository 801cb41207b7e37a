"""The start-up time of the light parts: `import headwater.client`, `headwater --help`, and a server on a warm folder.

    python benchmarks/micro/startup.py [--runs 15]

Each figure is of a whole process. The import's is the difference to a bare interpreter, run in turn with it.
"""

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLIENT = [sys.executable, "-c", "import headwater.client"]
BARE = [sys.executable, "-c", "pass"]
HELP = [str(Path(sys.executable).with_name("headwater")), "--help"]


def milliseconds(command: list[str], env: dict[str, str] | None = None) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=env)
    return (time.perf_counter() - began) * 1000


def said(name: str, figures: list[float]) -> None:
    print(
        f"{name}: median {statistics.median(figures):.0f} ms, min {min(figures):.0f}, max {max(figures):.0f}, of {len(figures)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    for command in (CLIENT, BARE, HELP):
        milliseconds(command)
    said(
        "import headwater.client, over a bare interpreter",
        [milliseconds(CLIENT) - milliseconds(BARE) for _ in range(runs)],
    )
    said("headwater --help", [milliseconds(HELP) for _ in range(runs)])
    with tempfile.TemporaryDirectory(prefix="headwater-startup-") as home, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
        probe.close()
        env = {**os.environ, "HEADWATER_HOME": home}
        program = HELP[0]
        figures = []
        for turn in range(6):
            took = milliseconds([program, "up", "--port", port], env)
            if turn:  # the first makes the folder
                figures.append(took)
            milliseconds([program, "down"], env)
        said("headwater up on a warm folder, until it answers", figures)


if __name__ == "__main__":
    main()
