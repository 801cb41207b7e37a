"""Columns that a grouped query may not select: read from cases."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from headwater.columns.shape.grouping import ungrouped_columns

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/columns/ungrouped.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["sql"])
def test_columns_beside_a_group(case: dict[str, Any]) -> None:
    assert sorted(ungrouped_columns(case["sql"], "postgres")) == case["columns"]


def test_what_takes_any_row_refuses_none() -> None:
    assert not ungrouped_columns("select a, count(*) from t", "mysql")
    assert not ungrouped_columns("select a, count(*) from {{ f('t') }}", "postgres")
    assert not ungrouped_columns("select (", "postgres")
