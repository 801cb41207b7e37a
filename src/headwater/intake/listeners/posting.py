"""One kept-alive HTTP connection for deliveries: POST, and what the status means for the events in it.

Follows no redirect, uses no proxy, reads at most 64 KiB of an answer. One thread posts at a time; `abort` may be called from another.
"""

import datetime as dt
import http.client
import socket
import time
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import msgspec

_MOST_READ = 64 * 1024
_CONNECT_SECONDS = 5.0
# Refused for who asks or where, or for now; not for what the events say: they are sent again.
_NOT_THE_EVENT = frozenset({401, 403, 404, 405, 407, 408, 425, 429})


class Reply(msgspec.Struct, frozen=True):
    """`retry_after`: seconds the receiver asks for."""

    status: int
    body: bytes
    retry_after: float | None = None

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def refuses_events(self) -> bool:
        """Whether these very events will never be taken: a 4xx that speaks of them."""
        return 400 <= self.status < 500 and self.status not in _NOT_THE_EVENT

    def __str__(self) -> str:
        text = " ".join(self.body[:500].decode("utf-8", "replace").split())
        return f"HTTP {self.status}: {text}" if text else f"HTTP {self.status}"


class Unreached(Exception):
    """No answer came."""


class Poster:
    """POSTs to one address; `seconds` is for each step of an exchange, the caller bounds the whole with `abort`.

    `since`: when the exchange under way began (monotonic), None between two.
    """

    def __init__(self, url: str, seconds: float) -> None:
        self._parts = urlsplit(url)
        self._seconds = seconds
        self._connection: http.client.HTTPConnection | None = None
        self._over = False
        self.since: float | None = None

    def post(self, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        """Raises Unreached, always after `abort`."""
        self.since = time.monotonic()
        try:
            return self._post(path, body, headers)
        except Unreached:
            if self._over:
                raise Unreached("it took too long, or was stopped") from None
            raise
        finally:
            self.since = None

    def _post(self, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        reused = self._connection is not None
        try:
            return self._exchange(path, body, headers)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            # A server may close an idle connection at any time; only then is a second try, on a new one, no retry.
            if not reused or self._over or isinstance(error, TimeoutError):
                raise Unreached(_why(error)) from error
        try:
            return self._exchange(path, body, headers)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unreached(_why(error)) from error

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def abort(self) -> None:
        """End an exchange that another thread waits for: it raises Unreached there, and so does every other from now on."""
        self._over = True
        connection = self._connection
        held = connection.sock if connection is not None else None
        if held is not None:
            try:
                held.shutdown(socket.SHUT_RDWR)
            except OSError:  # it has ended by itself
                return

    def _exchange(self, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        if self._over:
            raise ConnectionAbortedError
        if self._connection is None:
            self._connection = self._connect()
        connection = self._connection
        connection.request("POST", path, body=body, headers={"User-Agent": "headwater", **headers})
        response = connection.getresponse()
        told = response.read(_MOST_READ)
        reply = Reply(response.status, told, _seconds(response.getheader("Retry-After")))
        if not response.isclosed():  # there is more than anybody reads
            self.close()
        return reply

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            import ssl

            made: http.client.HTTPConnection = http.client.HTTPSConnection(
                host, port, timeout=_CONNECT_SECONDS, context=ssl.create_default_context()
            )
        else:
            made = http.client.HTTPConnection(host, port, timeout=_CONNECT_SECONDS)
        made.connect()
        made.sock.settimeout(self._seconds)
        return made


def _seconds(text: str | None) -> float | None:
    """Of a Retry-After: seconds or a date."""
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
