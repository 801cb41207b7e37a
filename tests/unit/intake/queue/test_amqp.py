"""Addresses of brokers, and how many letters are under way."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from headwater.errors import InvalidSettings
from headwater.intake.queue.amqp import Bad, Queues, bury, connected


@pytest.mark.parametrize(
    "url", ["notaurl", "http://rabbit/", "amqp://u:secret@h:port/", "amqp:///", "", "amqp://[::1/"]
)
def test_what_is_no_address_of_a_broker_is_said_so_without_the_password(url: str) -> None:
    async def ask() -> None:
        async with connected(Queues(url), "test"):
            raise AssertionError("connected")

    with pytest.raises(InvalidSettings, match="HEADWATER_AMQP__URL") as told:
        asyncio.run(ask())
    assert "secret" not in told.value.message


def test_letters_are_not_all_under_way_at_once() -> None:
    now = most = done = 0

    async def publish(*_: Any, **__: Any) -> None:
        nonlocal now, most, done
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1
        done += 1

    channel: Any = SimpleNamespace(default_exchange=SimpleNamespace(publish=publish))
    asyncio.run(bury(channel, "letters", [Bad(b"%d" % one, "invalid_event", "", "m", one) for one in range(1001)]))
    assert (most, done) == (250, 1001)
