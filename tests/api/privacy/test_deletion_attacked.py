"""Deletion attacked: values spread through a real PostgreSQL by every way that SQL has, and through files; all is scanned by value."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from psycopg.conninfo import conninfo_to_dict
from tests.api.usage.measures import send
from tests.events import facet, run_event

from headwater.connectors import connector
from headwater.model.connector_kinds import KINDS, check_options
from headwater.model.connector_reports import ConnectorTask

CASE = yaml.safe_load((Path(__file__).parents[2] / "cases" / "privacy" / "spread.yaml").read_text(encoding="utf-8"))
N = "postgres://db:5432"
_RELATIONS = """
select (case when n.nspname ~ '^pg_temp' then '' else n.nspname || '.' end) || c.relname, array_agg(a.attname::text), pg_partition_root(c.oid)::regclass::text
from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
where c.relkind in ('r', 'p', 'v', 'm') and (n.nspname in ('raw', 'lake') or n.nspname ~ '^pg_temp') group by n.nspname, c.relname, c.oid
"""


@pytest.fixture(scope="module")
def world(postgres: Any) -> Iterator[Any]:
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("drop database if exists spread")
        connection.execute("create database spread")
    with psycopg.connect(postgres.url, dbname="spread", autocommit=True) as connection:
        for text in (*CASE["setup"], *(step["sql"] for step in CASE["steps"])):
            connection.execute(text)
        yield connection
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("drop database spread with (force)")


def relations(connection: Any) -> dict[str, tuple[list[str], str]]:
    return {name: (columns, root or name) for name, columns, root in connection.execute(_RELATIONS).fetchall()}


def holding(connection: Any, value: str) -> set[str]:
    """The relations of which a row holds the value, a partition by its table's name."""
    return {
        root
        for name, (_, root) in relations(connection).items()
        if connection.execute(f"select count(*) from {name} r where r::text like %s", (f"%{value}%",)).fetchone()
        != (0,)
    }


def dataset(connection: Any, name: str) -> dict[str, Any]:
    rows = connection.execute(
        "select attname::text, format_type(atttypid, atttypmod) from pg_attribute where attrelid = %s::regclass and attnum > 0",
        (name,),
    ).fetchall()
    fields = [{"name": column, "type": kind} for column, kind in rows]
    return {"namespace": N, "name": f"spread.{name}", "facets": {"schema": facet(fields=fields)}}


@pytest.fixture
def spread(client: Any, world: Any) -> Any:
    events = []
    for number, step in enumerate(CASE["steps"]):
        inputs, outputs = [dataset(world, name) for name in step["reads"]], [dataset(world, step["makes"])]
        told = {"sql": facet(query=step["sql"], dialect="postgres")}
        events.append(run_event("COMPLETE", number, f"step {number}", inputs, outputs, namespace=N, job_facets=told))
    send(client, *events)
    return client


def planned(client: Any, **question: Any) -> Any:
    reply = client.post("/api/v2/privacy/deletion", json.dumps(question).encode(), content_type="application/json")
    assert reply.status_code == 200, reply.text
    return json.loads(reply.json()["document"])


def listed(found: Any) -> set[str]:
    return {one["dataset"].partition(":spread.")[2] for one in found["places"]}


def test_a_value_is_found_wherever_statements_took_it(spread: Any, world: Any) -> None:
    found = planned(spread, key=CASE["key"])
    value = CASE["values"]["email"]
    assert holding(world, value) - listed(found) == set()
    assert listed(found) & set(CASE["hidden"]) == set()
    too_many = listed(found) - holding(world, value)
    certain = {
        one["dataset"].partition(":spread.")[2]
        for one in found["places"]
        if any(column["certain"] and column["handling"] == "plain" for column in one["columns"])
    }
    assert too_many & certain == set(CASE["of_documents"])


@pytest.fixture
def keyed(spread: Any, postgres: Any) -> Any:
    """With what `headwater connect postgres` reads of the catalog: the foreign keys."""
    at = conninfo_to_dict(postgres.url)
    settings = {
        "host": str(at["host"]),
        "port": str(at.get("port", 5432)),
        "database": "spread",
        "user": str(at["user"]),
        "password": "x",
        "namespace": N,
    }
    events: list[dict[str, Any]] = []
    options, secrets = check_options(KINDS["postgres"], settings)
    connector("postgres").pull(ConnectorTask("pull", "postgres", "one", {**options, **secrets}), events.append)
    send(spread, *events)
    return spread


def test_deleting_as_it_says_meets_no_foreign_key_and_leaves_nothing(keyed: Any, world: Any) -> None:
    found = planned(keyed, key=CASE["key"])
    literal = f"'{CASE['values']['email']}'"
    (customers,) = [one for one in found["places"] if one["dataset"].endswith(":spread.raw.customers")]
    assert [text.split()[2] for text in customers["before"]] == ["raw.order_lines", "raw.orders"]
    with world.transaction(force_rollback=True):
        for one in found["places"]:
            for text in (*one["before"], *filter(None, [one["delete"]])):
                if "where" in text and one["dataset"].endswith(":spread.raw.customers"):
                    world.execute(text.replace(":subject", literal))
        assert "raw.customers" not in holding(world, CASE["values"]["email"])
        assert world.execute("select array_agg(order_id) from raw.orders").fetchone() == ([11],)
        assert world.execute("select array_agg(line_id) from raw.order_lines").fetchone() == ([110],)
