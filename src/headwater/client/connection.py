"""One HTTP connection to a server, kept alive: the client's only one, for events and for questions.

The standard library's, because it runs in other people's processes (decision 003). Follows no redirects, uses no proxy, and never retries,
except that a request on a connection that the server has closed meanwhile is sent on a new one.
"""

import encodings.idna  # noqa: F401 - sockets import it when first used, which a fork in that moment would cut in half
import http.client
import math
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import urlsplit

import msgspec

FAILURES: Final = (OSError, http.client.HTTPException)
"""The exceptions that an exchange raises if there was no complete answer. TimeoutError is one of them."""


class Answer(msgspec.Struct, frozen=True):
    """`body`: at most as much of it as was asked for."""

    status: int
    body: bytes
    retry_after: float | None = None


class Connection:
    """A connection to the server of `url`, opened when needed. Used by one thread.

    `timeout`: the seconds that connecting and each reading or writing may take; `connect`: those of connecting, if they differ. `most`: the bytes
    of an answer that are read. Raises ValueError or http.client.InvalidURL for a text that is no address.
    """

    def __init__(self, url: str, *, timeout: float, connect: float | None = None, most: int | None = None) -> None:
        parts = urlsplit(url)
        self.path = parts.path
        self._timeout, self._most = timeout, most
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname or "", parts.port, timeout=connect or timeout)
        self._open = False

    def open(self) -> bool:
        """Connect unless there is a connection. Returns whether this one is new. Raises FAILURES."""
        if self._open:
            return False
        self._connection.connect()
        self._connection.sock.settimeout(self._timeout)
        self._open = True
        return True

    def exchange(self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        """Send one request. Raises FAILURES; the connection is closed then."""
        fresh = self.open()
        try:
            return self._exchange(method, target, body, headers)
        except FAILURES as error:
            self.close()
            # A server may close an idle connection at any time; only then is a second try, on a new one, not a retry.
            if fresh or isinstance(error, TimeoutError):
                raise
        try:
            return self._exchange(method, target, body, headers)
        except FAILURES:
            self.close()
            raise

    def close(self) -> None:
        self._connection.close()
        self._open = False

    def _exchange(self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        self.open()
        self._connection.request(method, target, body=body, headers=dict(headers))
        response = self._connection.getresponse()
        read = response.read(self._most)
        if not response.isclosed():  # the rest would be read as the next answer
            self.close()
        return Answer(response.status, read, retry_after(response.getheader("Retry-After")))


def describe(error: BaseException) -> str:
    """Return the text of an error; many have none, and are named instead."""
    return str(error) or type(error).__name__


def retry_after(text: str | None) -> float | None:
    """Return the seconds of a `Retry-After` header, which holds seconds or a date (RFC 9110 §10.2.3); None for any other text.

    At most an hour, in case a clock is wrong.
    """
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except ValueError:
            return None
    return min(max(seconds, 0.0), 3600.0) if math.isfinite(seconds) else None
