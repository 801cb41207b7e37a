"""A review names what breaks by the number of a table's columns (a `*` in a UNION or an INSERT) or by RETURNING."""

from pathlib import Path

import pytest

from headwater.cli.review.sides import compare_with
from headwater.cli.sql.reading import Options

QUERIES = {
    "union": "select id, code from a union all select * from b",
    "copy": "insert into sink select * from b",
    "delete": "delete from b where id = 3 returning code",
    "alias": "delete from b where id = 3 returning id as code",
    "inside": "select id from a union all select id from (select * from b) x",
    "count": "select count(*) from b union all select id from a",
    "whole": "select row_to_json(b) from b",
}


@pytest.mark.parametrize(
    ("columns", "breaks"),
    [
        ("id, code, extra", {"union", "copy"}),
        ("id", {"union", "copy", "delete"}),
        ("id, code as other", {"delete"}),
        ("id, code", set()),
    ],
)
def test_what_the_number_of_columns_breaks(
    columns: str, breaks: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for side, list_ in (("base", "id, code"), ("head", columns)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "b.sql").write_text(f"create table b as select {list_} from src", encoding="utf-8")
        for name, text in QUERIES.items():
            (tmp_path / side / f"{name}.sql").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "head")
    review, _, _ = compare_with("../base", ["."], Options(dialect="postgres"))
    found = {Path(one.place).stem: one.severity for one in review.affected}
    assert {name for name, severity in found.items() if severity == "breaks"} == breaks
