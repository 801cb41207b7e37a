"""Generated statements with what Spark says of them, kept for the tests that need no Spark.

`python -m tests.oracle.generated` writes tests/cases/columns/generated.json again. `python -m tests.oracle.generated FIRST COUNT` compares the
engine with Spark on COUNT seeds from FIRST and prints the shortest statements they differ about: nothing printed, nothing to triage.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.oracle.analyzer import Analyzer, Refused
from tests.oracle.edges import Edges
from tests.oracle.generate import SCHEMAS, Generator
from tests.oracle.session import start
from tests.oracle.tpc import written

EXPECTED = Path(__file__).parents[1] / "cases" / "columns" / "generated.json"
KEPT = 250
LONGEST = 900
"""Characters: a difference in a longer statement shows in a shorter one too."""


def kept() -> dict[str, Edges]:
    """Statement to edges, as kept."""
    return msgspec.json.decode(EXPECTED.read_bytes(), type=dict[str, Edges])


def statements(first: int, analyzer: Analyzer) -> Iterator[tuple[str, Edges]]:
    """Statements of the seeds from `first` on that Spark accepts, with their edges."""
    seed = first
    while True:
        text = Generator(seed).statement()
        seed += 1
        try:
            yield text, analyzer.edges(text)
        except Refused:
            continue


def differing(first: int, count: int, analyzer: Analyzer) -> list[tuple[str, list[str]]]:
    """Return those of `count` statements on which the engine differs, the shortest first, each with its differences."""
    from tests.oracle.engine import disagreements

    found = []
    for (text, expected), _ in zip(statements(first, analyzer), range(count), strict=False):
        if lines := disagreements(text, expected, SCHEMAS, "spark"):
            found.append((text, lines))
    return sorted(found, key=lambda pair: len(pair[0]))


def main(arguments: list[str]) -> None:
    spark = start()
    analyzer = Analyzer(spark, SCHEMAS, "generated")
    if arguments:
        first, count = int(arguments[0]), int(arguments[1])
        found = differing(first, count, analyzer)
        for text, lines in found:
            print(text, *lines, sep="\n    ")
        print(f"{len(found)} of {count} differ")
    else:
        cases: dict[str, Edges] = {}
        for text, expected in statements(0, analyzer):
            if len(text) <= LONGEST:
                cases[text] = expected
            if len(cases) == KEPT:
                break
        EXPECTED.write_text(written({json.dumps(text)[1:-1]: edges for text, edges in cases.items()}), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
