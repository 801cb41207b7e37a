"""`python -m tests.chaos --seed N --rounds R --seconds S`: play, say what is done, judge."""

import argparse
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.chaos.faults import ALONE, Fault, Size, plan
from tests.chaos.verdict import judge
from tests.chaos.world import World, world


def play(
    seed: int,
    seconds: float,
    *,
    pause: float = 0.3,
    say: Callable[[str], None] = print,
    size: Size = ALONE,
) -> dict[str, Any]:
    """One round in a world of its own; what was seen. Raises AssertionError with every doubt about it, and how to play it again."""
    faults = plan(seed, seconds, size)
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="headwater-chaos-") as folder,
        world(Path(folder), seed, pause=pause, say=say, size=size) as made,
    ):
        say(f"seed {seed}: {len(faults)} faults in {seconds:g} s (up in {time.monotonic() - began:.1f} s)")
        began = time.monotonic()
        _suffer(made, faults, seconds, say)
        made.heal()
        say(f"all is mended after {time.monotonic() - began:.1f} s")
        doubts, seen = judge(made, say)
        seen = {"seed": seed, "faults": len(faults), **seen}
        if doubts:
            logs = "\n".join(
                f"--- {path.name}\n{path.read_text(errors='replace')[-1500:]}" for path in made.folder.glob("*.log")
            )
            more = f" --servers {size.servers}" + " --troubled" * size.troubled if size != ALONE else ""
            again = f"python -m tests.chaos --seed {seed} --seconds {seconds:g}{more}"
            raise AssertionError("\n".join([f"{again}: {json.dumps(seen)}", *doubts, logs]))
    return seen


def _suffer(made: World, faults: list[Fault], seconds: float, say: Callable[[str], None]) -> None:
    """Each fault at its time, and mended at its time. A slow machine does it later, in the same order."""
    todo = [(fault.at, 1, fault) for fault in faults] + [(fault.at + fault.hold, 0, fault) for fault in faults]
    began = time.monotonic()
    for at, striking, fault in sorted(todo):
        while (left := at - (time.monotonic() - began)) > 0:
            made.tend()
            time.sleep(min(left, 0.2))
        if striking:
            say(str(fault))
            made.strike(fault)
        else:
            made.mend(fault)
    while time.monotonic() - began < seconds:
        made.tend()
        time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seed", type=int, default=int(time.time()), help="of the first round; the next has the next number"
    )
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60, help="of trouble in each round")
    parser.add_argument(
        "--pause", type=float, default=0.3, help="mean seconds between the steps of a producer's thread"
    )
    parser.add_argument("--servers", type=int, default=1, help="behind one address, on one database")
    parser.add_argument("--troubled", action="store_true", help="clocks that jump and disks that are slow, too")
    given = parser.parse_args()
    size = Size(given.servers, given.troubled)
    bad = 0
    for seed in range(given.seed, given.seed + given.rounds):
        try:
            print(
                json.dumps(
                    play(seed, given.seconds, pause=given.pause, say=lambda text: print(text, flush=True), size=size)
                ),
                flush=True,
            )
        except Exception:  # noqa: BLE001 - the next round is another world
            bad += 1
            print(traceback.format_exc(), flush=True)
    print(f"{given.rounds - bad} of {given.rounds} rounds held", flush=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
