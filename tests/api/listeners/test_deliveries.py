"""Delivery of events to listeners: on real sockets, from a real log."""

import asyncio
import base64
import datetime as dt
import json
import os
import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from tests.events import encoded, run_event, schema
from tests.receiver import Answer, Receiver, receiving

from headwater import telemetry
from headwater.answer.people import listeners as answers
from headwater.errors import DatabaseUnavailable, InvalidEvent, InvalidQuestion
from headwater.intake.events.accept import Intake
from headwater.intake.listeners import changes as writes
from headwater.intake.listeners import deliveries, destinations
from headwater.intake.listeners.filter import Filter
from headwater.intake.listeners.networks import Networks, Outbound
from headwater.intake.people.audit import by_command
from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres
from headwater.store.events import backup
from headwater.store.people import listeners as store
from headwater.store.people.secrets import load_key

OUTBOUND = Outbound(load_key(os.environ["HEADWATER_ACCESS__SECRET_KEY"], Path()), Networks("127.0.0.0/8"))
PACE = deliveries.Pace(timeout_seconds=2.0, look_seconds=0.1, idle_seconds=0.1, rest_seconds=0.01)
FORWARD = (Path(__file__).parents[3] / "docs/howto/forward.md").read_text(encoding="utf-8")


def event(number: int, type_: str = "COMPLETE", at: str = "2026-01-01T00:00:00Z", **more: Any) -> bytes:
    return encoded(run_event(type_, number, f"job-{number}", ["/in"], ["/out"], at=at, **more))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as one:
        yield one


async def add(database: Database, kind: str, url: str | None, name: str = "one", **more: Any) -> writes.Added:
    return await writes.add(
        database, writes.ListenerRequest(name, kind, url, **more), OUTBOUND, by=by_command("listeners add", "add", name)
    )


@asynccontextmanager
async def delivering(database: Database, **pace: Any) -> Any:
    settings = {name: getattr(PACE, name) for name in PACE.__struct_fields__} | pace
    running = deliveries.begin(database, deliveries.Pace(**settings), OUTBOUND)
    try:
        yield running.deliverer
    finally:
        await deliveries.end(running)


async def until(true: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come to that"
        await asyncio.sleep(0.01)


async def shown(database: Database, name: str = "one") -> answers.ListenerView:
    return (await answers.listener(database, name)).listener


async def drained(database: Database, name: str = "one", seconds: float = 10.0) -> answers.ListenerView:
    deadline = time.monotonic() + seconds
    while (told := await shown(database, name)).backlog or told.replaying_from:
        assert time.monotonic() < deadline, str(told)
        await asyncio.sleep(0.02)
    return told


# -- the cursor --


def test_an_event_committed_late_is_not_missed(
    database: Database, postgres: EmbeddedPostgres, receiver: Receiver, run: Any
) -> None:
    intake = Intake(database)

    async def work() -> None:
        await add(database, "marquez", receiver.url)
        await intake.accept(event(0))  # the month is made
        async with delivering(database):
            await until(lambda: receiver.jobs() == ["job-0"])
            with psycopg.connect(postgres.url) as slow:
                slow.execute("select begin_writing((select generation from server_state))")
                slow.execute(
                    "insert into events (event_time, digest, kind, event_type, producer, body, arrived)"
                    " values ('2026-01-01', '\\x01', 'run', 'COMPLETE', 'p', %s, nextval('arrivals'))",
                    [event(1)],
                )
                await intake.accept(event(2))
                await asyncio.sleep(0.5)
                assert receiver.jobs() == ["job-0"], "delivered past a writer that has not ended"
                assert (await shown(database)).backlog == 1
                slow.commit()
            await until(lambda: len(receiver.jobs()) == 3)
            assert receiver.jobs() == ["job-0", "job-1", "job-2"]

    run(work())


def test_what_is_rolled_back_holds_nothing_up_and_is_not_delivered(
    database: Database, postgres: EmbeddedPostgres, receiver: Receiver, run: Any
) -> None:
    intake = Intake(database)

    async def work() -> None:
        await add(database, "marquez", receiver.url)
        await intake.accept(event(0))
        with psycopg.connect(postgres.url) as slow:
            slow.execute("select begin_writing((select generation from server_state)), nextval('arrivals')")
            async with delivering(database):
                await intake.accept(event(1))
                slow.rollback()
                await until(lambda: len(receiver.jobs()) == 2)
        assert receiver.jobs() == ["job-0", "job-1"]

    run(work())


def test_many_writers_none_missed_none_twice(database: Database, receiver: Receiver, run: Any) -> None:
    intakes = [Intake(database) for _ in range(3)]

    async def writer(intake: Intake, first: int) -> None:
        for number in range(first, first + 60):
            await intake.accept(event(number, at=f"2026-0{1 + number % 3}-01T00:00:00Z"))

    async def work() -> None:
        await add(database, "webhook", receiver.url, secret="whsec_" + base64.b64encode(b"s" * 32).decode())
        async with delivering(database, batch_events=7):
            await asyncio.gather(*(writer(intake, 1000 * n) for n, intake in enumerate(intakes)))
            await until(lambda: len(receiver.jobs()) >= 180)
            await drained(database)
        assert sorted(receiver.jobs()) == sorted(f"job-{1000 * n + i}" for n in range(3) for i in range(60))
        for n in range(3):
            mine = [int(job[4:]) for job in receiver.jobs() if int(job[4:]) // 1000 == n]
            assert mine == sorted(mine), "out of the order of arrival"

    run(work())


def test_a_backlog_goes_out_whole_and_in_order(database: Database, receiver: Receiver, run: Any) -> None:
    intake = Intake(database)

    async def work() -> None:
        await add(database, "marquez", receiver.url)
        for number in range(30):
            await intake.accept(event(number, at=f"2026-0{1 + number % 5}-01T00:00:00Z"))
        async with delivering(database, batch_events=7):
            await drained(database)
        assert receiver.jobs() == [f"job-{number}" for number in range(30)]

    run(work())


def test_it_begins_with_what_comes_and_a_replay_has_what_was(
    database: Database, postgres: EmbeddedPostgres, receiver: Receiver, run: Any
) -> None:
    intake = Intake(database)

    async def work() -> None:
        for number in range(3):
            await intake.accept(event(number, at=f"2026-01-0{number + 1}T00:00:00Z"))
        with psycopg.connect(postgres.url) as old:  # as rows from before the migration are
            old.execute("update events set arrived = null where event_time < '2026-01-03'")
        await add(database, "marquez", receiver.url)
        async with delivering(database, batch_events=1):
            await intake.accept(event(7))
            await until(lambda: receiver.jobs() == ["job-7"])
            # Written down, too: what a replay overtakes is delivered again.
            assert (await drained(database)).delivered == 1
            since = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
            await writes.replay(database, "one", since, by=by_command("listeners replay", "replay", "one"))
            await until(lambda: len(receiver.jobs()) == 3)
            await intake.accept(event(8, at="2025-01-01T00:00:00Z"))
            await until(lambda: len(receiver.jobs()) == 4)
            assert receiver.jobs() == ["job-7", "job-1", "job-2", "job-8"]
            assert (await drained(database)).delivered == 4

    run(work())


def test_a_listener_can_begin_with_the_past(database: Database, receiver: Receiver, run: Any) -> None:
    intake = Intake(database)

    async def work() -> None:
        await intake.accept(event(1))
        await add(database, "marquez", receiver.url, since=dt.datetime(2020, 1, 1))  # noqa: DTZ001
        assert (await shown(database)).backlog == 1
        async with delivering(database):
            await until(lambda: receiver.jobs() == ["job-1"])

    run(work())


def test_the_same_event_again_is_not_sent_again(database: Database, receiver: Receiver, run: Any) -> None:
    """An event that a receiver sends back stops here, because the log knows it."""
    intake, loop = Intake(database), None

    async def work() -> None:
        nonlocal loop
        loop = asyncio.get_running_loop()
        back = []

        def return_it(_path: str, body: bytes) -> Any:
            back.append(asyncio.run_coroutine_threadsafe(intake.accept(body), loop).result(10))
            return (204, b"")

        receiver.answer = return_it
        await add(database, "marquez", receiver.url)
        async with delivering(database):
            await intake.accept(event(1))
            await until(lambda: len(back) == 1)
            await intake.accept(event(2))
            await until(lambda: len(back) == 2)
            await drained(database)
            assert receiver.jobs() == ["job-1", "job-2"]
            assert [receipt.duplicate for receipt in back] == [True, True]

    run(work())


def test_without_a_listener_events_cost_no_statement(database: Database, statements: Any, run: Any) -> None:
    intake = Intake(database)

    async def work() -> None:
        async with delivering(database, idle_seconds=60.0):
            await intake.accept(event(0))
            await asyncio.sleep(0.1)
            with statements(background=True) as counted:
                for number in range(1, 11):
                    await intake.accept(event(number))
                await asyncio.sleep(0.2)
            theirs = {"lease", "held", "top", "writers", "after", "again", "progress"}
            assert not theirs & set(counted), counted

    run(work())


def test_a_restored_backup_goes_on_where_it_was(
    database: Database, postgres: EmbeddedPostgres, receiver: Receiver, run: Any, tmp_path: Path
) -> None:
    name = f"restored_{uuid.uuid4().hex}"
    other = urlunsplit(urlsplit(postgres.url)._replace(path=f"/{name}"))

    async def before() -> None:
        await add(database, "marquez", receiver.url)
        for number in range(3):
            await Intake(database).accept(event(number))
        async with delivering(database):
            await drained(database)
        await Intake(database).accept(event(3))

    async def after() -> None:
        async with Database(other, pool_size=3) as restored:
            await Intake(restored).accept(event(4))
            async with delivering(restored, timeout_seconds=60.0):  # a slow machine is no lost answer
                await drained(restored)

    run(before())
    backup.dump(postgres.url, tmp_path / "dump")
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"create database {name}".encode())
        backup.load(other, tmp_path / "dump")
        run(after())
        connection.execute(f"drop database {name} with (force)".encode())
    assert receiver.jobs() == [f"job-{number}" for number in range(5)]


# -- webhooks --


def verify(headers: dict[str, str], body: bytes, secret: str, now: float) -> bool:
    """The snippet of docs/howto/forward.md, as it stands there."""
    (snippet,) = re.findall(r"```python\n(import base64.*?)```", FORWARD, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(snippet, "forward.md", "exec"), names)
    return bool(names["verified"](headers, body, secret, now))


def test_a_webhook_is_signed_and_the_documented_snippet_verifies_it(
    database: Database, receiver: Receiver, run: Any
) -> None:
    intake = Intake(database)

    async def work() -> None:
        added = await add(database, "webhook", receiver.url + "/hook?x=1")
        assert added.secret
        assert added.secret.startswith("whsec_")
        async with delivering(database):
            await intake.accept(event(1))
            await until(lambda: len(receiver.requests) == 1)
            (first,) = receiver.requests
            assert first.path == "/hook?x=1"
            told = json.loads(first.body)
            assert told["listener"] == "one"
            assert told["delivery"] == first.headers["webhook-id"]
            assert "." not in told["delivery"]
            assert told["events"] == [json.loads(event(1))]
            assert verify(first.headers, first.body, added.secret, time.time())
            assert not verify(first.headers, first.body + b" ", added.secret, time.time())
            assert not verify(first.headers, first.body, added.secret, time.time() + 600)
            other = "whsec_" + base64.b64encode(b"x" * 32).decode()
            assert not verify(first.headers, first.body, other, time.time())

            rotated = await writes.rotate(
                database, "one", None, OUTBOUND, by=by_command("listeners rotate", "rotate", "one")
            )
            await asyncio.sleep(0.3)
            await intake.accept(event(2))
            await until(lambda: len(receiver.requests) == 2)
            second = receiver.requests[1]
            assert len(second.headers["webhook-signature"].split()) == 2
            assert rotated.secret
            for secret in (added.secret, rotated.secret):
                assert verify(second.headers, second.body, secret, time.time())

    run(work())


def test_the_signature_is_that_of_the_specification() -> None:
    """The example of the Standard Webhooks libraries."""
    secret = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    body = b'{"test": 2432232314}'
    signed = destinations.signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_same_delivery_again_has_the_same_id(database: Database, receiver: Receiver, run: Any) -> None:
    intake = Intake(database)

    async def work() -> None:
        answers_ = iter([(503, b"later", {"Retry-After": "0"}), (302, b"", {"Location": receiver.url + "/other"})])
        receiver.answer = lambda _path, _body: next(answers_, (200, b"ok"))
        await add(database, "webhook", receiver.url)
        async with delivering(database):
            await intake.accept(event(1))
            await until(lambda: len(receiver.requests) == 3)
            told = await drained(database)
        assert [one.path for one in receiver.requests] == ["/"] * 3, "a redirect was followed"
        assert len({one.headers["webhook-id"] for one in receiver.requests}) == 1
        assert (told.delivered, told.refused, told.failures, told.last_error) == (1, 0, 0, None)

    run(work())


def test_a_receiver_that_is_gone_is_paused(database: Database, receiver: Receiver, run: Any) -> None:
    intake = Intake(database)

    async def work() -> None:
        receiver.answer = lambda _path, _body: (410, b"never again")
        await add(database, "webhook", receiver.url)
        async with delivering(database):
            await intake.accept(event(1))
            await until(lambda: len(receiver.requests) == 1)
            await asyncio.sleep(0.6)
            told = await shown(database)
        assert (told.state, told.backlog, len(receiver.requests)) == ("paused", 1, 1)
        assert told.last_error
        assert "never again" in told.last_error

    run(work())


def test_half_an_emoji_does_not_spoil_a_webhook(database: Database, receiver: Receiver, run: Any) -> None:
    intake = Intake(database)

    async def work() -> None:
        await add(database, "webhook", receiver.url)
        await intake.accept(event(1).replace(b"/out", b"\\ud83d"))
        await intake.accept(event(2).replace(b"/out", b"\xff"))
        async with delivering(database):
            await until(lambda: len(receiver.jobs()) == 2)

    run(work())


# -- OpenLineage --


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("marquez", "/api/v1/lineage"),
        ("datahub", "/openapi/openlineage/api/v1/lineage"),
        ("openmetadata", "/api/v1/openlineage/lineage"),
        ("snowflake", "/api/v2/lineage/external-lineage"),
    ],
)
def test_catalogs_get_the_bytes_that_came(
    kind: str, path: str, database: Database, receiver: Receiver, run: Any
) -> None:
    intake = Intake(database)
    bodies = [event(n).replace(b", ", b" ,\n ") for n in range(3)]

    async def work() -> None:
        await add(database, kind, receiver.url, secret="a-key")
        for body in bodies:
            await intake.accept(body)
        async with delivering(database):
            await until(lambda: len(receiver.requests) == 3)
        assert [one.body for one in receiver.requests] == bodies
        assert {one.path for one in receiver.requests} == {path}
        assert {one.headers["authorization"] for one in receiver.requests} == {"Bearer a-key"}

    run(work())


def test_snowflake_gets_the_ends_of_runs_alone(database: Database, receiver: Receiver, run: Any) -> None:
    intake = Intake(database)

    async def work() -> None:
        await add(database, "snowflake", receiver.url, secret="a-token")
        for kind in ("START", "RUNNING", "COMPLETE", "OTHER"):
            await intake.accept(encoded(run_event(kind, 1, "load", ["/in"], ["/out"], at="2026-01-01T00:00:00Z")))
        await intake.accept(encoded(run_event("COMPLETE", 2, "only_writes", [], ["/out"])))
        await intake.accept(encoded(run_event("COMPLETE", 3, "last", ["/in"], ["/out"])))
        async with delivering(database):
            await until(lambda: "last" in receiver.jobs())
        assert receiver.jobs() == ["load", "last"]

    run(work())


def test_databricks_gets_objects_before_edges_and_each_once(database: Database, receiver: Receiver, run: Any) -> None:
    intake = Intake(database)
    known: set[bytes] = set()

    def answer(path: str, body: bytes) -> Answer:
        if "update_mask" in path:
            return (200, b"{}")
        exists = body in known
        known.add(body)
        return (409, b'{"error_code": "ALREADY_EXISTS"}') if exists else (200, b"{}")

    receiver.answer = answer
    table = {"namespace": "unitycatalog://dbc", "name": "main.mart.sums", "facets": {}}
    source = {"namespace": "postgres://db:5432", "name": "shop.public.orders", "facets": schema("amount")}

    async def work() -> None:
        await add(database, "databricks", f"{receiver.url}/", secret="a-token")
        for numbers in ((1, 2), (3,)):  # the second time by another process, which finds what is there already
            for number in numbers:
                await intake.accept(encoded(run_event("COMPLETE", number, "load", [source], [table])))
            async with delivering(database):
                view = await drained(database)
        assert (view.delivered, view.refused) == (3, 0)
        objects, edges = "/api/2.0/lineage-tracking/external-metadata", "/api/2.0/lineage-tracking/external-lineage"
        name = "postgres_db_5432_shop.public.orders_0b9eda7f"
        assert [one.path for one in receiver.requests] == [
            objects, edges, objects, f"{objects}/{name}?update_mask=columns", edges, f"{edges}?update_mask=columns",
        ]  # fmt: skip
        assert {one.headers["authorization"] for one in receiver.requests} == {"Bearer a-token"}

    run(work())


def test_batches_where_they_are_known(database: Database, receiver: Receiver, run: Any) -> None:
    intake = Intake(database)

    async def work() -> None:
        for number in range(5):
            await intake.accept(event(number))
        await add(database, "openlineage", receiver.url, since=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
        receiver.answer = lambda _path, _body: (
            200,
            b'{"failed_events": [{"index": 1, "reason": "bad", "retriable": false}, {"index": 7}]}',
        )
        async with delivering(database):
            told = await drained(database)
        assert [one.path for one in receiver.requests] == ["/api/v1/lineage/batch"]
        assert (told.delivered, told.refused) == (4, 1)
        assert (await answers.listener(database, "one")).refusals[0].reason == "bad"

    run(work())


def test_one_by_one_where_batches_are_unknown(database: Database, receiver: Receiver, run: Any) -> None:
    intake = Intake(database)

    async def work() -> None:
        for number in range(3):
            await intake.accept(event(number))
        await add(database, "openlineage", receiver.url + "/own/path", since=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
        receiver.answer = lambda path, _body: (404, b"") if path.endswith("/batch") else (201, b"")
        async with delivering(database):
            await drained(database)
            for number in range(3, 6):
                await intake.accept(event(number))
            await until(lambda: len(receiver.jobs()) == 6)
        paths = [one.path for one in receiver.requests]
        assert paths == ["/own/path/batch"] + ["/own/path"] * 6

    run(work())


# -- refusals and failures --


@pytest.mark.parametrize("kind", ["marquez", "webhook", "openlineage"])
def test_what_is_refused_is_remembered_and_holds_nothing_up(
    kind: str, database: Database, receiver: Receiver, run: Any
) -> None:
    intake = Intake(database)

    async def work() -> None:
        receiver.answer = lambda _path, body: (422, b"no job-3 here") if b"job-3" in body else (200, b"")
        for number in range(8):
            await intake.accept(event(number))
        await add(database, kind, receiver.url, since=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
        async with delivering(database):
            told = await drained(database)
        assert sorted(receiver.jobs()) == [f"job-{n}" for n in range(8) if n != 3]
        assert (told.state, told.delivered, told.refused) == ("active", 7, 1)
        (refusal,) = (await answers.listener(database, "one")).refusals
        assert refusal.reason == "HTTP 422: no job-3 here"
        assert len(receiver.requests) < 16

    run(work())


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
def test_who_may_not_or_not_now_is_asked_again(status: int, database: Database, receiver: Receiver, run: Any) -> None:
    intake = Intake(database)

    async def work() -> None:
        receiver.answer = lambda _path, _body: (status, b"not now")
        await add(database, "marquez", receiver.url)
        await intake.accept(event(1))
        await intake.accept(event(2))
        async with delivering(database):
            await until(lambda: len(receiver.requests) == 2)
            told = await shown(database)
            assert told.state == "failing"
            assert told.last_error == f"HTTP {status}: not now"
            receiver.answer = lambda _path, _body: (200, b"")
            await until(lambda: receiver.jobs() == ["job-1", "job-2"])
            told = await drained(database)
        assert (told.state, told.delivered, told.refused) == ("active", 2, 0)

    run(work())


def test_a_receiver_that_is_away_or_hangs_stops_no_other(database: Database, receiver: Receiver, run: Any) -> None:
    intake = Intake(database)

    async def work() -> None:
        with receiving() as hanging:
            hanging.answer = lambda _path, _body: (time.sleep(3), (200, b""))[1]
            await add(database, "webhook", hanging.url, "hanging")
            await add(database, "webhook", "http://127.0.0.1:9", "away")
            await add(database, "marquez", receiver.url)
            async with delivering(database, timeout_seconds=0.3):
                for number in range(5):
                    await intake.accept(event(number))
                await until(lambda: len(receiver.jobs()) == 5)
                await asyncio.sleep(1.0)
                for name in ("hanging", "away"):
                    told = await shown(database, name)
                    assert (told.state, told.backlog) == ("failing", 5), told
            hanging.answer = lambda _path, _body: (time.sleep(8), (200, b""))[1]
            async with delivering(database, timeout_seconds=20.0):
                asked = len(hanging.requests)
                await asyncio.sleep(0.5)
                began = time.monotonic()
            assert time.monotonic() - began < 4, "the end waited for a receiver"
            assert len(hanging.requests) <= asked + 1

    run(work())


def test_pauses_grow_to_five_minutes_and_not_beyond(database: Database, run: Any) -> None:
    async def work() -> None:
        await add(database, "webhook", "http://127.0.0.1:9")
        async with delivering(database) as deliverer:
            await until(lambda: deliverer._deliveries)
            (delivery,) = deliverer._deliveries.values()
            longest = 0.0
            for failures in range(40):
                delivery._failures = failures
                pause = delivery._pause(None)
                assert 0.2 <= pause <= 300
                longest = max(longest, pause)
            assert longest > 150
            delivery._failures = 1
            assert delivery._pause(60.0) >= 60
            assert delivery._pause(1e9) == 300

    run(work())


def test_only_the_last_refusals_are_kept(database: Database, receiver: Receiver, run: Any, monkeypatch: Any) -> None:
    intake = Intake(database)
    monkeypatch.setattr("headwater.store.people.listeners._KEPT", 3)

    async def work() -> None:
        receiver.answer = lambda _path, _body: (400, b"\0")
        await add(database, "marquez", receiver.url)
        for number in range(7):
            await intake.accept(event(number))
        async with delivering(database, batch_events=2):
            told = await drained(database)
        assert told.refused == 7
        assert len((await answers.listener(database, "one")).refusals) == 3

    run(work())


def test_what_became_of_a_delivery_outlives_the_database_being_away(
    database: Database, receiver: Receiver, run: Any, monkeypatch: Any
) -> None:
    intake, progress, away = Intake(database), store.progress, [1]

    async def sometimes(*given: Any, **more: Any) -> bool:
        if away:
            away.pop()
            raise DatabaseUnavailable("restarting")
        return await progress(*given, **more)

    monkeypatch.setattr(store, "progress", sometimes)

    async def work() -> None:
        receiver.answer = lambda _path, _body: (400, b"no")
        await add(database, "marquez", receiver.url)
        await intake.accept(event(1))
        async with delivering(database):
            told = await drained(database)
        assert (told.refused, len(receiver.requests), away) == (1, 1, [])
        assert len((await answers.listener(database, "one")).refusals) == 1

    run(work())


# -- Python --


def test_python_listeners(database: Database, run: Any, monkeypatch: Any) -> None:
    intake = Intake(database)
    got: list[str] = []
    known: set[str] = set()
    trouble = [ValueError("not today")]

    class Mine:
        def __call__(self, events: Any) -> None:
            if trouble:
                raise trouble.pop()
            if any(one.json()["job"]["name"] == "job-2" for one in events):
                raise InvalidEvent("never job-2")
            got.extend(one.json()["job"]["name"] for one in events)
            assert {one.digest for one in events} <= known

    class Point:
        name = "mine"

        def load(self) -> Any:
            return Mine

    def points(group: str, name: str = "mine") -> Any:
        assert group == "headwater.listeners"
        return [Point()] if name == "mine" else []

    monkeypatch.setattr(destinations, "entry_points", points)
    monkeypatch.setattr(writes, "entry_points", points)

    async def work() -> None:
        await add(database, "python:mine", None)
        for number in range(4):
            known.add((await intake.accept(event(number))).id)
        async with delivering(database):
            told = await drained(database)
        assert sorted(got) == ["job-0", "job-1", "job-3"]
        assert (told.delivered, told.refused) == (3, 1)
        assert (await answers.listener(database, "one")).refusals[0].reason == "never job-2"

    run(work())


# -- what is wanted --


@pytest.mark.parametrize(
    ("filter", "jobs"),
    [
        (Filter(), ["job-1", "job-2", "job-3"]),
        (Filter(event_types=("COMPLETE",)), ["job-1", "job-3"]),
        (Filter(jobs=("job-[12]",)), ["job-1", "job-2"]),
        (Filter(jobs=("pr*/job-*",)), ["job-3"]),
        (Filter(namespaces=("test",), event_types=("start",)), ["job-2"]),
        (Filter(namespaces=("TEST",)), []),
    ],
)
def test_filters(filter: Filter, jobs: list[str], database: Database, receiver: Receiver, run: Any) -> None:
    intake = Intake(database)
    about_data = {"eventTime": "2026-01-01T00:00:00Z", "producer": "p", "dataset": {"namespace": "prod", "name": "d"}}

    async def work() -> None:
        await add(database, "marquez", receiver.url, filter=filter)
        await intake.accept(event(1))
        await intake.accept(event(2, "START"))
        await intake.accept(event(3, namespace="prod"))
        await intake.accept(encoded(about_data))
        async with delivering(database):
            await drained(database)
        told = [json.loads(one.body) for one in receiver.requests]
        assert [one["job"]["name"] for one in told if "job" in one] == jobs
        assert any("dataset" in one for one in told) == (filter == Filter())

    run(work())


# -- several servers --


def test_one_delivers_at_a_time_and_another_takes_over(database: Database, receiver: Receiver, run: Any) -> None:
    intake = Intake(database)

    async def work() -> None:
        await add(database, "marquez", receiver.url)
        async with delivering(database) as first, delivering(database) as second:
            for number in range(30):
                await intake.accept(event(number))
            await until(lambda: len(receiver.jobs()) >= 30)
            await drained(database)
            assert len(receiver.jobs()) == 30, "both delivered"
            assert sorted(map(len, (first._deliveries, second._deliveries))) == [0, 1]
        async with delivering(database):
            await intake.accept(event(30))
            await until(lambda: len(receiver.jobs()) == 31)

    run(work())


def test_ending_in_the_middle_of_stopping_a_listener_closes_its_connection(
    database: Database, receiver: Receiver, run: Any, monkeypatch: Any
) -> None:
    begun, ended = asyncio.Event(), deliveries.ended

    async def slowly(*given: Any) -> bool:
        begun.set()
        await asyncio.sleep(0.3)
        return await ended(*given)

    monkeypatch.setattr(deliveries, "ended", slowly)

    async def scenario() -> Any:
        await add(database, "webhook", receiver.url)
        async with delivering(database) as deliverer:
            await Intake(database).accept(event(1))
            await drained(database)
            (delivery,) = deliverer._deliveries.values()
            await writes.remove(database, "one", by=by_command("listeners remove", "remove", "one"))
            deliverer.changed()
            await begun.wait()
        return delivery._destination

    assert run(scenario())._poster._client.is_closed


def test_a_change_under_way_is_not_written_over(database: Database, receiver: Receiver, run: Any) -> None:
    intake = Intake(database)

    async def work() -> None:
        await add(database, "marquez", receiver.url)
        receiver.answer = lambda _path, _body: (time.sleep(0.3), (200, b""))[1]
        async with delivering(database):
            await intake.accept(event(1))
            await asyncio.sleep(0.15)  # it is being delivered
            since = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
            await writes.replay(database, "one", since, by=by_command("listeners replay", "replay", "one"))
            told = await drained(database)
            assert told.replaying_from is None
        assert receiver.jobs().count("job-1") == 2, "the replay was forgotten"

    run(work())


def test_only_who_has_the_lease_of_this_revision_writes_down(database: Database, run: Any) -> None:
    async def work() -> None:
        await add(database, "marquez", "http://127.0.0.1:9")
        me = uuid.uuid4()

        async def progress(listener: store.Listener) -> bool:
            async with database.transaction() as connection:
                place = store.Place(listener.place.arrived + 1)
                return await store.progress(
                    connection, listener, place, None, delivered=1, refused=[], error=None, gone=False
                )

        async with database.connection() as connection:
            await store.lease(connection, me, 15.0)
            assert await store.lease(connection, uuid.uuid4(), 15.0) == []
            (mine,) = await store.held(connection, me)
        assert await progress(mine)
        await writes.replay(
            database, "one", dt.datetime(2026, 1, 1, tzinfo=dt.UTC), by=by_command("listeners replay", "replay", "one")
        )
        assert not await progress(mine), "a change by a person was written over"
        async with database.connection() as connection:
            (changed,) = await store.held(connection, me)
            assert changed.replay is not None
            assert changed.place == store.Place(mine.place.arrived + 1)
            await store.release(connection, me)
            await store.lease(connection, uuid.uuid4(), 15.0)
        assert not await progress(changed), "another process has it"

    run(work())


def test_what_is_delivered_is_measured(database: Database, receiver: Receiver, run: Any) -> None:
    intake = Intake(database)
    heard: list[telemetry.Delivered] = []
    quiet = telemetry.listen(
        lambda figures: heard.append(figures) if isinstance(figures, telemetry.Delivered) else None
    )

    async def work() -> None:
        replies = iter([(500, b"")])
        receiver.answer = lambda _path, body: next(replies, (400 if b"job-1" in body else 200, b""))
        await add(database, "marquez", receiver.url)
        await intake.accept(event(0))
        await intake.accept(event(1))
        async with delivering(database):
            await drained(database)

    try:
        run(work())
    finally:
        quiet()
    assert [sum(getattr(one, what) for one in heard) for what in ("delivered", "refused", "failures")] == [1, 1, 1]


PUBLIC_ONLY = Outbound(OUTBOUND.key, Networks())


def test_an_address_inside_of_a_network_is_refused_when_it_is_added(
    database: Database, run: Any, receiver: Receiver
) -> None:
    for url in (receiver.url, "http://localhost:1/", "http://169.254.169.254/latest/meta-data/", "http://[::1]:1/"):
        wanted = writes.ListenerRequest("one", "webhook", url)
        with pytest.raises(InvalidQuestion, match="HEADWATER_LISTENERS__ALLOWED_NETWORKS"):
            run(writes.add(database, wanted, PUBLIC_ONLY, by=by_command("listeners add", "add", "one")))
    assert run(answers.listeners(database)).listeners == []


def test_it_is_refused_at_each_delivery_and_its_events_wait(database: Database, run: Any, receiver: Receiver) -> None:
    """The name may have meant another address when the listener was added."""

    async def deliver(outbound: Outbound, *, inside: bool) -> str | None:
        async with database.connection() as connection:
            await connection.execute("update listeners set inside = %s, revision = revision + 1", (inside,))
        running = deliveries.begin(database, PACE, outbound)
        try:
            await Intake(database).accept(event(1))
            for _ in range(40):
                view = (await answers.listener(database, "one")).listener
                # An error of the delivery before stays until one succeeds.
                if (view.last_error and not inside) or (receiver.jobs() and not view.backlog):
                    break
                await asyncio.sleep(0.1)
            return view.last_error
        finally:
            await deliveries.end(running)

    run(add(database, "webhook", receiver.url))
    error = run(deliver(PUBLIC_ONLY, inside=False))
    assert error is not None
    assert "HEADWATER_LISTENERS__ALLOWED_NETWORKS" in error
    assert receiver.jobs() == []
    # A listener from before addresses were checked goes on.
    run(deliver(PUBLIC_ONLY, inside=True))
    assert receiver.jobs() == ["job-1"]


def test_a_test_shows_the_status_and_not_the_body(database: Database, run: Any, receiver: Receiver) -> None:
    receiver.answer = lambda *_: (404, b"a page of an inner service")
    run(add(database, "marquez", receiver.url))
    result = run(writes.ping(database, "one", OUTBOUND, by=by_command("listeners test", "test", "one")))
    assert (result.ok, result.said) == (False, "HTTP 404")
