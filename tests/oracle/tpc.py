"""The TPC queries and what Spark says their columns depend on.

`python -m tests.oracle.tpc` writes tests/cases/columns/tpc/SUITE.json again, from Spark's analyzer and the texts of scripts/corpus.
The texts are not ours to keep; the edges are.
"""

import json
from pathlib import Path
from typing import Any

import msgspec

from tests.oracle.analyzer import Analyzer
from tests.oracle.edges import Edges
from tests.oracle.session import start

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / ".tools" / "corpus"
EXPECTED = ROOT / "tests" / "cases" / "columns" / "tpc"
SUITES = ("tpc-ds", "tpc-h")


def texts(suite: str) -> dict[str, str]:
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted((CORPUS / suite).glob("*.sql"))}


def schemas(suite: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads((CORPUS / suite / "schema.json").read_text(encoding="utf-8"))
    return found


def expected(suite: str) -> dict[str, Edges]:
    return msgspec.json.decode((EXPECTED / f"{suite}.json").read_bytes(), type=dict[str, Edges])


def written(cases: dict[str, Any]) -> str:
    """One line for each case's column, so that a change can be read."""
    parts = []
    for name, edges in cases.items():
        columns = ",\n    ".join(json.dumps(column) for column in edges.columns)
        parts.append(f' "{name}": {{\n  "columns": [\n    {columns}],\n  "rows": {json.dumps(edges.rows)}}}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> None:
    spark = start()
    EXPECTED.mkdir(parents=True, exist_ok=True)
    for suite in SUITES:
        analyzer = Analyzer(spark, schemas(suite), suite.replace("-", ""))
        cases = {name: analyzer.edges(text) for name, text in texts(suite).items()}
        (EXPECTED / f"{suite}.json").write_text(written(cases), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main()
