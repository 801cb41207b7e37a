"""The queries of docs/howto/query-lineage.md, in PostgreSQL as the reader and in DuckDB on the exported files."""

import datetime as dt
import json
import re
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from tests.events import columns, dataset, facet, run_event, schema

from headwater.intake.events.accept import Intake
from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres
from headwater.store.export import parquet

PAGE = Path(__file__).parents[3] / "docs/howto/query-lineage.md"
QUERIES = dict(re.findall(r"```sql\n-- ([^\n]+)\n(.+?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)


def ago(days: float) -> str:
    return (NOW - dt.timedelta(days=days)).isoformat()


def owned(name: str) -> dict[str, Any]:
    return {"ownership": facet(owners=[{"name": name}])}


def world() -> list[dict[str, Any]]:
    personal = [{"key": "pii", "value": "true", "field": "email"}, {"key": "pii", "value": "false", "field": "amount"}]
    raw = dataset("raw.orders", **schema("email", "amount"), tags=facet(tags=personal))
    clean = dataset(
        "clean.orders", **owned("ann"), **schema("who", "amount"),
        **columns({"who": [("raw.orders", "email", "DIRECT:IDENTITY")], "amount": [("raw.orders", "amount", "DIRECT:IDENTITY")]}),
    )  # fmt: skip
    mart = dataset(
        "mart.revenue", **owned("bob"), **schema("total", "who"),
        **columns({"total": [("clean.orders", "amount", "DIRECT:AGGREGATION")], "who": [("clean.orders", "who", "DIRECT:TRANSFORMATION")]}),
    )  # fmt: skip
    mart["facets"]["columnLineage"]["fields"]["who"]["inputFields"][0]["transformations"][0]["masking"] = True
    return [
        run_event("COMPLETE", 1, "clean", [raw], [clean], at=ago(9)),
        run_event("COMPLETE", 2, "revenue", [clean], [mart], at=ago(8)),
        run_event("FAIL", 3, "revenue", [clean], [mart], at=ago(1)),
        run_event("COMPLETE", 4, "ping", ["loop.b"], ["loop.a"], at=ago(2)),
        run_event("COMPLETE", 5, "pong", ["loop.a"], ["loop.b"], at=ago(2)),
    ]


EXPECTED: dict[str, list[tuple[Any, ...]]] = {
    "owners downstream": [("ann", "clean.orders"), ("bob", "mart.revenue")],
    "written, never read": [("mart.revenue",)],
    "last writer": [("clean.orders", "clean"), ("loop.a", "ping"), ("loop.b", "pong"), ("mart.revenue", "revenue")],
    "where a column comes from": [("clean.orders", "amount", 1), ("raw.orders", "amount", 2)],
    "failing jobs and their outputs": [("revenue", "FAILED")],
    "not fresh": [("clean.orders",)],
    "cost of a read": [],
    "where personal data goes": [("clean.orders", "who"), ("raw.orders", "email")],
    "cycles": [],
    "new this week": [("dataset", "loop.a"), ("dataset", "loop.b"), ("job", "ping"), ("job", "pong")],
}


def names(question: str, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The columns that EXPECTED has: neither namespaces, which are all one, nor times."""
    places = {
        "written, never read": (1,),
        "last writer": (0, 1),
        "failing jobs and their outputs": (0, 1),
        "not fresh": (0,),
        "new this week": (0, 2),
    }
    return [tuple(row[place] for place in places[question]) if question in places else row for row in rows]


@pytest.fixture
def loaded(database: Database, run: Any) -> Database:
    async def load() -> None:
        assert not (await Intake(database).accept_batch(json.dumps(world()).encode())).refused

    run(load())
    return database


def test_every_query_of_the_page_is_expected() -> None:
    assert len(QUERIES) == 10
    assert set(QUERIES) == set(EXPECTED)


def test_the_page_s_queries_say_the_same_in_postgresql_and_in_duckdb(
    loaded: Database, postgres: EmbeddedPostgres, run: Any, tmp_path: Path
) -> None:
    written = run(parquet.export(loaded, tmp_path))
    files = duckdb.connect()
    files.execute("set timezone = 'UTC'; create schema lineage")
    for each in written:
        files.execute(f"create view lineage.{each.view} as from '{each.file}'")
    with psycopg.connect(postgres.url) as connection:
        connection.execute("set role headwater_reader; set timezone = 'UTC'")
        for question, query in QUERIES.items():
            rows = connection.execute(query.encode()).fetchall()
            plain = [
                tuple(str(value) if hasattr(value, "hex") and not isinstance(value, float) else value for value in row)
                for row in rows
            ]
            same = [
                tuple(str(value) if hasattr(value, "hex") and not isinstance(value, float) else value for value in row)
                for row in files.execute(query).fetchall()
            ]
            assert same == plain, question
            if question == "cycles":
                assert [row[1] for row in rows] == [2, 2]
                continue
            assert names(question, plain) == EXPECTED[question], question
