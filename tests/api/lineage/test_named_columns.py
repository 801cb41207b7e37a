"""Columns by name: those of any report are known, whether a schema or only an edge names them; others are refused with what is near."""

import json
from typing import Any

import pytest
from tests.api.status.test_wrong_instances import produced
from tests.api.status.test_wrong_versions import at, condemn, declare, made, send
from tests.events import RUN, dataset, run_event, schema
from tests.fixtures.app import Client

SCHEDULE = "entity: days\nperiod: {every: day, from: 2026-01-01}\nstored_in: ['file /made']\n"


@pytest.fixture
def told(client: Client) -> Client:
    """The columns of /src are in an edge alone; /made and /schema have a schema; of /bare nothing is known."""
    send(
        client,
        run_event("COMPLETE", 1, "make", ["/src"], [made("/made", {"Total": [("/src", "amount")]})], at=at(1)),
        run_event("COMPLETE", 2, "copy", ["/bare"], [dataset("/schema", **schema("a", "who"))], at=at(2)),
        run_event("COMPLETE", 3, "report", ["/made"], [made("/report", {"t": [("/made", "Total")]})], at=at(3)),
    )
    return client


def found(client: Client, text: str) -> str | None:
    one = client.get("/api/v2/objects", text=text).json()["object"]
    return one and one["id"]


@pytest.mark.parametrize(
    ("text", "id_"),
    [
        ("/src.amount", "dataset:file:/src#amount"),
        ("/made.Total", "dataset:file:/made#Total"),
        ("/made.total", "dataset:file:/made#Total"),
        ("/schema.A", "dataset:file:/schema#a"),
        ("/schema.who.email", "dataset:file:/schema#who.email"),
        ("/made.nope", None),
        ("/bare.nope", None),
    ],
)
def test_a_column_is_found_by_any_report(told: Client, text: str, id_: str | None) -> None:
    assert found(told, text) == id_


def ask(client: Client, node: str, field: str) -> Any:
    return client.get("/api/v2/lineage", node=f"dataset:file:{node}", field=field, columns="true")


def test_lineage_of_a_column_that_no_report_names(told: Client) -> None:
    refused = ask(told, "/made", "Totl")
    assert (refused.status_code, refused.json()["message"]) == (
        404,
        "dataset:file:/made has no column 'Totl'; did you mean Total?",
    )
    assert (
        ask(told, "/made", "TOTAL").json()["column_edges"] == ask(told, "/made", "Total").json()["column_edges"] != []
    )
    assert ask(told, "/bare", "any").status_code == 200


def test_a_verdict_about_a_column_that_is_none(told: Client) -> None:
    assert declare(told, SCHEDULE).status_code == 200
    produced(told, "days", 1, "2026-01-02")
    for kind, ref in (("RUN", RUN.format(1)), ("DATASET", "dataset:file:/made")):
        body = {"origins": [{"kind": kind, "ref": ref, "columns": ["nope"]}], "reason": "x"}
        assert "it has Total" in post(told, body, 404)
        body["origins"][0]["columns"] = ["total"]
        post(told, body | {"dry_run": True}, 200)
    wrong = {"entity": "days", "instances": ["2026-01-02"], "columns": ["nope"]}
    assert "entity days has no column 'nope'" in post(told, {"wrong": [wrong], "reason": "x"}, 404)
    assert condemn(told, ("RUN", RUN.format(1)), dry_run=True)["count"] == 1
    assert told.get("/api/v2/incidents").json()["total"] == 0


def post(client: Client, body: dict[str, Any], status: int) -> str:
    reply = client.post("/api/v2/incidents", json.dumps(body).encode(), content_type="application/json")
    assert reply.status_code == status, reply.text
    return reply.text
