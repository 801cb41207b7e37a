"""A kept-alive HTTP connection to an OpenLineage server, and the meaning of its replies.

Wire contract: OpenLineage HTTP API 2.0.2 (`POST /lineage`, `POST /lineage/batch`). Tries once; never retries, follows redirects or
uses a proxy. Only the sender's thread imports it: importing the client does not load `http.client`.
"""

import encodings.idna  # noqa: F401 - sockets import it when first used, which a fork in that moment would cut in half
import http.client
import math
import time
import zlib
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import msgspec

from headwater.client.transport import Outcome, Unreachable

_CONNECT_SECONDS = 2.0  # a host that drops packets must not delay the end of a short program for long
_GZIP_FROM = 8 * 1024
# Refused because of the key or the address, not the event: a wrong address or an expired key must not lose events.
_NOT_THE_EVENT = frozenset({401, 403, 404, 405, 407, 408, 425, 429})


class Http:
    """A kept-alive connection to one OpenLineage server. Used by one thread."""

    def __init__(self, url: str, api_key: str | None, timeout: float = 10.0, *, batches: bool = True) -> None:
        self._parts = urlsplit(url)
        self._timeout = timeout
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._connection: http.client.HTTPConnection | None = None
        self._batches = batches  # until the server rejects them

    def send(self, records: list[bytes]) -> Outcome:
        """Deliver in one request if the server supports it, else one by one. Raises Unreachable if nothing was delivered."""
        if self._batches:
            body = b"[" + b",".join(records) + b"]"
            # Only servers with batches get gzip: many OpenLineage endpoints do not unpack it.
            status, reply, later = self._post("/batch", body, gzip=len(body) > _GZIP_FROM)
            if 200 <= status < 300:
                return _read_reply(reply, len(records))
            if status in {404, 405, 501}:
                self._batches = False
            elif status in _NOT_THE_EVENT or status >= 500 or status < 400:
                raise Unreachable(_error_text(status, reply), later)
        # A batch that is too large (413), or has an event that the server refuses, is sent event by event.
        return self._singly(records)

    def close(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None

    def _singly(self, records: list[bytes]) -> Outcome:
        outcome = Outcome()
        for index, record in enumerate(records):
            try:
                status, reply, later = self._post("", record, gzip=False)
                if status in _NOT_THE_EVENT or status >= 500 or 300 <= status < 400:
                    raise Unreachable(_error_text(status, reply), later)
            except Unreachable as error:
                if index == 0:
                    raise
                outcome.again.extend(range(index, len(records)))
                outcome.reason, outcome.retry_after = str(error), error.retry_after
                break
            if status >= 400:
                outcome.refused.append((index, _error_text(status, reply)))
        return outcome

    def _post(self, suffix: str, body: bytes, *, gzip: bool) -> tuple[int, bytes, float | None]:
        """Send a body; return status, body, and the seconds of `Retry-After`."""
        fresh = self._connection is None
        if fresh:
            try:
                self._connection = self._connect()  # before anything is packed for a server that is not there
            except (OSError, http.client.HTTPException) as error:
                raise Unreachable(_why(error)) from error
        headers = dict(self._headers)
        if gzip:
            packer = zlib.compressobj(1, wbits=31)
            body = packer.compress(body) + packer.flush()
            headers["Content-Encoding"] = "gzip"
        try:
            return self._exchange(suffix, body, headers)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            # A server may close an idle connection at any time; only then is a second try, on a new one, not a retry.
            if fresh or isinstance(error, TimeoutError):
                raise Unreachable(_why(error)) from error
        try:
            return self._exchange(suffix, body, headers)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unreachable(_why(error)) from error

    def _exchange(self, suffix: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes, float | None]:
        if self._connection is None:
            self._connection = self._connect()
        self._connection.request("POST", self._parts.path + suffix, body=body, headers=headers)
        response = self._connection.getresponse()
        reply = response.read(1 << 20)
        if not response.isclosed():  # longer than any known answer: the rest would be read as the next one
            self.close()
        return response.status, reply, _later(response.headers.get("Retry-After"))

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            import ssl

            context = ssl.create_default_context()
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                host, port, timeout=_CONNECT_SECONDS, context=context
            )
        else:
            connection = http.client.HTTPConnection(host, port, timeout=_CONNECT_SECONDS)
        connection.connect()
        connection.sock.settimeout(self._timeout)
        return connection


class _Failed(msgspec.Struct):
    index: int
    reason: str = "refused"
    retriable: bool = False


class _Receipt(msgspec.Struct):
    duplicate: bool = False


class _Reply(msgspec.Struct):
    failed_events: list[_Failed] | None = None
    receipts: msgspec.Raw = msgspec.Raw(b"[]")  # only its own entries: other software's must not hide the failure


def _read_reply(reply: bytes, sent: int) -> Outcome:
    """Read a 2xx reply to a batch. One without a readable body, as with 204 and older servers, accepted everything."""
    try:
        read = msgspec.json.decode(reply, type=_Reply) if reply.strip() else _Reply()
    except ValueError:
        read = _Reply()
    outcome = Outcome(duplicates=_duplicates(read.receipts))
    for item in read.failed_events or []:
        if not 0 <= item.index < sent:
            continue
        if item.retriable:
            outcome.again.append(item.index)
            outcome.reason = item.reason
        else:
            outcome.refused.append((item.index, item.reason))
    return outcome


def _duplicates(receipts: msgspec.Raw) -> int:
    try:
        return sum(one.duplicate for one in msgspec.json.decode(receipts, type=list[_Receipt]))
    except ValueError:
        return 0


def _later(text: str | None) -> float | None:
    """Return `Retry-After` in seconds, from a number or a date; at most an hour, in case a clock is wrong."""
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except ValueError:
            return None
    return min(max(seconds, 0.0), 3600.0) if math.isfinite(seconds) else None


def _error_text(status: int, reply: bytes) -> str:
    text = reply[:500].decode("utf-8", "replace").strip()
    return f"HTTP {status}: {text}" if text else f"HTTP {status}"


def _why(error: BaseException) -> str:
    return str(error) or type(error).__name__
