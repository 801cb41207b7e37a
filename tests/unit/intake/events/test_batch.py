"""A batch is split into its events, whatever is wrong with one of them."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import InvalidEvent
from headwater.intake.events.batch import Batch, _split_by_brackets, split_batch

CASES = Path(__file__).parents[3] / "cases" / "events" / "damaged_batches.yaml"
json_values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(json_values), st.sampled_from([None, 1]))
def test_both_ways_split_alike(values: list[Any], indent: int | None) -> None:
    body = json.dumps(values, indent=indent).encode()
    for batch in (split_batch(body), _split_by_brackets(body)):
        assert [json.loads(part) for part in batch.elements] == values
        assert batch.damage is None


@given(st.lists(json_values, max_size=5), st.lists(json_values, max_size=5))
def test_an_element_that_cannot_be_read_leaves_its_neighbours(before: list[Any], after: list[Any]) -> None:
    for bad in (b"NaN", b'{"a": Infinity}', b"[" * 5000 + b"]" * 5000, b'{"a": 1,}', b"nonsense", b'{"a" 1}', b""):
        parts = [json.dumps(value).encode() for value in before] + [bad] + [json.dumps(v).encode() for v in after]
        if len(parts) > 1 or bad:
            assert split_batch(b"[" + b",".join(parts) + b"]") == Batch(parts)


@pytest.mark.parametrize(
    "body", [b"", b"{}", b'{"a": [NaN]}', b"NaN]", b'"[', b'{"a": 1}\n{"a": 2}', b"\xef\xbb\xbf{}"]
)
def test_what_is_no_array_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidEvent, match="send an array of events"):
        split_batch(body)


@pytest.mark.parametrize("case", yaml.safe_load(CASES.read_text()), ids=lambda case: case["body"][:40])
def test_elements_before_damage_are_whole(case: dict[str, Any]) -> None:
    body = case["body"].encode("latin-1")
    batch = split_batch(body)
    assert [part.decode("latin-1") for part in batch.elements] == case["elements"]
    assert batch.damage is not None
    assert (batch.damage.index, case["reason"] in batch.damage.reason) == (len(batch.elements), True), batch.damage
    assert body[batch.damage.offset :].decode("latin-1") == case["rest"]


@given(st.lists(st.dictionaries(st.text(), json_values, max_size=3), min_size=1, max_size=4), st.data())
def test_a_batch_cut_anywhere_keeps_what_came_before(values: list[Any], data: st.DataObject) -> None:
    body = json.dumps(values, ensure_ascii=data.draw(st.booleans())).encode()
    cut = data.draw(st.integers(1, len(body) - 1))
    batch = split_batch(body[:cut])
    assert batch.damage is not None
    kept = [json.loads(part) for part in batch.elements]
    assert kept == values[: len(kept)]
    offsets = [len(json.dumps(values[: n + 1], ensure_ascii=False).encode()) for n in range(len(values))]
    if json.dumps(values, ensure_ascii=False).encode() == body:
        assert len(kept) == sum(end <= cut + 1 for end in offsets)


def test_brackets_without_end_are_not_counted_for_ever() -> None:
    batch = split_batch(b"[" + b"[]," * 3_000_000 + b"NaN]")
    assert batch.damage is not None
    assert "too large" in batch.damage.reason


@pytest.mark.parametrize(("body", "parts"), [(b"[]", []), (b" [ ] ", []), (b"[NaN]", [b"NaN"]), (b"[,]", [b"", b""])])
def test_few(body: bytes, parts: list[bytes]) -> None:
    assert split_batch(body) == Batch(parts)
