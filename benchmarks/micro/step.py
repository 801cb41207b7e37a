"""The cost of a step to its host: START and COMPLETE into the spool, with nothing sent, beside a bare function call.

    python benchmarks/micro/step.py [--steps 2000]

Printed for one step alone, one inside another, and one with a hundred outputs; the spool is in a temporary folder.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import headwater
from headwater.client import Emitter, config


def alone() -> None:
    with headwater.step("split", version="1.4.0", inputs=["s3://raw/readings.csv.gz"]) as step:
        step.output("/data/out.parquet")


def decorated() -> None:
    @headwater.step("clean")
    def clean() -> None: ...

    for _ in range(10):
        clean()


def hundred() -> None:
    with headwater.step("split") as step:
        for number in range(100):
            step.output(f"/data/series/{number}.parquet")


def microseconds(call: Callable[[], None], times: int, of_each: int = 1) -> list[float]:
    call()
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        taken.append((time.perf_counter() - began) * 1e6 / of_each)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=2000)
    steps = parser.parse_args().steps
    with tempfile.TemporaryDirectory(prefix="headwater-step-") as folder:
        emitter = Emitter(config.destination(transport="spool", spool=Path(folder)))
        headwater.use(emitter)

        def inside() -> None:
            with headwater.step("outer"):
                alone()

        for name, call, times, of_each in (
            ("a step with one input and one output", alone, steps, 1),
            ("a step inside another, both", inside, steps, 1),
            ("a decorated function, a call", decorated, steps // 10, 10),
            ("a step with 100 outputs, an output", hundred, steps // 20, 100),
        ):
            taken = sorted(microseconds(call, times, of_each))
            print(f"{name}: median {statistics.median(taken):.0f} µs, p99 {taken[int(len(taken) * 0.99)]:.0f} µs")
        emitter.close()


if __name__ == "__main__":
    main()
