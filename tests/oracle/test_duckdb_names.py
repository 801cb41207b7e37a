"""The records that `python -m tests.oracle.duckdb_names` reads of DuckDB's tests, and the differences it sees."""

from tests.oracle.duckdb_names import Query, queries, records

TEXT = """# name: a.test
statement ok
create table t(c int, d int)

query I rowsort
select c, d + 1, d as e
from t
----
1

statement error
select x from t
----
not found

skipif ci
query I
from t
----

statement ok
insert into t values (1, 2)
"""


def test_statements_that_pass_are_read() -> None:
    assert list(records(TEXT)) == [
        "create table t(c int, d int)",
        "select c, d + 1, d as e\nfrom t",
        "from t",
        "insert into t values (1, 2)",
    ]


def test_queries_are_compared_and_nothing_else() -> None:
    found = list(queries("a.test", TEXT))
    assert [one.duckdb for one in found] == [["c", "(d + 1)", "e"], ["c", "d"]]
    assert all(one.agrees for one in found)


def test_a_column_more_or_another_name_is_a_difference() -> None:
    assert Query("", "", ["a", "(b + 1)"], ["A", "b + 1"]).agrees
    assert not Query("", "", ["a"], ["b"]).agrees
    assert not Query("", "", ["a", "b"], ["a"]).agrees
    assert not Query("", "", ["a", "(b)"], ["a"]).agrees
