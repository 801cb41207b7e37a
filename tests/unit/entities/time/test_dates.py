"""The language of `dates`: what means the same, and what is refused, where, and with which advice."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.entities.time.dates import Dates, Meaning, parse
from headwater.errors import InvalidDates

REFUSED = json.loads((Path(__file__).parents[3] / "cases/entities/dates_refused.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("-1w", "same - 7 days"),
        ("-1w", "  SAME  -  7d "),
        ("previous", "previous 1"),
        ("last_available", "last_available 1"),
        ("last 1 year", "last 12 months"),
        ("last 2 weeks", "last 14d"),
        ("last 48 hours", "last 48h"),
        ("last 2h", "last 120 minutes"),
        ("last 1 quarter", "last 3mo"),
        ("from -1mo-2d to 0d", "from -1mo 2d to 0h"),
        ("from -7d to -7d", "-1w"),
        ("from 0d to 0d", "same"),
        ("last 30 days - 7 days", "last 4 weeks 2 days - 1w"),
    ],
)
def test_what_means_the_same(one: str, other: str) -> None:
    assert parse(one) == parse(other)
    assert hash(parse(one)) == hash(parse(other))


def test_what_does_not() -> None:
    assert parse("last 1 month") != parse("last 30 days")
    assert parse("last 24 hours") != parse("last 1 day")
    assert parse("last 30 days - 7 days") != parse("last 23 days")


@pytest.mark.parametrize(("text", "column", "why"), REFUSED, ids=[text for text, _, _ in REFUSED])
def test_refused(text: str, column: int, why: str) -> None:
    with pytest.raises(InvalidDates) as told:
        parse(text)
    assert why in told.value.message
    assert told.value.detail == {"text": text, "column": column}
    assert f"column {column}" in told.value.message


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"dates": "same", "stirct": "within"}, "no 'stirct'"),
        ({"dates": "same", "strict": "yes"}, "write overlap or within"),
        ({"dates": "previous", "strict": "within"}, "about windows"),
        ({"dates": "same", "within": "3 days"}, "`last 45 days`"),
        ({"dates": "last_available within 3d", "within": "3 days"}, "given twice"),
        ({"dates": "last_available", "within": "3 dayz"}, "'dayz' is no unit"),
        ({"dates": "last_available", "within": "3 days", "as_of": "now"}, "without within"),
        ({"dates": "same", "as_of": "now"}, "last_available alone"),
        ({"dates": 3}, "is no text"),
    ],
)
def test_a_long_form_is_refused(said: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidDates, match=why):
        Dates.of(said)


def test_long_forms() -> None:
    assert Dates.of(None).meaning == Dates.of({}).meaning == Dates.of("same").meaning == Meaning()
    assert Dates.of({"dates": "last_available", "within": "45 days"}).meaning == parse("last_available within 45 days")
    assert Dates.of({"dates": "last_available", "as_of": "now"}).meaning.end is None
    assert Dates.of({"dates": "last 3 days", "strict": "within"}).meaning.over
    assert Dates.of({"before_start": "ignore"}).ignore_before_start


@given(st.text(alphabet="alstfromdy -+0123456789wh_.:é", max_size=40))
def test_any_text_has_a_meaning_or_is_refused(text: str) -> None:
    column = 1
    try:
        parse(text)
    except InvalidDates as told:
        column = int(str(told.detail["column"]))
    assert 1 <= column <= len(text) + 1
