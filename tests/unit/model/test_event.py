"""Reading events: what text may hold."""

import json

from hypothesis import given
from hypothesis import strategies as st

from headwater.model.event import repaired


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_what_is_sound_is_not_touched(value: object) -> None:
    for ascii_only in (True, False):
        body = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
        assert repaired(body) == body


@given(st.text(st.characters(categories=["Cs", "Lu", "So"], include_characters='\\"u')))
def test_what_is_broken_can_be_read_afterwards(text: str) -> None:
    """Lone surrogates anywhere, beside backslashes and the letter u."""
    import msgspec

    body = json.dumps(text).encode()
    assert isinstance(msgspec.json.decode(repaired(body)), str)
