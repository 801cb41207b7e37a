"""The state of each producer, over a window of the log that an index holds."""

import datetime as dt
from typing import Any

import pytest
from tests.events import encoded, facet, run_event

from headwater.store import sqlfile

LINEAGE = "/api/v1/lineage"
NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
STREAM = {"jobType": facet(processingType="STREAMING")}


def ago(**span: float) -> str:
    return (NOW - dt.timedelta(**span)).isoformat()


def send(client: Any, *events: dict[str, Any]) -> None:
    for event in events:
        assert client.post(LINEAGE, encoded(event)).status_code == 201


def ask(client: Any, **question: Any) -> dict[str, Any]:
    reply = client.get("/api/v2/producers", **question)
    assert reply.status_code == 200, reply.text
    return {one["producer"]: one for one in reply.json()["producers"]}


def test_each_producer_with_what_it_sends_and_what_is_odd(client: Any, statements: Any) -> None:
    send(
        client,
        run_event("START", 1, "done", at=ago(hours=2)),
        run_event("COMPLETE", 1, "done", at=ago(hours=1)),
        run_event("START", 2, "lost", at=ago(days=3)),
        run_event("START", 3, "lost", at=ago(days=2)),
        run_event("START", 4, "young", at=ago(hours=20)),
        run_event("START", 5, "stream", at=ago(days=3), job_facets=STREAM),
        {**run_event("START", "odd", "job", at=ago(minutes=1)), "producer": "other"},
        {**run_event("START", "odder", "job", at=ago(minutes=1)), "producer": "other"},
        {**run_event(None, 7, "job", at=ago(minutes=1)), "producer": "other"},
        {"eventTime": ago(minutes=1), "producer": "other", "job": {"namespace": "n", "name": "j"}},
    )
    with statements() as counted:
        found = ask(client)
    assert len(counted) <= 7
    mine, other = found["https://example.test"], found["other"]
    assert list(found) == ["https://example.test", "other"]
    assert (mine["events"], mine["kinds"], mine["types"]) == (6, {"run": 6}, {"START": 5, "COMPLETE": 1})
    assert (other["kinds"], other["types"]) == ({"run": 3, "job": 1}, {"START": 2, "OTHER": 1})
    assert (mine["warned"], mine["warnings"], other["warned"]) == (0, [], 0.5)
    (odd,) = other["warnings"]
    assert (odd["code"], odd["count"]) == ("run_id_not_uuid", 2)
    assert sum(day["count"] for day in odd["days"]) == 2
    assert [(one["job"], one["runs"]) for one in mine["never_ended"]] == [("job:test:lost", 2)]
    assert dt.datetime.fromisoformat(mine["never_ended"][0]["since"]) == NOW - dt.timedelta(days=3)
    assert 3 * 86400 - 60 < mine["delay"]["max"] < 3 * 86400 + 600
    assert mine["delay"]["p50"] < mine["delay"]["p90"]
    assert dt.datetime.fromisoformat(mine["last_seen"]) > NOW - dt.timedelta(minutes=1)


def test_only_the_window_counts(client: Any, database: Any, run: Any) -> None:
    send(client, run_event("START", 1, "old"), run_event("START", 2, "new"))

    async def age() -> None:
        async with database.connection() as connection:
            await connection.execute(
                "update events set received_at = now() - interval '8 days' where run_id::text like '%1'"
            )

    run(age())
    assert ask(client)["https://example.test"]["events"] == 1
    assert ask(client, since=ago(days=9))["https://example.test"]["events"] == 2
    assert ask(client, since=(NOW + dt.timedelta(hours=1)).isoformat()) == {}


@pytest.mark.parametrize("name", sorted(sqlfile.load("events/producers")))
def test_a_window_is_read_by_the_index_on_its_time(client: Any, database: Any, run: Any, name: str) -> None:
    send(client, run_event("START", 1, "job"))
    query = sqlfile.load("events/producers")[name]

    async def plan() -> str:
        async with database.transaction() as connection:
            await connection.execute("set local enable_seqscan = off")
            rows = await connection.execute("explain " + query.sql, {"since": NOW, "until": NOW, "silent_since": NOW})
            return "\n".join(row[0] for row in await rows.fetchall())

    text = run(plan())
    assert ("event_time_idx" if name == "reported_hours" else "received_at_idx") in text
    assert "Seq Scan on events" not in text
