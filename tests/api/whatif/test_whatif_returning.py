"""RETURNING under the loss of a column: what what-if says of each case, and what PostgreSQL does once the column is gone."""

import uuid
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from headwater.answer.lineage.inferred import JobTable
from headwater.answer.whatif.verdicts import BREAKS, Edit, judge
from headwater.model.names import DatasetName

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/whatif/returning.yaml").read_text(encoding="utf-8"))
SETUP = (
    "create schema shop",
    "create table shop.a (id int, qty int)",
    "create table shop.b (id int, qty int, note text)",
    "insert into shop.a values (1, 1)",
    "insert into shop.b values (1, 2, 'x')",
    "alter table shop.b drop column qty",
)


def table(name: str, *columns: str) -> JobTable:
    return JobTable(uuid.uuid5(uuid.NAMESPACE_URL, name), (DatasetName("postgres://db:5432", f"shop.{name}"),), columns)


@pytest.fixture(scope="module")
def without_column(postgres: Any) -> Any:
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("drop database if exists whatif_returning")
        connection.execute("create database whatif_returning")
    with psycopg.connect(postgres.url, dbname="whatif_returning", autocommit=True) as connection:
        for text in SETUP:
            connection.execute(text)
        yield connection
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("drop database whatif_returning with (force)")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["sql"])
def test_the_verdict_on_returning_is_what_postgresql_does(case: dict[str, Any], without_column: Any) -> None:
    a, b = table("a", "id", "qty"), table("b", "id", "qty", "note")
    found = judge(case["sql"], "postgres", [a, b], b, [Edit("drop_column", "qty")])
    assert found is not None
    breaks = found.severity == BREAKS
    assert (breaks, found.certain if breaks else True) == (bool(case["breaks"]), case["breaks"] != "unsure"), found
    fails = False
    try:
        with without_column.transaction(force_rollback=True):
            without_column.execute(case["sql"])
    except psycopg.errors.UndefinedColumn:
        fails = True
    assert fails == bool(case["breaks"])
