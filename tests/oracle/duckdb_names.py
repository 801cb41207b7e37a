"""The names of outputs in DuckDB's own tests: what DuckDB calls the columns of each query against what the engine calls them, where it says full.

    python -m tests.oracle.duckdb_names FOLDER [--show N]

FOLDER holds sqllogictests of DuckDB (its test/sql, or a folder of it). They are not part of this repository. Files with loops, with several
connections or with extensions are left out, and so are statements that DuckDB refuses. A name made of an expression's text is not compared.
"""

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb

from headwater.columns import Level, Session, analyse

_LEFT_OUT = re.compile(
    r"^(foreach|loop|concurrentloop|require|load|restart|(statement ok|query \S+)( \S+)? con\d)", re.MULTILINE
)
_RECORD = re.compile(r"(?:(?:skipif|onlyif)[^\n]*\n)*(statement ok|statement maybe|query \S+)[^\n]*\n", re.MULTILINE)
_NO_QUERY = re.compile(
    r"\s*(explain|desc|describe|show|summarize|pragma|call|insert|update|delete|merge|copy|execute)\b", re.IGNORECASE
)


@dataclass
class Query:
    """A query that the engine reads in full, and both lists of names."""

    file: str
    text: str
    duckdb: list[str]
    ours: list[str]

    @property
    def agrees(self) -> bool:
        """As many columns, and equal names where they are names and no text of an expression."""
        names = [sorted(one.lower() for one in names if one.isidentifier()) for names in (self.duckdb, self.ours)]
        return len(self.duckdb) == len(self.ours) and names[0] == names[1]


def records(text: str) -> Iterator[str]:
    """The statements of a sqllogictest that are to pass, in order."""
    for block in re.split(r"\n\s*\n", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)):
        found = _RECORD.match(block.lstrip("\n"))
        if found is not None:
            yield block.lstrip("\n")[found.end() :].split("\n----")[0].strip()


def queries(name: str, text: str) -> Iterator[Query]:
    """The queries of a file on which DuckDB and the engine may be compared: one statement each, in full, every column known."""
    connection = duckdb.connect(config={"threads": 1, "memory_limit": "1GB"})
    session = Session()
    for sql in records(text):
        try:
            statements = connection.extract_statements(sql)
            for statement in statements:
                connection.execute(statement)
            names = [column[0] for column in connection.description or ()]
        except duckdb.Error:
            continue
        last = next(reversed(list(analyse(sql, "duckdb", None, session))), None)
        if names in (["Success"], ["Count"]):  # It is no query.
            continue
        if last is None or last.level is not Level.FULL or len(statements) != 1 or _NO_QUERY.match(sql):
            continue
        flows = [flow for flow in last.flows if flow.target is None]
        ours = [column.name for column in flows[0].columns] if len(flows) == 1 else ["*"]
        if "*" not in ours:
            yield Query(name, sql, names, ours)


def main(words: list[str] | None = None) -> int:
    """Compare each file of the folder; the exit code is 0 whatever is found."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.oracle.duckdb_names", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument(
        "--show", type=int, default=0, metavar="N", help="print N of the queries that differ (default: none)"
    )
    options = parser.parse_args(words)
    files = [(one, one.read_text(encoding="utf-8", errors="replace")) for one in sorted(options.folder.rglob("*.test"))]
    read = [(str(path), text) for path, text in files if not _LEFT_OUT.search(text)]
    compared, differ = 0, []
    with tempfile.TemporaryDirectory() as scratch:  # Some of them write files where they stand.
        os.chdir(scratch)
        for place, (name, text) in enumerate(read):
            print(f"\r{place + 1}/{len(read)} files", end="", file=sys.stderr, flush=True)
            for query in queries(name, text):
                compared += 1
                if not query.agrees:
                    differ.append(query)
    print(file=sys.stderr)
    for query in differ[: options.show]:
        print(
            f"{query.file}\n    {' '.join(query.text.split())[:400]}\n    DuckDB: {query.duckdb[:20]}\n    ours:   {query.ours[:20]}"
        )
    print(f"{len(read)} of {len(files)} files, {compared} queries compared, {len(differ)} differ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
