"""The outermost middleware: counts, times and logs every request, failed ones too."""

import logging
import time
from typing import Any

from litestar.enums import ScopeType
from litestar.types import Message, Receive, Scope, Send

from headwater import telemetry
from headwater.api.metrics import Metrics


class Observed:
    """ASGI middleware around the application; passes the lifespan on."""

    def __init__(self, app: Any, metrics: Metrics, pool: Any) -> None:
        self._app = app
        self._metrics = metrics
        self._pool = pool
        self.lifespan = app.lifespan

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        began, status, size = time.perf_counter(), 500, 0

        async def sending(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
            await send(message)

        path = scope["path"]
        self._metrics.running(1)
        try:
            await self._app(scope, receive, sending)
        finally:
            seconds = time.perf_counter() - began
            self._metrics.running(-1)
            self._metrics.request(scope["method"], scope.get("path_template") or "unrouted", status, seconds)
            self._metrics.pool(self._pool())
            if telemetry.is_logged(logging.DEBUG):
                actor = getattr(scope.get("state", {}).get("actor"), "name", "anonymous")
                telemetry.say(telemetry.RequestAnswered(scope["method"], path, status, round(seconds, 4), size, actor))
