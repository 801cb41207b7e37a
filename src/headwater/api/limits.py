"""The limits of one process: concurrent requests, size and arrival time of a body, time for an answer.

Excess is refused at once (413, 408, 503 with Retry-After), before any work and before the pool runs out of connections.
Routes with `opt={"always": True}` (health, metrics) are always answered. Routes with `opt={"waits": True}` mostly wait and are
counted separately.
"""

import asyncio
import time

import msgspec
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPReceiveMessage, Message, Receive, Scope, Send

from headwater.errors import Overloaded, TimedOut, TooLarge, TooSlow

# A body that arrives at this rate is not from a slow client.
_BYTES_A_SECOND = 16 * 1024


class Limits(msgspec.Struct):
    """The middleware, one for the application. `running` counts the requests being answered, `waiting` the long polls."""

    max_concurrent: int
    max_waiting: int
    request_seconds: float
    body_seconds: float
    max_body_bytes: int
    running: int = 0
    waiting: int = 0

    def middleware(self, app: ASGIApp) -> ASGIApp:
        async def limited(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != ScopeType.HTTP or scope["route_handler"].opt.get("always"):
                await app(scope, receive, send)
                return
            waits = bool(scope["route_handler"].opt.get("waits"))
            if (self.waiting >= self.max_waiting) if waits else (self.running >= self.max_concurrent):
                raise Overloaded("the server answers as many requests as its limit allows: try again in a moment")
            self._announced(scope)
            self.waiting += waits
            self.running += not waits
            try:
                await self._timed(app, scope, self._body(receive), send)
            finally:
                self.waiting -= waits
                self.running -= not waits

        return limited

    async def _timed(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(self.request_seconds) as timeout:

                async def sending(message: Message) -> None:
                    # Once begun, an answer may take its time: exports can be long.
                    if message["type"] == "http.response.start":
                        timeout.reschedule(None)
                    await send(message)

                await app(scope, receive, sending)
        except TimeoutError as error:
            if not timeout.expired():
                raise
            raise TimedOut(
                f"the answer took longer than {self.request_seconds:g} s: ask for less, or try again"
            ) from error

    def _announced(self, scope: Scope) -> None:
        """Refuse a body by its Content-Length, without reading it."""
        for name, value in scope["headers"]:
            if name.lower() == b"content-length" and value.isdigit() and int(value) > self.max_body_bytes:
                raise self._too_large()

    def _too_large(self) -> TooLarge:
        limit = self.max_body_bytes
        return TooLarge(f"the body is over {limit} bytes; send smaller batches", limit=limit)

    def _body(self, receive: Receive) -> Receive:
        """Wrap `receive` with the limits of time and size."""
        began, size, whole = time.monotonic(), 0, False

        async def receiving() -> HTTPReceiveMessage:
            nonlocal size, whole
            if whole:  # only the client's disconnect follows
                return await receive()  # type: ignore[return-value]
            left = began + self.body_seconds + size / _BYTES_A_SECOND - time.monotonic()
            try:
                async with asyncio.timeout(max(left, 0.001)):
                    message = await receive()
            except TimeoutError as error:
                raise TooSlow(
                    "the body did not arrive in time: send smaller batches, or try again", received_bytes=size
                ) from error
            if message["type"] == "http.request":
                size += len(message.get("body", b""))
                whole = not message.get("more_body", False)
                if size > self.max_body_bytes:
                    raise self._too_large()
            return message  # type: ignore[return-value]

        return receiving
