"""Statements over the dialects against what they mean, worked out by hand: tests/cases/columns/statements.json.

A case is a dialect, a text, and for each statement its kind, reads, writes and flows. A column's inputs are written `table.column KIND+KIND`,
with `:path` after the column and `*` after a masked kind; a name that stays open is written with its candidates.
`python -m tests.unit.columns.test_statements` writes the file again from what the engine says: read the difference before keeping it.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from headwater.columns import Catalog, Flow, Input, Statement, analyse

FILE = Path(__file__).parents[2] / "cases" / "columns" / "statements.json"
CONTENT = json.loads(FILE.read_text(encoding="utf-8"))
SCHEMAS: dict[str, list[str]] = CONTENT["schemas"]
CASES: list[dict[str, Any]] = CONTENT["cases"]


def _input(one: Input) -> str:
    kinds = "+".join(found.subtype + ("*" if found.masking else "") for found in one.transformations)
    return f"{'.'.join((*one.table, one.field))}{':' + one.path if one.path else ''} {kinds}"


def _flow(flow: Flow) -> dict[str, Any]:
    said: dict[str, Any] = {
        "to": ".".join(flow.target) if flow.target else None,
        "action": flow.action,
        "columns": [[column.name, [_input(one) for one in column.inputs]] for column in flow.columns],
    }
    if flow.rows:
        said["rows"] = [_input(one) for one in flow.rows]
    return said


def said(statement: Statement) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": statement.kind,
        "level": statement.level.value,
        "reads": [".".join(name) for name in statement.reads],
        "writes": [".".join(name) for name in statement.writes],
        "flows": [_flow(flow) for flow in statement.flows],
    }
    if statement.changes:
        found["changes"] = [
            " ".join([one.action, ".".join(one.table), *([".".join(one.other)] if one.other else [])])
            for one in statement.changes
        ]
    if statement.unresolved:
        found["open"] = [[one.name, [_input(each) for each in one.candidates]] for one in statement.unresolved]
    return found


def _statements(case: dict[str, Any]) -> list[dict[str, Any]]:
    return [said(one) for one in analyse(case["sql"], case["dialect"], Catalog(SCHEMAS, case["dialect"]))]


@pytest.mark.parametrize("case", CASES, ids=[f"{case['dialect'] or 'sql'}-{place}" for place, case in enumerate(CASES)])
def test_a_statement_means(case: dict[str, Any]) -> None:
    assert _statements(case) == case["statements"]


def test_no_statement_is_a_defect() -> None:
    warnings = [
        warning
        for case in CASES
        for one in analyse(case["sql"], case["dialect"], Catalog(SCHEMAS, case["dialect"]))
        for warning in one.warnings
    ]
    assert not [warning for warning in warnings if "defect" in warning]


def test_a_catalog_serves_every_dialect() -> None:
    known = Catalog({"db.t": ["a", "b"]})
    for dialect in ("snowflake", "postgres", "clickhouse", "spark"):
        (one,) = analyse("select * from db.t", dialect, known)
        assert [column.inputs[0].field for column in one.flows[0].columns] == ["a", "b"]
        (other,) = analyse("select u.k, b from db.t join u on u.k = t.a", dialect, known)
        assert not other.unresolved


if __name__ == "__main__":
    for written in CASES:
        written["statements"] = _statements(written)
    lines = ",\n".join(json.dumps(written, ensure_ascii=False) for written in CASES)
    FILE.write_text(f'{{"schemas": {json.dumps(SCHEMAS)},\n"cases": [\n{lines}\n]}}\n', encoding="utf-8")
