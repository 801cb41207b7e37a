"""Waves of the advice to remove, really executed in PostgreSQL: each DROP TABLE … RESTRICT is accepted, and nothing that stays fails afterwards."""

import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.api.usage.measures import ask, dataset, send

from headwater.connectors import postgres as connector
from headwater.model.connector_reports import ConnectorTask
from headwater.store.embedded import EmbeddedPostgres

PATH = "/api/v2/pruning"
BLOCKED = {
    "of_view": "view",
    "of_materialized": "materialized view",
    "of_key": "key",
    "of_policy": "policy",
    "of_rule": "rule",
    "of_heir": "table",
    "of_row_type": "table",
    "of_array": "table",
    "of_default": "default value",
    "of_partition": "view",
    "of_publication": "publication",
    "of_schema_publication": "publication",
    "of_function": "function",
    "of_procedure": "procedure",
    "of_atomic": "function",
    "of_trigger": "trigger",
    "of_arguments": "function",
    "of_dynamic": "function",
    "of_format": "procedure",
    "of_fired_text": "trigger",
}
"""Tables that stay, each with the kind of what keeps it."""
FREE = (
    "of_nothing",
    "of_itself",
    "parent",
    "child",
    "grandchild",
    "of_goer",
    "goer",
    "one",
    "other",
    "of_loop",
    "of_loose",
    "of_message",
)
SCHEMA = f"""
create schema shop; create schema published; create schema "Odd";
{"".join(f"create table shop.{name} (id bigint primary key, note text);" for name in BLOCKED if name not in {"of_partition", "of_schema_publication", "of_default"})}
create table shop.of_default (id bigserial primary key);
create table shop.stays (of bigint references shop.of_key (id), "Odd" int, id bigint default nextval('shop.of_default_id_seq'));
create table shop.of_partition (id bigint, day date) partition by range (day);
create table shop.of_partition_1 partition of shop.of_partition for values from ('2026-01-01') to ('2027-01-01');
create view shop.on_partition as select id from shop.of_partition_1;
create view shop.v as select id from shop.of_view;
create materialized view shop.m as select id from shop.of_materialized;
create function shop.f() returns bigint language sql as 'select count(*) from shop.of_function';
create function shop.atomic() returns bigint language sql begin atomic select count(*) from shop.of_atomic; end;
create function shop.of_row(one shop.of_arguments) returns bigint language sql as 'select one.id';
create procedure shop.p() language plpgsql as 'begin if true then delete from shop.of_procedure where id = 1; end if; end';
create function shop.checked() returns trigger language plpgsql as 'begin perform 1 from shop.of_trigger where id = new.of; return new; end';
create trigger checks before insert on shop.stays for each row execute function shop.checked();
alter table shop.stays enable row level security;
create policy owned on shop.stays using (of in (select id from shop.of_policy));
create rule copied as on update to shop.stays do also insert into shop.of_rule values (new.of);
create table shop.heir () inherits (shop.of_heir);
create table shop.typed (one shop.of_row_type, many shop.of_array[]);
create publication outside for table shop.of_publication;
create table published.of_schema_publication (id int primary key);
create publication whole_schema for tables in schema published;
create table shop.of_nothing (id bigserial primary key, check (id > 0));
create table shop.of_itself (id int primary key, up int references shop.of_itself (id));
create policy own on shop.of_itself using (id in (select id from shop.of_nothing));
create table shop.parent (id int primary key);
create table shop.child (id int primary key, up int references shop.parent (id));
create table shop.grandchild (id int, up int references shop.child (id));
create table shop.of_goer (id int primary key);
create table shop.goer (id int);
create policy by_other on shop.goer using (id in (select id from shop.of_goer));
create table shop.of_loop (id int primary key);
create table shop.one (id int primary key, of int references shop.of_loop (id));
create table shop.other (id int primary key, one int references shop.one (id));
alter table shop.one add column other int references shop.other (id);
create table shop.of_loose (id int primary key);
create function shop.dynamic() returns void language plpgsql as 'begin execute ''delete from shop.of_dynamic where id = 1''; end';
create procedure shop.formatted() language plpgsql as $$ begin -- It isn't parsed.
  execute format('delete from %I.%I', 'shop', 'of_format'); end $$;
create function shop.fired_text() returns trigger language plpgsql as $$ begin execute $q$ update only shop.of_fired_text set note = 'x' $q$; return new; end $$;
create trigger texts before insert on shop.stays for each row execute function shop.fired_text();
create table shop.of_message (id int primary key);
create function shop.warns() returns void language plpgsql as $$ begin /* from shop.of_message */ raise notice 'shop.of_message is old'; end $$;
create function shop.warns_too() returns void language plpgsql as $$ begin execute 'select 1'; raise notice 'the of_message is old'; end $$;
create function shop.never_fired() returns trigger language plpgsql as 'begin perform 1 from shop.of_loose; return new; end';
"""
USES = (
    "select * from shop.v", "select * from shop.m", "refresh materialized view shop.m", "select shop.f()", "select shop.atomic()", "call shop.p()",
    "select * from shop.on_partition", "insert into shop.of_key values (1)", "insert into shop.stays (of) values (1)", "update shop.stays set of = 1",
    "select * from shop.heir", "select (one).id from shop.typed", "select shop.of_row(null)", "select shop.dynamic()", "call shop.formatted()",
)  # fmt: skip


@pytest.fixture
def database(postgres: EmbeddedPostgres) -> Iterator[str]:
    name = f"prune_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    with psycopg.connect(make_conninfo(postgres.url, dbname=name), autocommit=True) as connection:
        connection.execute(SCHEMA.encode())
    yield name
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def space(database: str) -> str:
    return f"postgres://{database}:5432"


def pull(client: Any, url: str, database: str, cursor: Any = None) -> Any:
    where = conninfo_to_dict(url)
    settings = {
        "host": str(where["host"]), "port": str(where.get("port", 5432)), "database": database, "user": str(where["user"]),
        "password": str(where.get("password", "")), "sslmode": "prefer", "namespace": space(database),
    }  # fmt: skip
    events: list[dict[str, Any]] = []
    report = connector.pull(
        ConnectorTask("pull", "postgres", "shop", settings, cursor), lambda event: events.append(event)
    )
    send(client, *events)
    return report.cursor


def advise(client: Any, database: str) -> dict[str, Any]:
    """Let the log advise to remove every table but those that stay."""
    free = [f"shop.{name}" for name in (*BLOCKED, *FREE) if name != "of_schema_publication"]
    rows = [*free, "published.of_schema_publication"]
    send(
        client,
        *(
            dataset(
                f"{database}.{name}",
                namespace=space(database),
                pruning={"wave": 1, "reason": "unread", "confidence": 0.9},
            )
            for name in rows
        ),
    )
    return ask(client, PATH, limit=500, namespace=space(database))


def test_each_wave_is_dropped_and_nothing_that_stays_fails(
    client: Any, postgres: EmbeddedPostgres, database: str
) -> None:
    pull(client, postgres.url, database)
    found = advise(client, database)
    uses = {one["label"].rpartition(".")[2]: {use["kind"] for use in one["uses"]} for one in found["blocked"]}
    assert uses.keys() == BLOCKED.keys(), (uses.keys() ^ BLOCKED.keys(), uses)
    for name, kind in BLOCKED.items():
        assert kind in uses[name], (name, uses[name])
    waves: dict[int, list[str]] = {}
    for one in found["datasets"]:
        waves.setdefault(one["wave"], []).append(one["name"].partition(".")[2])
    assert sorted(name.partition(".")[2] for names in waves.values() for name in names) == sorted(FREE)
    assert [one["datasets"] for one in found["waves"]] == [len(waves[number]) for number in sorted(waves)]
    with psycopg.connect(make_conninfo(postgres.url, dbname=database), autocommit=True) as connection:
        for number in sorted(waves):
            connection.execute(f"drop table {', '.join(waves[number])} restrict".encode())
        for text in USES:
            connection.execute(text.encode())
        # What stays is refused, or loses what needs it: each of them was kept for a reason.
        for name in BLOCKED:
            if name in {
                "of_publication",
                "of_schema_publication",
                "of_function",
                "of_procedure",
                "of_trigger",
                "of_dynamic",
                "of_format",
                "of_fired_text",
            }:
                continue
            with pytest.raises(psycopg.errors.DependentObjectsStillExist):
                connection.execute(f"drop table shop.{name} restrict".encode())


def test_what_needs_a_table_no_longer_frees_it(client: Any, postgres: EmbeddedPostgres, database: str) -> None:
    cursor = pull(client, postgres.url, database)
    advise(client, database)
    with psycopg.connect(make_conninfo(postgres.url, dbname=database), autocommit=True) as connection:
        connection.execute(
            b"drop publication outside; drop policy owned on shop.stays; alter table shop.stays drop constraint stays_of_fkey; drop function shop.f()"
        )
    pull(client, postgres.url, database, cursor)
    found = ask(client, PATH, limit=500, namespace=space(database))["blocked"]
    blocked = {one["label"].rpartition(".")[2] for one in found}
    assert blocked == BLOCKED.keys() - {"of_publication", "of_policy", "of_key", "of_function"}
