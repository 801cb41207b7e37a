"""The example pipeline with and without capture.

python benchmarks/cases/flights/run.py [--rounds 2] [--packages clean_flights enrich_flights …]
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROGRAM = str(Path(sys.executable).with_name("headwater"))


def seconds(package: str, data: str, capture: bool) -> float:
    command = [
        PROGRAM,
        "run",
        str(ROOT / "examples/flights" / package),
        "--param",
        f"data={data}",
        "--master",
        "local[2]",
        "--json",
    ]
    command += ["--conf", "spark.ui.showConsoleProgress=false", "--capture" if capture else "--no-capture"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1])["seconds"])


def main() -> None:
    lines = (ROOT / "examples/flights/order.txt").read_text().splitlines()
    order = [line.split()[0] for line in lines if line and line[0] != "#"]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--packages", nargs="*", default=order[1:])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headwater-flights-") as home:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        os.environ |= {
            "HEADWATER_HOME": f"{home}/headwater",
            "HEADWATER_SPOOL": f"{home}/spool",
            "HEADWATER_URL": f"http://127.0.0.1:{port}",
        }
        subprocess.run([PROGRAM, "up", "--port", port], check=True)
        try:
            for package in order:
                seconds(package, f"{home}/data", capture=True)
            compare(arguments.packages, f"{home}/data", arguments.rounds)
        finally:
            subprocess.run([PROGRAM, "down"], check=True)


def compare(packages: list[str], data: str, rounds: int) -> None:
    totals = {False: 0.0, True: 0.0}
    for package in packages:
        took: dict[bool, list[float]] = {False: [], True: []}
        for turn in range(rounds):
            for capture in (False, True) if turn % 2 == 0 else (True, False):
                took[capture].append(seconds(package, data, capture))
        without, with_it = statistics.median(took[False]), statistics.median(took[True])
        totals[False] += without
        totals[True] += with_it
        print(
            f"{package}: without {without:.1f} s, with {with_it:.1f} s: {(with_it / without - 1) * 100:+.1f} %",
            flush=True,
        )
    print(
        f"all: without {totals[False]:.1f} s, with {totals[True]:.1f} s: {(totals[True] / totals[False] - 1) * 100:+.1f} %"
    )


if __name__ == "__main__":
    main()
