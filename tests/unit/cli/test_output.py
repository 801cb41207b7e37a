"""Numbers and nouns that commands print agree."""

import pytest

from headwater.cli.output import counted


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "run", "0 runs"),
        (1, "entity", "1 entity"),
        (2, "entity", "2 entities"),
        (3, "day", "3 days"),
        (1_000, "query", "1,000 queries"),
    ],
)
def test_a_number_and_its_noun(number: int, noun: str, text: str) -> None:
    assert counted(number, noun) == text
