"""How much one process takes on: requests at once, a body's size and the time it may take to arrive, the time an answer may take.

More than that is said at once and in order (413, 408, 503 with Retry-After), before any work is done and long before the pool runs dry.
Routes with `opt={"always": True}` (health, metrics) are answered even then; those with `opt={"waits": True}` mostly do nothing but wait, and are
counted by themselves.
"""

import asyncio
import time

import msgspec
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPReceiveMessage, Message, Receive, Scope, Send

from headwater.errors import Overloaded, TimedOut, TooLarge, TooSlow

# A body that keeps coming at this rate is not a slow client.
_BYTES_A_SECOND = 16 * 1024


class Limits(msgspec.Struct):
    """The middleware, one for the application; `running` is how many requests are being answered, `waiting` how many wait for news."""

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
                raise Overloaded("as many requests as may be are being answered; try again in a moment")
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
                    # What has begun may take its time: an export is as long as it is.
                    if message["type"] == "http.response.start":
                        timeout.reschedule(None)
                    await send(message)

                await app(scope, receive, sending)
        except TimeoutError as error:
            if not timeout.expired():
                raise
            raise TimedOut(f"the answer took longer than {self.request_seconds:g} s") from error

    def _announced(self, scope: Scope) -> None:
        """Refuse a body by the length it announces, without reading it."""
        for name, value in scope["headers"]:
            if name.lower() == b"content-length" and value.isdigit() and int(value) > self.max_body_bytes:
                raise self._too_large()

    def _too_large(self) -> TooLarge:
        limit = self.max_body_bytes
        return TooLarge(f"the body is over {limit} bytes; send smaller batches", limit=limit)

    def _body(self, receive: Receive) -> Receive:
        """`receive` that does not wait for ever for a body, nor take more than may be."""
        began, size, whole = time.monotonic(), 0, False

        async def receiving() -> HTTPReceiveMessage:
            nonlocal size, whole
            if whole:  # what follows is the client going away, whenever that is
                return await receive()  # type: ignore[return-value]
            left = began + self.body_seconds + size / _BYTES_A_SECOND - time.monotonic()
            try:
                async with asyncio.timeout(max(left, 0.001)):
                    message = await receive()
            except TimeoutError as error:
                raise TooSlow("the body did not arrive in time", received_bytes=size) from error
            if message["type"] == "http.request":
                size += len(message.get("body", b""))
                whole = not message.get("more_body", False)
                if size > self.max_body_bytes:
                    raise self._too_large()
            return message  # type: ignore[return-value]

        return receiving
