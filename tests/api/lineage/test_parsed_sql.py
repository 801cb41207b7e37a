"""Jobs that report SQL and no dataset: their tables and columns are read from the text, marked, and joined to what exists."""

import itertools
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.events import columns, dataset, encoded, facet, parent, run_event, schema
from tests.fixtures.app import Client, _start, task_end

from headwater.settings import DatabaseSettings, Settings
from headwater.store.embedded import EmbeddedPostgres

W = "snowflake://org-acct"
QUERY = "insert into shop.raw.orders (id, amount) select id, qty * price from shop.raw.lines"


def statement(
    run: int, query: str = QUERY, *, job: str = "dag.load", type_: str = "COMPLETE", source: str | None = W, day: int = 1, **more: Any
) -> dict[str, Any]:  # fmt: skip
    """An event as the Airflow provider sends for each statement of an operator."""
    facets = {"externalQuery": facet(externalQueryId=f"q{run}", source=source)} if source else {}
    return run_event(
        type_, run, job, at=f"2026-01-{day:02}T00:00:00Z", run_facets=facets | more.pop("run_facets", {}),
        job_facets={"sql": facet(query=query)} | more.pop("job_facets", {}), **more,
    )  # fmt: skip


def send(client: Client, *events: dict[str, Any]) -> None:
    for event in events:
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201


def edges(client: Client, name: str, namespace: str = W, **asked: Any) -> set[tuple[str, str, str, str]]:
    reply = client.get("/api/v2/lineage", node=f"dataset:{namespace}:{name}", **asked)
    if reply.status_code == 404:
        return set()
    return {
        (e["source"].rsplit(":", 1)[1], e["target"].rsplit(":", 1)[1], e["origin"], e["claims"][0]["evidence"])
        for e in reply.json()["edges"]
    }


DRAWN = {
    ("SHOP.RAW.LINES", "dag.load", "PARSED_SQL", "SQL_FULL"),
    ("dag.load", "SHOP.RAW.ORDERS", "PARSED_SQL", "SQL_FULL"),
}


def test_tables_and_columns_are_drawn_and_joined_to_what_exists(client: Client) -> None:
    lines = dataset("SHOP.RAW.LINES", W, **schema("ID", "QTY", "PRICE"))
    send(client, run_event("COMPLETE", 1, "extract", ["/in"], [lines]), statement(2))
    assert edges(client, "SHOP.RAW.ORDERS") >= DRAWN
    assert edges(client, "/in", "file", direction="downstream") >= DRAWN
    answer = client.get("/api/v2/lineage", node=f"dataset:{W}:SHOP.RAW.ORDERS", columns="true").json()
    assert {(e["source_field"], e["target_field"], e["origin"]) for e in answer["column_edges"]} == {
        ("ID", "ID", "PARSED_SQL"), ("QTY", "AMOUNT", "PARSED_SQL"), ("PRICE", "AMOUNT", "PARSED_SQL"),
    }  # fmt: skip
    for node in ("SHOP.RAW.LINES", "SHOP.RAW.ORDERS"):
        graph = client.get("/api/v1/lineage", nodeId=f"dataset:{W}:{node}").json()["graph"]
        assert "job:test:dag.load" in {one["id"] for one in graph}
    fields = client.get("/api/v1/column-lineage", nodeId=f"dataset:{W}:SHOP.RAW.ORDERS").json()["graph"]
    assert f"datasetField:{W}:SHOP.RAW.LINES:QTY" in {one["id"] for one in fields}
    ways = client.get("/api/v2/paths", **{"from": "dataset:file:/in", "to": f"dataset:{W}:SHOP.RAW.ORDERS"}).json()
    assert ways["length"] is not None
    (reason,) = client.get("/api/v2/datasets/snowflake%3A%2F%2Forg-acct/SHOP.RAW.ORDERS").json()["completeness"][
        "reasons"
    ]
    assert reason["text"] == "the writer reports no dataset; its tables are read from its SQL"


def test_the_origin_filters_and_a_past_moment_answers(client: Client) -> None:
    send(client, statement(1), statement(2, QUERY.replace("lines", "moved"), day=5))
    assert edges(client, "SHOP.RAW.ORDERS", origin="PARSED_SQL") == edges(client, "SHOP.RAW.ORDERS")
    assert edges(client, "SHOP.RAW.ORDERS", origin="OBSERVED") == set()
    assert edges(client, "SHOP.RAW.ORDERS", as_of="2026-01-03T00:00:00Z") == DRAWN
    now = edges(client, "SHOP.RAW.ORDERS")
    assert {one[0] for one in now} == {"SHOP.RAW.MOVED", "dag.load"}
    assert now == edges(client, "SHOP.RAW.ORDERS", as_of="2026-02-01T00:00:00Z")


@pytest.mark.parametrize(
    "event",
    [
        statement(1, "insert into orders select * from lines"),
        statement(1, source=None),
        statement(1, type_="START"),
        statement(1, type_="FAIL"),
        statement(1, job_facets={"jobType": facet(processingType="BATCH", integration="DBT", jobType="SQL")}),
        statement(1, job_facets={"headwater_queries": facet(executions=1)}),
        statement(1, "select 1"),
        statement(1, "select * from shop.information_schema.tables"),
    ],
    ids=["no full name", "no connection", "not complete", "failed", "dbt", "query log", "no table", "system table"],
)
def test_where_the_tables_are_not_known_none_is_made_up(client: Client, event: dict[str, Any]) -> None:
    send(client, event)
    assert client.get("/api/v1/namespaces/snowflake%3A%2F%2Forg-acct/datasets").json().get("datasets", []) == []


@pytest.mark.parametrize(
    ("query", "warning"),
    [
        (
            "insert into shop.raw.orders select id from lines join raw.prices using (id)",
            ("table_without_database", "job.facets.sql: LINES, RAW.PRICES: a table has an edge only under its full name"),
        ),
        (
            f"{QUERY} -- {'x' * 100_000}",
            ("sql_too_long", "job.facets.sql: 100,087 characters; no table is read from texts over 100,000"),
        ),
    ],
    ids=["no database", "too long"],
)  # fmt: skip
def test_the_receipt_says_what_gives_no_edge(client: Client, query: str, warning: tuple[str, str]) -> None:
    reply = client.post("/api/v1/lineage", encoded(statement(1, query))).json()
    assert [(one["code"], one["message"]) for one in reply["warnings"]] == [warning]
    shown = client.get("/api/v2/receipts/" + reply["id"]).json()
    assert [one["code"] for one in shown["warnings"]] == [warning[0]]


def test_completeness_says_what_gives_no_edge(client: Client) -> None:
    send(client, statement(1, "insert into shop.raw.orders select id from lines join raw.prices using (id)"))
    path = "/api/v2/datasets/snowflake%3A%2F%2Forg-acct/SHOP.RAW.ORDERS"
    assert [one["text"] for one in client.get(path).json()["completeness"]["reasons"]] == [
        "the writer reports no dataset; its tables are read from its SQL",
        "its SQL reads LINES, RAW.PRICES, which is none of the datasets that it is known to read",
    ]
    long = f"{QUERY} -- {'x' * 500_000}"
    lines, orders = (dataset(f"SHOP.RAW.{name}", W, **schema("ID")) for name in ("LINES", "ORDERS"))
    send(client, statement(2, long, job="other", day=2, inputs=[lines], outputs=[orders]))
    texts = [one["text"] for one in client.get(path).json()["completeness"]["reasons"]]
    assert "its SQL has 500,087 characters, which are too many to read" in texts


def test_the_setting_leaves_them_out_of_every_answer(client: Client, postgres: EmbeddedPostgres, run: Any) -> None:
    send(client, run_event("COMPLETE", 1, "extract", ["/in"], [dataset("SHOP.RAW.LINES", W)]), statement(2))
    node = f"dataset:{W}:SHOP.RAW.ORDERS"

    def answers() -> list[bool]:
        graph = client.get("/api/v1/lineage", nodeId=f"dataset:{W}:SHOP.RAW.LINES").json()["graph"]
        columns_ = client.get("/api/v2/lineage", node=node, columns="true").json()["column_edges"]
        ways = client.get("/api/v2/paths", **{"from": "dataset:file:/in", "to": node}).json()
        past = edges(client, "SHOP.RAW.ORDERS", as_of="2026-02-01T00:00:00Z")
        return [
            bool(edges(client, "SHOP.RAW.ORDERS")), bool(past), node in {one["id"] for one in graph}, bool(columns_), ways["length"] is not None
        ]  # fmt: skip

    assert answers() == [True] * 5
    for on in (False, True):
        with started(postgres, run, parsed_sql=on):
            assert answers() == [on] * 5


@contextmanager
def started(postgres: EmbeddedPostgres, run: Any, *, parsed_sql: bool) -> Iterator[None]:
    """Start another server on the same database with this setting."""
    from headwater.api.app import create_app

    settings = Settings(database=DatabaseSettings(url=postgres.url, pool_size=4))
    settings.lineage.parsed_sql = parsed_sql
    settings.listeners.enabled = settings.entities.feed = False
    stop, task = run(_start(create_app(settings)._app))
    yield
    stop.set()
    run(task_end(task))


def test_a_name_is_whole_by_the_parts_of_its_system(client: Client) -> None:
    send(client, statement(1, "insert into db.s.t select a from db.s.u", source="mysql://h:3306"))
    assert {one[:2] for one in edges(client, "db.s.t", "mysql://h:3306")} == {
        ("db.s.u", "dag.load"),
        ("dag.load", "db.s.t"),
    }


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_reported_datasets_count_alone_in_any_order(client: Client, order: tuple[int, ...]) -> None:
    """A job, or the job above it, that reports a dataset at any time: nothing of its SQL is drawn as an edge of tables."""
    reported = run_event("COMPLETE", 3, "dag.task", ["/a"], [dataset("/b", **columns({"x": [("/a", "y", "DIRECT:")]}))])
    events = [
        statement(1, job="dag.task"),
        statement(2, job="dag.task.query.1", run_facets=parent(3, "dag.task")),
        reported,
    ]
    send(client, *(events[place] for place in order))
    assert edges(client, "SHOP.RAW.ORDERS") == set()
    assert {one[2] for one in edges(client, "/b", "file")} == {"OBSERVED"}


def test_a_statement_below_a_task_that_has_its_own_sql_is_drawn_once(client: Client) -> None:
    send(client, statement(1, job="dag.task"), statement(2, job="dag.task.query.1", run_facets=parent(1, "dag.task")))
    assert {one[0] for one in edges(client, "SHOP.RAW.ORDERS")} == {"SHOP.RAW.LINES", "dag.task"}


def test_reachability_is_the_same_from_both_ends_and_in_every_order(client: Client) -> None:
    draw = random.Random(5)
    names = [f"shop.raw.t{n}" for n in range(6)]
    events = []
    for run in range(12):
        target, *sources = draw.sample(names, draw.randint(2, 3))
        query = f"insert into {target} select {', '.join(f'{s}.x' for s in sources)} from {', '.join(sources)}"
        events.append(statement(run, query, job=f"j{draw.randint(0, 7)}", day=draw.randint(1, 9)))
    send(client, *events)

    def reached(name: str, direction: str) -> set[str]:
        reply = client.get("/api/v2/lineage", node=f"dataset:{W}:{name.upper()}", direction=direction, depth=50).json()
        return {n["name"].lower() for n in reply.get("nodes", []) if n["type"] == "DATASET"} - {name}

    up = {(a, b) for b in names for a in reached(b, "upstream")}
    assert up == {(a, b) for a in names for b in reached(a, "downstream")} != set()
    send(client, *reversed(events))
    assert up == {(a, b) for b in names for a in reached(b, "upstream")}
