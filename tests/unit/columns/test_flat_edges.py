"""Flat edges of a text: what each view has, and the shapes for pandas and NetworkX."""

import pytest

from headwater.columns import Level, lineage

TEXT = """
insert into mart.d select o.day, case when o.state = 'x' then sum(amount) over (partition by region) end as total, md5(email) as customer
from raw.o join raw.k on o.id = k.id where paid
"""
SCHEMA = {
    "raw.o": ["day", "state", "amount", "region", "email", "id", "paid"],
    "raw.k": ["id"],
    "mart.d": {"day": "date", "total": "int", "customer": "text"},
}


def named(view: str) -> set[tuple[str, str, str]]:
    edges = lineage(TEXT, "postgres", SCHEMA).edges(view)  # type: ignore[arg-type] # a view that is none is tested too
    return {(str(edge.source), str(edge.target), edge.kind) for edge in edges}


DIRECT = {
    ("raw.o.day", "mart.d.day", "IDENTITY"),
    ("raw.o.amount", "mart.d.total", "AGGREGATION"),
    ("raw.o.email", "mart.d.customer", "TRANSFORMATION"),
}
VALUE = {("raw.o.state", "mart.d.total", "CONDITIONAL"), ("raw.o.region", "mart.d.total", "WINDOW")}
ROWS = {
    ("raw.o.id", "mart.d.(rows)", "JOIN"),
    ("raw.k.id", "mart.d.(rows)", "JOIN"),
    ("raw.o.paid", "mart.d.(rows)", "FILTER"),
}


def test_edges_are_flat() -> None:
    assert named("direct") == DIRECT
    assert named("value") == DIRECT | VALUE
    assert named("all") == DIRECT | VALUE | ROWS
    found = lineage(TEXT, "postgres", SCHEMA)
    assert found.level == Level.FULL
    assert {str(edge.target): edge.masked for edge in found.edges("direct")} == {
        "mart.d.day": False,
        "mart.d.total": False,
        "mart.d.customer": True,
    }
    assert {edge.confidence for edge in found.edges()} == {1.0}


def test_a_view_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="no view is called 'every'; there are all, direct and value"):
        named("every")


def test_candidates_share_the_confidence() -> None:
    edges = lineage("insert into o select k from a join b on true", "postgres").edges("direct")
    assert {(str(edge.source), edge.confidence) for edge in edges} == {("a.k", 0.5), ("b.k", 0.5)}


def test_what_is_read_off_words_is_no_certainty() -> None:
    found = lineage("insert into o select a from t where where (", "postgres")
    assert found.level != Level.FULL
    assert all(edge.confidence < 1 for edge in found.edges())


def test_an_edge_that_comes_twice_is_there_once() -> None:
    found = lineage(
        "insert into o select a from t; insert into o select a from t", "postgres", {"t": ["a"], "o": ["a"]}
    )
    assert len(found.edges()) == 1


def test_a_result_without_a_target_has_its_columns() -> None:
    assert [str(edge.target) for edge in lineage("select a, b + 1 from t").edges()] == ["a", "b + 1"]


def test_a_table_for_pandas() -> None:
    table = lineage(TEXT, "postgres", SCHEMA).to_pandas("direct")
    assert [*table.columns] == [
        "source_table",
        "source_column",
        "target_table",
        "target_column",
        "kind",
        "masked",
        "confidence",
    ]
    assert set(zip(table.source_table, table.source_column, table.kind, strict=True)) == {
        ("raw.o", "day", "IDENTITY"),
        ("raw.o", "amount", "AGGREGATION"),
        ("raw.o", "email", "TRANSFORMATION"),
    }


def test_a_graph_for_networkx() -> None:
    data = lineage("insert into o select a, a + b as c from t", "postgres", {"t": ["a", "b"]}).to_networkx("direct")
    assert {(link["source"], link["target"], link["key"]) for link in data["edges"]} == {
        ("t.a", "o.a", 0),
        ("t.a", "o.c", 0),
        ("t.b", "o.c", 0),
    }
    assert {node["id"]: (node["table"], node["column"]) for node in data["nodes"]}["t.a"] == ("t", "a")
    assert (data["directed"], data["multigraph"]) == (True, True)


def test_the_example_of_the_docs() -> None:
    text = "insert into mart.daily select o.day, sum(o.amount) as total from raw.orders o group by o.day"
    found = lineage(text, dialect="snowflake", schema={"RAW.ORDERS": ["DAY", "AMOUNT"]})
    assert [
        f"{edge.source} → {edge.target} {edge.kind} {edge.masked} {edge.confidence}" for edge in found.edges("direct")
    ] == [
        "RAW.ORDERS.DAY → MART.DAILY.DAY IDENTITY False 1.0",
        "RAW.ORDERS.AMOUNT → MART.DAILY.TOTAL AGGREGATION False 1.0",
    ]


def test_a_field_that_the_text_makes_is_a_column_of_its_own() -> None:
    found = lineage(
        "create table t as select struct(a, b) as k from f; create table u as select k.a as x, k from t", "spark"
    )
    edges = {(str(edge.source), str(edge.target), edge.kind) for edge in found.edges("direct")}
    assert edges == {
        ("f.a", "t.k", "TRANSFORMATION"),
        ("f.b", "t.k", "TRANSFORMATION"),
        ("f.a", "t.k.a", "IDENTITY"),
        ("f.b", "t.k.b", "IDENTITY"),
        ("t.k.a", "u.x", "IDENTITY"),
        ("t.k", "u.k", "IDENTITY"),
    }
    other = lineage("create table u as select k.a as x from t", "spark", {"t": {"k": "struct<a:int>"}})
    assert [(str(edge.source), str(edge.target)) for edge in other.edges()] == [("t.k", "u.x")]


def test_the_fields_of_a_schema_are_what_a_star_means() -> None:
    found = lineage(
        "insert into u select k.* from t", "bigquery", {"t": {"k": "STRUCT<p INT64, q ARRAY<STRUCT<r INT64>>>"}}
    )
    assert [edge.target.column for edge in found.edges()] == ["p", "q"]
