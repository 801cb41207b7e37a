"""Generated statements against what Spark's analyzer said of them, kept in tests/cases/columns/generated.json (tests/oracle/generated.py)."""

import pytest
from tests.oracle import generated
from tests.oracle.by_hand import BY_HAND
from tests.oracle.engine import disagreements, edges
from tests.oracle.generate import SCHEMAS

CASES = generated.kept()


@pytest.mark.parametrize("text", CASES, ids=range(len(CASES)))
def test_the_engine_says_what_spark_says(text: str) -> None:
    assert disagreements(text, CASES[text], SCHEMAS, "spark") == []


@pytest.mark.parametrize(("text", "columns", "rows"), BY_HAND, ids=range(len(BY_HAND)))
def test_the_engine_says_what_a_reader_would_say(
    text: str, columns: list[dict[str, str]], rows: dict[str, str]
) -> None:
    found = edges(text, SCHEMAS, "spark")
    assert [inputs for _, inputs in found.columns] == columns
    assert found.rows == rows
