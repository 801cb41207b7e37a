"""`python -m headwater.runner.sql_session FILE [name=value …]`: the program of a package of kind `sql`.

Runs the statements of a file one after another in one Spark session. Timing goes to stderr, rows to stdout. Stops at the first failure.
"""

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from headwater.runner.command import NAMES
from headwater.runner.interpolation import Names
from headwater.runner.sql_statements import Statement, split

_ROWS_SHOWN = 20


def read_statements(file: Path, given: Mapping[str, str], environ: Mapping[str, str]) -> list[Statement]:
    """Read the statements of a file, with `${…}` resolved. Raises UnknownName, and UnicodeDecodeError if it is not UTF-8."""
    values = msgspec.json.decode(environ.get(NAMES, "{}"), type=dict[str, str]) | dict(given)
    names = Names({}, environ)
    for name, value in values.items():
        names.place(name, value)
    return split(names.resolve(file.read_text(encoding="utf-8")))


def main(argv: list[str]) -> None:
    """Run one file."""
    file = Path(argv[0])
    given = dict(word.split("=", 1) for word in argv[1:] if "=" in word)
    statements = read_statements(file, given, os.environ)
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    for number, statement in enumerate(statements, 1):
        place = f"[{number}/{len(statements)}] {file.name}:{statement.line}"
        started = time.monotonic()
        try:
            result = spark.sql(statement.text)
            if result.columns:
                result.show(_ROWS_SHOWN, truncate=False)
        except Exception:
            _say(f"{place} failed after {time.monotonic() - started:.2f} s: {_first_line(statement)}")
            raise
        _say(f"{place} {time.monotonic() - started:.2f} s: {_first_line(statement)}")
    spark.stop()


def _first_line(statement: Statement) -> str:
    return statement.text.splitlines()[0][:100]


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
