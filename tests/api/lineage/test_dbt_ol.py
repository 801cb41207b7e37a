"""Events that dbt-ol sent (tests/cases/dbt_ol): each model is joined to all that its query reads, in both of dbt-ol's modes."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.events import encoded
from tests.fixtures.app import Client

from headwater.intake.upkeep.rebuild import fingerprints, rebuild
from headwater.store.database import Database

CASES = Path(__file__).parents[2] / "cases/dbt_ol"
W = "duckdb://shop.duckdb"


def recorded(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / name).read_text(encoding="utf-8").splitlines()]


def without_columns(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events as dbt-ol sends them where its parser reads no columns."""
    for event in events:
        for output in event["outputs"]:
            output["facets"].pop("columnLineage", None)
    return events


def send(client: Client, events: list[dict[str, Any]]) -> None:
    for event in events:
        reply = client.post("/api/v1/lineage", encoded(event))
        assert (reply.status_code, reply.json()["warnings"]) == (201, [])


def around(client: Client, table: str, direction: str) -> set[str]:
    answer = client.get("/api/v2/lineage", node=f"dataset:{W}:shop.main.{table}", direction=direction, depth=20)
    assert answer.status_code == 200, answer.text
    return {one["name"].removeprefix("shop.main.") for one in answer.json()["nodes"] if one["type"] == "DATASET"} - {
        table
    }


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mode", ["shop.ndjson", "shop_structured_logs.ndjson"])
def test_ephemeral_models_and_seeds_do_not_break_the_chain(client: Client, mode: str, seed: int) -> None:
    events = without_columns(recorded(mode))
    random.Random(seed).shuffle(events)
    send(client, events)
    assert around(client, "mart_customers", "upstream") >= {"raw_orders", "stg_orders"}
    assert around(client, "raw_orders", "downstream") >= {"stg_orders", "mart_customers"}
    assert around(client, "stg_orders", "downstream") >= {"mart_customers"}


@pytest.mark.parametrize("seed", range(4))
def test_columns_behind_ephemeral_models_are_read_from_statements_in_any_order(
    client: Client, database: Database, run: Any, seed: int
) -> None:
    """No statement names its connection: it is that of the model's output, which arrives before or after."""
    events = recorded("shop_structured_logs.ndjson")
    random.Random(seed).shuffle(events)
    send(client, events)
    before = run(fingerprints(database))
    run(rebuild(database))
    assert run(fingerprints(database)) == before
    start = f"dataset:{W}:shop.main."
    for node, direction in (("mart_customers", "upstream"), ("stg_orders", "downstream")):
        answer = client.get("/api/v2/lineage", node=start + node, direction=direction, depth=1, columns="true").json()
        found = {
            (one["source"].removeprefix(start), one["source_field"], one["target_field"], one["origin"])
            for one in answer["column_edges"]
            if one["target"] == f"{start}mart_customers" and one["transformations"][0]["type"] == "DIRECT"
        }
        assert found >= {
            ("stg_orders", "customer", "customer", "PARSED_SQL"),
            ("stg_orders", "amount", "total", "PARSED_SQL"),
        }


def test_a_statement_is_read_with_the_output_of_its_own_run(client: Client) -> None:
    """Two targets of one project have the same jobs: the statement of one run says nothing of the other's warehouse."""
    events = recorded("shop_structured_logs.ndjson")
    other = json.loads(json.dumps(events).replace(W, "duckdb://prod.duckdb").replace("01a21d9f-", "01a21d90-"))
    for event in other:
        event["job"]["facets"].pop("sql", None)
    send(client, [*events, *other])
    answer = client.get("/api/v2/lineage", node="dataset:duckdb://prod.duckdb:shop.main.stg_orders", depth=1).json()
    jobs = {edge["target"] for edge in answer["edges"] if edge["source"].startswith("dataset:duckdb://prod")}
    assert jobs == {"job:dbt:model.shop.stg_orders", "job:dbt:model.shop.int_paid"}, answer["edges"]


def test_what_only_the_query_of_a_model_reads_is_marked(client: Client) -> None:
    send(client, without_columns(recorded("shop.ndjson")))
    answer = client.get("/api/v2/lineage", node=f"dataset:{W}:shop.main.mart_customers", columns="true").json()
    origins = {(one["source"].rsplit(".", 1)[-1], one["origin"]) for one in answer["edges"]}
    assert origins >= {("raw_orders", "PARSED_SQL"), ("stg_orders", "PARSED_SQL"), ("int_totals", "OBSERVED")}
    read = {(one["source_field"], one["target_field"], one["origin"]) for one in answer["column_edges"]}
    assert read >= {("amount", "total", "PARSED_SQL"), ("customer", "customer", "PARSED_SQL")}
    past = client.get(
        "/api/v2/lineage", node=f"dataset:{W}:shop.main.raw_orders", direction="downstream", as_of="2030-01-01T00:00:00Z"
    ).json()  # fmt: skip
    assert {one["origin"] for one in past["edges"]} >= {"PARSED_SQL"}
    graph = client.get("/api/v1/lineage", nodeId=f"dataset:{W}:shop.main.mart_customers").json()["graph"]
    assert f"dataset:{W}:shop.main.raw_orders" in {one["id"] for one in graph}


def test_a_model_that_no_longer_reads_a_table_loses_it(client: Client) -> None:
    events = without_columns(recorded("shop.ndjson"))
    send(client, events)
    later = [json.loads(json.dumps(one).replace("2026-01-27", "2026-01-28")) for one in events]
    for event in later:
        event["run"]["runId"] = event["run"]["runId"][:-4] + "0000"
        if sql := event["job"]["facets"].get("sql"):
            sql["query"] = sql["query"].replace('"raw_orders"', '"other_orders"')
    send(client, later)
    assert "raw_orders" not in around(client, "stg_orders", "upstream")
    assert "other_orders" in around(client, "stg_orders", "upstream")
    past = client.get(
        "/api/v2/lineage", node=f"dataset:{W}:shop.main.stg_orders", direction="upstream", as_of="2026-01-27T20:00:00Z"
    ).json()
    assert "shop.main.raw_orders" in {one["name"] for one in past["nodes"]}


def test_tables_are_spelled_as_the_query_spells_them(client: Client) -> None:
    """A dialect that folds names of unquoted tables (Snowflake's) makes no second dataset of a listed one."""
    events = json.loads(json.dumps(without_columns(recorded("shop.ndjson"))).replace(W, "snowflake://org-acct"))
    for event in events:
        if sql := event["job"]["facets"].get("sql"):
            sql |= {"dialect": "snowflake", "query": sql["query"].replace('"', "")}
    send(client, events)
    names = {
        one["name"] for one in client.get("/api/v1/namespaces/snowflake%3A%2F%2Forg-acct/datasets").json()["datasets"]
    }
    assert names == {f"shop.main.{one}" for one in ("raw_orders", "stg_orders", "int_totals", "mart_customers")}


def test_statements_fold_into_their_model_wherever_jobs_are_listed(client: Client) -> None:
    send(client, recorded("shop_structured_logs.ndjson"))
    whole = client.get("/api/v2/jobs", children="true", limit=1000).json()
    folded = client.get("/api/v2/jobs", facets="true").json()
    names = {one["name"] for one in folded["jobs"]}
    assert names == {
        "dbt-run-shop", "seed.shop.raw_orders", "model.shop.stg_orders", "model.shop.int_paid", "model.shop.int_totals", "model.shop.mart_customers",
        "test.shop.not_null_mart_customers_customer.1fb957e972",
    }  # fmt: skip
    assert (whole["total"], folded["total"], folded["facets"]["namespace"]) == (23, 7, {"dbt": 7})
    mart = "job:dbt:model.shop.mart_customers"
    assert folded["children"][mart] == 5
    assert client.get("/api/v2/jobs", parent=mart).json()["total"] == 5
    found = {one["name"] for one in client.get("/api/v2/search", q="mart customers", type="job").json()["results"]}
    assert found == {name for name in names if "mart_customers" in name}
    opened = client.get("/api/v2/search", q="mart customers", type="job", children="true").json()["total"]
    assert opened > len(found)


def test_a_job_of_such_a_name_that_is_no_statement_is_listed(client: Client) -> None:
    event = recorded("shop.ndjson")[0]
    event["job"]["name"] = "nightly.sql.1"
    send(client, [event])
    assert [one["name"] for one in client.get("/api/v2/jobs").json()["jobs"]] == ["nightly.sql.1"]
    assert client.get("/api/v2/search", q="nightly").json()["total"] == 1


@pytest.mark.parametrize("seed", range(3))
def test_the_two_modes_of_dbt_ol_and_its_commands_make_one_job_of_a_model(client: Client, seed: int) -> None:
    artifacts, logs = recorded("shop.ndjson"), recorded("shop_structured_logs.ndjson")
    as_run = json.loads(json.dumps(artifacts).replace(".build.run", ".run").replace("-7", "-8"))
    events = [*artifacts, *logs, *as_run]
    random.Random(seed).shuffle(events)
    send(client, events)
    jobs = {one["name"] for one in client.get("/api/v2/jobs", limit=1000).json()["jobs"]}
    assert jobs == {
        "dbt-run-shop", "seed.shop.raw_orders", "model.shop.stg_orders", "model.shop.int_paid", "model.shop.int_totals", "model.shop.mart_customers",
        "shop.main.shop.mart_customers.build.test", "test.shop.not_null_mart_customers_customer.1fb957e972",
    }  # fmt: skip
    answer = client.get("/api/v2/lineage", node=f"dataset:{W}:shop.main.mart_customers", direction="upstream").json()
    drawn = {one["name"] for one in answer["nodes"] if one["type"] == "JOB"}
    assert {name for name in drawn if "mart_customers" in name} == {"model.shop.mart_customers"}
    job = client.get("/api/v2/jobs/dbt/model.shop.mart_customers").json()
    assert (len(job["runs"]), job["same_as"]) == (3, [])
    (graph,) = [
        one
        for one in client.get("/api/v1/lineage", nodeId=f"dataset:{W}:shop.main.mart_customers").json()["graph"]
        if one["type"] == "JOB" and one["data"]["outputs"] == [{"namespace": W, "name": "shop.main.mart_customers"}]
    ]
    assert graph["id"] == "job:dbt:dbt-run-shop.model.shop.mart_customers"


def test_a_model_is_found_by_the_name_that_dbt_ol_gave_its_job(client: Client) -> None:
    send(client, recorded("shop.ndjson"))
    old = "shop.main.shop.mart_customers.build.run"
    reply = client.get(f"/api/v1/namespaces/dbt/jobs/{old}")
    assert (reply.status_code, reply.headers["location"]) == (
        301,
        "/api/v1/namespaces/dbt/jobs/dbt-run-shop.model.shop.mart_customers",
    )
    assert client.get(f"/api/v2/jobs/dbt/{old}").json()["name"] == "model.shop.mart_customers"
    assert client.get("/api/v2/lineage", node=f"job:dbt:{old}").json()["nodes"]
    run = client.get("/api/v2/jobs/dbt/model.shop.mart_customers").json()["runs"][0]["id"]
    assert client.get(f"/api/v1/jobs/runs/{run}").json()["facets"]["dbt_run"]["project_name"] == "shop"


def test_a_job_of_another_name_keeps_it(client: Client) -> None:
    events = recorded("shop.ndjson")
    for event in events:
        if event["job"]["name"].endswith("mart_customers.build.run"):
            event["job"]["name"] = "nightly_customers"
    send(client, events)
    jobs = {one["name"] for one in client.get("/api/v2/jobs", limit=1000).json()["jobs"]}
    assert jobs >= {"nightly_customers", "model.shop.stg_orders"}
    assert "model.shop.mart_customers" not in jobs
