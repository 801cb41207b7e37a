"""The limits of one process: concurrent requests, size and arrival time of a body, time for an answer.

Excess is refused at once (413, 408, 503 with Retry-After), before any work and before the pool runs out of connections.
Routes with `opt={"always": True}` (health, metrics) are always answered. Routes with `opt={"waits": True}` mostly wait and are
counted separately. A request whose body is still arriving is counted separately, too, so that slow clients do not keep others out; the bytes of all
bodies together are bounded.
"""

import asyncio
import ctypes
import time
from contextlib import suppress

import msgspec
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPReceiveMessage, Message, Receive, Scope, Send

from headwater.errors import Overloaded, TimedOut, TooLarge, TooSlow

# A body that arrives at this rate is not from a slow client.
_BYTES_A_SECOND = 16 * 1024
# The bodies in memory at once, in multiples of the largest body.
_BODIES = 4
_TRIM_FROM = 8 * 1024 * 1024
_BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding"})


class Limits(msgspec.Struct):
    """The middleware, one for the application.

    `running` counts the requests being answered, `waiting` the long polls, `receiving` the requests whose body is arriving; `buffered`: the bytes
    of bodies of all requests; `answering`: address and port of each client whose request has arrived whole.
    """

    max_concurrent: int
    max_waiting: int
    request_seconds: float
    body_seconds: float
    max_body_bytes: int
    running: int = 0
    waiting: int = 0
    receiving: int = 0
    buffered: int = 0
    answering: set[tuple[str, int]] = msgspec.field(default_factory=set)

    def middleware(self, app: ASGIApp) -> ASGIApp:
        async def limited(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != ScopeType.HTTP or scope["route_handler"].opt.get("always"):
                await app(scope, receive, send)
                return
            waits = bool(scope["route_handler"].opt.get("waits"))
            if (self.waiting >= self.max_waiting) if waits else (self.running >= self.max_concurrent):
                raise _overloaded()
            self._announced(scope)
            self.waiting += waits
            self.running += not waits
            client = scope.get("client")
            peer = (client[0], int(client[1])) if client else None
            body = _Body(self, receive, peer, waits=waits)
            if peer and not any(name.lower() in _BODY_HEADERS for name, _ in scope["headers"]):
                self.answering.add(peer)
            try:
                await self._timed(app, scope, body.receive, send)
            finally:
                self.waiting -= waits
                self.running -= not waits
                self.buffered -= body.size
                if peer:
                    self.answering.discard(peer)
                if body.size > _TRIM_FROM:
                    _trim_memory()

        return limited

    async def _timed(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(self.request_seconds) as timeout:

                async def sending(message: Message) -> None:
                    # Once begun, an answer may take its time: exports can be long.
                    if message["type"] == "http.response.start":
                        if timeout.expired():
                            # The handler caught the cancellation, as a driver does that is interrupted, and answers now: too late.
                            raise asyncio.CancelledError
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


def _trim_memory() -> None:
    """Return freed memory to the system: glibc keeps what many parts of a large body took. Elsewhere, does nothing."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


class _Body:
    """The body of one request, with the limits of time and size."""

    def __init__(self, limits: Limits, receive: Receive, peer: tuple[str, int] | None, *, waits: bool) -> None:
        self._limits, self._receive, self._peer, self._waits = limits, receive, peer, waits
        self._began, self._whole = time.monotonic(), False
        self.size = 0

    async def receive(self) -> HTTPReceiveMessage:
        """The next message. Raises TooSlow, TooLarge, Overloaded."""
        if self._whole:  # only the client's disconnect follows
            return await self._receive()  # type: ignore[return-value]
        message = await self._arriving()
        if message["type"] == "http.disconnect":
            raise TooSlow("the client closed the connection before the body was whole", received_bytes=self.size)
        if message["type"] == "http.request":
            size = len(message.get("body", b""))
            self.size += size
            self._limits.buffered += size
            self._whole = not message.get("more_body", False)
            if self._whole and self._peer:
                self._limits.answering.add(self._peer)
            if self.size > self._limits.max_body_bytes:
                raise self._limits._too_large()
            if self._limits.buffered > self._limits.max_body_bytes * _BODIES and self._limits.buffered > self.size:
                raise _overloaded()
        if not self._waits and self._limits.running > self._limits.max_concurrent:
            raise _overloaded()
        return message

    async def _arriving(self) -> HTTPReceiveMessage:
        """Wait for the next part of the body, and let other requests run meanwhile."""
        limits = self._limits
        if limits.receiving >= limits.max_waiting:
            raise _overloaded()
        left = self._began + limits.body_seconds + self.size / _BYTES_A_SECOND - time.monotonic()
        limits.receiving += 1
        limits.running -= not self._waits
        try:
            async with asyncio.timeout(max(left, 0.001)):
                return await self._receive()  # type: ignore[return-value]
        except TimeoutError as error:
            raise TooSlow(
                "the body did not arrive in time: send smaller batches, or try again", received_bytes=self.size
            ) from error
        finally:
            limits.receiving -= 1
            limits.running += not self._waits


def _overloaded() -> Overloaded:
    return Overloaded("the server answers as many requests as its limit allows: try again in a moment")
