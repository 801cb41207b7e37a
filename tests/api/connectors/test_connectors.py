"""Connectors of a real PostgreSQL: tested, added, pulled on a schedule and by request, paused, replaced, removed; by API and commands."""

import asyncio
import json
import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres

QUICK = {"connectors": {"enabled": True, "every_seconds": 0.1, "lease_seconds": 5}}
SCHEMA = """
create schema shop;
create table shop.orders (id bigint primary key, customer text not null, amount numeric(10,2), at timestamptz);
comment on table shop.orders is 'Orders as the shop took them.';
comment on column shop.orders.amount is 'In euros.';
create table shop.customers (name text, country text);
create view shop.big as select o.id, o.amount * 2 as doubled, c.country from shop.orders o join shop.customers c on c.name = o.customer where o.amount > 100;
create materialized view shop.by_country as select country, sum(doubled) as total from shop.big group by country;
"""


@pytest.fixture
def warehouse(postgres: EmbeddedPostgres) -> Iterator[dict[str, str]]:
    """The settings of a role that may connect to a database of its own and read nothing else."""
    name = f"warehouse_{uuid.uuid4().hex[:8]}"
    where = conninfo_to_dict(postgres.url)
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"create database {name}".encode())
        connection.execute(f"create role {name} login password 'hush-hush'".encode())
    url = _url(postgres.url, name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SCHEMA.encode())
    yield {
        "host": str(where["host"]),
        "port": str(where.get("port", 5432)),
        "database": name,
        "user": name,
        "password": "hush-hush",
        "namespace": "postgres://shop:5432",
    }
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"drop database {name} with (force)".encode())
        connection.execute(f"drop role {name}".encode())


def _url(url: str, database: str) -> str:
    return psycopg.conninfo.make_conninfo(url, dbname=database)


def wait_for_pull(server: Any, name: str, pulls: int = 1) -> dict[str, Any]:
    for _ in range(200):
        told = server.get(f"/api/v2/connectors/{name}").json()
        if len(told["pulls"]) >= pulls:
            return told
        server.run(asyncio.sleep(0.1))
    raise AssertionError(told)


def add(server: Any, settings: dict[str, str], **more: Any) -> dict[str, Any]:
    reply = server.ask(
        "POST", "/api/v2/connectors", None, json={"name": "shop", "kind": "postgres", "settings": settings, **more}
    )
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_a_connector_is_tested_added_and_pulled(served: Any, warehouse: dict[str, str]) -> None:
    server = served(**QUICK)
    told = add(server, warehouse)
    assert told["ok"], told
    assert [one["state"] for one in told["checks"]] == ["ok", "ok", "missing"]
    assert "shared_preload_libraries" in told["checks"][2]["remedy"]
    state = wait_for_pull(server, "shop")
    assert state["connector"]["state"] == "works"
    assert state["pulls"][0]["rows"] == 4
    assert state["pulls"][0]["error"] is None
    assert 0 <= state["connector"]["lag_seconds"] < 60
    assert state["connector"]["has_secrets"]
    assert "hush" not in str(state)
    found = server.get("/api/v2/datasets", params={"namespace": "postgres://shop:5432"}).json()
    names = {one["name"].partition(".")[2] for one in found["datasets"]}
    assert names == {"shop.orders", "shop.customers", "shop.big", "shop.by_country"}


def test_a_view_has_the_columns_it_is_made_of(served: Any, warehouse: dict[str, str]) -> None:
    server = served(**QUICK)
    add(server, warehouse)
    wait_for_pull(server, "shop")
    node = f"dataset:postgres://shop:5432:{warehouse['database']}.shop.by_country"
    answer = server.get("/api/v2/lineage", params={"node": node, "direction": "upstream", "columns": "true"}).json()
    found = {
        (one["source"].rpartition(".")[2], one["source_field"], one["target"].rpartition(".")[2], one["target_field"])
        for one in answer["column_edges"]
        if one["transformations"][0]["type"] == "DIRECT"
    }
    assert found == {
        ("orders", "id", "big", "id"), ("orders", "amount", "big", "doubled"), ("customers", "country", "big", "country"),
        ("big", "country", "by_country", "country"), ("big", "doubled", "by_country", "total"),
    }  # fmt: skip
    orders = next(one for one in answer["nodes"] if one["label"] == "orders")
    assert orders["description"] == "Orders as the shop took them."
    assert orders["fields"][2] == {"name": "amount", "type": "numeric(10,2)", "description": "In euros.", "tags": []}


def test_a_pull_sends_only_what_changed(served: Any, warehouse: dict[str, str], postgres: EmbeddedPostgres) -> None:
    server = served(**QUICK)
    add(server, warehouse)
    assert wait_for_pull(server, "shop")["pulls"][0]["events"] == 6
    assert pulled(server, "shop", 2)["pulls"][0]["events"] == 0
    with psycopg.connect(_url(postgres.url, warehouse["database"]), autocommit=True) as connection:
        connection.execute("alter table shop.customers add column vip boolean; drop materialized view shop.by_country")
    # The table, the view that is gone, and the one that it needed.
    assert pulled(server, "shop", 3)["pulls"][0]["events"] == 3

    space = "postgres%3A%2F%2Fshop%3A5432"
    name = f"{warehouse['database']}.shop.by_country"
    gone = server.get(f"/api/v1/namespaces/{space}/datasets/{name}").json()
    assert gone["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "DROP"


def test_a_wrong_password_is_an_error_that_shows_no_secret(served: Any, warehouse: dict[str, str]) -> None:
    server = served(**QUICK)
    told = add(server, {**warehouse, "user": "no_such_role", "password": "a-secret-in-vain"})
    assert not told["ok"]
    assert "no_such_role" in told["checks"][0]["text"]
    assert server.get("/api/v2/connectors").json()["connectors"] == []
    add(server, {**warehouse, "user": "no_such_role", "password": "a-secret-in-vain"}, test=False)
    state = wait_for_pull(server, "shop")
    assert state["connector"]["state"] == "failing"
    # A person must mend it: it is not tried every minute, which locks accounts.
    assert state["connector"]["next_pull_at"] > state["pulls"][0]["ended_at"][:14]
    assert "a-secret-in-vain" not in str(state) + str(server.get("/api/v2/admin/audit").json())


def test_secrets_are_encrypted_and_stay_when_others_change(
    served: Any, warehouse: dict[str, str], database: Database, run: Any
) -> None:
    server = served(**QUICK)
    add(server, warehouse)

    async def stored() -> bytes:
        async with database.connection() as connection:
            return (await (await connection.execute("select secrets from connectors")).fetchone() or (b"",))[0]

    before = bytes(run(stored()))
    assert before.startswith(b"headwater:")
    assert b"hush" not in before
    wait_for_pull(server, "shop")
    without = {key: value for key, value in warehouse.items() if key != "password"}
    assert (
        add(server, {**without, "schemas": "shop, elsewhere"}, replace=True)["checks"][1]["text"]
        == "there is no schema elsewhere"
    )
    assert add(server, {**without, "schemas": "shop"}, replace=True, every_seconds=7200)["ok"]
    state = wait_for_pull(server, "shop", 2)["connector"]
    assert (state["options"]["schemas"], state["every_seconds"], state["state"]) == ("shop", 7200, "works")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"name": "a b", "kind": "postgres"}, "a connector's name must have"),
        ({"name": "a", "kind": "oracle"}, "'oracle' is not a kind of connector; use one of"),
        ({"name": "a", "kind": "postgres", "settings": {"host": "h"}}, "postgres needs database: the database to read; user:"),
        ({"name": "a", "kind": "postgres", "settings": {"hots": "h"}}, "postgres has no option 'hots'; it has host, port"),
        ({"name": "a", "kind": "postgres", "settings": {"host": "h", "database": "d", "user": "u"}, "every_seconds": 5}, "pulls every 60 to"),
        ({"name": "a", "kind": "postgres", "settings": {"host": "h", "database": "d", "user": "u"}, "replace": True}, "no connector is called 'a'"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(client: Any, body: dict[str, Any], words: str) -> None:
    reply = client.request("POST", "/api/v2/connectors", json.dumps(body).encode())
    assert reply.status_code in {400, 404}
    assert words in reply.json()["message"]


def test_a_paused_connector_is_pulled_when_asked_for_alone(served: Any, warehouse: dict[str, str]) -> None:
    server = served(**QUICK)
    add(server, warehouse)
    wait_for_pull(server, "shop")
    paused = server.post("/api/v2/connectors/shop/pause").json()["connector"]
    assert (paused["state"], paused["next_pull_at"]) == ("paused", None)
    assert pulled(server, "shop", 2)["connector"]["state"] == "paused"
    assert server.post("/api/v2/connectors/shop/resume").json()["connector"]["state"] in {"works", "pulling"}
    wait_for_pull(server, "shop", 3)
    assert server.ask("DELETE", "/api/v2/connectors/shop").json() == {"connectors": []}
    assert server.get("/api/v2/connectors/shop").status_code == 404


def test_two_servers_pull_a_connector_once(served: Any, warehouse: dict[str, str]) -> None:
    """Both look ten times a second; each pull is one server's."""
    first, second = served(**QUICK), served(**QUICK)
    add(first, warehouse)
    wait_for_pull(second, "shop")
    for number in range(2, 5):
        pulled(second, "shop", number)
    first.run(asyncio.sleep(1))
    assert len(first.get("/api/v2/connectors/shop").json()["pulls"]) == 4


def test_roles(served: Any, key: Any, warehouse: dict[str, str]) -> None:
    read, write, admin = (key(role).key for role in ("read", "write", "admin"))
    server = served(access={"mode": "keys"}, **QUICK)
    body = {"name": "shop", "kind": "postgres", "settings": warehouse, "test": False}
    assert server.ask("POST", "/api/v2/connectors", write, json=body).status_code == 403
    assert server.ask("POST", "/api/v2/connectors", admin, json=body).status_code == 200
    assert server.get("/api/v2/connectors", read).status_code == 200
    assert server.post("/api/v2/connectors/shop/pull", write).status_code == 403


def pulled(server: Any, name: str, pulls: int) -> dict[str, Any]:
    assert server.post(f"/api/v2/connectors/{name}/pull").status_code == 202
    return wait_for_pull(server, name, pulls)


def test_a_server_behind_a_socket_is_named_as_one_of_this_machine(
    served: Any, postgres: EmbeddedPostgres, warehouse: dict[str, str]
) -> None:
    with psycopg.connect(postgres.url) as connection:
        (folder,) = connection.execute(
            "select split_part(current_setting('unix_socket_directories'), ',', 1)"
        ).fetchone() or ("",)
    server = served(**QUICK)
    told = add(server, {key: value for key, value in warehouse.items() if key != "namespace"} | {"host": folder})
    assert told["ok"], told
    space = f"postgres://localhost:{warehouse['port']}"
    guess = next(one for one in told["checks"] if one["name"] == "namespace")["text"]
    assert guess.startswith(f"the host {folder} is a folder of sockets, so the namespace {space} is a guess")
    state = wait_for_pull(server, "shop")
    assert guess in state["pulls"][0]["warnings"]
    assert server.get("/api/v2/datasets", params={"namespace": space}).json()["total"] == 4
