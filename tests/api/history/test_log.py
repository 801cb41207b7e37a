"""The log by pages, whole and in order; and what is put back is as it was."""

import base64
import json
from typing import Any

import pytest
from tests.events import encoded, run_event
from tests.fixtures.postgres import empty

from headwater.answer.history import log
from headwater.intake.upkeep.rebuild import fingerprints


def body(number: int, at: str | None = "2026-03-01T00:00:00Z", **more: Any) -> bytes:
    event = run_event("COMPLETE", number, f"job{number}", ["/in"], [f"/out{number}"], at="2026-03-01T00:00:00Z", **more)
    if at is None:
        del event["eventTime"]
    # Not as any encoder would write it: bytes are kept as they came.
    return json.dumps(event, indent=3).encode()


def whole(client: Any, **asked: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after = asked.pop("after", None)
    while True:
        page = client.get("/api/v2/admin/log", after=after, **asked).json()
        found += page["events"]
        if page["next"] is None:
            return found
        after = page["next"]


def logged(run: Any, database: Any) -> list[Any]:
    async def ask() -> list[Any]:
        async with database.connection() as connection:
            query = "select event_time, digest, kind, event_type, run_id, producer, received_at, body from events order by 1, 2"
            return await (await connection.execute(query)).fetchall()

    return run(ask())


def test_out_and_in_again(client: Any, database: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = [body(1), body(2, None), body(3), body(4), body(5)]
    for one in bodies:
        assert client.post("/api/v1/lineage", one).status_code in {200, 201}
    before, tables = logged(run, database), run(fingerprints(database))
    pages = whole(client, limit=2)
    assert [base64.b64decode(one["body"]) for one in pages] == bodies
    assert [one["arrived"] for one in pages] == sorted({one["arrived"] for one in pages})
    # By bytes a page has one event at least.
    monkeypatch.setattr(log, "_BYTES", 1)
    assert whole(client) == pages
    # A part of it, by numbers.
    assert whole(client, after=str(pages[1]["arrived"]), upto=pages[3]["arrived"]) == pages[2:4]
    settled = client.get("/api/v2/admin/log", limit=0).json()
    assert (settled["settled"], settled["events"]) == (pages[-1]["arrived"], [])

    run(empty(database))
    assert whole(client) == []
    back = [{key: one[key] for key in ("body", "received_at", "event_time")} for one in reversed(pages)]
    taken = client.post("/api/v2/admin/log", encoded({"events": back}))
    assert taken.json() == {"accepted": 5, "duplicates": 0, "refused": []}
    assert logged(run, database) == before
    assert run(fingerprints(database)) == tables
    # Again, and the one without a time sent by its producer again: nothing is new.
    more = [
        *back,
        {
            "body": base64.b64encode(b"{}").decode(),
            "received_at": "2026-01-01T00:00:00",
            "event_time": "2026-01-01T00:00:00Z",
        },
    ]
    told = client.post("/api/v2/admin/log", encoded({"events": more})).json()
    assert (told["accepted"], told["duplicates"], [one["index"] for one in told["refused"]]) == (0, 5, [5])
    client.post("/api/v1/lineage", bodies[1])
    assert logged(run, database) == before


def test_what_came_before_there_were_numbers(client: Any, database: Any, run: Any) -> None:
    for number in range(4):
        client.post("/api/v1/lineage", body(number))

    async def forget() -> None:
        async with database.connection() as connection:
            await connection.execute(
                "update events set arrived = null where arrived in (select arrived from events order by arrived limit 2)"
            )

    known = [one["digest"] for one in whole(client)]
    run(forget())
    found = whole(client, limit=1)
    assert sorted(one["digest"] for one in found[:2]) == sorted(known[:2])
    assert [one["arrived"] for one in found[:2]] == [0, 0]
    assert [one["digest"] for one in found[2:]] == known[2:]
    assert len(whole(client, upto=0)) == 2


def test_no_place(client: Any) -> None:
    for after in ("x", "1/2", "1/2026-01-01/zz"):
        assert client.get("/api/v2/admin/log", after=after).status_code == 400
