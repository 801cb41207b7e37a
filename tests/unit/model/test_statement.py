"""The kind of statement that a text is, from its words alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.model.statement import statement_kind
from headwater.model.user import user_of

CASES = {
    "select 1": "SELECT",
    "-- insert into x\n(select 1)": "SELECT",
    "/* merge */ with a as (select replace(x, 'a', 'b') from t) insert into z select * from a": "INSERT",
    "with a as (insert into x values (1)) select replace(a, b, c) from a": "SELECT",
    "create or replace temporary view v as select 1": "CREATE VIEW",
    "CREATE TABLE IF NOT EXISTS `a.b` AS SELECT 1": "CREATE TABLE",
    "from t insert overwrite table z select *": "INSERT",
    "set a = 1; use b; insert into x select ';' from y": "INSERT",
    "explain select 1": "EXPLAIN",
    "begin; update x set a = 'delete from y'; commit": "UPDATE",
    "select 'insert into x'": "SELECT",
    "$$select$$ merge into t": "MERGE",
    "drop table if exists t": "DROP TABLE",
    "": None,
    "/* unended": None,
    "foo bar": None,
}


@pytest.mark.parametrize("sql", CASES)
def test_kind(sql: str) -> None:
    assert statement_kind(sql) == CASES[sql]


@given(st.text(alphabet="selctinrowh();'\"`$-/* \n", max_size=200))
def test_no_text_fails(sql: str) -> None:
    assert statement_kind(sql) is None or str(statement_kind(sql)).isupper()


def test_the_surest_facet_names_the_user() -> None:
    spark = b'{"properties": {"spark.master": "x", "user.name": "bob"}}'
    databricks = b'{"environment-properties": {"user": "ada@example.test"}}'
    assert user_of({"spark_properties": spark}) == "bob"
    assert user_of({"spark_properties": spark, "environment-properties": databricks}) == "ada@example.test"
    assert user_of({"airflow": b'{"dag": {"owner": "airflow"}}'}) is None
    assert (
        user_of({"airflow": b"[", "spark_properties": b'{"properties": 3}', "spark_applicationDetails": b"7"}) is None
    )
