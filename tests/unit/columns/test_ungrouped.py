"""Columns that a grouped query may not select: read from cases."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from headwater.columns.shape.grouping import refused_groups

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/columns/ungrouped.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["sql"])
def test_columns_beside_a_group(case: dict[str, Any]) -> None:
    columns = [f"selects {one}, which is neither grouped nor aggregated" for one in case["columns"]]
    aggregates = [f"groups by the aggregate {one}" for one in case.get("aggregates", ())]
    assert sorted(refused_groups(case["sql"], "postgres")) == [*aggregates, *columns]


def test_what_takes_any_row_refuses_none() -> None:
    assert not refused_groups("select a, count(*) from t", "mysql")
    assert not refused_groups("select a, count(*) from {{ f('t') }}", "postgres")
    assert not refused_groups("select (", "postgres")
