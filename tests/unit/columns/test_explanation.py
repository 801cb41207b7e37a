"""The table of kinds in docs/explanation/columns.md, row by row."""

from collections.abc import Iterable

import pytest

from headwater.columns import Input, analyse
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


def spark(text: str) -> tuple[dict[str, set[str]], set[str]]:
    """Return the kinds of a query's outputs, and of what decides about its rows: a description is marked."""
    (flow,) = analyse(text, "spark")[0].flows

    def words(inputs: Iterable[Input]) -> set[str]:
        return {
            f"{one.field} {kind.subtype}{' unseen' if kind.description else ''}"
            for one in inputs
            for kind in one.transformations
        }

    return {one.name: words(one.inputs) for one in flow.columns}, words(flow.rows)


def test_the_inside_of_a_script_is_not_seen() -> None:
    script = "(select transform(a + 1, case when b then c end) using 'x' as (p) from o)"
    columns, rows = spark(
        f"select sum(p) as total, max(case when p > 1 then q end) as r from {script} s, t where p > 2"
    )
    assert columns["total"] == {"a AGGREGATION unseen", "b CONDITIONAL", "c AGGREGATION unseen"}
    assert columns["r"] == {"a CONDITIONAL", "b CONDITIONAL", "c CONDITIONAL", "q AGGREGATION"}
    assert rows == {"a FILTER", "b FILTER", "c FILTER"}


@pytest.mark.parametrize("grouped", ["window(at, '5 minutes')", "k, window(at, '5 minutes')"])
def test_a_window_of_time_leaves_out_rows_without_one(grouped: str) -> None:
    columns, rows = spark(
        f"select window.start, date(window.end) as day, window, max(b) as b from o group by {grouped} having window.end > 1"
    )
    begun = {"at TRANSFORMATION", "at CONDITIONAL"}
    assert columns == {"start": begun, "day": begun, "window": begun, "b": {"b AGGREGATION"}}
    assert rows - {"k GROUP_BY"} == {"at FILTER", "at GROUP_BY"}


def test_a_session_of_time() -> None:
    columns, rows = spark(
        "select session_window.end, k from o group by k, session_window(at, case when g then '5 s' end)"
    )
    assert columns == {"end": {"at TRANSFORMATION", "g CONDITIONAL"}, "k": {"k IDENTITY"}}
    assert rows == {"k GROUP_BY", "at GROUP_BY", "g GROUP_BY", "at FILTER", "g FILTER"}


def test_a_window_in_a_subquery_decides_about_its_rows_alone() -> None:
    columns, rows = spark("select a, (select max(window(p.at, '5 s').start) from p) as m from o")
    assert columns == {"a": {"a IDENTITY"}, "m": {"at AGGREGATION", "at CONDITIONAL", "at FILTER"}}
    assert rows == set()


def test_any_is_an_aggregate_where_nothing_is_compared_with_it() -> None:
    columns, rows = spark("select any(a) as x, k from o group by all having any(b)")
    assert columns == {"x": {"a AGGREGATION"}, "k": {"k IDENTITY"}}
    assert rows == {"k GROUP_BY", "b FILTER"}
