"""Spark's own list of aggregates: capture and the column engine take each for one."""

from typing import Any

import pytest

from headwater.capture.spark.connect.functions import AGGREGATES, GENERATORS
from headwater.columns import lineage

_OF_GROUPS = frozenset({"grouping", "grouping_id"})
"""They say which keys a row is grouped by, and pass no value on."""
_TABLES = frozenset({"collations", "sql_keywords"})
"""They stand in FROM alone, and are given no column."""
pytestmark = [pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.mark.spark
def test_every_aggregate_and_generator_of_spark_is_listed(spark: Any) -> None:
    listed = spark._jvm.org.apache.spark.sql.api.python.PythonSQLUtils.listBuiltinFunctionInfos()
    groups: dict[str, set[str]] = {}
    for one in listed:
        groups.setdefault(str(one.getGroup()), set()).add(str(one.getName()).lower())
    assert sorted(groups["agg_funcs"] - AGGREGATES) == []
    assert sorted(groups["generator_funcs"] - GENERATORS - _TABLES) == []


@pytest.mark.parametrize("name", sorted(AGGREGATES - _OF_GROUPS))
def test_the_column_engine_takes_it_for_an_aggregate(name: str) -> None:
    found = {
        edge.kind
        for arguments in (("a",) if name in {"any", "some", "every"} else ("a", "a, b", "a, 0.5", "a, 1, 2"))
        for edge in lineage(f"select {name}({arguments}) as x from t", "spark", {"t": ["a", "b"]}).edges()
        if edge.source.column == "a"
    }
    assert found == {"AGGREGATION"}
