"""Generated statements against what Spark's analyzer said of them, kept in tests/cases/columns/generated.json (tests/oracle/generated.py)."""

import pytest
from tests.oracle import generated
from tests.oracle.engine import disagreements
from tests.oracle.generate import SCHEMAS

CASES = generated.kept()


@pytest.mark.parametrize("text", CASES, ids=range(len(CASES)))
def test_the_engine_says_what_spark_says(text: str) -> None:
    assert disagreements(text, CASES[text], SCHEMAS, "spark") == []
