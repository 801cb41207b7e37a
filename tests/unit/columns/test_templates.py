"""The columns of templates: those behind a macro are unknown, and no others are."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from headwater.columns import analyse
from headwater.columns.script.template import plain

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[2] / "cases" / "columns" / "templates.yaml").read_text()
)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    assert len(plain(case["sql"]).text) == len(case["sql"])
    (one,) = analyse(case["sql"], "postgres")
    assert one.level.value == case["level"], one.warnings
    assert one.kind == case.get("kind", "SELECT")
    outputs = [output for flow in one.flows for output in flow.columns]
    said = {
        "reads": sorted(".".join(name) for name in one.reads),
        "outputs": [output.name for output in outputs],
        "edges": [f"{output.name} < {'.'.join((*i.table, i.field))}" for output in outputs for i in output.inputs],
        "rows": [".".join((*i.table, i.field)) for flow in one.flows for i in flow.rows],
        "unknown": [f"{left.name}: {left.reason}" for left in one.unresolved],
        "warnings": len(one.warnings),
    }
    for what, expected in case.items():
        if what in said:
            assert said[what] == expected, what


def test_names_of_one_text_are_none_of_the_next() -> None:
    (one,) = analyse("SELECT {{ c }} AS x, c FROM t", "postgres")
    (other,) = analyse("SELECT c FROM t", "postgres")
    assert one.flows[0].columns[1].inputs
    assert other.flows[0].columns[0].inputs


def test_a_table_that_a_macro_is_made_of_keeps_its_meaning() -> None:
    found = plain("WITH {{ deduplicated(source=source('s', 't')) }}, r AS (SELECT a FROM deduplicated) SELECT a FROM r")
    assert found.stands == {"deduplicated": "t"}
    assert found.names["t"] == ("source", "s.t")


PIECES = st.sampled_from(
    ["{{ m() }}", "{{ m('q') }}", "{{ m([('a', 'b')]) }}", "{{ v }}", "{{ ref('t') }}", "WITH", "q AS (", "SELECT a", "*", "FROM", "WHERE",
     "AND", "UNION ALL", "(", ")", ",", ";", "'", "--", "/*", "\n", "q", "{% if x %}", "{% if not x %}", "{% endif %}", "{% else %}"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=14).map(" ".join))
def test_never_raises_and_keeps_the_shape(text: str) -> None:
    found = plain(text).text
    assert len(found) == len(text)
    assert [at for at, char in enumerate(found) if char == "\n"] == [at for at, char in enumerate(text) if char == "\n"]
    for one in analyse(text, "snowflake"):
        assert not any("defect" in warning or "TypeError" in warning for warning in one.warnings)


@pytest.mark.parametrize(
    "part", ["{{ m() }} ", "{{ m() }}, q AS (", "WITH q AS (SELECT 1) {{ m('q') }} ", "({{ m() }}) ", "{% if not x %} {% endif %}"]
)  # fmt: skip
def test_long_templates(part: str) -> None:
    assert len(plain(part * 5_000).text) == len(part) * 5_000
