"""Classes of texts that were once read wrongly and called full: tests/cases/columns/classes.yaml, a class with a dozen texts over the dialects.

`python -m tests.unit.columns.test_classes` writes the file again from what the engine says: read the difference before keeping it.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from headwater.columns import Input, Session, Statement, analyse
from headwater.columns.session import Conventions

FILE = Path(__file__).parents[2] / "cases" / "columns" / "classes.yaml"
CLASSES: dict[str, list[dict[str, Any]]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
CASES = [(name, case) for name, cases in CLASSES.items() for case in cases]


def as_words(one: Input) -> str:
    kinds = "+".join(found.subtype for found in one.transformations)
    return f"{'.'.join((*one.table, one.field))}{':' + one.path if one.path else ''} {kinds}"


def said(statement: Statement) -> dict[str, Any]:
    found: dict[str, Any] = {"level": statement.level.value}
    columns: dict[str, set[str]] = {}
    for flow in statement.flows:
        for output in flow.columns:
            columns.setdefault(output.name, set()).update(as_words(one) for one in output.inputs)
    told = {
        "reads": [".".join(name) for name in statement.reads],
        "writes": [".".join(name) for name in statement.writes],
        "columns": {name: sorted(inputs) for name, inputs in columns.items()},
        "rows": sorted({as_words(one) for flow in statement.flows for one in flow.rows}),
        "open": {left.name: [as_words(one) for one in left.candidates] for left in statement.unresolved},
        "partitions": [f"{'.'.join(table)} {part}" for table, part in statement.partitions],
        "warnings": list(statement.warnings),
    }
    return found | {key: value for key, value in told.items() if value}


def _statements(case: dict[str, Any]) -> list[dict[str, Any]]:
    conventions = Conventions(**case.get("conventions", {}))
    session = Session(through_views=case.get("through_views", False), conventions=conventions)
    return [said(one) for one in analyse(case["sql"], case["dialect"], None, session)]


@pytest.mark.parametrize(("name", "case"), CASES, ids=[f"{name}: {case['sql'][:50]}" for name, case in CASES])
def test_a_text_of_a_class_means(name: str, case: dict[str, Any]) -> None:
    assert _statements(case) == case["statements"]


def test_every_class_has_ten_texts() -> None:
    assert {name: len(cases) for name, cases in CLASSES.items() if len(cases) < 10} == {}


if __name__ == "__main__":
    for _, written in CASES:
        written["statements"] = _statements(written)
    head = FILE.read_text(encoding="utf-8").split("\n", 1)[0]
    FILE.write_text(f"{head}\n{yaml.safe_dump(CLASSES, sort_keys=False, width=150)}", encoding="utf-8")
