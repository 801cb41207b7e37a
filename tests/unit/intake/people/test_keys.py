"""Keys as text: what is one, and how long one lasts."""

import datetime as dt

import pytest

from headwater.errors import InvalidQuestion
from headwater.intake.people import keys


@pytest.mark.parametrize(("text", "hours"), [("12h", 12), ("90d", 2160), ("4w", 672), ("1y", 8760), (" 1d ", 24)])
def test_a_span_of_time(text: str, hours: int) -> None:
    assert keys.age(text) == dt.timedelta(hours=hours)


@pytest.mark.parametrize("text", ["", "0d", "90", "d", "-1d", "1.5d", "90days", "101y", "99999y", "٣d9"])
def test_what_is_no_span_of_time(text: str) -> None:
    with pytest.raises(InvalidQuestion):
        keys.age(text)


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("hw_0123456789ab_" + "x" * 43, "0123456789ab"),
        ("hw_0123456789AB_" + "x" * 43, None),
        ("hw_0123456789ab_", None),
        ("hw_0123456789ab_" + "x" * 43 + "\n", None),
        ("0123456789ab", None),
    ],
)
def test_the_id_in_a_key(text: str, id: str | None) -> None:
    assert keys.id_of(text) == id


def test_a_digest_is_of_one_key_only() -> None:
    assert keys.same(keys.digest_of("a"), "a")
    assert not keys.same(keys.digest_of("a"), "b")
    assert not keys.same(b"", "a")
