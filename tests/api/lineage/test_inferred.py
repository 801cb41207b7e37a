"""Column lineage out of SQL facets, marked as inferred, with the schemas of the time."""

import json
from typing import Any

import pytest
from tests.events import columns, dataset, facet, parent, run_event, schema
from tests.fixtures.app import Client

WAREHOUSE = "postgres://w:5432"


def _send(client: Client, *events: dict[str, Any]) -> None:
    assert client.post("/api/v1/lineage/batch", json.dumps(list(events)).encode()).status_code == 200


def _edges(client: Client, name: str, **asked: Any) -> set[tuple[str, str | None, str | None, str]]:
    told = client.get(
        "/api/v2/lineage", node=f"dataset:{WAREHOUSE}:{name}", columns="true", direction="upstream", **asked
    ).json()
    return {
        (e["source"].rsplit(":", 1)[1], e["source_field"], e["target_field"], e["origin"]) for e in told["column_edges"]
    }


def _job(
    query: str, *, at: str = "2026-01-02T00:00:00Z", run: int = 1, out: dict[str, Any] | None = None, **sql: Any
) -> dict[str, Any]:
    return run_event(
        "COMPLETE", run, "load", [dataset("db.public.orders", WAREHOUSE), dataset("db.public.people", WAREHOUSE)],
        [out or dataset("db.public.totals", WAREHOUSE)], at=at, job_facets={"sql": facet(query=query, **sql)},
    )  # fmt: skip


ORDERS = {
    "eventTime": "2026-01-01T00:00:00Z",
    "producer": "p",
    "dataset": dataset("db.public.orders", WAREHOUSE, **schema("id", "person", "amount")),
}
PEOPLE = {
    "eventTime": "2026-01-01T00:00:00Z",
    "producer": "p",
    "dataset": dataset("db.public.people", WAREHOUSE, **schema("id", "name")),
}
QUERY = "insert into totals (who, total) select name, sum(amount) from orders join people on people.id = person group by name"


def test_columns_come_from_the_sql(client: Client) -> None:
    _send(client, ORDERS, PEOPLE, _job(QUERY))
    assert _edges(client, "db.public.totals") == {
        ("db.public.people", "name", "who", "PARSED_SQL"),
        ("db.public.orders", "amount", "total", "PARSED_SQL"),
        ("db.public.people", "id", None, "PARSED_SQL"),
        ("db.public.orders", "person", None, "PARSED_SQL"),
        ("db.public.people", "name", None, "PARSED_SQL"),
    }


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("insert into orders (id) select id from people", False),
        ("insert into elsewhere (who) select name from people", True),
        ("insert into elsewhere (who) select name from people; insert into other (id) select id from people", False),
        ("select name as who from people", True),
        ("insert into elsewhere (who) select name from people; select name as who from people", True),
    ],
    ids=["an input", "no dataset of the job", "two such", "no target", "both"],
)
def test_a_statement_fills_the_table_that_it_names(client: Client, query: str, found: bool) -> None:
    """A target that is another dataset of the job is not its output; one under no name of the job's may be."""
    _send(client, ORDERS, PEOPLE, _job(query))
    assert bool(_edges(client, "db.public.totals")) == found


def test_what_was_told_is_believed_first(client: Client) -> None:
    told = dataset("db.public.totals", WAREHOUSE, **columns({"who": [("/told", "x", "DIRECT:IDENTITY")]}))
    _send(client, ORDERS, PEOPLE, _job(QUERY, out=told))
    assert _edges(client, "db.public.totals") == {("/told", "x", "who", "COLUMN_LINEAGE")}


def test_the_sql_fills_the_columns_that_a_report_leaves_out(client: Client) -> None:
    """A facet about one of two columns; the other column, and the rows, are read out of the SQL."""
    told = dataset(
        "db.public.totals", WAREHOUSE, **schema("who", "total"), **columns({"WHO": [("/told", "x", "DIRECT:IDENTITY")]})
    )
    _send(client, ORDERS, PEOPLE, _job(QUERY, out=told))
    edges = _edges(client, "db.public.totals")
    assert {edge for edge in edges if edge[2]} == {
        ("/told", "x", "who", "COLUMN_LINEAGE"),
        ("db.public.orders", "amount", "total", "PARSED_SQL"),
    }
    assert ("db.public.people", "id", None, "PARSED_SQL") in edges
    down = client.get(
        "/api/v2/lineage",
        node=f"dataset:{WAREHOUSE}:db.public.orders",
        field="amount",
        columns="true",
        direction="downstream",
    ).json()["column_edges"]
    assert [(edge["target_field"], edge["origin"]) for edge in down] == [("total", "PARSED_SQL")]


@pytest.mark.parametrize(
    "report",
    [
        {"who": [("/told", "x", "DIRECT:IDENTITY")], "total": []},
        {"who": [("/told", "x", "DIRECT:IDENTITY")], "TOTAL": [("/told", "y", "DIRECT:IDENTITY")]},
    ],
    ids=["a column that nothing feeds", "every column"],
)
def test_a_report_about_every_column_is_not_added_to(client: Client, report: dict[str, Any]) -> None:
    told = dataset("db.public.totals", WAREHOUSE, **schema("who", "total"), **columns(report))
    _send(client, ORDERS, PEOPLE, _job(QUERY, out=told))
    assert {origin for *_, origin in _edges(client, "db.public.totals")} == {"COLUMN_LINEAGE"}


def test_a_bare_query_feeds_the_only_output(client: Client) -> None:
    """The query is sent as dbt sends a model."""
    _send(client, ORDERS, PEOPLE, _job('select id as order_id from "db"."public"."orders"', dialect="postgres"))
    assert _edges(client, "db.public.totals") == {("db.public.orders", "id", "order_id", "PARSED_SQL")}


def test_schemas_are_those_of_the_time(client: Client) -> None:
    """A column that moved from one table to the other."""
    later = {"eventTime": "2026-02-01T00:00:00Z", "producer": "p"}
    _send(
        client, ORDERS, PEOPLE, _job("insert into totals select amount as a from orders, people", at="2026-01-02T00:00:00Z"),
        later | {"dataset": dataset("db.public.orders", WAREHOUSE, **schema("id", "person"))},
        later | {"dataset": dataset("db.public.people", WAREHOUSE, **schema("id", "amount"))},
    )  # fmt: skip
    assert _edges(client, "db.public.totals", as_of="2026-01-15T00:00:00Z") == {
        ("db.public.orders", "amount", "a", "PARSED_SQL")
    }
    assert _edges(client, "db.public.totals") == {("db.public.people", "amount", "a", "PARSED_SQL")}


def test_a_schema_that_arrives_late_helps(client: Client) -> None:
    _send(client, _job("insert into totals select amount as a from orders, people"))
    assert _edges(client, "db.public.totals") == set()
    _send(client, PEOPLE, ORDERS)
    assert _edges(client, "db.public.totals") == {("db.public.orders", "amount", "a", "PARSED_SQL")}


def test_text_that_is_no_sql_is_no_error(client: Client) -> None:
    _send(client, ORDERS, PEOPLE, _job("this is no SQL ((( '", dialect="no such dialect"))
    assert _edges(client, "db.public.totals") == set()
    _send(client, _job("x" * 600_000, run=2, at="2026-01-03T00:00:00Z"))
    assert _edges(client, "db.public.totals") == set()


def test_tables_go_by_their_other_names(client: Client) -> None:
    """Spark reports the folder; the SQL has the table's name, which a symlink links."""
    link = facet(identifiers=[{"namespace": "hive://m:9083", "name": "shop.orders", "type": "TABLE"}])
    _send(
        client,
        run_event(
            "COMPLETE", 1, "job", [dataset("/warehouse/x17", **schema("id", "amount"), symlinks=link)], [dataset("db.public.t", WAREHOUSE)],
            job_facets={"sql": facet(query="insert into t select amount as a from shop.orders", dialect="spark")},
        ),
    )  # fmt: skip
    assert _edges(client, "db.public.t") == {("/warehouse/x17", "amount", "a", "PARSED_SQL")}


def _children(*texts: str, **more: Any) -> list[dict[str, Any]]:
    """Return the events of a model and of its statements, as dbt's structured logs send them: the datasets are the model's."""
    model = run_event(
        "COMPLETE", 1, "db.public.totals", [dataset("db.public.orders", WAREHOUSE)], [dataset("db.public.totals", WAREHOUSE)],
        at="2026-01-02T00:00:00Z", job_facets=more.get("model", {}),
    )  # fmt: skip
    return [model] + [
        run_event(
            "COMPLETE", 100 + n, f"db.public.totals.sql.{n}", at=f"2026-01-02T00:00:{n:02}Z",
            run_facets=parent(1, "db.public.totals"), job_facets={"sql": facet(query=text, dialect="postgres")},
        )
        for n, text in enumerate(texts, 1)
    ]  # fmt: skip


MODEL = (
    'create table "db"."public"."totals__dbt_tmp" as (select person, sum(amount) as total from "db"."public"."orders" group by 1);',
    'alter table "db"."public"."totals" rename to "totals__dbt_backup"',
    'alter table "db"."public"."totals__dbt_tmp" rename to "totals"',
    *(["select 1"] * 7),
    'drop table if exists "db"."public"."totals__dbt_backup" cascade',
)


def test_the_statements_below_a_job_are_its_sql(client: Client) -> None:
    events = _children(*MODEL)
    for event in [ORDERS, *events[::-1]]:
        _send(client, event)
    expected = {
        ("db.public.orders", "person", "person", "PARSED_SQL"),
        ("db.public.orders", "amount", "total", "PARSED_SQL"),
        ("db.public.orders", "person", None, "PARSED_SQL"),
    }
    assert _edges(client, "db.public.totals") == expected
    down = client.get(
        "/api/v2/lineage",
        node=f"dataset:{WAREHOUSE}:db.public.orders",
        field="amount",
        columns="true",
        direction="downstream",
    ).json()["column_edges"]
    assert [(edge["target_field"], edge["job"]) for edge in down] == [("total", "job:test:db.public.totals")]


def test_statements_are_in_the_order_of_their_numbers(client: Client) -> None:
    """The tenth statement fills what the second made; as texts `10` comes before `2`."""
    fill = ["select 1"] * 11
    fill[1] = "create temp table between_ as select amount as a from db.public.orders"
    fill[9] = "create temp table later as select a as b from between_"
    fill[10] = "insert into db.public.totals select b as total from later"
    _send(client, ORDERS, *_children(*fill))
    assert _edges(client, "db.public.totals") == {("db.public.orders", "amount", "total", "PARSED_SQL")}


def test_a_job_with_sql_of_its_own_is_read_by_it(client: Client) -> None:
    own = {
        "sql": facet(query="insert into db.public.totals select id as total from db.public.orders", dialect="postgres")
    }
    _send(client, ORDERS, *_children(*MODEL, model=own))
    assert _edges(client, "db.public.totals") == {("db.public.orders", "id", "total", "PARSED_SQL")}
