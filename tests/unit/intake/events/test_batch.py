"""A batch is split into its events, whatever is wrong with one of them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import InvalidEvent
from headwater.intake.events.batch import _split_by_brackets, split_batch

json_values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(json_values), st.sampled_from([None, 1]))
def test_both_ways_split_alike(values: list[Any], indent: int | None) -> None:
    body = json.dumps(values, indent=indent).encode()
    assert [json.loads(part) for part in split_batch(body)] == values
    parts = _split_by_brackets(body)
    assert parts is not None
    assert [json.loads(part) for part in parts] == values


@given(st.lists(json_values, max_size=5), st.lists(json_values, max_size=5))
def test_an_element_that_cannot_be_read_leaves_its_neighbours(before: list[Any], after: list[Any]) -> None:
    for bad in (b"NaN", b'{"a": Infinity}', b"[" * 5000 + b"]" * 5000, b'{"a": 1,}', b"nonsense", b'{"a" 1}', b""):
        parts = [json.dumps(value).encode() for value in before] + [bad] + [json.dumps(v).encode() for v in after]
        if len(parts) > 1 or bad:
            assert split_batch(b"[" + b",".join(parts) + b"]") == parts


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{}", b'{"a": [NaN]}', b"[NaN", b"NaN]", b"[NaN}", b"[{NaN]}", b"[NaN]]", b"[NaN] [1]", b'["a, NaN]', b"[NaN], [1]", b"[[NaN]",
    ],
)  # fmt: skip
def test_what_is_no_array_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidEvent, match="send an array of events"):
        split_batch(body)


def test_brackets_without_end_are_not_counted_for_ever() -> None:
    with pytest.raises(InvalidEvent):
        split_batch(b"[" + b"[]," * 3_000_000 + b"NaN]")


@pytest.mark.parametrize(("body", "parts"), [(b"[]", []), (b" [ ] ", []), (b"[NaN]", [b"NaN"]), (b"[,]", [b"", b""])])
def test_few(body: bytes, parts: list[bytes]) -> None:
    assert split_batch(body) == parts
