"""POST deliveries over one keep-alive HTTP connection, and interpret the status of the answer.

It follows no redirects, uses no proxy, and reads at most 64 KiB of an answer. One thread posts at a time; another may call `abort`.
"""

import datetime as dt
import http.client
import socket
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import msgspec

from headwater.errors import InvalidQuestion
from headwater.intake.listeners.networks import Networks

_MOST_READ = 64 * 1024
_CONNECT_SECONDS = 5.0
_FAILURES = (OSError, http.client.HTTPException, InvalidQuestion)
# Refusals because of credentials, address or time, not because of the events: they are sent again.
_NOT_THE_EVENT = frozenset({401, 403, 404, 405, 407, 408, 425, 429})


class Reply(msgspec.Struct, frozen=True):
    """The answer of a receiver. `retry_after`: the seconds that it asks the sender to wait."""

    status: int
    body: bytes
    retry_after: float | None = None

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def refuses_events(self) -> bool:
        """Whether the receiver will never accept these events: a 4xx that is about the events."""
        return 400 <= self.status < 500 and self.status not in _NOT_THE_EVENT

    def __str__(self) -> str:
        text = " ".join(self.body[:500].decode("utf-8", "replace").split())
        return f"HTTP {self.status}: {text}" if text else f"HTTP {self.status}"


class Unreached(Exception):
    """The receiver did not answer."""


class Poster:
    """POSTs to one address. `seconds` bounds each step of an exchange; the caller bounds the whole with `abort`.

    `networks`: the addresses it may connect to; None: every address. `since`: when the current exchange began (monotonic); None between exchanges.
    """

    def __init__(self, url: str, seconds: float, networks: Networks | None) -> None:
        self._parts = urlsplit(url)
        self._networks = networks
        self._seconds = seconds
        self._connection: http.client.HTTPConnection | None = None
        self._over = False
        self.since: float | None = None

    def post(self, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        """Send one request. Raises Unreached; after `abort`, always."""
        self.since = time.monotonic()
        try:
            return self._post(path, body, headers)
        except Unreached:
            if self._over:
                raise Unreached("the request took too long, or delivery was stopped") from None
            raise
        finally:
            self.since = None

    def _post(self, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        reused = self._connection is not None
        try:
            return self._exchange(path, body, headers)
        except _FAILURES as error:
            self.close()
            # A server may close an idle connection at any time. Only then the request is repeated at once, on a new connection.
            if not reused or self._over or isinstance(error, TimeoutError):
                raise Unreached(_why(error)) from error
        try:
            return self._exchange(path, body, headers)
        except _FAILURES as error:
            self.close()
            raise Unreached(_why(error)) from error

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def abort(self) -> None:
        """End the exchange of another thread, which raises Unreached there. Every later exchange raises it too."""
        self._over = True
        connection = self._connection
        held = connection.sock if connection is not None else None
        if held is not None:
            try:
                held.shutdown(socket.SHUT_RDWR)
            except OSError:  # the exchange has ended already
                return

    def _exchange(self, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        if self._over:
            raise ConnectionAbortedError
        if self._connection is None:
            self._connection = self._connect()
        connection = self._connection
        connection.request("POST", path, body=body, headers={"User-Agent": "headwater", **headers})
        response = connection.getresponse()
        body_ = response.read(_MOST_READ)
        reply = Reply(response.status, body_, _seconds(response.getheader("Retry-After")))
        if not response.isclosed():  # the answer is longer than the part that was read
            self.close()
        return reply

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            import ssl

            connection: http.client.HTTPConnection = http.client.HTTPSConnection(host, port, timeout=_CONNECT_SECONDS)
            link: socket.socket = ssl.create_default_context().wrap_socket(self._open(connection), server_hostname=host)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=_CONNECT_SECONDS)
            link = self._open(connection)
        link.settimeout(self._seconds)
        connection.sock = link
        return connection

    def _open(self, connection: http.client.HTTPConnection) -> socket.socket:
        """Connect to one of the host's addresses, which is checked after it was resolved, so that a name cannot change its meaning between."""
        host, port = connection.host, connection.port
        addresses = [host] if self._networks is None else self._networks.resolve(host, port)
        for address in addresses[:-1]:
            with suppress(OSError):
                return socket.create_connection((address, port), _CONNECT_SECONDS)
        return socket.create_connection((addresses[-1], port), _CONNECT_SECONDS)


def _seconds(text: str | None) -> float | None:
    """The seconds in a Retry-After header, which holds seconds or a date."""
    if not text:
        return None
    if text.strip().isdecimal():
        return float(text.strip()[:9])
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=dt.UTC)
    return max((at - dt.datetime.now(dt.UTC)).total_seconds(), 0.0)


def _why(error: BaseException) -> str:
    return str(error) or type(error).__name__
