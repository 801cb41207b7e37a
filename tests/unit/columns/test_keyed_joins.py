"""LEFT JOINs that decide about no row, by cases/columns/keyed_joins.yaml."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from headwater.columns.shape.keyed_joins import strip_keyed_joins

_FILE = yaml.safe_load((Path(__file__).parents[2] / "cases/columns/keyed_joins.yaml").read_text(encoding="utf-8"))
KEYS = {tuple(name.split(".")): [frozenset(key) for key in keys] for name, keys in _FILE["keys"].items()}


@pytest.mark.parametrize("case", _FILE["cases"], ids=lambda case: str(case["text"]))
def test_a_join_is_stripped_only_if_it_decides_about_no_row(case: dict[str, Any]) -> None:
    stripped = strip_keyed_joins(case["text"], "postgres", KEYS)
    found = sorted(".".join(table) for table in stripped.joins) if stripped else []
    assert found == case.get("stripped", [])
    if stripped and found:
        assert "left join" not in stripped.text.lower()
