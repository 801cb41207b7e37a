"""An answer that is ready in the moment in which its time is over."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from litestar.types import Message, Receive, Scope, Send

from headwater.api.limits import Limits
from headwater.errors import TimedOut


async def _send_after_cancellation(_scope: Scope, _receive: Receive, send: Send) -> None:
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        await send({"type": "http.response.start", "status": 500, "headers": []})
        await send({"type": "http.response.body", "body": b"late", "more_body": False})


def test_a_handler_that_catches_the_cancellation_is_timed_out() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    limits = Limits(4, 4, 0.02, 1.0, 1024)
    scope: Any = {"type": "http", "headers": [], "client": None, "route_handler": SimpleNamespace(opt={})}
    with pytest.raises(TimedOut, match=r"longer than 0\.02 s"):
        asyncio.run(limits.middleware(_send_after_cancellation)(scope, receive, send))
    assert sent == []
    assert limits.running == 0
