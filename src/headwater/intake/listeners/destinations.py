"""Where a listener's events go: a webhook, an OpenLineage endpoint, a Python callable. Each takes a batch and says what became of it.

What refuses a whole batch for good is asked again by halves until the events it will not take are alone. All of it runs in a thread.
"""

import base64
import datetime as dt
import hashlib
import hmac
import json
import time
import uuid
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from headwater.errors import HeadwaterError, NotInstalled
from headwater.intake.listeners.posting import Poster, Reply, Unreached
from headwater.model.event import repaired
from headwater.store.people.listeners import Listener, Logged

GROUP = "headwater.listeners"
PYTHON = "python:"
# Where each takes OpenLineage events below its own address.
PATHS = {
    "openlineage": "/api/v1/lineage",
    "marquez": "/api/v1/lineage",
    "datahub": "/openapi/openlineage/api/v1/lineage",
    "openmetadata": "/api/v1/openlineage/lineage",
}
KINDS = ("webhook", *PATHS)


class Outcome(msgspec.Struct):
    """What became of a batch: its first `settled` events are done with, those of them in `refused` (index, reason) for good.

    `failure`: why the rest has to be sent again, after `retry_after` seconds at least. `gone`: the receiver wants no more, ever.
    `together`: all were refused in one breath, so that it is not known which of them is meant.
    """

    settled: int = 0
    refused: list[tuple[int, str]] = []
    failure: str | None = None
    retry_after: float | None = None
    gone: bool = False
    together: bool = False


class Destination(Protocol):
    """What a listener delivers to."""

    def send(self, events: Sequence[Logged]) -> Outcome:
        """Deliver; blocks. Never raises."""

    def waiting(self) -> float:
        """Seconds since the receiver was last asked something that it has not answered yet; 0 when it owes no answer."""

    def abort(self) -> None:
        """From another thread: let a `send` under way come back, where that can be done. Nothing is sent after it."""

    def close(self) -> None: ...


class LoggedEvent(msgspec.Struct, frozen=True):
    """What a Python listener is given: the event's identity in Headwater (hex), its time, when it was received, and its bytes as they came."""

    digest: str
    event_time: dt.datetime
    received_at: dt.datetime
    body: bytes

    def json(self) -> dict[str, Any]:
        """The event, read."""
        told: dict[str, Any] = json.loads(repaired(self.body))
        return told


class PythonListener(Protocol):
    """What an entry point of the group `headwater.listeners` names: a function of this shape, or a class whose instances, made without
    arguments, can be called so.

    Coming back means that the batch is done with. Raising anything means that it is given again, later; a HeadwaterError that is
    permanent (InvalidEvent) means that an event of it can never be taken: the batch is given by halves to find which. The same
    event may come twice. It runs in a thread of its own, one batch at a time.
    """

    def __call__(self, events: Sequence[LoggedEvent], /) -> object: ...


def made(listener: Listener, seconds: float) -> Destination:
    """The destination of a listener. Raises NotInstalled for a Python listener that is not there."""
    if listener.kind.startswith(PYTHON):
        return Python(loaded(listener.kind.removeprefix(PYTHON)))
    if listener.kind == "webhook":
        return Webhook(listener, seconds)
    return OpenLineage(listener, seconds)


def loaded(name: str) -> PythonListener:
    """The callable behind an entry point. Raises NotInstalled when there is none, or when it cannot be loaded."""
    found = entry_points(group=GROUP, name=name)
    if not found:
        there = ", ".join(sorted(one.name for one in entry_points(group=GROUP))) or "none"
        raise NotInstalled(
            f"no installed package has an entry point {name!r} in {GROUP}; there are: {there}", name=name
        )
    try:
        what = next(iter(found)).load()
        listener = what() if isinstance(what, type) else what
    except Exception as error:
        raise NotInstalled(f"the listener {name!r} cannot be loaded: {_said(error)}", name=name) from error
    if not callable(listener):
        raise NotInstalled(f"the listener {name!r} cannot be called", name=name)
    return listener  # type: ignore[no-any-return]


def address(kind: str, url: str) -> str:
    """The whole address of an endpoint: one without a path gets the path its kind is known by."""
    path = urlsplit(url).path.rstrip("/")
    return url if path else url.rstrip("/") + PATHS.get(kind, "/")


class _Posted:
    """What both kinds of HTTP destinations have: one connection."""

    def __init__(self, listener: Listener, seconds: float) -> None:
        self._url = address(listener.kind, listener.url or "")
        parts = urlsplit(self._url)
        self._path, self._query = parts.path or "/", f"?{parts.query}" if parts.query else ""
        self._poster = Poster(self._url, seconds)

    def waiting(self) -> float:
        return _since(self._poster.since)

    def abort(self) -> None:
        self._poster.abort()

    def close(self) -> None:
        self._poster.close()


class Webhook(_Posted):
    """POSTs `{"listener", "delivery", "events"}`, signed as the Standard Webhooks specification (1.0.0) says.

    A delivery of the same events has the same id, however often and by whichever process it is sent.
    """

    def __init__(self, listener: Listener, seconds: float) -> None:
        super().__init__(listener, seconds)
        self._listener = listener

    def send(self, events: Sequence[Logged]) -> Outcome:
        return by_halves(events, self._post)

    def _post(self, events: Sequence[Logged]) -> Outcome:
        told = hashlib.sha256(b"".join([self._listener.id.bytes, *(event.digest for event in events)]))
        delivery = f"msg_{told.hexdigest()[:40]}"
        name = msgspec.json.encode(self._listener.name)
        raw = b",".join(repaired(event.body) for event in events)
        body = b'{"listener":%b,"delivery":"%b","events":[%b]}' % (name, delivery.encode(), raw)
        at = int(time.time())
        headers = {
            "Content-Type": "application/json",
            "webhook-id": delivery,
            "webhook-timestamp": str(at),
            "webhook-signature": " ".join(signature(secret, delivery, at, body) for secret in self._secrets(at)),
        }
        try:
            reply = self._poster.post(self._path + self._query, body, headers)
        except Unreached as error:
            return Outcome(failure=str(error))
        return judged(reply, len(events), gone=reply.status == 410)

    def _secrets(self, at: int) -> list[bytes]:
        listener = self._listener
        kept = [listener.secret or b""]
        if listener.previous_secret and listener.previous_until and at < listener.previous_until.timestamp():
            kept.append(listener.previous_secret)
        return kept


class OpenLineage(_Posted):
    """Each event in the bytes it came in: in batches where the receiver is said to know them, else one by one."""

    def __init__(self, listener: Listener, seconds: float) -> None:
        super().__init__(listener, seconds)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if listener.secret:
            self._headers["Authorization"] = f"Bearer {listener.secret.decode()}"
        # Marquez, DataHub and OpenMetadata take an event a request.
        self._batches = listener.kind == "openlineage"

    def send(self, events: Sequence[Logged]) -> Outcome:
        # What is not quite JSON would be mended with its batch, and be another event there.
        if self._batches and len(events) > 1 and all(repaired(event.body) == event.body for event in events):
            outcome = by_halves(events, self._batch)
            if self._batches:
                return outcome
        return self._singly(events)

    def _batch(self, events: Sequence[Logged]) -> Outcome:
        body = b"[" + b",".join(event.body for event in events) + b"]"
        try:
            reply = self._poster.post(f"{self._path.rstrip('/')}/batch{self._query}", body, self._headers)
        except Unreached as error:
            return Outcome(failure=str(error))
        if reply.status in {404, 405, 501}:
            self._batches = False
            return Outcome(failure=str(reply))
        return of_batch(reply, len(events))

    def _singly(self, events: Sequence[Logged]) -> Outcome:
        outcome = Outcome()
        for event in events:
            try:
                reply = self._poster.post(self._path + self._query, event.body, self._headers)
            except Unreached as error:
                outcome.failure = str(error)
                break
            _add(outcome, judged(reply, 1))
            if outcome.failure:
                break
        return outcome


class Python:
    """A callable of another package, in the thread that calls `send`."""

    def __init__(self, listener: PythonListener) -> None:
        self._call = listener
        self._began: float | None = None
        self._over = False

    def send(self, events: Sequence[Logged]) -> Outcome:
        return by_halves(events, self._give)

    def _give(self, events: Sequence[Logged]) -> Outcome:
        if self._over:
            return Outcome(failure="stopped")
        given = [LoggedEvent(e.digest.hex(), e.event_time, e.received_at, e.body) for e in events]
        self._began = time.monotonic()
        try:
            self._call(given)
        except HeadwaterError as error:
            if error.permanent:
                return _refused(len(events), error.message)
            return Outcome(failure=error.message)
        except Exception as error:  # noqa: BLE001 - it is somebody else's code: whatever it raises is shown, and the batch given again
            return Outcome(failure=_said(error))
        finally:
            self._began = None
        return Outcome(len(events))

    def waiting(self) -> float:
        return _since(self._began)

    def abort(self) -> None:
        self._over = True

    def close(self) -> None: ...


def signature(secret: bytes, delivery: str, at: int, body: bytes) -> str:
    """`v1,` and the base64 of the HMAC-SHA256 over id, time and body."""
    signed = hmac.digest(secret, b"%b.%d.%b" % (delivery.encode(), at, body), "sha256")
    return "v1," + base64.b64encode(signed).decode()


def judged(reply: Reply, count: int, *, gone: bool = False) -> Outcome:
    """What an answer means for all the events it is about."""
    if reply.ok:
        return Outcome(count)
    if gone:
        return Outcome(failure=f"the receiver wants no more: {reply}", gone=True)
    if reply.refuses_events:
        return _refused(count, str(reply))
    return Outcome(failure=str(reply), retry_after=reply.retry_after)


class _Failed(msgspec.Struct):
    index: int
    reason: str = "refused"
    retriable: bool = False


class _Told(msgspec.Struct):
    failed_events: list[_Failed] | None = None


def of_batch(reply: Reply, count: int) -> Outcome:
    """What the answer to `POST …/batch` says of each event. A 2xx without a body that can be read has taken all."""
    if not reply.ok:
        return judged(reply, count)
    try:
        told = msgspec.json.decode(reply.body, type=_Told).failed_events or [] if reply.body.strip() else []
    except (msgspec.DecodeError, UnicodeDecodeError):
        told = []
    later = [one for one in told if one.retriable and 0 <= one.index < count]
    # Order is kept: what comes after the first that has to be sent again is sent again too, and known there by its digest.
    settled = min((one.index for one in later), default=count)
    refused = {one.index: one.reason for one in told if not one.retriable and 0 <= one.index < settled}
    failure = next((one.reason for one in later if one.index == settled), None)
    return Outcome(settled, sorted(refused.items()), failure)


def by_halves(events: Sequence[Logged], send: Callable[[Sequence[Logged]], Outcome]) -> Outcome:
    """Send; where all of several are refused together, send each half, so that only what is meant stays out."""
    outcome = send(events)
    if len(events) == 1 or not outcome.together:
        return outcome
    half = len(events) // 2
    first = by_halves(events[:half], send)
    if not first.failure:
        _add(first, by_halves(events[half:], send))
    return first


def _refused(count: int, reason: str) -> Outcome:
    return Outcome(count, [(index, reason) for index in range(count)], together=True)


def _add(outcome: Outcome, more: Outcome) -> None:
    """`more` follows on `outcome`."""
    outcome.refused.extend((outcome.settled + index, reason) for index, reason in more.refused)
    outcome.settled += more.settled
    outcome.failure, outcome.retry_after, outcome.gone, outcome.together = (
        more.failure,
        more.retry_after,
        more.gone,
        False,
    )


def _since(began: float | None) -> float:
    return time.monotonic() - began if began is not None else 0.0


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:500]


def ping() -> Logged:
    """A run event that `test` sends: it is in no log, and says of itself what it is."""
    now = dt.datetime.now(dt.UTC)
    body = msgspec.json.encode(
        {
            "eventType": "OTHER",
            "eventTime": now.isoformat(),
            "run": {"runId": str(uuid.uuid4()), "facets": {}},
            "job": {"namespace": "headwater", "name": "listener.test", "facets": {}},
            "inputs": [],
            "outputs": [],
            "producer": "https://headwater.dev/listeners",
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        }
    )
    return Logged(0, now, hashlib.sha256(body).digest(), "run", "OTHER", now, body)
