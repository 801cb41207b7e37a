"""Producers, syncs and jobs that used to report and do not any more, with the last run that was well."""

import datetime as dt
from typing import Any

from tests.api.usage.measures import N, camel, job
from tests.api.usage.measures import send as measured
from tests.events import encoded, run_event
from tests.fixtures.app import Client

NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)


def ago(hours: float) -> str:
    return (NOW - dt.timedelta(hours=hours)).isoformat()


def send(client: Client, number: int, hours: float, *, state: str = "COMPLETE", job: str = "load", **more: Any) -> None:
    event = run_event(state, number, job, ["/raw"], [f"/{job}"], at=ago(hours)) | more
    assert client.post("/api/v1/lineage", encoded(event)).status_code == 201


def ask(client: Client) -> list[dict[str, Any]]:
    reply = client.get("/api/v2/stale-lineage")
    assert reply.status_code == 200, reply.text
    return list(reply.json()["sources"])


def of_kind(client: Client, kind: str) -> list[dict[str, Any]]:
    return [one for one in ask(client) if one["kind"] == kind]


def test_a_producer_that_was_daily_and_fell_silent(client: Client) -> None:
    """All events arrive at once, as after an outage or from an archive: their own times count."""
    for number, days in enumerate(range(14, 3, -1)):
        send(client, number, days * 24, producer="https://example.test/etl/1.4.0")
        send(client, 100 + number, days * 24 - 0.5, job="other", producer="https://example.test/other")
    for days in (3, 2, 1):
        send(client, 200 + days, days * 24 - 23.5, job="other", producer="https://example.test/other")
    (silent,) = of_kind(client, "producer")
    assert (silent["id"], silent["cause"], silent["usual"]) == ("https://example.test/etl/1.4.0", "silent", "daily")
    assert silent["text"] == "silent for 4 days; it usually reports daily"
    send(client, 300, 0.5, producer="https://example.test/etl/1.5.0")
    assert of_kind(client, "producer") == [], "an upgraded producer is the same one"


def test_a_producer_without_a_rhythm_is_never_stale(client: Client) -> None:
    for number, hours in enumerate((700, 699, 310, 200)):
        send(client, number, hours, producer="https://example.test/by-hand")
    assert of_kind(client, "producer") == []


def test_a_job_whose_runs_fail_and_one_that_runs_no_more(client: Client) -> None:
    for number, hours in enumerate(range(30, 6, -1)):
        send(client, number, hours)
        send(client, 100 + number, hours, job="idle")
    for number, hours in ((300, 5), (301, 4), (302, 3)):
        send(client, number, hours, state="FAIL")
    failing, silent = sorted(of_kind(client, "job"), key=lambda one: str(one["cause"]))
    assert (failing["id"], failing["cause"], silent["cause"]) == ("job:test:load", "failing", "silent")
    assert failing["text"] == "its last 3 runs did not succeed: its lineage is that of the run before"
    assert [name.rpartition("/")[2] for name in failing["datasets"]] == ["load"]
    assert (silent["id"], silent["text"]) == (
        "job:test:idle", "it has not run for 7 hours; what it writes is usually updated hourly",
    )  # fmt: skip
    send(client, 400, 0)
    assert [one["id"] for one in of_kind(client, "job")] == ["job:test:idle"]


def test_a_log_that_is_not_read_any_more(client: Client) -> None:
    def read(days: int) -> None:
        at = NOW - dt.timedelta(days=days)
        counts = camel({"day": str(at.date()), "dialect": "snowflake", "executions": 1, "full_executions": 1})
        measured(client, job("query-log", at=at.isoformat(), quality={"days": [counts]}))

    for days in range(14, 3, -1):
        read(days)
    (stopped,) = of_kind(client, "sync")
    assert (stopped["id"], stopped["usual"]) == (f"{N} (snowflake)", "daily")
    assert stopped["text"] == "its query log has not been read for 4 days; it usually is daily"
    for days in (3, 2, 1, 0):
        read(days)
    assert of_kind(client, "sync") == []
