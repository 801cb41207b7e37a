"""Compress answers over 1 KB of text with gzip, for clients that accept it."""

import asyncio
import zlib
from collections.abc import Iterable

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPResponseStartEvent, Message, Receive, Scope, Send

_LEAST = 1024
_IN_A_THREAD = 128 * 1024  # compressing this much takes over a millisecond
_LEVEL = 5
_TEXT = {"application/json", "application/javascript", "application/xml", "application/x-ndjson"}
Headers = list[tuple[bytes, bytes]]


def takes_gzip(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether Accept-Encoding accepts gzip (RFC 9110 §12.5.3; a weight of 0 refuses it)."""
    weights = {}
    for name, value in headers:
        if name.lower() == b"accept-encoding":
            for item in value.decode("latin-1").lower().split(","):
                coding, _, parameters = item.partition(";")
                weights[coding.strip()] = _weight(parameters)
    return weights.get("gzip", weights.get("x-gzip", weights.get("*", 0.0))) > 0


def _weight(parameters: str) -> float:
    name, _, value = parameters.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0


def middleware(app: ASGIApp) -> ASGIApp:
    async def packing(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await app(scope, receive, send)
            return
        await app(scope, receive, _Packer(send, wanted=takes_gzip(scope["headers"])).send)

    return packing


class _Packer:
    """Compresses one answer. Its start waits for the first part of the body, whose size decides whether to compress."""

    def __init__(self, send: Send, *, wanted: bool) -> None:
        self._send = send
        self._wanted = wanted
        self._start: HTTPResponseStartEvent | None = None
        self._stream: zlib._Compress | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _packable(message):
            message["headers"] = [*message.get("headers", []), (b"vary", b"Accept-Encoding")]
            if self._wanted:
                self._start = message
                return
        elif message["type"] == "http.response.body" and self._start is not None:
            start, self._start = self._start, None
            body, more = message.get("body", b""), message.get("more_body", False)
            if more or len(body) >= _LEAST:
                self._stream = zlib.compressobj(_LEVEL, wbits=31)
                headers: Headers = [
                    (name, value) for name, value in start.get("headers", []) if name.lower() != b"content-length"
                ]
                packed = await self._packed(body, more)
                if not more:
                    headers.append((b"content-length", str(len(packed)).encode()))
                start["headers"] = [*headers, (b"content-encoding", b"gzip")]
                message["body"] = packed
            await self._send(start)
        elif message["type"] == "http.response.body" and self._stream is not None:
            message["body"] = await self._packed(message.get("body", b""), message.get("more_body", False))
        await self._send(message)

    async def _packed(self, body: bytes, more: bool) -> bytes:
        if len(body) > _IN_A_THREAD:
            return await asyncio.to_thread(self._pack, body, more)
        return self._pack(body, more)

    def _pack(self, body: bytes, more: bool) -> bytes:
        assert self._stream is not None
        return self._stream.compress(body) + self._stream.flush(zlib.Z_SYNC_FLUSH if more else zlib.Z_FINISH)


def _packable(start: HTTPResponseStartEvent) -> bool:
    headers = {name.lower(): value for name, value in start.get("headers", [])}
    if start["status"] in {204, 206, 304} or b"content-encoding" in headers:
        return False
    kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
    if kind == "text/event-stream":
        return False  # its events would wait here for the next ones, and in proxies that unpack it
    return kind.startswith("text/") or kind.endswith(("+json", "+xml")) or kind in _TEXT
