"""The graph as the query log, dbt and Airflow see it, told by events as each of them sends them."""

import csv
import io
import json
import urllib.request
import uuid
from typing import Any

import pytest
from tests.api.people.test_metadata_cli import Terminal
from tests.api.usage.measures import ask, job, refused, send
from tests.events import facet

from headwater.pipeline.query_log.events import execution

W = "snowflake://acme-eu"
PATH = "/api/v2/perspectives"
AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.1.0"
DBT = "https://github.com/OpenLineage/OpenLineage/tree/1.40.0/integration/dbt"
AT = "2026-11-20T10:00:00Z"


def table(name: str) -> dict[str, Any]:
    namespace, _, rest = name.rpartition("|")
    return {"namespace": namespace or W, "name": rest}


def query(number: int, reads: list[str], writes: list[str], **row: Any) -> list[dict[str, Any]]:
    """Return the events that the pipeline publishes of an execution."""
    return execution(
        {
            "namespace": W, "query_id": f"q{number}", "job": f"INSERT {number}", "started_at": AT, "ended_at": AT, "state": "succeeded",
            "source": "snowflake", "dialect": "snowflake", "sql": "insert …", "level": "full", "reads": list(map(table, reads)),
            "writes": list(map(table, writes)), "actor_kind": "pipeline", **row,
        }
    )  # fmt: skip


def ran(
    name: str, reads: list[str], writes: list[str], producer: str, integration: str | None, namespace: str = "prod"
) -> dict[str, Any]:
    """A COMPLETE event of a task or model."""
    facets = {}
    if integration:
        facets["jobType"] = {
            "_producer": producer, "_schemaURL": "https://openlineage.io/spec/facets/2-0-3/JobTypeJobFacet.json",
            "processingType": "BATCH", "integration": integration, "jobType": "TASK",
        }  # fmt: skip
    return {
        "eventType": "COMPLETE", "eventTime": AT, "producer": producer, "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json",
        "run": {"runId": str(uuid.uuid5(uuid.NAMESPACE_URL, name))}, "job": {"namespace": namespace, "name": name, "facets": facets},
        "inputs": list(map(table, reads)), "outputs": list(map(table, writes)),
    }  # fmt: skip


EVENTS = [
    # All three agree; Airflow's SQL operator calls its job a query too.
    *query(1, ["RAW.ORDERS"], ["MART.ORDERS"]),
    ran("model.shop.orders", ["RAW.ORDERS"], ["MART.ORDERS"], DBT, "DBT", "dbt"),
    ran("dag.orders", ["RAW.ORDERS"], ["MART.ORDERS"], AIRFLOW, "AIRFLOW"),
    # A person's script.
    *query(2, ["MART.ORDERS"], ["SCRATCH.ADA"]),
    # Its task says that it reads something else.
    *query(3, ["RAW.ITEMS"], ["MART.ITEMS"], job_namespace="prod", job_name="dag.items", job_run_id=str(uuid.uuid4())),
    ran("dag.items", ["RAW.OLD"], ["MART.ITEMS"], AIRFLOW, None),
    # Not to be seen in this log: the source, or the target, is elsewhere.
    ran("dag.load", ["s3://lake|orders.csv"], ["RAW.ORDERS"], AIRFLOW, "AIRFLOW"),
    ran("job.push", ["MART.ORDERS"], ["kafka://broker|orders"], "https://acme.test/pusher", "PUSHER"),
    ran("plain", ["a://x|a"], ["a://x|b"], "https://acme.test/plain", None),
    # A failed one read and wrote nothing that counts.
    *query(4, ["RAW.X"], ["MART.X"], state="failed"),
]


def edges(client: Any, **question: Any) -> dict[tuple[str, str], tuple[list[str], str | None]]:
    found = ask(client, PATH, **question)["edges"]

    def short(node: str) -> str:
        return node.removeprefix("dataset:").removeprefix(f"{W}:")

    return {(short(one["source"]), short(one["target"])): (one["perspectives"], one["disagreement"]) for one in found}


def test_who_tells_which_edge(client: Any) -> None:
    send(client, *EVENTS)
    assert edges(client) == {
        ("MART.ORDERS", "SCRATCH.ADA"): (["query-log"], "in_no_dag"),
        ("RAW.ITEMS", "MART.ITEMS"): (["query-log"], "untold_by_its_job"),
        ("RAW.OLD", "MART.ITEMS"): (["airflow"], "never_seen"),
        ("RAW.ORDERS", "MART.ORDERS"): (["airflow", "dbt", "query-log"], None),
        ("s3://lake:orders.csv", "RAW.ORDERS"): (["airflow"], None),
        ("MART.ORDERS", "kafka://broker:orders"): (["pusher"], None),
        ("a://x:a", "a://x:b"): (["https://acme.test/plain"], None),
    }
    found = ask(client, PATH)
    assert found["covered"] == [W]
    assert {one["name"]: (one["jobs"], one["edges"], one["alone"]) for one in found["perspectives"]} == {
        "airflow": (3, 3, 2), "dbt": (1, 1, 0), "query-log": (3, 3, 2), "pusher": (1, 1, 1), "https://acme.test/plain": (1, 1, 1),
    }  # fmt: skip
    assert (found["total"], found["agreed"]) == (7, 1)
    assert found["disagreements"] == {"in_no_dag": 1, "untold_by_its_job": 1, "never_seen": 1}
    assert found["edges"][0]["disagreement"] == "in_no_dag"
    (agreed,) = [one for one in found["edges"] if len(one["perspectives"]) > 1]
    assert agreed["jobs"] == {
        "airflow": ["job:prod:dag.orders"], "dbt": ["job:dbt:model.shop.orders"], "query-log": [f"job:{W}:INSERT 1"],
    }  # fmt: skip
    assert agreed["reported_at"] == AT


@pytest.mark.parametrize(
    ("question", "total", "first"),
    [
        ({"perspective": "dbt"}, 1, ("RAW.ORDERS", "MART.ORDERS")),
        ({"perspective": "query-log"}, 3, ("MART.ORDERS", "SCRATCH.ADA")),
        ({"namespace": "kafka://broker"}, 1, ("MART.ORDERS", "kafka://broker:orders")),
        ({"disagreement": "never_seen"}, 1, ("RAW.OLD", "MART.ITEMS")),
        ({"disagreement": ["never_seen", "in_no_dag"]}, 2, ("MART.ORDERS", "SCRATCH.ADA")),
        ({"disagreement": ["never_seen", "in_no_dag"], "limit": 1, "offset": 1}, 2, ("RAW.OLD", "MART.ITEMS")),
    ],
)
def test_which_are_shown(client: Any, question: dict[str, Any], total: int, first: tuple[str, str]) -> None:
    send(client, *EVENTS)
    assert next(iter(edges(client, **question))) == first
    assert ask(client, PATH, **question)["total"] == total


def test_without_a_query_log_nothing_is_missing_from_it(client: Any) -> None:
    assert ask(client, PATH)["perspectives"] == []
    send(client, ran("dag.items", ["RAW.OLD"], ["MART.ITEMS"], AIRFLOW, "AIRFLOW"))
    assert edges(client) == {("RAW.OLD", "MART.ITEMS"): (["airflow"], None)}
    # Counts of a query log assign a job to it, for any job type.
    send(client, job("dag.items", namespace="prod", queries={"executions": 3}))
    assert edges(client) == {("RAW.OLD", "MART.ITEMS"): (["query-log"], "in_no_dag")}


def test_what_a_declaration_has_that_its_own_query_does_not_tell(client: Any) -> None:
    """A run below a manifest does not hide the manifest's edge: both perspectives report it."""
    declared = {
        "eventTime": AT, "producer": DBT, "job": {"namespace": "dbt", "name": "model.shop.a", "facets": {}}, "inputs": [table("RAW.A")],
        "outputs": [table("MART.A")],
    }  # fmt: skip
    parent = {"job_namespace": "dbt", "job_name": "model.shop.a"}
    send(client, declared, *query(1, ["RAW.A"], ["MART.A"], **parent), *query(2, ["RAW.B"], ["MART.A"], **parent))
    assert edges(client) == {
        ("RAW.A", "MART.A"): (["other", "query-log"], None),
        ("RAW.B", "MART.A"): (["query-log"], "untold_by_its_job"),
    }


def test_what_the_log_has_in_several_steps_was_seen(client: Any) -> None:
    """A task of several statements is known by what it reads and writes in all."""
    steps = ["RAW.A", "TMP.1", "TMP.2", "TMP.3", "TMP.4", "MART.A", "MART.B"]
    queries = [one for number in range(6) for one in query(number, [steps[number]], [steps[number + 1]])]
    send(
        client,
        *queries,
        *query(7, ["MART.A"], ["RAW.A"]),
        ran("dag.a", ["RAW.A"], ["MART.A"], AIRFLOW, "AIRFLOW"),
        ran("dag.b", ["RAW.A"], ["MART.B"], AIRFLOW, "AIRFLOW"),
        ran("dag.c", ["MART.B"], ["RAW.A"], AIRFLOW, "AIRFLOW"),
    )
    found = edges(client, perspective="airflow")
    assert found["RAW.A", "MART.A"] == (["airflow"], None)
    assert found["RAW.A", "MART.B"] == (["airflow"], "never_seen")
    assert found["MART.B", "RAW.A"] == (["airflow"], "never_seen")
    assert ask(client, PATH, perspective="airflow")["disagreements"]["never_seen"] == 2


def test_explicit_lineage_is_not_all_with_all(client: Any) -> None:
    event = ran("dag.two", ["RAW.A", "RAW.B"], ["MART.A", "MART.B"], AIRFLOW, "AIRFLOW")
    entries = [
        {"type": "DATASET", **table(f"MART.{name}"), "inputs": [{"type": "DATASET", **table(f"RAW.{name}")}]}
        for name in "AB"
    ]
    event["job"]["facets"]["lineage"] = facet(entries=entries)
    send(client, event)
    assert edges(client) == {("RAW.A", "MART.A"): (["airflow"], None), ("RAW.B", "MART.B"): (["airflow"], None)}


def test_questions_that_make_no_sense(client: Any) -> None:
    assert "disagreement 'odd' is not one of in_no_dag" in refused(client, PATH, disagreement="odd")


def test_on_the_command_line(server_url: str) -> None:
    request = urllib.request.Request(f"{server_url}/api/v1/lineage/batch", json.dumps(EVENTS).encode())
    with urllib.request.urlopen(request, timeout=10) as reply:
        assert json.load(reply)["summary"]["failed"] == 0
    headwater = Terminal(server_url)
    shown = headwater("perspectives")
    assert "in the log, in no DAG" in shown
    assert "reported by more than one: 1; in the log, in no DAG: 1" in shown
    assert "kafka" not in shown
    assert "kafka" in headwater("perspectives", "--all")
    assert headwater.json("perspectives", "--perspective", "dbt", "--all")["total"] == 1
    rows = list(csv.DictReader(io.StringIO(headwater.stdout("perspectives", "--disagreement", "never_seen", "--csv"))))
    assert [(row["target"], row["perspectives"], row["jobs"]) for row in rows] == [
        (f"dataset:{W}:MART.ITEMS", "airflow", "job:prod:dag.items")
    ]
