"""POST deliveries over one keep-alive HTTP connection, and interpret the status of the answer.

It follows no redirects, uses no proxy, and reads at most 64 KiB of an answer. One thread posts at a time; another may call `abort`.
"""

import socket
import ssl
import time
from contextlib import suppress
from typing import Any

import msgspec

from headwater.client.connection import describe, retry_after
from headwater.errors import InvalidQuestion
from headwater.intake.listeners.networks import Networks

_MOST_READ = 64 * 1024
_CONNECT_SECONDS = 5.0
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
        """True if the receiver will never accept these events: a 4xx that is about the events."""
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
        import httpx  # 9 MB, which a server without listeners does not need

        self._url = httpx.URL(url)
        self._networks = networks
        # The machine's certificates, read where they are needed. No proxy of the environment: the addresses are checked here.
        verify = ssl.create_default_context() if self._url.scheme == "https" else False
        timeout = httpx.Timeout(seconds, connect=_CONNECT_SECONDS)
        self._failures = (OSError, httpx.HTTPError, InvalidQuestion)
        self._too_late = httpx.TimeoutException
        self._unconnected = (httpx.ConnectError, httpx.ConnectTimeout)
        self._client = httpx.Client(timeout=timeout, verify=verify, trust_env=False)
        self._address: str | None = None  # of the open connection
        self._socket: socket.socket | None = None
        self._over = False
        self._method = "POST"
        self.since: float | None = None

    def post(self, path: str, body: bytes, headers: dict[str, str], *, method: str = "POST") -> Reply:
        """Send one request. Raises Unreached; after `abort`, always."""
        self.since = time.monotonic()
        self._method = method
        try:
            return self._post(path, body, headers)
        except Unreached:
            if self._over:
                raise Unreached("the request took too long, or delivery was stopped") from None
            raise
        finally:
            self.since = None

    def _post(self, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        reused = self._address is not None
        try:
            return self._exchange(path, body, headers)
        except self._failures as error:
            self._forget()
            # A server may close an idle connection at any time. Only then the request is repeated at once, on a new connection.
            if not reused or self._over or isinstance(error, self._too_late):
                raise Unreached(describe(error)) from error
        try:
            return self._exchange(path, body, headers)
        except self._failures as error:
            self._forget()
            raise Unreached(describe(error)) from error

    def close(self) -> None:
        self._client.close()
        self._over = True

    def abort(self) -> None:
        """End the exchange of another thread, which raises Unreached there. Every later exchange raises it too."""
        self._over = True
        held = self._socket
        if held is not None:
            with suppress(OSError):  # the exchange has ended already
                held.shutdown(socket.SHUT_RDWR)

    def _forget(self) -> None:
        """Resolve the name again before the next request."""
        self._address = self._socket = None

    def _exchange(self, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        if self._address is not None:
            return self._request(self._address, path, body, headers)
        addresses = self._resolve()
        for address in addresses[:-1]:
            with suppress(*self._unconnected):
                return self._request(address, path, body, headers)
        return self._request(addresses[-1], path, body, headers)

    def _resolve(self) -> list[str]:
        """Return the host's addresses. The connection is made to one of those that were checked, so that a name cannot change its meaning between."""
        port = self._url.port or {"https": 443}.get(self._url.scheme, 80)
        return [self._url.host] if self._networks is None else self._networks.resolve(self._url.host, port)

    def _request(self, address: str, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        if self._over:
            raise ConnectionAbortedError
        sent = {
            "Host": self._url.netloc.decode(),
            "User-Agent": "headwater",
            "Accept": "*/*",
            "Accept-Encoding": "identity",
            **headers,
        }
        extensions = {"sni_hostname": self._url.host, "trace": self._watch}
        url = self._url.copy_with(host=address, raw_path=path.encode())
        with self._client.stream(self._method, url, content=body, headers=sent, extensions=extensions) as response:
            self._address = address
            read = bytearray()
            for part in response.iter_raw():  # a longer answer is left unread, which closes the connection
                read += part
                if len(read) >= _MOST_READ:
                    self._forget()
                    break
        return Reply(response.status_code, bytes(read[:_MOST_READ]), retry_after(response.headers.get("Retry-After")))

    def _watch(self, event: str, info: dict[str, Any]) -> None:
        """Remember the socket of a new connection, for `abort`."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._socket = info["return_value"].get_extra_info("socket")
