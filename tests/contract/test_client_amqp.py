"""The client and a real broker: confirmed is delivered, everything else stays in the spool."""

import asyncio
import gzip
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aio_pika
import pytest
from tests.fixtures.rabbitmq import Broker

from headwater.client import Emitter, emitter_from_environment, event

SCRIPT = Path(__file__).parents[2] / "scripts" / "rabbitmq"
Names = Callable[[str], str]


def make(number: int, size: int = 0) -> dict[str, Any]:
    facets = {"headwater_test": event.facet("headwater_test", text=uuid.uuid4().hex * (size // 32))} if size else {}
    return event.run("OTHER", run_id=event.run_id(), job=("tests", f"job-{number}"), run_facets=facets)


def emitter(url: str, tmp_path: Path, **more: Any) -> Emitter:
    return emitter_from_environment(url=url, spool=tmp_path / "spool", **more)


def received(url: str, queue: str, seconds: float = 2.0) -> list[aio_pika.abc.AbstractIncomingMessage]:
    """Everything in the queue, acknowledged."""

    async def work() -> list[aio_pika.abc.AbstractIncomingMessage]:
        found = []
        async with await aio_pika.connect(url) as connection:
            channel = await connection.channel()
            where = await channel.get_queue(queue, ensure=False)
            while (message := await where.get(fail=False, timeout=seconds)) is not None:
                await message.ack()
                found.append(message)
        return found

    return asyncio.run(work())


def events(messages: list[aio_pika.abc.AbstractIncomingMessage]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for message in messages:
        body = gzip.decompress(message.body) if message.content_encoding == "gzip" else message.body
        found.extend(json.loads(body))
    return found


def names(found: list[dict[str, Any]]) -> list[str]:
    return [each["job"]["name"] for each in found]


def test_a_batch_is_one_persistent_message(rabbitmq: Broker, queue_name: Names, tmp_path: Path) -> None:
    queue = queue_name("events")
    quiet = emitter("http://127.0.0.1:1", tmp_path, transport="spool")
    for number in range(300):
        quiet.emit(make(number))
    quiet.close()
    out = emitter(f"{rabbitmq.url}?queue={queue}", tmp_path)
    assert out.flush(20)
    assert (out.stats().delivered, out.stats().pending, out.stats().rejected) == (300, 0, 0)
    out.close()
    assert list((tmp_path / "spool").iterdir()) == []
    messages = received(rabbitmq.url, queue)
    assert len(messages) <= 2
    assert names(events(messages)) == [f"job-{n}" for n in range(300)]
    first = messages[0]
    assert first.delivery_mode == aio_pika.DeliveryMode.PERSISTENT
    assert (first.content_type, first.content_encoding) == ("application/json", "gzip")
    assert uuid.UUID(first.message_id).version == 7


def test_large_events_are_spread_over_messages(rabbitmq: Broker, queue_name: Names, tmp_path: Path) -> None:
    queue = queue_name("events")
    out = emitter(f"{rabbitmq.url}?queue={queue}", tmp_path)
    for number in range(6):
        out.emit(make(number, size=400_000))
    out.emit(make(6, size=3_000_000))
    assert out.flush(20)
    out.close()
    messages = received(rabbitmq.url, queue)
    assert sorted(names(events(messages))) == [f"job-{n}" for n in range(7)]
    for message in messages:
        found = events([message])
        assert len(found) == 1 or sum(len(json.dumps(each)) for each in found) < 1_300_000


def test_a_queue_with_other_properties_is_used(rabbitmq: Broker, queue_name: Names, tmp_path: Path) -> None:
    queue = queue_name("events")

    async def work() -> None:
        async with await aio_pika.connect(rabbitmq.url) as connection:
            await (await connection.channel()).declare_queue(queue, durable=True)  # a classic one

    asyncio.run(work())
    out = emitter(f"{rabbitmq.url}?queue={queue}", tmp_path)
    out.emit(make(1))
    assert out.flush(10)
    out.close()
    assert names(events(received(rabbitmq.url, queue))) == ["job-1"]


def test_a_message_no_queue_takes_is_not_delivered(
    rabbitmq: Broker, queue_name: Names, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    queue = queue_name("events")
    out = emitter(f"{rabbitmq.url}?queue={queue}", tmp_path)
    out.emit(make(0))
    assert out.flush(10)

    async def work() -> None:
        async with await aio_pika.connect(rabbitmq.url) as connection:
            await (await connection.channel()).queue_delete(queue)

    asyncio.run(work())
    out.emit(make(1))
    assert out.flush(10), out.stats()  # it comes back, the queue is declared again, and it goes
    assert out.stats().failed_attempts == 1
    assert "has no queue" in caplog.text
    out.close()
    assert names(events(received(rabbitmq.url, queue))) == ["job-1"]


def test_a_wrong_password_is_one_line_without_it_and_costs_nothing(
    rabbitmq: Broker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = emitter(f"amqp://guest:hunter2@127.0.0.1:{rabbitmq.port}/", tmp_path)
    out.emit(make(1))
    assert not out.flush(2)
    assert out.stats().pending == 1
    out.close()
    assert len(caplog.records) == 1, caplog.text
    assert "hunter2" not in caplog.text + str(out.stats())


def test_a_broker_that_comes_and_goes_loses_nothing(
    own_rabbitmq: Broker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Killed, started again, and then without room on its disk: what was emitted meanwhile arrives afterwards."""
    out = emitter(own_rabbitmq.url, tmp_path, flush_seconds=1.0)
    out.emit(make(0))
    assert out.flush(20), out.stats()
    time.sleep(
        1
    )  # a node killed in the moment a queue is declared forgets where its log is, and the queue never answers again
    own_rabbitmq.kill()
    began = time.monotonic()
    for number in range(1, 50):
        out.emit(make(number))
    assert time.monotonic() - began < 1
    assert not out.flush(1)
    own_rabbitmq.start()
    assert out.flush(30), out.stats()
    assert len([record for record in caplog.records if record.levelname == "WARNING"]) == 1, caplog.text
    found = names(events(received(own_rabbitmq.url, "headwater.events")))
    assert set(found) == {f"job-{n}" for n in range(50)}

    control(own_rabbitmq, "set_disk_free_limit", "1000GB")
    time.sleep(0.3)
    out.emit(make(99))
    began = time.monotonic()
    assert not out.flush(1)
    out.close()
    assert time.monotonic() - began < 6
    assert out.stats().pending == 1
    control(own_rabbitmq, "set_disk_free_limit", "16MB")
    heir = emitter(own_rabbitmq.url, tmp_path)
    assert heir.flush(20), heir.stats()
    heir.close()
    assert "job-99" in names(events(received(own_rabbitmq.url, "headwater.events")))


def control(broker: Broker, *words: str) -> None:
    server = subprocess.run([SCRIPT], capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run([Path(server).with_name("rabbitmqctl"), *words], env=broker._env, check=True, capture_output=True)


def test_another_destination_does_not_wait_for_the_broker(tmp_path: Path) -> None:
    from collector import running

    with running() as collector:
        out = emitter(f"amqp://127.0.0.1:1/,{collector.url}", tmp_path, flush_seconds=5)
        for number in range(20):
            out.emit(make(number))
        collector.wait_for(20, timeout=5)
        began = time.monotonic()
        out.close()
        assert time.monotonic() - began < 3
        tallies = out.tallies()
        assert [tally.delivered for tally in tallies.values()] == [0, 20]
        assert [tally.pending for tally in tallies.values()] == [20, 0]


def test_the_end_of_a_script_delivers_and_is_silent(rabbitmq: Broker, queue_name: Names, tmp_path: Path) -> None:
    queue = queue_name("events")
    text = """
from headwater.client import emitter_from_environment, event
out = emitter_from_environment()
for number in range(50):
    out.emit(event.run("OTHER", run_id=event.run_id(), job=("tests", f"job-{number}")))
"""
    env = {"HEADWATER_URL": f"{rabbitmq.url}?queue={queue}", "HEADWATER_SPOOL": str(tmp_path / "spool")}
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", text],
        env=os.environ | env,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert names(events(received(rabbitmq.url, queue))) == [f"job-{n}" for n in range(50)]
    assert list((tmp_path / "spool").iterdir()) == []
