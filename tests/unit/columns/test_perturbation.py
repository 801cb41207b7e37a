"""Each input that DuckDB shows to matter is among the engine's edges: a column is changed, and every output that changes must name it.

Values are the oracle's own, the statements generated; a miss here is a wrong answer to "what depends on this?".
"""

import itertools

import duckdb
import pytest
from tests.oracle.edges import Edges
from tests.oracle.engine import edges
from tests.oracle.generate import SCHEMAS, Generator
from tests.oracle.perturb import Land, missed
from tests.scale import full

STATEMENTS = full(25, 15)


@pytest.fixture(scope="module")
def land() -> Land:
    return Land(7)


@pytest.fixture(scope="module")
def statements(land: Land) -> list[str]:
    """The first generated ones DuckDB accepts."""

    def accepted(text: str) -> bool:
        try:
            land.answer(text)
        except duckdb.Error:
            return False
        return True

    texts = (Generator(seed, "duckdb").statement() for seed in itertools.count())
    return list(itertools.islice(filter(accepted, texts), STATEMENTS))


@pytest.mark.parametrize("position", range(STATEMENTS))
def test_what_changes_an_output_is_among_its_inputs(position: int, land: Land, statements: list[str]) -> None:
    text = statements[position]
    tables = {table for table in SCHEMAS if table in text}
    assert missed(land.observed(text, tables), edges(text, SCHEMAS, "duckdb")) == []


def test_an_edge_left_out_is_seen(land: Land) -> None:
    """The oracle sees a value, a filter and a join's key, and nothing of a column that is not there."""
    observed = land.observed(
        "select p.team, t.boss from people p join teams t using (team) where p.age > 1", {"people", "teams"}, times=3
    )
    assert observed[0] == {"people.team", "teams.team", "people.age"}
    assert observed[1] == {"people.team", "teams.team", "people.age", "teams.boss"}
    said = Edges([("team", {"people.team": "IDENTITY"}), ("boss", {})], {"people.age": "FILTER", "teams.team": "JOIN"})
    assert missed(observed, said) == [
        "column 1 boss: people.team matters and is missing",
        "column 1 boss: teams.boss matters and is missing",
    ]
