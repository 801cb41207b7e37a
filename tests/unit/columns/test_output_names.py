"""The names of outputs are those that DuckDB gives, for each text of the classes that DuckDB runs and the engine calls full."""

from collections import Counter

import duckdb
import pytest
from tests.unit.columns.test_classes import CASES

from headwater.columns import Level, Session, analyse


def _names_in_duckdb(sql: str) -> list[str] | None:
    """The names of the columns of the last statement's result; None if DuckDB does not run the text."""
    connection = duckdb.connect()
    try:
        for statement in duckdb.extract_statements(sql):
            result = connection.execute(statement)
    except duckdb.Error:
        return None
    return [column[0] for column in result.description or ()]


def _of_columns(names: list[str]) -> Counter[str]:
    """Names that are written: those made of an expression's text are left out."""
    return Counter(name for name in names if name.isidentifier())


TEXTS = {case["sql"] for _, case in CASES if case["dialect"] == "duckdb" and "conventions" not in case}
NAMED = {sql: names for sql in sorted(TEXTS) if (names := _names_in_duckdb(sql)) is not None}


def test_duckdb_runs_enough_of_the_texts() -> None:
    assert len(NAMED) >= 30


@pytest.mark.parametrize("sql", NAMED)
def test_names_are_duckdbs(sql: str) -> None:
    last = list(analyse(sql, "duckdb", None, Session()))[-1]
    for flow in last.flows:
        ours = [column.name for column in flow.columns]
        if not flow.target and last.level is Level.FULL and "*" not in ours:
            assert _of_columns(ours) == _of_columns(NAMED[sql])
