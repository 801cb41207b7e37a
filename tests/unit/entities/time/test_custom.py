"""The periods of a `custom` table, as text, and the refused tables."""

from typing import Any

import pytest

from headwater.entities.time.custom import MOST, Custom
from headwater.entities.time.dates import Dates, parse
from headwater.errors import InvalidDates


def test_what_means_the_same() -> None:
    one = Custom.of({"needs": {"2024-02-29": [], " 2024-03-01 .. 2024-03-03": ["2023-03-02", "2023-03-01"]}})
    other = Custom.of({"needs": {"2024-03-01..2024-03-03": ("2023-03-01", " 2023-03-02"), "2024-02-29": []}})
    assert one == other
    assert hash(one) == hash(other)
    assert one.rows("needs")[1] == ("2024-03-01..2024-03-03", ("2023-03-01", "2023-03-02"))
    assert Custom.of({"affects": {"a": "b"}}) == Custom.of({"affects": {"a": ["b", "b"]}})
    assert Custom.of({"affects": {"a": "b"}}) != Custom.of({"needs": {"a": "b"}})


@pytest.mark.parametrize(
    ("said", "why", "row"),
    [
        (None, "lists nothing", []),
        ({}, "lists nothing", []),
        (["2024-01-01"], "lists nothing", []),
        ({"need": {"a": "b"}}, "custom has no 'need'; it has needs and affects", ["need"]),
        ({"needs": {}}, "custom, needs {} lists nothing", ["needs"]),
        ({"needs": None}, "custom, needs None lists nothing", ["needs"]),
        ({"needs": ["a"]}, "lists nothing", ["needs"]),
        (
            {"needs": {"a": "b"}, "affects": {"b .. c": None}},
            "nothing of 'b .. c'; write [] where",
            ["affects", "b..c"],
        ),
        ({"needs": {"a": {"b": "c"}}}, "is no period and no list of periods", ["needs", "a"]),
        ({"needs": {"a": ["b", ["c"]]}}, "is no period and no list of periods", ["needs", "a"]),
        ({"needs": {"a": ["b", " "]}}, "' ' is no period", ["needs", "a"]),
        ({"needs": {"a": "b" * 201}}, "is no period", ["needs", "a"]),
        ({"needs": {"a": ["b"] * MOST}}, f"names {MOST + 1} periods", ["needs"]),
    ],
)
def test_refused(said: Any, why: str, row: list[str]) -> None:
    with pytest.raises(InvalidDates) as told:
        Dates.of({"custom": said})
    assert why in told.value.message
    assert told.value.detail == {"field": "custom", "row": row}


def test_what_it_goes_with() -> None:
    table = {"needs": {"2024-01-01": []}}
    assert Dates.of({"custom": table}).meaning._replace(custom=None) == parse("same")
    assert str(Dates.of({"dates": "previous", "custom": table})) == "previous, custom"
    assert str(Dates.of("previous")) == "previous"
    assert Dates.of({"dates": "nothing", "custom": table}).meaning.nothing
    assert not Dates.of({"dates": "same", "custom": table}).meaning.nothing
    for dates in ("last_available", "static", "last_available 2 within 3 days"):
        with pytest.raises(InvalidDates, match=f"'{dates}' does not say which"):
            Dates.of({"dates": dates, "custom": table})
    for said in ("nothing", {"dates": "nothing"}, {"dates": "nothing", "before_start": "ignore"}):
        with pytest.raises(InvalidDates, match="nothing goes with custom"):
            Dates.of(said)
    with pytest.raises(InvalidDates, match="only a window of my own period can be moved"):
        Dates.of({"dates": "nothing - 1 day", "custom": table})
