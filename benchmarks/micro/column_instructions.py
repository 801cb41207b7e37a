"""Instructions that the column engine takes for the TPC queries, counted by valgrind: the same at any load, where a time is not.

    python benchmarks/micro/column_instructions.py [--against SOURCE] [--only with again tpch lower fingerprint]

`--against`: another tree's `src`; its counts stand beside, with the ratio of its count to ours (above 1: ours takes fewer).
Needs valgrind (Debian: `apt-get install valgrind`).
"""

import argparse
import functools
import gc
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMES = ("with", "without", "again", "tpch", "lower", "fingerprint")


def count(source: Path, name: str) -> int:
    """Instructions of one round. What is counted is what runs below C's `functools.reduce`, which calls the round."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
                "--collect-atstart=no",
                "--toggle-collect=*functools_reduce*",
                f"--callgrind-out-file={folder}/out",
                sys.executable,
                __file__,
                "--round",
                name,
            ],
            env={**os.environ, "PYTHONPATH": f"{source}:{Path(__file__).parent}", "PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
    found = re.search(r"refs:\s*([\d,]+)", done.stderr)
    if done.returncode or not found:
        sys.exit(done.stderr[-2000:])
    return int(found[1].replace(",", ""))


def work(name: str) -> Callable[[], object]:
    import columns  # the speed of the same work

    from headwater.columns import analyse, resolve
    from headwater.columns.shape.fingerprint import fingerprint

    suite = "tpc-h" if name == "tpch" else "tpc-ds"
    queries, schemas, dialect = columns.texts(suite), columns.catalog(suite), columns.DIALECT
    if name == "without":
        return lambda: [analyse(text, dialect) for text in queries]
    if name == "fingerprint":
        return lambda: [fingerprint(text, dialect) for text in queries]
    if name == "again":
        statements = [one for text in queries for one in analyse(text, dialect)]
        return lambda: [resolve(one, schemas) for one in statements]
    if name == "lower":
        rule, trees = columns.rules(dialect), [columns.parsed(text) for text in queries]
        return lambda: [columns.lower_statement(tree, rule) for tree in trees]
    return lambda: [analyse(text, dialect, schemas) for text in queries]


def run_round(name: str) -> None:
    once = work(name)
    for _ in range(3):
        once()
    gc.collect()
    gc.freeze()
    functools.reduce(lambda _before, _number: bool(once()), [False, False])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--round", choices=NAMES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.round:
        run_round(options.round)
        return
    for name in options.only:
        ours = count(ROOT / "src", name)
        line = f"{name:8} {ours:>14,}"
        if options.against:
            theirs = count(options.against, name)
            line += f" {theirs:>14,} {theirs / ours:.3f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
