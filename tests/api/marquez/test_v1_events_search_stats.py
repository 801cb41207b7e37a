"""Marquez's answers on events, search and figures; and the rules that hold for every address."""

import datetime as dt
import itertools
import json
from typing import Any

import pytest
from tests.events import dataset, encoded, facet, parent, run_event, schema

EVENTS = "/api/v1/events/lineage"


def send(client: Any, *events: dict[str, Any]) -> None:
    for event in events:
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201


def days(client: Any, path: str = EVENTS, **question: Any) -> tuple[list[int], int]:
    reply = client.get(path, **question)
    assert reply.status_code == 200, reply.text
    return [int(one["eventTime"][8:10]) for one in reply.json()["events"]], reply.json()["totalCount"]


def test_events_by_time_in_pages(client: Any) -> None:
    send(client, *(run_event("START", i, "j", at=f"2026-01-{i:02}T00:00:00Z") for i in range(1, 6)))
    send(client, {"eventTime": "2026-01-09T00:00:00Z", "producer": "p", "dataset": dataset("/t")})
    assert days(client) == ([5, 4, 3, 2, 1], 5)
    assert days(client, sortDirection="asc", limit=2, offset=1) == ([2, 3], 5)
    assert days(client, after="2026-01-02T00:00:00Z", before="2026-01-04T00:00:00Z") == ([3, 2], 2)
    assert days(client, after="2026-01-05T01:00:00+01:00") == ([5], 1)
    assert days(client, before="", after="") == ([5, 4, 3, 2, 1], 5)
    assert client.get(f"{EVENTS}?after=2026-01-05T01:00:00+01:00").json()["totalCount"] == 1


def test_events_after_2030_and_before_1970(client: Any) -> None:
    send(client, run_event("START", 1, "j", at="2077-01-03T00:00:00Z"))
    send(client, run_event("START", 2, "j", at="1912-01-02T00:00:00Z"))
    assert days(client) == ([3, 2], 2)


def test_events_are_what_was_sent(client: Any) -> None:
    body = b'{"eventType":"START", "eventTime":"2026-01-01T00:00:00.5Z","run":{"runId":"a"},"job":{"namespace":"n","name":"j"},"extra":[1.0]}'
    client.post("/api/v1/lineage", body)
    assert body in client.get(EVENTS).content


def test_events_where_the_python_client_asks_for_them(client: Any) -> None:
    send(client, run_event("START", 1, "j", namespace="s3://bucket/a", at="2026-01-01T00:00:00Z"))
    send(client, run_event("START", 2, "j", namespace="b", at="2026-01-02T00:00:00Z"))
    assert days(client, "/api/v1/events") == ([2, 1], 2)
    assert days(client, "/api/v1/events/b") == ([2], 1)
    assert days(client, "/api/v1/events/s3%3A%2F%2Fbucket%2Fa") == ([1], 1)
    assert days(client, "/api/v1/events/s3://bucket/a", limit=1) == ([1], 1)
    assert days(client, "/api/v1/events/none") == ([], 0)


@pytest.mark.parametrize("question", [{"before": "soon"}, {"sortDirection": "up"}, {"limit": "-1"}])
def test_events_refuse(client: Any, question: dict[str, str]) -> None:
    assert client.get(EVENTS, **question).status_code == 400


def found(client: Any, **question: Any) -> list[str]:
    reply = client.get("/api/v1/search", **question)
    assert reply.status_code == 200, reply.text
    return [one["name"] for one in reply.json()["results"]]


def test_search_shapes(client: Any) -> None:
    send(client, run_event("START", 1, "orders_job", ["/orders"]))
    reply = client.get("/api/v1/search", q="ORDERS").json()
    assert reply == {
        "totalCount": 2,
        "results": [
            {
                "type": "DATASET", "name": "/orders", "updatedAt": "2026-01-01T00:00:00Z",
                "namespace": "file", "nodeId": "dataset:file:/orders",
            },
            {
                "type": "JOB", "name": "orders_job", "updatedAt": "2026-01-01T00:00:00Z",
                "namespace": "test", "nodeId": "job:test:orders_job",
            },
        ],
    }  # fmt: skip


def test_search_filters_sorts_and_counts(client: Any) -> None:
    send(client, *(run_event("START", i, f"job{i}", at=f"2026-01-0{i}T12:00:00Z") for i in range(1, 5)))
    send(client, run_event("START", 9, "job9", ["/job"], namespace="other", at="2026-01-09T00:00:00Z"))
    assert found(client, q="job", filter="job") == ["job1", "job2", "job3", "job4", "job9"]
    assert found(client, q="job", filter="DATASET") == ["/job"]
    for spelled in ("UPDATE_AT", "updated_at", "update-at", "Updated_At"):
        assert found(client, q="job", filter="JOB", sort=spelled)[:2] == ["job9", "job4"]
    assert found(client, q="job", namespace="other") == ["job9"]
    assert found(client, q="job", before="2026-01-02") == ["job1"]
    assert found(client, q="job", after="2026-01-04", filter="JOB") == ["job4", "job9"]
    limited = client.get("/api/v1/search", q="job", limit=2).json()
    assert (len(limited["results"]), limited["totalCount"]) == (2, 6)


def test_search_takes_percent_and_underscore_as_they_are(client: Any) -> None:
    send(client, run_event("START", 1, "a_b"), run_event("START", 2, "axb"), run_event("START", 3, "50%"))
    assert found(client, q="a_b") == ["a_b"]
    assert found(client, q="%") == ["50%"]
    assert found(client, q="\\") == []


def test_search_finds_a_child_by_its_full_name_and_a_dataset_by_each_of_its_names_once(client: Any) -> None:
    link = facet(identifiers=[{"namespace": "hive", "name": "warehouse.orders", "type": "TABLE"}])
    send(client, run_event("START", 2, "task", [dataset("/orders", symlinks=link)], run_facets=parent(1, "dag")))
    assert found(client, q="dag.ta") == ["dag.task"]
    assert found(client, q="orders") == found(client, q="warehouse") == ["/orders"]


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({}, "query param q must not be blank"),
        ({"q": " "}, "query param q must not be blank"),
        ({"q": "a", "limit": "-1"}, "query param limit must be greater than or equal to 0"),
        ({"q": "a", "before": "2026-1-1"}, "query param before must be a date as YYYY-MM-DD"),
        ({"q": "a", "sort": "size"}, "query param sort must be one of [NAME, UPDATE_AT]"),
        ({"q": "a", "filter": "x"}, "query param filter must be one of [DATASET, JOB]"),
    ],
)
def test_search_refuses(client: Any, question: dict[str, str], message: str) -> None:
    reply = client.get("/api/v1/search", **question)
    assert reply.status_code == 400
    assert reply.json() in ({"errors": [message]}, {"code": 400, "message": message})


def test_search_documents_have_facets_and_say_where_the_words_are(client: Any) -> None:
    told = {"sql": facet(query="select 1 from customers")}
    out = dataset("/<orders>", **schema("amount_paid"))
    out["outputFacets"] = {"outputStatistics": facet(rowCount=1)}
    send(client, run_event("FAIL", 1, "make_orders", [], [out], job_facets=told, run_facets={"mine": facet()}))
    reply = client.get("/api/v2beta/search/jobs", q="orders")
    assert reply.status_code == 200
    (job,), (marks,) = reply.json()["hits"], reply.json()["highlights"]
    assert job.keys() == {"run_id", "eventType", "name", "type", "namespace", "facets", "runFacets"}
    assert (job["eventType"], job["facets"].keys(), job["runFacets"].keys()) == ("FAIL", {"sql"}, {"mine"})
    assert marks == {"name": ["make_<em>orders</em>"]}
    (marks,) = client.get("/api/v2beta/search/jobs", q="customers").json()["highlights"]
    assert marks == {"facets.sql.query": ["select 1 from <em>customers</em>"]}
    (one,) = client.get("/api/v2beta/search/datasets", q="Orders").json()["hits"]
    assert one.keys() == {"run_id", "eventType", "name", "namespace", "inputFacets", "outputFacets", "facets"}
    assert (one["eventType"], one["outputFacets"].keys()) == ("FAIL", {"outputStatistics"})
    (marks,) = client.get("/api/v2beta/search/datasets", q="Orders").json()["highlights"]
    assert marks == {"name": ["/&lt;<em>orders</em>&gt;"]}
    (marks,) = client.get("/api/v2beta/search/datasets", q="paid").json()["highlights"]
    assert marks == {"facets.schema.fields.name": ["amount_<em>paid</em>"]}
    assert client.get("/api/v2beta/search/jobs", q="nothing").json() == {"hits": [], "highlights": []}
    assert client.get("/api/v2beta/search/jobs").json() == {"errors": ["query param q must not be blank"]}


def test_search_documents_of_a_child_and_of_many(client: Any, statements: Any) -> None:
    send(client, run_event("START", 2, "orders_task", run_facets=parent(1, "dag")))
    assert client.get("/api/v2beta/search/jobs", q="orders").json()["hits"][0]["name"] == "dag.orders_task"
    with statements() as few:
        client.get("/api/v2beta/search/jobs", q="orders")
    send(client, *(run_event("START", 10 + i, f"orders_{i}") for i in range(60)))
    with statements() as many:
        reply = client.get("/api/v2beta/search/jobs", q="orders").json()
    assert (len(reply["hits"]), len(reply["highlights"])) == (50, 50)
    assert len(many) == len(few)


def ago(**span: float) -> str:
    return (dt.datetime.now(dt.UTC) - dt.timedelta(**span)).isoformat()


def test_events_of_a_day_and_a_week(client: Any) -> None:
    send(
        client,
        *(run_event(kind, i, "j", at=ago(hours=2)) for i, kind in enumerate(["START", "COMPLETE", "FAIL", "ABORT"])),
    )
    send(client, run_event("START", 9, "j", at=ago(days=3)), run_event("START", 10, "j", at=ago(days=30)))
    day = client.get("/api/v1/stats/lineage-events", period="DAY").json()
    assert len(day) == 24
    assert day[0].keys() == {"startInterval", "endInterval", "fail", "start", "complete", "abort"}
    assert [{kind: one[kind] for kind in ("fail", "start", "complete", "abort")} for one in day if one["start"]] == [
        {"fail": 1, "start": 1, "complete": 1, "abort": 1}
    ]
    assert all(one["endInterval"] == other["startInterval"] for one, other in itertools.pairwise(day))
    week = client.get("/api/v1/stats/lineage-events", period="week", timezone="Europe/Rome").json()
    assert (len(week), sum(one["start"] for one in week)) == (7, 2)
    midnight = dt.datetime.fromisoformat(week[0]["startInterval"])
    assert midnight.tzinfo is not None
    assert midnight.hour in {22, 23}


@pytest.mark.parametrize(("what", "count"), [("jobs", 2), ("datasets", 3), ("sources", 2)])
def test_how_much_there_was(client: Any, what: str, count: int) -> None:
    named = dataset("/old", dataSource=facet(name="disk", uri="file"))
    send(client, run_event("START", 1, "old", [named, "/b"], at=ago(days=20)))
    send(client, run_event("START", 2, "new", ["/c"], at=ago(hours=1.5)))
    day = client.get(f"/api/v1/stats/{what}", period="DAY").json()
    assert (len(day), day[0].keys(), day[-1]["count"]) == (24, {"startInterval", "endInterval", "count"}, count)
    assert day[0]["count"] == count - (0 if what == "sources" else 1)
    week = client.get(f"/api/v1/stats/{what}", period="WEEK", timezone="UTC").json()
    assert (len(week), week[-1]["count"]) == (7, count)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({}, "Invalid period"),
        ({"period": "YEAR"}, "query param period must be one of [DAY, WEEK]"),
        ({"period": "WEEK"}, "Timezone must be specified for period 'WEEK'"),
        ({"period": "WEEK", "timezone": "Moon/Base"}, "Timezone 'Moon/Base' is not known"),
    ],
)
def test_figures_refuse(client: Any, question: dict[str, str], message: str) -> None:
    for what in ("lineage-events", "jobs"):
        reply = client.get(f"/api/v1/stats/{what}", **question)
        assert (reply.status_code, reply.json()) == (400, {"code": 400, "message": message})


@pytest.mark.parametrize("path", ["/api/v1/nope", "/api/v1/namespaces/a/b/c", "/api/v1", "/api/v1/stats"])
def test_no_address_of_the_api_is_a_page(client: Any, path: str) -> None:
    reply = client.get(path)
    assert (reply.status_code, reply.json()["code"] in {404, "not_found"}) == (404, True)


@pytest.mark.parametrize("path", ["/jobs", "/namespaces", "/sources", "/tags", "/namespaces/n/jobs", "/events"])
@pytest.mark.parametrize(
    ("limit", "status", "reply"),
    [
        ("abc", 404, {"code": 404, "message": "HTTP 404 Not Found"}),
        ("99999999999", 404, {"code": 404, "message": "HTTP 404 Not Found"}),
        ("-1", 400, {"errors": ["query param limit must be greater than or equal to 0"]}),
    ],
)
def test_limits(client: Any, path: str, limit: str, status: int, reply: dict[str, Any]) -> None:
    got = client.get(f"/api/v1{path}", limit=limit)
    assert (got.status_code, got.json()) == (status, reply)
    assert client.get(f"/api/v1{path}", offset="-1").status_code == 400
    assert client.get(f"/api/v1{path}", limit="", offset="").status_code == 200


def test_malformed_json_is_400(client: Any) -> None:
    assert client.post("/api/v1/lineage", b"{").status_code == 400
    assert json.loads(client.post("/api/v1/lineage", b"[]").content)["message"]


def test_every_address_is_described(client: Any) -> None:
    paths = client.get("/schema/openapi.json").json()["paths"]
    assert {"/api/v1/lineage", "/api/v1/column-lineage", "/api/v1/jobs", "/api/v2beta/search/jobs"} <= paths.keys()
