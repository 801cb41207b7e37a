"""The stream of stale answers: what each change makes stale, marks, roles, the bound."""

import asyncio
import datetime as dt
import json
from typing import Any

from tests.events import encoded, run_event

from headwater.answer.stale import ALL, StaleAnswers
from headwater.store.database import Database

STREAM = "/api/v2/events/stream"
EVENT = encoded(run_event("COMPLETE", 1, "job", ["/in"], ["/out"]))
YAML = "entity: reads\nperiod: {every: day, from: 2024-01-01}\n"


def events(text: str) -> list[tuple[int, list[str]]]:
    """The (id, stale) of each event of a stream."""
    blocks = [
        dict(line.split(": ", 1) for line in block.splitlines() if line[:1] != ":") for block in text.split("\n\n")
    ]
    return [(int(block["id"]), json.loads(block["data"])["stale"]) for block in blocks if "data" in block]


def follow(one: Any, mark: int | bytes | None = None, *, key: str | None = None) -> list[tuple[int, list[str]]]:
    """The events that a stream sends at once."""
    reply = one.get(
        f"{STREAM}?seconds=0",
        key,
        headers={} if mark is None else {"Last-Event-ID": mark if isinstance(mark, bytes) else str(mark)},
    )
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert reply.headers["cache-control"] == "no-store"
    assert "content-encoding" not in reply.headers
    return events(reply.text)


def settled(one: Any, mark: int) -> tuple[int, set[str]]:
    """The next mark after this one, and what is stale since: a look may be a moment old."""
    for _ in range(100):
        ((now, stale),) = follow(one, mark)
        if now != mark:
            return now, set(stale)
        one.run(asyncio.sleep(0.05))
    raise AssertionError(f"nothing changed after {mark}")


def test_each_change_names_the_answers_that_it_makes_stale(served: Any) -> None:
    one = served()

    def send(method: str, path: str, body: Any) -> Any:
        reply = one.ask(method, path, json=body)
        assert reply.is_success, reply.text
        return reply.json()

    report = {"entity": "reads", "what": "produced", "instances": ["2024-03-10"]}
    wrong = {"wrong": [{"entity": "reads", "instances": ["2024-03-10"]}], "reason": "stuck"}
    changes: list[tuple[str, str, Any, set[str]]] = [
        ("PUT", "/api/v2/metadata/datasets/file/%2Fout/tags/pii", {}, {"metadata", "catalogue", "settings"}),
        ("POST", "/api/v2/entities", {"files": [{"name": "a.yaml", "text": YAML}]}, {"instances", "catalogue"}),
        ("POST", "/api/v2/instances", {"reports": [report]}, {"instances", "incidents", "lineage", "plans"}),
        ("POST", "/api/v2/incidents", wrong, {"incidents", "instances", "lineage"}),
        ("POST", "/api/v2/plans", {}, {"plans", "incidents"}),
    ]
    assert one.post("/api/v1/lineage", content=EVENT).status_code == 201
    mark, stale = settled(one, 0)
    assert {"runs", "lineage", "catalogue", "incidents", "events"} <= stale
    for method, path, body, expected in changes:
        send(method, path, body)
        mark, stale = settled(one, mark)
        assert expected <= stale, (path, stale)
        assert "runs" not in stale, path
    assert follow(one, mark) == [(mark, [])]


def test_a_mark_never_passes_a_change_that_is_not_committed(served: Any, database: Database) -> None:
    """Numbers are drawn before they are committed: the change with the lower one may come later."""
    one = served()
    stale = StaleAnswers(database)
    tag = "insert into changes (id, author, action, target, node, other, body) values (gen_random_uuid(), 'a', 'b', 'c', '', '', '{}')"
    begun, commit = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        async with Database(database.url, pool_size=2) as other, other.transaction() as connection:
            await connection.execute(tag)
            begun.set()
            await commit.wait()

    async def play() -> None:
        first = (await stale.begin(None, dt.timedelta())).mark
        writing = asyncio.create_task(slow())
        await begun.wait()
        assert (await one.http.post("/api/v1/lineage", content=EVENT)).status_code == 201
        early = await stale.after(first, 1.0)
        commit.set()
        await writing
        assert early is None
        notice = await stale.after(first, 5.0)
        assert notice is not None
        assert {"metadata", "runs"} <= set(notice.stale)
        assert await stale.after(notice.mark, 0.5) is None

    one.run(play())


def test_with_a_mark_that_no_server_gave_everything_is_stale(served: Any) -> None:
    one = served()
    assert one.post("/api/v1/lineage", content=EVENT).status_code == 201
    for mark in (b"", b"x", b"-1", b"1.5", b"9" * 18, b"9" * 500, b"1 OR 1=1", b"0x10", "\u0663".encode()):
        ((now, stale),) = follow(one, mark)
        assert stale == list(ALL), mark
        assert follow(one, now) == [(now, [])]


def test_a_client_without_a_mark_learns_what_changed_since_it_asked(served: Any) -> None:
    one = served()
    assert one.post("/api/v1/lineage", content=EVENT).status_code == 201
    ((_, quiet),) = follow(one)
    assert quiet == []
    ((_, stale),) = events(one.get(f"{STREAM}?seconds=0&recent=3600").text)
    assert {"runs", "lineage"} <= set(stale)


def test_it_is_for_readers(served: Any, key: Any) -> None:
    reader = key("read")
    one = served(access={"mode": "keys"})
    assert one.get(f"{STREAM}?seconds=0").status_code == 401
    assert len(follow(one, key=reader.key)) == 1
    assert one.get(f"{STREAM}?seconds=0", "hw_invented").status_code == 401
    assert one.get(f"{STREAM}?seconds=0", headers={"host": "evil.example"}).status_code == 421


def test_open_streams_are_counted_as_waiting_and_bounded(served: Any) -> None:
    one = served(server={"max_waiting": 1})

    async def crowd() -> list[int]:
        replies = await asyncio.gather(*(one.http.get(f"{STREAM}?seconds=0.5") for _ in range(3)))
        return sorted(reply.status_code for reply in replies)

    assert one.run(crowd()) == [200, 503, 503]
    assert len(follow(one)) == 1
