"""Differences of JSON values and of schemas."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headwater.model.facets import Field
from headwater.model.json_diff import Change, diff
from headwater.model.ordering import longest_increasing
from headwater.model.schema_diff import Moved, Retyped, schema_diff

values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "/~"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "key", "a/b", "c~"]), inner, max_size=3)
        | st.lists(st.sampled_from("abcd"), unique=True, max_size=4).map(lambda names: [{"name": n} for n in names])
    ),
    max_leaves=12,
)


def strictly(value: Any) -> Any:
    """Equal exactly when the JSON is: Python thinks that True is 1."""
    if isinstance(value, list):
        return [strictly(item) for item in value]
    if isinstance(value, dict):
        return {key: strictly(item) for key, item in value.items()}
    return (type(value).__name__, value)


@given(values, values)
def test_empty_exactly_when_equal(before: Any, after: Any) -> None:
    assert diff(before, copy.deepcopy(before)) == []
    assert (diff(before, after) == []) == (strictly(before) == strictly(after))


def test_columns_are_told_apart_by_name() -> None:
    before = {"fields": [{"name": "a", "type": "int"}, {"name": "b/c", "type": "int"}, {"name": "gone"}]}
    after = {"fields": [{"name": "new"}, {"name": "a", "type": "int"}, {"name": "b/c", "type": "long"}]}
    assert diff(before, after) == [
        Change("/fields/gone", "removed", {"name": "gone"}),
        Change("/fields/new", "added", None, {"name": "new"}),
        Change("/fields/b~1c/type", "changed", "int", "long"),
    ]
    assert diff([{"name": "a"}, {"name": "b"}, {"name": "c"}], [{"name": "c"}, {"name": "a"}, {"name": "b"}]) == [
        Change("/c", "moved", 2, 0)
    ]
    assert diff([1, 2], [1, 3, 4]) == [Change("/1", "changed", 2, 3), Change("/2", "added", None, 4)]
    assert diff(1, True) == [Change("", "changed", 1, True)]


def test_schemas() -> None:
    before = [Field("a", "int", None), Field("b", "int", "was"), Field("c", "int", None), Field("d", None, None)]
    after = [Field("d", None, None), Field("e", "x", None), Field("a", "long", None), Field("b", "int", "is")]
    told = schema_diff(before, after)
    assert (told.same, told.added, told.removed) == (False, [after[1]], [before[2]])
    assert told.retyped == [Retyped("a", "int", "long")]
    assert told.redescribed == [Retyped("b", "was", "is")]
    assert told.moved == [Moved("d", 3, 0)]
    assert schema_diff(before, before).same


@given(st.permutations(list(range(7))))
def test_longest_increasing(values: list[int]) -> None:
    found = longest_increasing(values)
    assert found == sorted(found)
    assert [v for v in values if v in found] == found
    best = max(
        bin(mask).count("1")
        for mask in range(128)
        if (s := [v for i, v in enumerate(values) if mask >> i & 1]) == sorted(s)
    )
    assert len(found) == best
