"""The schema of a table after a write that may give it columns."""

from typing import Any

import pytest

from headwater.capture.spark.dependencies import SAME, Source, without
from headwater.capture.spark.evolution import extended, is_replaced


def fields(*names: str, **inner: list[dict[str, Any]]) -> list[dict[str, Any]]:
    made = [{"name": name, "type": "int", "ordinal_position": place} for place, name in enumerate(names, 1)]
    return [one | ({"fields": inner[one["name"]]} if one["name"] in inner else {}) for one in made]


@pytest.mark.parametrize(
    ("before", "query", "after"),
    [
        (fields("id", "b"), fields("id", "b"), fields("id", "b")),
        (fields("id", "b"), fields("b"), fields("id", "b")),
        (fields("id", "b"), fields("c", "ID"), fields("id", "b", "c")),
        (fields("s", s=fields("x")), fields("s", s=fields("y", "x")), fields("s", s=fields("x", "y"))),
        ([], fields("a", "b"), fields("a", "b")),
        (fields("a"), [], fields("a")),
    ],
)
def test_a_table_keeps_its_columns_and_gets_those_that_it_lacks(
    before: list[dict[str, Any]], query: list[dict[str, Any]], after: list[dict[str, Any]]
) -> None:
    given = [dict(one) for one in before], [dict(one) for one in query]
    assert extended(before, query) == after
    assert given == (before, query)


@pytest.mark.parametrize(
    ("options", "replaced"),
    [
        ({"overwriteSchema": "true"}, True),
        ({"overwriteschema": True}, True),
        ({"overwriteSchema": "False"}, False),
        ({}, False),
    ],
)
def test_an_overwrite_says_when_it_replaces_the_schema(options: dict[str, Any], replaced: bool) -> None:
    assert is_replaced(options) is replaced


def test_a_new_column_has_no_earlier_values() -> None:
    """Neither it nor a field inside it; the same column of another table has."""
    hows = frozenset((SAME,))
    depends = {
        Source("t", "new"): hows,
        Source("t", "new.x"): hows,
        Source("t", "news"): hows,
        Source("s", "new"): hows,
    }
    assert without(depends, ["t"], ["new"]) == {Source("t", "news"): hows, Source("s", "new"): hows}
