"""Spark's analyzer, asked again: the kept TPC edges are still what it says, and the engine agrees about fresh statements."""

from typing import Any

import pytest

from tests.oracle import generated, tpc
from tests.oracle.analyzer import Analyzer
from tests.oracle.by_hand import BY_HAND
from tests.oracle.generate import SCHEMAS
from tests.scale import full

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pyspark"),
]
FIRST, COUNT = 1_000_000, full(300, 80)


@pytest.mark.parametrize("suite", tpc.SUITES)
def test_the_kept_edges_are_what_the_analyzer_says(suite: str, session: Any) -> None:
    analyzer = Analyzer(session, tpc.schemas(suite), suite.replace("-", ""))
    expected = tpc.expected(suite)
    assert expected.keys() == tpc.texts(suite).keys()
    # The suite asks about every fourth.
    for name, text in [*tpc.texts(suite).items()][:: full(1, 4)]:
        assert analyzer.edges(text) == expected[name], name


@pytest.mark.parametrize(("text", "columns", "rows"), BY_HAND, ids=range(len(BY_HAND)))
def test_what_a_reader_of_the_statement_would_say(
    text: str, columns: list[dict[str, str]], rows: dict[str, str], session: Any
) -> None:
    found = Analyzer(session, SCHEMAS, "generated").edges(text)
    assert [inputs for _, inputs in found.columns] == columns
    assert found.rows == rows


def test_the_engine_and_the_analyzer_agree_about_generated_statements(session: Any) -> None:
    analyzer = Analyzer(session, SCHEMAS, "generated")
    assert generated.differing(FIRST, COUNT, analyzer) == []
