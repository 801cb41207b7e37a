"""Incoming events: accepted with a receipt, accepted with warnings, or refused with a reason. Never a 500, never a lost event."""

import gzip
import json
from typing import Any
from urllib.parse import quote

import pytest
from tests.events import RUN, columns, dataset, encoded, facet, run_event, schema

LINEAGE, BATCH = "/api/v1/lineage", "/api/v1/lineage/batch"
HOSTILE = [
    "a/b/../../etc/passwd",
    "ns:with:colons",
    "quote'\"`;--",
    "x" * 1000,
    "é😀漢字",
    "'; drop table events; --",
    "<img src=x onerror=alert(1)>",
    "100%_\\",
    " leading and trailing ",
    "line\nbreak\ttab",
    "nul\x00nul",
    "{{7*7}}",
]


def test_an_event_is_answered_after_it_is_kept(client: Any) -> None:
    reply = client.post(LINEAGE, encoded(run_event("START", 1, "job", ["/in"], ["/out"])))
    assert reply.status_code == 201
    receipt = reply.json()
    assert receipt["duplicate"] is False
    assert set(receipt["created"]) == {"dataset:file:/in", "dataset:file:/out", "job:test:job", f"run:{RUN.format(1)}"}
    assert client.get(f"/api/v2/runs/{RUN.format(1)}").json()["state"] == "RUNNING"


def test_the_same_event_again_is_known(client: Any) -> None:
    body = encoded(run_event("START", 1, "job"))
    client.post(LINEAGE, body)
    again = client.post(LINEAGE, body).json()
    assert (again["duplicate"], again["created"]) == (True, [])
    assert client.get("/api/v2/status").json()["events"]["total"] == 1


def test_an_event_without_a_time_sent_twice_is_one(client: Any) -> None:
    event = run_event("START", 1, "job")
    del event["eventTime"]
    first, second = client.post(LINEAGE, encoded(event)).json(), client.post(LINEAGE, encoded(event)).json()
    assert [warning["code"] for warning in first["warnings"]] == ["no_event_time"]
    assert second["duplicate"] is True
    assert client.get("/api/v2/status").json()["events"]["total"] == 1


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not a JSON object"),
        (b"nope", "not a JSON object"),
        (b"[]", "not a JSON object"),
        (b'{"a": 1', "not a JSON object"),
        (b"\xff\xfe{}", "not a JSON object"),
        (b"{}", "needs a run, a job or a dataset"),
        (b'{"run": {"runId": "x"}}', "job.namespace and job.name"),
        (b'{"run": {}, "job": {"namespace": "n", "name": "j"}}', "run.runId"),
        (b'{"run": {"runId": 7}, "job": {"namespace": "n", "name": "j"}}', "run.runId"),
        (b'{"dataset": {"namespace": "n"}}', "dataset.namespace and dataset.name"),
        (b'{"job": {"namespace": " ", "name": ""}}', "needs a run, a job or a dataset"),
        (b"[" * 100_000, "not a JSON object"),
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "nested too deeply"),
    ],
    ids=lambda value: value[:30].decode("latin-1") if isinstance(value, bytes) else None,
)
def test_without_identity_it_is_refused_with_the_reason(client: Any, body: bytes, says: str) -> None:
    reply = client.post(LINEAGE, body)
    assert reply.status_code == (400 if says in {"not a JSON object", "nested too deeply"} else 422)
    assert reply.json()["code"] == "invalid_event"
    assert says in reply.json()["message"]
    assert client.get("/api/v2/status").json()["events"]["total"] == 0


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"inputs": "x"}, "wrong_type"),
        ({"inputs": [1, None, {"name": "x"}]}, "dataset_without_name"),
        ({"inputs": [{"namespace": "", "name": "x"}]}, "dataset_without_namespace"),
        ({"eventTime": "yesterday"}, "bad_event_time"),
        ({"eventTime": "2026-01-01T00:00:00"}, "naive_event_time"),
        ({"eventTime": "9999-12-31T23:59:59Z"}, "future_time"),
        ({"eventTime": "2999-01-01T00:00:00+14:00"}, "future_time"),
        ({"eventType": "DONE"}, "unknown_event_type"),
        ({"producer": None}, "no_producer"),
        ({"run": {"runId": "run-abc123"}}, "run_id_not_uuid"),
        ({"run": {"runId": RUN.format(1), "facets": {"parent": facet(run=1)}}}, "facet_not_understood"),
        ({"run": {"runId": RUN.format(1), "facets": {"odd": 7}}}, "wrong_type"),
        ({"outputs": [dataset("/o", schema=facet(fields="x"))]}, "facet_not_understood"),
        (
            {"outputs": [dataset("/o", columnLineage=facet(fields={"a": {"inputFields": [{"name": "x"}]}}))]},
            "facet_not_understood",
        ),
        ({"job": {"namespace": "n", "name": "a\0b"}}, "null_character"),
        ({"job": {"namespace": "n", "name": "half \ud83d"}}, "broken_text"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_is_odd_is_kept_with_a_warning(client: Any, change: dict[str, Any], code: str) -> None:
    reply = client.post(LINEAGE, encoded({**run_event("START", 1, "job"), **change}))
    assert reply.status_code == 201
    assert code in [warning["code"] for warning in reply.json()["warnings"]]
    assert client.get("/api/v2/status").json()["events"]["total"] == 1
    counted = client.get("/api/v2/producers").json()["producers"]
    assert code in [warning["code"] for producer in counted for warning in producer["warnings"]]


@pytest.mark.parametrize("broken", [b"caf\xe9", b"half \\ud83d an emoji", b"\\ude00"])
def test_broken_text_costs_neither_the_event_nor_the_batch_nor_the_search(client: Any, broken: bytes) -> None:
    event = encoded(run_event("START", 1, "job", [dataset("/in", documentation=facet(description="BROKEN"))])).replace(
        b"BROKEN", broken
    )
    kept = client.post(BATCH, b"[" + event + b"," + encoded(run_event("START", 2, "job")) + b"]").json()
    assert kept["status"] == "success"
    told = client.post(LINEAGE, event).json()
    assert [warning["code"] for warning in told["warnings"]] == ["broken_text"]
    assert "�" in client.get("/api/v2/datasets/file/%2Fin").json()["description"]
    assert client.get("/api/v2/search", q="anything").status_code == 200
    assert client.get("/api/v1/events/lineage").status_code == 200


def test_odd_but_harmless_is_kept_without_a_word(client: Any) -> None:
    """Unknown keys, unknown facets, null facets, a facet with an unchecked format."""
    event = run_event("START", 1, "job", [dataset("/i", custom=facet(x=[1]), dataSource=facet(uri="file"), empty=None)])
    event["somethingNew"] = {"a": 1}
    reply = client.post(LINEAGE, encoded(event))
    assert reply.json()["warnings"] == []
    shown = client.get(f"/api/v2/datasets/file/{quote('/i', safe='')}").json()
    assert set(shown["facets"]) == {"custom", "dataSource"}


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("namespace", ["file", "odd://host:1/päth"])
def test_hostile_names_go_in_and_come_out(client: Any, name: str, namespace: str) -> None:
    told = run_event(
        "COMPLETE",
        1,
        name,
        [dataset(name + "-in", namespace)],
        [dataset(name, namespace, **schema(name))],
        namespace=name,
    )
    told["outputs"][0]["facets"] |= columns({name: [(name, name, "DIRECT:IDENTITY")]})
    assert client.post(LINEAGE, encoded(told)).status_code == 201
    kept = name.replace("\0", "�")
    shown = client.get(f"/api/v2/datasets/{quote(namespace, safe='')}/{quote(kept, safe='')}")
    assert shown.status_code == 200
    assert shown.json()["name"] == kept
    assert shown.json()["fields"][0]["name"] == kept
    answer = client.get("/api/v2/lineage", node=shown.json()["id"], columns=True)
    assert answer.status_code == 200
    assert {node["name"] for node in answer.json()["nodes"] if node["type"] == "DATASET"} >= {kept, kept + "-in"}
    assert client.get("/api/v2/search", q=kept[:200]).status_code == 200
    assert client.get("/api/v2/resolve", name=kept).status_code == 200
    assert client.get(f"/api/v2/jobs/{quote(kept, safe='')}/{quote(kept, safe='')}").status_code == 200


def test_each_event_of_a_batch_stands_alone(client: Any) -> None:
    batch = [run_event("START", 1, "a"), {"run": {}}, 7, run_event("START", 2, "b")]
    reply = client.post(BATCH, json.dumps(batch).encode())
    assert reply.status_code == 200
    told = reply.json()
    assert told["status"] == "partial_success"
    assert told["summary"] == {"received": 4, "successful": 2, "failed": 2, "retriable": 0, "non_retriable": 2}
    assert [(item["index"], item["retriable"]) for item in told["failed_events"]] == [(1, False), (2, False)]
    assert client.get("/api/v2/status").json()["events"]["total"] == 2


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        (b'{"run": {"runId": "x"', "the body ends before the array is closed"),
        (b'{"run": {"runId": "x"}, {"job": {}}]', "']' closes what it did not open"),
        (b'{"run": "', "a string is not closed"),
    ],
)
def test_a_batch_that_was_cut_keeps_what_came_before(client: Any, rest: bytes, reason: str) -> None:
    first, second = encoded(run_event("START", 1, "a")), encoded(run_event("START", 2, "b"))
    body = b"[" + first + b", NaN, " + second + b","
    for _ in range(2):
        reply = client.post(BATCH, body + rest)
        assert reply.status_code == 400
        message = reply.json()["message"]
        assert f"element 3 of the batch, from byte {len(body):,}, cannot be read: {reason}" in message
        assert "Of the 3 elements before it 2 are stored, 1 refused, the first of them element 1" in message
        assert client.get("/api/v2/status").json()["events"]["total"] == 2


def test_an_empty_batch_is_a_success_and_no_array_is_refused(client: Any) -> None:
    assert client.post(BATCH, b"[]").json()["status"] == "success"
    assert client.post(BATCH, b"{}").status_code == 400


def test_a_byte_order_mark_is_no_part_of_a_body(client: Any) -> None:
    body = encoded(run_event("START", 1, "job"))
    assert client.post(LINEAGE, body).json()["duplicate"] is False
    assert client.post(LINEAGE, b"\xef\xbb\xbf" + body).json()["duplicate"] is True
    packed = gzip.compress(b"\xef\xbb\xbf[" + body + b"]")
    assert client.post(BATCH, packed, content_encoding="gzip").json()["receipts"][0]["duplicate"] is True


def test_gzip_in_good_and_bad_shape(client: Any) -> None:
    packed = gzip.compress(encoded(run_event("START", 1, "job")))
    assert client.post(LINEAGE, packed, content_encoding="gzip").status_code == 201
    assert client.post(LINEAGE, packed[:-8], content_encoding="gzip").status_code == 400
    assert client.post(LINEAGE, b"plain", content_encoding="gzip").status_code == 400
    assert client.post(LINEAGE, b"x", content_encoding="br").status_code == 400


def test_a_huge_body_is_refused_packed_or_not(client: Any) -> None:
    assert client.post(LINEAGE, b" " * 1_000_001).status_code == 413
    bomb = gzip.compress(b" " * 50_000_000)
    assert len(bomb) < 1_000_000
    reply = client.post(LINEAGE, bomb, content_encoding="gzip")
    assert (reply.status_code, reply.json()["code"]) == (413, "too_large")


@pytest.mark.parametrize("year", ["0001", "1969", "2026"])
def test_times_far_away_are_kept(client: Any, year: str) -> None:
    body = encoded(run_event("COMPLETE", 1, "job", at=f"{year}-06-01T00:00:00Z"))
    assert client.post(LINEAGE, body).status_code == 201
    assert client.get(f"/api/v2/runs/{RUN.format(1)}").json()["ended_at"] == f"{year}-06-01T00:00:00Z"


def test_events_come_out_as_they_went_in(client: Any) -> None:
    body = (
        b'{ "eventType":"START", "eventTime":"2026-01-01T00:00:00.000Z", "producer":"p", "run":{"runId":"%s"}, "job":{"namespace":"n","name":"j"} }'
        % RUN.format(1).encode()
    )
    client.post(LINEAGE, body)
    reply = client.get("/api/v1/events/lineage")
    assert body in reply.content
    assert reply.json()["totalCount"] == 1
    assert [one["name"] for one in client.get("/api/v1/namespaces").json()["namespaces"]] == ["default", "n"]


def test_a_month_that_was_dropped_is_made_again_whatever_else_has_changed(client: Any, database: Any, run: Any) -> None:
    async def drop() -> None:
        async with database.transaction() as connection:
            await connection.execute("drop table events_2019_05")
            await connection.execute("update server_state set generation = generation + 1")

    client.post(LINEAGE, encoded(run_event("START", 1, "job", at="2019-05-01T00:00:00Z")))
    run(drop())
    assert client.post(LINEAGE, encoded(run_event("START", 2, "job", at="2019-05-02T00:00:00Z"))).status_code == 201
