"""Changes of schemas, and statements that may not run."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from headwater.columns import Session, analyse

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/columns/schema_changes.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['dialect']}: {case['sql'][:60]}")
def test_changes(case: dict[str, Any]) -> None:
    found = analyse(case["sql"], case["dialect"])
    schemas = [
        [change.action, ".".join(change.schema), *([".".join(change.other)] if change.other else [])]
        for one in found
        for change in one.schema_changes
    ]
    assert schemas == case.get("schemas", [])
    changes = [
        f"{change.action} {'.'.join(change.table)}{' maybe' * one.conditional}"
        for one in found
        for change in one.changes
    ]
    assert changes == case.get("changes", [])


def test_a_later_star_is_read_under_the_schemas_new_name() -> None:
    session = Session()
    analyse("create table a.t (x int, y int); alter schema a rename to b", "postgres", session=session)
    (made,) = analyse("create table c as select * from b.t", "postgres", session=session)
    assert [one.name for one in made.flows[0].columns] == ["x", "y"]


def test_a_schema_has_the_sessions_database() -> None:
    (found,) = analyse("alter schema a rename to b", "postgres", session=Session(database="db"))
    assert found.schema_changes[0].schema == ("db", "a")
