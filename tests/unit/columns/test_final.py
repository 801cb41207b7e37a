"""ClickHouse's FINAL changes which rows of a table are read, not what its columns are."""

import pytest

from headwater.columns import Input, analyse, kinds


@pytest.mark.parametrize(
    "text",
    ["SELECT a FROM t FINAL", "SELECT z.a FROM t AS z FINAL", "SELECT t.a FROM t FINAL PREWHERE b = 1 SETTINGS x = 1"],
)
def test_the_column_is_the_tables(text: str) -> None:
    (statement,) = analyse(text, "clickhouse")
    assert statement.reads == (("t",),)
    assert statement.flows[0].columns[0].inputs == (Input(("t",), "a", kinds.IDENTITY),)
