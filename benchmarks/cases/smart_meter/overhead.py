"""The cost of the smart meter flow without lineage, with neither server nor broker there, and with a server.

    python benchmarks/cases/smart_meter/overhead.py [--meters 50 --days 30 --rounds 2] [--json FILE]

The three take turns, in another order each round, each on data of its own; the export is made once, beforehand. The comparison is of the wall time
of the whole process: `off` (OPENLINEAGE_DISABLED), `down` (nothing listens at either address), `up`. Two runs of `off` differ too: their spread is
the noise that the others are to be seen against, and is shown.
"""

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples/smart_meter"
PROGRAM = [sys.executable, "-m", "headwater"]
MODES = ("off", "down", "up")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment(mode: str, home: Path, port: int) -> dict[str, str]:
    """Return the environment of the flow's process."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HEADWATER_", "OPENLINEAGE_"))}
    kept["HEADWATER_SPOOL"] = str(home / "spool")
    if mode == "off":
        kept["OPENLINEAGE_DISABLED"] = "true"
    elif mode == "down":
        kept["HEADWATER_URL"] = f"http://127.0.0.1:{free_port()},amqp://guest:guest@127.0.0.1:{free_port()}/"
    else:
        kept["HEADWATER_URL"] = f"http://127.0.0.1:{port}"
    return kept


def seconds(mode: str, outgoing: Path, port: int, size: list[str]) -> float:
    """One import of all files, in a process and a folder of its own."""
    with tempfile.TemporaryDirectory(prefix=f"headwater-meter-{mode}-") as folder:
        home = Path(folder)
        shutil.copytree(outgoing, home / "data/outgoing")
        # `forced` imports what is there without making it first; the others of its files are new here all the same.
        command = [sys.executable, str(EXAMPLE / "flow.py"), "--data", str(home / "data"), "--stages", "forced", *size]
        began = time.perf_counter()
        subprocess.run(command, env=environment(mode, home, port), check=True, capture_output=True)
        return time.perf_counter() - began


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--meters", type=int, default=50)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--start", default="2013-10-14")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args(argv)
    size = ["--meters", str(arguments.meters), "--days", str(arguments.days), "--start", arguments.start]
    with tempfile.TemporaryDirectory(prefix="headwater-meter-") as folder:
        home, port = Path(folder), free_port()
        outgoing = home / "outgoing"
        subprocess.run([sys.executable, str(EXAMPLE / "meter_export.py"), "--folder", str(outgoing), *size], check=True)
        server = {**environment("up", home, port), "HEADWATER_HOME": str(home / "headwater")}
        subprocess.run([*PROGRAM, "up", "--port", str(port)], env=server, check=True)
        try:
            took = measured(arguments.rounds, outgoing, port, size)
        finally:
            subprocess.run([*PROGRAM, "down"], env=server, check=True)
    told = report(took)
    if arguments.json:
        arguments.json.write_text(json.dumps({"size": size, "seconds": took, **told}, indent=1), encoding="utf-8")


def measured(rounds: int, outgoing: Path, port: int, size: list[str]) -> dict[str, list[float]]:
    took: dict[str, list[float]] = {mode: [] for mode in MODES}
    seconds("off", outgoing, port, size)  # the first one reads Spark from the disk
    for turn in range(rounds):
        shift = turn % len(MODES)
        for mode in (*MODES[shift:], *MODES[:shift]):
            took[mode].append(seconds(mode, outgoing, port, size))
            print(f"round {turn + 1}: {mode} {took[mode][-1]:.1f} s", flush=True)
    return took


def report(took: dict[str, list[float]]) -> dict[str, float]:
    middle = {mode: statistics.median(all_) for mode, all_ in took.items()}
    noise = (max(took["off"]) - min(took["off"])) / middle["off"]
    print(f"off {middle['off']:.1f} s (runs differ by {noise:.1%})")
    for mode in MODES[1:]:
        print(f"{mode} {middle[mode]:.1f} s ({middle[mode] / middle['off'] - 1:+.1%})")
    return {f"{mode}_median": middle[mode] for mode in MODES} | {"noise": noise}


if __name__ == "__main__":
    main()
