"""What DuckDB shows to matter is among the engine's edges: a column is changed, and every output that changes must name it.

Values are the oracle's own, the statements generated; a miss here is a wrong answer to "what depends on this?".
"""

import duckdb
import pytest
from tests.oracle.engine import edges
from tests.oracle.generate import SCHEMAS, Generator
from tests.oracle.perturb import Land, missed

STATEMENTS = 40


@pytest.fixture(scope="module")
def land() -> Land:
    return Land(7)


@pytest.mark.parametrize("seed", range(STATEMENTS))
def test_what_changes_an_output_is_among_its_inputs(seed: int, land: Land) -> None:
    text = Generator(seed, "duckdb").statement()
    try:
        land.answer(text)
    except duckdb.Error:
        pytest.skip("DuckDB refuses it")
    said = edges(text, SCHEMAS, "duckdb")
    tables = {table for table in SCHEMAS if table in text}
    assert missed(land.observed(text, tables), said) == []
