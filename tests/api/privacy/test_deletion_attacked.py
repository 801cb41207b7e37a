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
select (case when n.nspname ~ '^pg_temp' then '' else n.nspname || '.' end) || c.relname, array_agg(a.attname::text)
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


def relations(connection: Any) -> dict[str, list[str]]:
    return dict(connection.execute(_RELATIONS).fetchall())


def holding(connection: Any, value: str) -> set[str]:
    """The relations of which a row holds the value, a partition and its table both."""
    return {
        name
        for name in relations(connection)
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


def check_places(found: Any, world: Any, missing: set[str]) -> None:
    """Compare the places with the relations that hold the value, of which some are missing."""
    value = CASE["values"]["email"]
    assert holding(world, value) - listed(found) == missing
    assert listed(found) & set(CASE["hidden"]) == set()
    too_many = listed(found) - holding(world, value)
    certain = {
        one["dataset"].partition(":spread.")[2]
        for one in found["places"]
        if any(column["certain"] and column["handling"] == "plain" for column in one["columns"])
    }
    assert too_many & certain == set(CASE["of_documents"])


def test_a_value_is_found_wherever_statements_took_it(spread: Any, world: Any) -> None:
    found = planned(spread, key=CASE["key"])
    check_places(found, world, {*CASE["by_catalog"], *CASE["unnamed"]})


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


def test_with_the_catalog_a_value_goes_from_tables_to_partitions_and_heirs_and_back(keyed: Any, world: Any) -> None:
    found = planned(keyed, key=CASE["key"])
    check_places(found, world, {*CASE["unnamed"]})
    assert {*CASE["siblings"]} <= listed(found)


def table(name: str, number: int, **facets: Any) -> dict[str, Any]:
    return {
        "eventTime": f"2026-05-05T00:00:{number:02}Z",
        "producer": "https://example.com",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/DatasetEvent",
        "dataset": {"namespace": N, "name": name, "facets": {key: facet(**body) for key, body in facets.items()}},
    }


def told(found: Any) -> dict[str, set[bool]]:
    return {
        one["dataset"].partition(f"{N}:")[2]: {column["certain"] for column in one["columns"]}
        for one in found["places"]
    }


@pytest.mark.parametrize("last", [{"children": ["db.old", "db.new"]}, {"children": ["db.new"]}])
def test_a_partition_that_was_detached_holds_the_rows_that_it_had(client: Any, last: Any) -> None:
    columns = {"fields": [{"name": "mail", "type": "text"}]}
    send(client, *(table(name, 1, schema=columns) for name in ("db.whole", "db.old", "db.new", "db.else")))
    send(client, table("db.whole", 2, schema=columns, headwater_inheritance={"children": ["db.old", "db.new"]}))
    send(client, table("db.whole", 3, schema=columns, headwater_inheritance=last))
    assert told(planned(client, key="db.whole.mail")) == {"db.whole": {True}, "db.old": {True}, "db.new": {True}}


def test_values_of_one_partition_are_not_surely_in_another(client: Any) -> None:
    columns = {"fields": [{"name": "mail", "type": "text"}]}
    mine = {"fields": [{"name": "mail", "type": "text"}, {"name": "own", "type": "text"}]}
    send(client, *(table(name, 1, schema=columns) for name in ("db.one", "db.other")), table("db.heir", 1, schema=mine))
    send(client, table("db.whole", 2, schema=columns, headwater_inheritance={"children": ["db.one", "db.other", "db.heir"]}))  # fmt: skip
    assert told(planned(client, key="db.one.mail")) == {
        "db.one": {True}, "db.whole": {True}, "db.other": {False}, "db.heir": {False},
    }  # fmt: skip
    # A column of an heir alone is in no other table.
    assert told(planned(client, key="db.heir.own")) == {"db.heir": {True}}


@pytest.mark.parametrize("body", [{"children": 7}, {"children": [1]}, {}, {"children": ["db.whole", "", "x" * 5000]}])
def test_a_facet_that_is_written_otherwise_changes_nothing(client: Any, body: Any) -> None:
    columns = {"fields": [{"name": "mail", "type": "text"}]}
    send(client, table("db.whole", 1, schema=columns, headwater_inheritance=body))
    assert told(planned(client, key="db.whole.mail")) == {"db.whole": {True}}
