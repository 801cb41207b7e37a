"""The report of `headwater doctor` on its findings."""

from typing import Any

import pytest

from headwater.cli.serve import checks


def test_thousands_of_missing_links_are_not_listed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    misses = [{"read": "dataset:file:/in/a.csv", "written": f"dataset:file:/out/{n}.csv"} for n in range(3000)]

    def get(*_: Any) -> dict[str, Any]:
        return {"near_misses": misses}

    monkeypatch.setattr(checks.server, "get", get)
    said = list(checks._links(None))
    assert len(said) == 21
    assert said[-1].finding.startswith("2,980 more")
