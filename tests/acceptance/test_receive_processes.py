"""`headwater events receive` as real processes: killed with -9, told to stop, poisoned, asked for metrics."""

import contextlib
import http.client
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.test_alerting_servers import apply, fail, settings
from tests.events import encoded, run_event
from tests.fixtures.postgres import empty
from tests.fixtures.processes import Process, free_port
from tests.fixtures.queues import letters, logged, publish
from tests.mailbox import mailbox
from tests.receiver import waited
from tests.scale import full

import headwater
from headwater.intake.events.accept import Intake
from headwater.intake.queue.amqp import Queues
from headwater.intake.upkeep.rebuild import fingerprints
from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres

Start = Callable[..., subprocess.Popen[bytes]]
# Python runs `sitecustomize` at its start: here one that dies of an event with a certain word.
POISON = """\
import os, signal
import headwater.model.event as event
read = event.read
event.read = lambda body: os.kill(os.getpid(), signal.SIGKILL) if b"poison" in body else read(body)
"""


@pytest.fixture
def command(postgres: EmbeddedPostgres, queues: Queues, database: Database, tmp_path: Path) -> Iterator[Start]:
    """`command("receive", "--until-empty", PYTHONPATH=…)` → the process, on the test's queues and an empty database."""
    started: list[subprocess.Popen[bytes]] = []
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWATER_", "OTEL_"))}

    def start(*words: str, **more: str) -> subprocess.Popen[bytes]:
        env = {
            **kept,
            "HEADWATER_HOME": str(tmp_path / "home"),
            "HEADWATER_DATABASE__URL": postgres.url,
            "HEADWATER_AMQP__URL": queues.url,
            "HEADWATER_AMQP__QUEUE": queues.events,
            "HEADWATER_AMQP__DEAD_LETTERS": queues.dead_letters,
            **more,
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "headwater", *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def answer(process: subprocess.Popen[bytes]) -> Any:
    told, _ = process.communicate(timeout=120)
    assert process.returncode == 0, told
    return json.loads(told)


def until(run: Any, database: Database, events: int, seconds: float = 60) -> None:
    began = time.monotonic()
    while run(logged(database)) < events:
        assert time.monotonic() - began < seconds
        time.sleep(0.02)


def test_receivers_killed_in_mid_load_lose_and_double_nothing(
    command: Start, queues: Queues, database: Database, run: Any
) -> None:
    bodies = [encoded(run_event("COMPLETE", n, f"job{n % 9}", [f"/a{n % 5}"], [f"/b{n % 50}"])) for n in range(3000)]
    run(Intake(database).accept_each(bodies))
    expected = run(fingerprints(database))
    run(empty(database))
    run(publish(queues, *(b"[" + b",".join(bodies[at : at + 10]) + b"]" for at in range(0, 3000, 10))))
    draw = random.Random(7)
    small = ("--prefetch", "20", "--batch", "40")
    for round_ in range(full(3, 1)):
        running = [command("receive", *small) for _ in range(2)]
        until(run, database, 300 * (round_ + 1))
        time.sleep(draw.random() / 5)
        for process in running:
            process.kill()
            process.wait()
    assert run(logged(database)) < 3000, "they were killed in mid-load"
    told = answer(command("receive", "--until-empty", "--json"))
    assert told["dead_lettered"] == 0
    assert run(logged(database)) == 3000
    assert run(fingerprints(database)) == expected
    assert run(letters(queues)) == []


def test_one_of_two_servers_and_one_of_two_receivers_die_under_load(
    command: Start, serve: Callable[..., Process], queues: Queues, database: Database, run: Any
) -> None:
    """Over one database: each acknowledged event, by HTTP or in the queue, is in the log once, and each alert is sent once."""
    queued = [encoded(run_event("COMPLETE", n, f"job{n % 9}", [f"/a{n % 5}"], [f"/b{n % 50}"])) for n in range(2000)]
    run(publish(queues, *(b"[" + b",".join(queued[at : at + 10]) + b"]" for at in range(0, 2000, 10))))
    acknowledged: list[bytes] = []
    over = threading.Event()

    def write(number: int, servers: tuple[Process, Process]) -> None:
        for n in itertools.count():
            if over.is_set():
                return
            body = encoded(
                run_event("COMPLETE", (number + 1) * 100_000 + n, f"sent{number}", ["/in"], [f"/out{n % 20}"])
            )
            for server in servers:  # as a load balancer does when one is away
                with contextlib.suppress(OSError, http.client.HTTPException):
                    if server.ask("POST", "/api/v1/lineage", body, Content_Type="application/json")[0] < 300:
                        acknowledged.append(body)
                        break

    with mailbox() as mail:
        doomed, other = serve(**settings(mail.port)), serve(**settings(mail.port))
        doomed.ready()
        other.ready()
        apply(other, "1m")  # what is decided before the kill is due after it
        small = ("--prefetch", "20", "--batch", "40")
        receivers = [command("receive", *small) for _ in range(2)]
        writers = [
            threading.Thread(target=write, args=(n, (doomed, other) if n % 2 else (other, doomed))) for n in range(4)
        ]
        for writer in writers:
            writer.start()
        for number in range(3):
            fail(doomed, 900_000 + number)
        until(run, database, 300)
        doomed.kill()
        receivers[0].kill()
        before = len(acknowledged)
        assert run(logged(database)) < 2000 + before, "they were killed in mid-load"
        for number in range(3, 6):
            fail(other, 900_000 + number)
        assert waited(lambda: set(queued) <= run(_bodies(database)).keys(), 60)
        over.set()
        for writer in writers:
            writer.join()
        assert len(acknowledged) > before, "the other server goes on"
        found = run(_bodies(database))
        assert [body for body in (*queued, *acknowledged) if found[body] != 1] == []
        assert waited(lambda: run(_make_messages_due(database)) == 12)
        assert waited(lambda: len(mail.mails) >= 12), mail.to()
        time.sleep(4)  # longer than a lease
        assert len(mail.mails) == len({message["Message-ID"] for _, message in mail.mails}) == 12


async def _bodies(database: Database) -> Counter[bytes]:
    async with database.connection() as connection:
        return Counter(bytes(row[0]) for row in await (await connection.execute("select body from events")).fetchall())


async def _make_messages_due(database: Database) -> int:
    """Return how many messages of alerts there are."""
    async with database.connection() as connection:
        return (await connection.execute("update alert_messages set due_at = least(due_at, now())")).rowcount


def test_told_to_stop_it_finishes_what_is_in_hand(command: Start, queues: Queues, database: Database, run: Any) -> None:
    run(publish(queues, *(encoded(run_event("COMPLETE", n, "job")) for n in range(400))))
    port = free_port()
    process = command("receive", "--prefetch", "10", "--batch", "10", "--json", "--metrics-port", str(port))
    until(run, database, 50)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as reply:
        text = reply.read().decode()
    assert "headwater_receive_batch_seconds_count" in text
    assert "headwater_queue_messages" in text
    assert 'headwater_receive_events_total{outcome="accepted"}' in text
    process.send_signal(signal.SIGTERM)
    told = answer(process)
    assert 50 <= told["accepted"] == run(logged(database)), "all that is in the log was acknowledged, and said"
    rest = answer(command("receive", "--once", "--json"))
    assert (rest["accepted"], rest["duplicate"]) == (400 - told["accepted"], 0)


def test_a_poison_message_ends_among_the_dead_letters(
    command: Start, queues: Queues, database: Database, run: Any, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(POISON)
    path = f"{tmp_path}:{Path(headwater.__file__).parents[1]}"
    good = [encoded(run_event("COMPLETE", n, "job")) for n in range(6)]
    run(publish(queues, *good[:3], encoded(run_event("COMPLETE", 9, "poison")), *good[3:]))
    deaths = 0
    while (process := command("receive", "--until-empty", "--json", PYTHONPATH=path)).wait(timeout=60) != 0:
        assert process.returncode == -signal.SIGKILL
        deaths += 1
        assert deaths < 10
    assert deaths > 1
    assert run(logged(database)) == 6
    listed = answer(command("dead-letters", "list", "--json"))["letters"]
    assert [(one["code"], one["job"]) for one in listed] == [("redelivered", "test/poison")]
    report = answer(command("dead-letters", "reconcile", "--json", PYTHONPATH=path))
    assert report["outcomes"]["left"] == 1, "it is tried in a process of its own, and stays"
    shown = answer(command("dead-letters", "show", listed[0]["id"], "--json"))
    assert shown["body"]["job"]["name"] == "poison"
    assert "signal 9" in shown["reason"]
    report = answer(command("dead-letters", "reconcile", "--json"))
    assert report["outcomes"]["replayed"] == 1, "a Headwater that does not die of it takes it"
    assert run(logged(database)) == 7


def test_which_letters_has_to_be_said(command: Start, queues: Queues) -> None:
    for words in (("discard",), ("replay",)):
        process = command("dead-letters", *words)
        process.communicate(timeout=60)
        assert process.returncode == 2
    assert answer(command("dead-letters", "discard", "--all", "--json")) == {"counts": {}, "letters": []}


def test_without_a_broker_once_fails_and_says_so(command: Start) -> None:
    process = command("receive", "--once", HEADWATER_AMQP__URL=f"amqp://guest:secret@127.0.0.1:{free_port()}/")
    process.communicate(timeout=60)
    assert process.returncode == 75, "try again later"
