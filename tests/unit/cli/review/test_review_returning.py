"""A review judges RETURNING as what-if does: by the columns that it gives back, not by its words."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from headwater.cli.review.results import Affected
from headwater.cli.review.sides import compare_with
from headwater.cli.sql.reading import Options

CASES = yaml.safe_load((Path(__file__).parents[3] / "cases/whatif/returning.yaml").read_text(encoding="utf-8"))


def reviewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str, query: str) -> list[Affected]:
    for side, columns in (("base", before), ("head", after)):
        (tmp_path / side).mkdir()
        for name, text in (
            ("a", "create table shop.a as select id, qty from raw.a"),
            ("b", f"create table shop.b as select {columns} from raw.b"),
            ("query", query),
        ):
            (tmp_path / side / f"{name}.sql").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "head")
    review, _, _ = compare_with("../base", ["."], Options(dialect="postgres"))
    return [one for one in review.affected if one.place == "query.sql"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["sql"])
def test_a_lost_column_breaks_what_returns_it(
    case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = reviewed(tmp_path, monkeypatch, "id, qty, note", "id, note", case["sql"])
    assert any(one.severity == "breaks" for one in found) == bool(case["breaks"]), found
    if case["breaks"]:
        assert [one.certain for one in found] == [case["breaks"] != "unsure"], found


@pytest.mark.parametrize(
    ("query", "notices"),
    [
        ("delete from shop.b where id = 3 returning qty", True),
        ("delete from shop.b where id = 3 returning note as qty", False),
        ("update shop.b set note = 'x' from shop.a where a.id = b.id returning a.qty", False),
    ],
)
def test_other_values_of_a_column_reach_what_returns_it(
    query: str, notices: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = reviewed(tmp_path, monkeypatch, "id, qty, note", "id, qty * 2 as qty, note", query)
    assert [one.severity for one in found] == (["changes_values"] if notices else [])
