"""The table of kinds in docs/explanation/columns.md, row by row."""

import pytest

from headwater.columns import analyse
from headwater.columns.kinds import transformations


def kinds_of(expression: str, rest: str = "") -> dict[str, str]:
    (statement,) = analyse(f"SELECT {expression} AS x FROM o {rest}")
    (flow,) = statement.flows
    return {
        one.field: ", ".join(kind.subtype + (" masked" if kind.masking else "") for kind in transformations(one.kinds))
        for one in flow.columns[0].inputs
    }


def rows_of(rest: str) -> dict[str, str]:
    (statement,) = analyse(f"SELECT o.a {rest}")
    return {f"{one.table[-1]}.{one.field}": one.transformations[0].subtype for one in statement.flows[0].rows}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("(a)", {"a": "IDENTITY"}),
        ("a + 1", {"a": "TRANSFORMATION"}),
        ("CAST(a AS int)", {"a": "TRANSFORMATION"}),
        ("coalesce(a, b)", {"a": "TRANSFORMATION", "b": "TRANSFORMATION"}),
        ("lag(a) OVER (PARTITION BY p ORDER BY q)", {"a": "TRANSFORMATION", "p": "WINDOW", "q": "WINDOW"}),
        ("sum(a) / 2", {"a": "AGGREGATION"}),
        ("sum(a) OVER (PARTITION BY p)", {"a": "AGGREGATION", "p": "WINDOW"}),
        ("CASE WHEN k > 0 THEN a ELSE b END", {"a": "TRANSFORMATION", "b": "TRANSFORMATION", "k": "CONDITIONAL"}),
        ("sum(a) FILTER (WHERE k > 0)", {"a": "AGGREGATION", "k": "CONDITIONAL"}),
        ("nullif(a, b)", {"a": "TRANSFORMATION, CONDITIONAL", "b": "CONDITIONAL"}),
        ("string_agg(a, ',' ORDER BY b)", {"a": "AGGREGATION", "b": "SORT"}),
        ("percentile_cont(0.5) WITHIN GROUP (ORDER BY a)", {"a": "AGGREGATION"}),
        ("count(*)", {}),
        ("row_number() OVER (ORDER BY q)", {"q": "WINDOW"}),
        ("current_date", {}),
        ("md5(a)", {"a": "TRANSFORMATION masked"}),
        ("max(md5(upper(a)))", {"a": "AGGREGATION masked"}),
        ("EXISTS (SELECT 1 FROM u WHERE u.i = o.a)", {"a": "FILTER", "i": "FILTER"}),
        ("nobody_knows_this(a, b)", {"a": "TRANSFORMATION", "b": "TRANSFORMATION"}),
    ],
)
def test_kinds_of_values(expression: str, expected: dict[str, str]) -> None:
    assert kinds_of(expression) == expected


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("FROM o WHERE o.k > 0", {"o.k": "FILTER"}),
        ("FROM o GROUP BY o.a HAVING max(o.k) > 0", {"o.a": "GROUP_BY", "o.k": "FILTER"}),
        ("FROM o QUALIFY row_number() OVER (PARTITION BY o.p) = 1", {"o.p": "FILTER"}),
        ("FROM o JOIN u ON o.i = u.i", {"o.i": "JOIN", "u.i": "JOIN"}),
        ("FROM o JOIN u USING (i)", {"o.i": "JOIN", "u.i": "JOIN"}),
        ("FROM o ORDER BY o.s", {"o.s": "SORT"}),
    ],
)
def test_kinds_of_what_decides_about_rows(rest: str, expected: dict[str, str]) -> None:
    assert rows_of(rest) == expected
