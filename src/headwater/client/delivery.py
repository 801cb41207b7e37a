"""Events over HTTP to an OpenLineage server, and the meaning of its replies.

Wire contract: OpenLineage HTTP API 2.0.2 (`POST /lineage`, `POST /lineage/batch`). Tries once. Only the sender's thread imports it:
importing the client does not load `http.client`.
"""

import zlib
from typing import Any

import msgspec

from headwater.client.connection import FAILURES, Connection, describe
from headwater.client.transport import Outcome, Unreachable

_CONNECT_SECONDS = 2.0  # a host that drops packets must not delay the end of a short program for long
_GZIP_FROM = 8 * 1024
# Refused because of the key or the address, not the event: a wrong address or an expired key must not lose events.
_NOT_THE_EVENT = frozenset({401, 403, 404, 405, 407, 408, 425, 429})


class Http:
    """A kept-alive connection to one OpenLineage server. Used by one thread."""

    def __init__(self, url: str, api_key: str | None, timeout: float = 10.0, *, batches: bool = True) -> None:
        self._connection = Connection(url, timeout=timeout, connect=_CONNECT_SECONDS, most=1 << 20)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
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
        self._connection.close()

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
            else:
                outcome.warnings.extend(_not_understood(_receipts(reply, _Receipt)))
        return outcome

    def _post(self, suffix: str, body: bytes, *, gzip: bool) -> tuple[int, bytes, float | None]:
        """Send a body; return status, body, and the seconds of `Retry-After`."""
        headers = dict(self._headers)
        try:
            self._connection.open()  # before anything is packed for a server that is not there
            if gzip:
                packer = zlib.compressobj(1, wbits=31)
                body = packer.compress(body) + packer.flush()
                headers["Content-Encoding"] = "gzip"
            answer = self._connection.exchange("POST", (self._connection.path + suffix) or "/", body, headers)
        except FAILURES as error:
            raise Unreachable(describe(error)) from error
        return answer.status, answer.body, answer.retry_after


class _Failed(msgspec.Struct):
    index: int
    reason: str = "refused"
    retriable: bool = False


class _Warning(msgspec.Struct):
    code: str = ""
    where: str = ""
    message: str = ""


class _Receipt(msgspec.Struct):
    duplicate: bool = False
    warnings: list[_Warning] = []


class _Reply(msgspec.Struct):
    failed_events: list[_Failed] | None = None
    receipts: msgspec.Raw = msgspec.Raw(b"[]")  # only its own entries: other software's must not hide the failure


def _read_reply(reply: bytes, sent: int) -> Outcome:
    """Read a 2xx reply to a batch. One without a readable body, as with 204 and older servers, accepted everything."""
    try:
        read = msgspec.json.decode(reply, type=_Reply) if reply.strip() else _Reply()
    except ValueError:
        read = _Reply()
    receipts = _receipts(read.receipts)
    outcome = Outcome(duplicates=sum(one.duplicate for one in receipts), warnings=_not_understood(receipts))
    for item in read.failed_events or []:
        if not 0 <= item.index < sent:
            continue
        if item.retriable:
            outcome.again.append(item.index)
            outcome.reason = item.reason
        else:
            outcome.refused.append((item.index, item.reason))
    return outcome


def _receipts(raw: msgspec.Raw | bytes, kind: Any = list[_Receipt]) -> list[_Receipt]:
    try:
        read = msgspec.json.decode(raw, type=kind)
    except ValueError:
        return []
    return read if isinstance(read, list) else [read]


def _not_understood(receipts: list[_Receipt]) -> list[str]:
    """The facets that the server stored without understanding them, each once."""
    told = (warning for one in receipts for warning in one.warnings if warning.code == "facet_not_understood")
    return list(dict.fromkeys(warning.message for warning in told))


def _error_text(status: int, reply: bytes) -> str:
    text = reply[:500].decode("utf-8", "replace").strip()
    return f"HTTP {status}: {text}" if text else f"HTTP {status}"
