"""Reports that are sent again: what is recorded once, and what is a new version."""

import json
from typing import Any

import pytest
from tests.api.status.test_entities import declare, made, say
from tests.fixtures.app import Client

YAML = """
entity: reads
period: {every: hour, from: 2024-01-01}
states: [estimated, completed]
---
entity: daily
period: {every: day, from: 2024-01-01}
depends_on: {reads: same}
"""
HOUR = "2024-01-01T00"
ID = "load-2024-01-01"


@pytest.fixture
def reads(client: Client) -> Client:
    assert declare(client, YAML).status_code == 200
    return client


def call(client: Client, reports: list[dict[str, Any]], id_: str) -> Any:
    body = json.dumps({"reports": reports}).encode()
    return client.post("/api/v2/instances", body, content_type="application/json", idempotency_key=id_)


def versions(client: Client, instance: str = HOUR) -> int:
    return len(client.get(f"/api/v2/entities/reads/instances/{instance}").json()["versions"])


def test_a_call_sent_again_is_recorded_once(reads: Client) -> None:
    reports = [{"entity": "reads", "what": "produced", "instances": [HOUR]}] * 3
    first = call(reads, reports, ID).json()
    again = call(reads, reports, ID).json()
    assert [each["seq"] for each in first["results"]] == [each["seq"] for each in again["results"]]
    assert all(each["duplicate"] for each in again["results"])
    assert versions(reads) == 3, "each report of a call is one"
    other = call(reads, reports, "another").json()
    assert not any(each.get("duplicate") for each in other["results"])
    refused = call(reads, reports, "x" * 201)
    assert refused.status_code == 400


def test_a_call_of_many_is_committed_in_portions(reads: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from headwater.errors import DatabaseUnavailable
    from headwater.intake.status import reports as status_reports

    reports = [
        made("reads", f"2024-{1 + day // 28:02}-{1 + day % 28:02}T{hour:02}") for day in range(50) for hour in range(24)
    ]
    record, taken = status_reports.record, list[int]()

    async def breaks_off(database: Any, some: Any, ahead: Any) -> Any:
        if len(taken) == 2:
            raise DatabaseUnavailable("the connection is lost")
        taken.append(len(some))
        return await record(database, some, ahead)

    with monkeypatch.context() as patched:
        patched.setattr(status_reports, "record", breaks_off)
        assert call(reads, reports, ID).status_code == 503
    assert taken == [500, 500]
    again = call(reads, reports, ID).json()["results"]
    assert [each.get("duplicate", False) for each in again] == [True] * 1000 + [False] * 200
    assert versions(reads) == 1


def test_a_run_makes_an_instance_once(reads: Client) -> None:
    first = say(reads, made("reads", HOUR, ref="r1", rows=3, reads=[]))["results"][0]
    again = say(reads, made("reads", HOUR, ref="r1", rows=3, reads=[]))["results"][0]
    assert (again["seq"], again["duplicate"]) == (first["seq"], True)
    in_one_call = say(reads, *[made("reads", "2024-01-01T01", ref="r1")] * 3)["results"]
    assert [each.get("duplicate", False) for each in in_one_call] == [False, True, True]
    assert versions(reads) == versions(reads, "2024-01-01T01") == 1


@pytest.mark.parametrize(
    "again",
    [
        made("reads", HOUR, ref="r2", rows=3),
        made("reads", HOUR, ref="r1", rows=4),
        made("reads", HOUR, ref="r1", rows=3, fingerprint="f"),
        made("reads", HOUR, ref="r1", rows=3, states=["estimated"]),
        made("reads", HOUR, ref="r1", rows=3, reads=[]),
        made("reads", HOUR, ref="r1", rows=3, key="k"),
        made("reads", HOUR, ref="r1", rows=3, at="2024-01-02T00:00:00Z"),
        made("reads", f"{HOUR}..2024-01-01T01", ref="r1", rows=3),
        made("reads", HOUR, rows=3),
    ],
    ids=lambda again: ",".join(sorted(again)),
)
def test_what_differs_is_another_version(reads: Client, again: dict[str, Any]) -> None:
    say(reads, made("reads", HOUR, ref="r1", rows=3))
    assert not say(reads, again)["results"][0]["duplicate"]
    assert versions(reads) == 2


@pytest.mark.parametrize(
    "between",
    [
        {"entity": "reads", "what": "deleted", "instances": [HOUR], "ref": "external"},
        {"entity": "reads", "what": "doubted", "instances": [HOUR], "ref": "row_count"},
        {"entity": "reads", "what": "failed", "instances": [HOUR], "ref": "r0"},
        {"entity": "reads", "what": "started", "instances": [HOUR], "ref": "r9"},
        made("reads", HOUR, ref="r7"),
    ],
    ids=lambda between: between["what"],
)
def test_what_happened_in_between_is_mended(reads: Client, between: dict[str, Any]) -> None:
    """The run is started again under its name: an instance that was deleted or doubted meanwhile has a new version."""
    say(reads, made("reads", HOUR, ref="r1"))
    say(reads, between)
    again = say(reads, made("reads", HOUR, ref="r1"))["results"][0]
    if between["what"] in {"started", "failed"}:  # of another run: what r1 made is what it was
        assert again["duplicate"]
    else:
        assert not again["duplicate"]
