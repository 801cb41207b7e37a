"""The meaning of texts of storage, and differences of storage, over HTTP."""

import pytest
from tests.api.status.test_entities import declare, made, post, say
from tests.fixtures.app import Client

YAML = """
entity: reads
period: {every: day, tz: Europe/Paris, from: 2024-01-01}
retention: 400 days
---
entity: countries
kind: static
"""


@pytest.fixture
def reads(client: Client) -> Client:
    answer = declare(client, YAML)
    assert answer.status_code == 200, answer.text
    return client


def test_what_texts_mean(reads: Client) -> None:
    texts = ["2024-03-10", "2024-03-11 12:00", "20240312", "2024-03-10T23:30:00Z", "2024-03", "x" * 5000]
    found = post(reads, "/api/v2/entities/reads/instances/at", {"texts": texts}).json()
    assert (found["instances"], found["count"]) == (["2024-03-10..2024-03-12"], 3)
    assert found["named"] == ["2024-03-10", "2024-03-11", "2024-03-12", "2024-03-11", None, None]
    assert [each["text"] for each in found["refused"]] == ["2024-03", "x" * 200]
    assert "31 instances" in found["refused"][0]["why"]
    static = post(reads, "/api/v2/entities/countries/instances/at", {"texts": ["static", "2024"]}).json()
    assert (static["instances"], len(static["refused"])) == (["static"], 1)
    assert post(reads, "/api/v2/entities/raeds/instances/at", {"texts": []}).status_code == 404
    assert post(reads, "/api/v2/entities/reads/instances/at", {"texts": ["x"] * 1001}).status_code == 400


def test_where_storage_differs(reads: Client) -> None:
    say(reads, made("reads", "2024-01-01..2024-01-10", "2099-01-01..2099-01-02", future=True))
    seq = say(reads, {"entity": "reads", "what": "started", "instances": ["2024-01-07"], "ref": "r1"})["seq"]
    say(reads, made("reads", "2024-01-09"))
    stored = ["2024-01-02..2024-01-05", "2024-02-01", "2099-01-01", "2099-02-01"]
    found = post(reads, "/api/v2/entities/reads/drift", {"stored": stored, "since": seq}).json()
    shown = {name: found[name]["instances"] for name in ("retention", "external", "unknown", "unfinished", "underway")}
    assert shown == {
        "retention": ["2024-01-01", "2024-01-06", "2024-01-08", "2024-01-10"],
        "external": ["2099-01-02"],
        "unknown": ["2024-02-01"],
        "unfinished": ["2099-02-01"],
        "underway": ["2024-01-07", "2024-01-09"],
    }
    assert found["agree"] == 5
    within = {"stored": stored, "within": ["2024-01-06..2024-01-31"]}
    found = post(reads, "/api/v2/entities/reads/drift", within).json()
    assert (found["agree"], found["retention"]["count"], found["underway"]["count"]) == (0, 4, 1)


def test_something_static(reads: Client) -> None:
    say(reads, made("countries", "static"))
    found = post(reads, "/api/v2/entities/countries/drift", {"stored": []}).json()
    assert found["external"] == {"instances": ["static"], "count": 1}
    assert post(reads, "/api/v2/entities/countries/drift", {"stored": ["static"]}).json()["agree"] == 1
