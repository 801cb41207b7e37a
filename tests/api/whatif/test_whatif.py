"""The effects of a change before it is made: names, dashboards, entities, people, columns downstream, jobs without SQL."""

import json
from typing import Any

import pytest
from tests.api.usage.measures import send
from tests.events import dataset, facet, run_event
from tests.fixtures.people import People
from typer.testing import CliRunner

from headwater.cli.program import program

N = "postgres://db:5432"


def table(name: str, **facets: Any) -> dict[str, Any]:
    return {"namespace": N, "name": name, "facets": facets}


def fields(**columns: str) -> dict[str, Any]:
    return {"schema": facet(fields=[{"name": name, "type": kind} for name, kind in columns.items()])}


ORDERS = table("shop.public.orders", **fields(id="integer", amount="numeric", email="text"))


def log_job(number: int, text: str, reads: list[Any], writes: list[Any], **queries: Any) -> dict[str, Any]:
    told = {
        "sql": facet(query=text, dialect="postgres"),
        "headwater_queries": facet(executions=5, lastAt="2026-01-02T00:00:00Z", **queries),
    }
    return run_event("COMPLETE", number, f"q{number}", reads, writes, namespace=N, job_facets=told)


def world_events() -> list[dict[str, Any]]:
    mart = table("shop.public.mart", **fields(total="numeric", masked="text"))
    columns = {
        "columnLineage": facet(
            fields={
                "total": {"inputFields": [{"namespace": N, "name": "shop.public.orders", "field": "amount", "transformations": [{"type": "DIRECT", "subtype": "AGGREGATION"}]}]},
                "masked": {"inputFields": [{"namespace": N, "name": "shop.public.orders", "field": "email", "transformations": [{"type": "DIRECT", "subtype": "TRANSFORMATION", "masking": True}]}]},
            }
        )
    }  # fmt: skip
    board = {
        "namespace": "looker",
        "name": "dashboard/12",
        "facets": {"datasetType": facet(datasetType="DASHBOARD"), "documentation": facet(description="Sales")},
    }
    return [
        log_job(1, "insert into mart select sum(amount), md5(email) from orders", [ORDERS], [mart | {"facets": mart["facets"] | columns}], actors=[{"actor": "etl", "kind": "pipeline", "executions": 5}]),
        log_job(2, "select total from mart", [mart], [board], actors=[{"actor": "looker", "kind": "bi", "executions": 5}]),
        log_job(3, "select amount from orders", [ORDERS], [], actors=[{"actor": "ada", "kind": "person", "executions": 4}, {"actor": "bob", "kind": "person", "executions": 1}],
                tools=[{"tool": "metabase", "asset": "card/7", "name": "Amounts", "executions": 5}]),
        log_job(4, "select id from orders", [ORDERS], [], actors=[{"actor": "eve", "kind": "person", "executions": 5}]),
        run_event("COMPLETE", 5, "spark_job", [ORDERS], [dataset("/lake/out")]),
    ]  # fmt: skip


@pytest.fixture
def world(client: Any) -> Any:
    send(client, *world_events())
    return client


def ask(client: Any, status: int = 200, **question: Any) -> Any:
    reply = client.post("/api/v2/whatif", json.dumps(question).encode(), content_type="application/json")
    assert reply.status_code == status, reply.text
    return reply.json()


def severities(found: Any, key: str, name: str = "id") -> dict[str, str]:
    return {one[name].rpartition(":")[2]: one["severity"] for one in found[key]}


def test_a_dropped_column(world: Any, people: People) -> None:
    people.put("datasets", N, "shop.public.mart", "owners", "carol")
    found = ask(world, drop="public.orders.amount")
    assert found["changes"] == [
        {
            "action": "drop_column",
            "dataset": f"dataset:{N}:shop.public.orders",
            "column": "amount",
            "to": None,
            "old_type": "numeric",
        }
    ]
    jobs = {one["label"]: one for one in found["jobs"]}
    assert {name: (one["severity"], one["certain"]) for name, one in jobs.items()} == {
        "q1": ("breaks", True),
        "q2": ("changes_values", True),
        "q3": ("breaks", True),
        "spark_job": ("breaks", False),  # it does not say which columns it reads
    }
    assert (jobs["q3"]["executions"], jobs["q3"]["last_at"], jobs["q3"]["columns"]) == (
        5,
        "2026-01-02T00:00:00Z",
        ["amount"],
    )
    columns = {(one["dataset"].rpartition(":")[2], one["column"]): one for one in found["columns"]}
    total = columns["shop.public.mart", "total"]
    assert (total["kind"], total["masked"], total["severity"], total["hops"]) == ("direct", False, "breaks", 1)
    assert total["path"] == [
        f"dataset:{N}:shop.public.orders#amount",
        f"job:{N}:q1",
        f"dataset:{N}:shop.public.mart#total",
    ]
    assert ("shop.public.mart", "masked") not in columns
    assert columns["/lake/out", None]["kind"] == "unknown"
    boards = {one["id"]: one for one in found["dashboards"]}
    assert (boards["dataset:metabase:card/7"]["columns"], boards["dataset:metabase:card/7"]["name"]) == (
        ["amount"],
        "Amounts",
    )
    assert (boards["dataset:looker:dashboard/12"]["severity"], boards["dataset:looker:dashboard/12"]["name"]) == (
        "changes_values",
        "Sales",
    )
    assert {one["actor"]: one["severity"] for one in found["people"]} == {"ada": "breaks", "bob": "breaks"}
    assert {one["actor"]: one["kind"] for one in found["pipelines"]} == {"etl": "pipeline", "looker": "bi"}
    assert {(one["who"], one["role"]) for one in found["warn"]} == {
        ("ada", "user"),
        ("bob", "user"),
        ("carol", "owner"),
    }


def test_masking_on_the_way_is_said(world: Any) -> None:
    (email,) = [one for one in ask(world, drop="public.orders.email")["columns"] if one["column"] == "masked"]
    assert (email["kind"], email["masked"]) == ("direct", True)


def test_sql_that_changes_values_or_nothing(world: Any) -> None:
    found = ask(world, sql="update orders set amount = 0", dialect="postgres")
    assert (found["changes"][0]["action"], found["severity"]) == ("values", "changes_values")
    assert {one["label"]: one["severity"] for one in found["jobs"] if one["certain"]} == dict.fromkeys(
        ("q1", "q2", "q3"), "changes_values"
    )
    assert ask(world, sql="select * from orders", dialect="postgres")["changes"] == []
    new = ask(world, sql="create table nobody as select 1 as a", dialect="postgres")
    assert (new["unknown"], new["severity"], new["changes"]) == ([], None, [])


def test_a_table_made_anew_loses_and_gets_columns(world: Any) -> None:
    found = ask(world, sql="create or replace table orders as select id, email, 1 as kind from other", dialect="duckdb")
    assert {(one["action"], one["column"]) for one in found["changes"]} == {
        ("drop_column", "amount"), ("add_column", "kind"), ("values", "id"), ("values", "email"),
    }  # fmt: skip


def test_a_schema_changes_all_its_tables(world: Any) -> None:
    for text in ("alter schema public rename to old", "drop schema public cascade"):
        found = ask(world, sql=text, dialect="postgres")
        tables = {f"dataset:{N}:shop.public.orders", f"dataset:{N}:shop.public.mart"}
        assert {one["dataset"] for one in found["changes"]} >= tables
        assert {one["action"] for one in found["changes"]} == {"rename_table" if "rename" in text else "drop_table"}
        assert found["severity"] == "breaks"
        assert [one["text"] for one in found["unjudged"]] == [text]
    there_and_back = (
        "alter schema public rename to old; alter table old.orders drop column email; alter schema old rename to public"
    )
    back = ask(world, sql=there_and_back, dialect="postgres")
    assert [(one["action"], one["column"]) for one in back["changes"]] == [("drop_column", "email")]
    nowhere = ask(world, sql="alter schema elsewhere rename to old", dialect="postgres")
    assert "elsewhere" in {one["text"] for one in nowhere["unjudged"]}


def test_a_statement_in_a_branch_is_judged_for_when_it_runs(world: Any) -> None:
    text = "do $$ begin if true then drop table public.orders; end if; end $$"
    found = ask(world, sql=text, dialect="postgres")
    assert [one["action"] for one in found["changes"]] == ["drop_table"]
    assert found["unjudged"][0]["reason"].startswith("it stands in a branch")


def test_an_entity_that_is_stored_downstream(world: Any) -> None:
    text = f"entity: marts\nperiod: {{every: day, from: 2026-01-01}}\nstored_in: {N} shop.public.mart\n"
    body = json.dumps({"files": [{"name": "e.yaml", "text": text}]}).encode()
    assert world.post("/api/v2/entities", body, content_type="application/json").status_code < 300
    assert [one["entity"] for one in ask(world, drop="public.orders.amount")["entities"]] == ["marts"]


def test_questions_that_make_no_sense(world: Any) -> None:
    assert "exactly" in ask(world, 400)["message"] or "ask one of" in ask(world, 400)["message"]
    assert "ask one of" in ask(world, 400, drop="a", sql="b")["message"]
    assert "no column 'amont'; the nearest: amount" in ask(world, 404, drop="public.orders.amont")["message"]
    assert "names no new one" in ask(world, 400, rename="public.orders.amount")["message"]
    assert "no statement" in ask(world, 400, sql="  ")["message"]
    told = ask(world, 400, sql="drop table public.orders; creat table x as select 1")["message"]
    assert "this statement cannot be read: 'creat table x as select 1'" in told
    assert ask(world, 404, drop="nothing.at.all")["code"] == "not_found"


def test_the_command(server_url: str) -> None:
    import urllib.request

    events = [
        log_job(
            3, "select amount from orders", [ORDERS], [], actors=[{"actor": "ada", "kind": "person", "executions": 4}]
        )
    ]
    urllib.request.urlopen(
        urllib.request.Request(f"{server_url}/api/v1/lineage/batch", json.dumps(events).encode()), timeout=10
    ).close()
    words = ["whatif", "--drop", "public.orders.amount", "--url", server_url]
    told = CliRunner().invoke(program, words, catch_exceptions=False)
    assert told.exit_code == 0, told.output
    assert "1 job would break" in told.output
    assert "ada" in told.output
    assert CliRunner().invoke(program, [*words, "--check"]).exit_code == 3
    assert json.loads(CliRunner().invoke(program, [*words, "--json"]).stdout)["severity"] == "breaks"


def test_a_job_whose_sql_names_other_tables_is_judged_by_its_columns(client: Any) -> None:
    """A Spark job reports the file that it reads, and the SQL over the view that it made of it."""
    reported = {"fields": {"a": {"inputFields": [{"namespace": N, "name": "lake/orders", "field": "id"}]}}}
    made = table("lake/out", columnLineage=facet(**reported), **fields(a="int"))
    read = table("lake/orders", **fields(id="int", amount="int"))
    text = {"sql": facet(query="select id as a from orders_view", dialect="spark")}
    send(client, run_event("COMPLETE", 1, "spark", [read], [made], job_facets=text))
    found = ask(client, drop="lake/orders.id")
    assert severities(found, "jobs") == {"spark": "breaks"}
    assert severities(ask(client, drop="lake/orders.amount"), "jobs") == {}


def test_a_wider_type_breaks_what_asks_for_the_old_one(client: Any) -> None:
    """PostgreSQL has no operator for a date and a bigint, and no make_date of one."""
    days = table("shop.public.days", **fields(day="date", number="integer"))
    send(
        client,
        log_job(1, "select day - number from days", [days], []),
        log_job(2, "select make_date(number, 1, 1) from days", [days], []),
        log_job(3, "select sum(number + 1) from days where number > 3", [days], []),
    )
    found = ask(client, retype="shop.public.days.number:bigint")
    told = {one["id"][-2:]: (one["severity"], one["certain"]) for one in found["jobs"]}
    assert told == {"q1": ("breaks", False), "q2": ("breaks", False), "q3": ("cosmetic", True)}


def test_what_comes_by_way_of_an_uncertain_job_is_uncertain(client: Any) -> None:
    mart, report = table("shop.public.mart"), table("shop.public.report")
    send(
        client,
        run_event("COMPLETE", 1, "mart", [ORDERS], [mart], namespace=N),
        run_event("COMPLETE", 2, "report", [mart], [report], namespace=N),
    )
    told = {
        one["id"].rpartition(":")[2]: one["certain"] for one in ask(client, drop="shop.public.orders.amount")["jobs"]
    }
    assert told == {"mart": False, "report": False}
    told = {one["id"].rpartition(":")[2]: one["certain"] for one in ask(client, drop="shop.public.orders")["jobs"]}
    assert told == {"mart": True, "report": True}
