"""The canonical form of JSON, against the examples of RFC 8785 and random values in random spellings. The cases are data."""

import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from headwater.model.canonical import canonical, number
from headwater.model.version import event_digest

CASES: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[2] / "cases/events/canonical.yaml").read_text(encoding="utf-8")
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


def respelled(value: Any, dice: random.Random) -> str:
    """The same value as other text: members in another order, other spaces and other escapes."""
    space = dice.choice(["", " ", "\n\t"])
    if isinstance(value, dict):
        members = list(value.items())
        dice.shuffle(members)
        inside = ",".join(f"{respelled(key, dice)}{space}:{respelled(each, dice)}" for key, each in members)
        return f"{{{space}{inside}{space}}}"
    if isinstance(value, list):
        return f"[{space}{','.join(respelled(each, dice) for each in value)}]"
    return json.dumps(value, ensure_ascii=dice.random() < 0.5)


def as_doubles(text: str | bytes) -> Any:
    return json.loads(text, parse_int=float)


@pytest.mark.parametrize("case", CASES["texts"], ids=[case["id"] for case in CASES["texts"]])
def test_case(case: dict[str, str]) -> None:
    assert canonical(case["text"].encode()).decode() == case["canonical"]
    assert canonical(case["canonical"].encode()).decode() == case["canonical"]


@pytest.mark.parametrize(("bits", "text"), CASES["numbers"].items())
def test_numbers_of_the_standard(bits: str, text: str) -> None:
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert bytes(number(repr(value))).decode() == text


@pytest.mark.parametrize("text", CASES["without"])
def test_without_a_canonical_form_the_bytes_are_the_identity(text: str) -> None:
    with pytest.raises(ValueError, match=r"no canonical form|beyond a double"):
        canonical(text.encode())
    assert event_digest(text.encode()) != event_digest(text.encode() + b" ")


def test_nesting_has_an_end() -> None:
    with pytest.raises(ValueError, match="no canonical form"):
        canonical(b"[" * 100_000 + b"]" * 100_000)


@given(values, st.randoms(use_true_random=False))
def test_other_words_have_the_same_form_and_value(value: Any, dice: random.Random) -> None:
    form = canonical(respelled(value, dice).encode())
    assert form == canonical(respelled(value, dice).encode())
    assert as_doubles(form) == as_doubles(json.dumps(value))
    assert canonical(form) == form


@given(values, values)
def test_other_values_have_other_forms(one: Any, other: Any) -> None:
    if canonical(json.dumps(one).encode()) == canonical(json.dumps(other).encode()):
        assert as_doubles(json.dumps(one)) == as_doubles(json.dumps(other))


@given(st.integers(), st.integers())
def test_integers_are_exact(one: int, other: int) -> None:
    assert (canonical(b"%d" % one) == canonical(b"%d" % other)) == (one == other)
