"""Edits that give other values whatever the data hold, beside those that only some data show."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from headwater.columns.shape.same_result import written_result
from headwater.columns.shape.sure_change import surely_changed, surely_other_rows

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/columns/sure_changes.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['old']} → {case['new']}")
def test_only_what_no_data_can_hide_is_sure(case: dict[str, Any]) -> None:
    for old, new in ((case["old"], case["new"]), (case["new"], case["old"])):
        before, now = written_result(old, "postgres"), written_result(new, "postgres")
        assert before is not None
        assert now is not None
        assert before != now or case["sure"] == []
        rows = surely_other_rows(before, now, lambda name: name != "model")
        assert ("rows" if rows else sorted(surely_changed(before, now))) == case["sure"], (before, now)
