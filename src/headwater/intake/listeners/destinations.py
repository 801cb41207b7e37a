"""The destinations of listeners: a webhook, an OpenLineage endpoint, a Python callable. Each sends a batch and returns its outcome.

If a receiver refuses a whole batch permanently, the batch is sent by halves until the refused events are found. All of this runs in a thread.
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

from headwater.errors import HeadwaterError, NotInstalled, SecretKeyDiffers
from headwater.intake.listeners.external_lineage import Request, complete_run, databricks_requests
from headwater.intake.listeners.networks import Networks, Outbound
from headwater.intake.listeners.posting import Poster, Reply, Unreached
from headwater.model.event import repaired
from headwater.store.people.listeners import Listener, Logged

GROUP = "headwater.listeners"
PYTHON = "python:"
# The path at which each receives OpenLineage events.
PATHS = {
    "openlineage": "/api/v1/lineage",
    "marquez": "/api/v1/lineage",
    "datahub": "/openapi/openlineage/api/v1/lineage",
    "openmetadata": "/api/v1/openlineage/lineage",
    "snowflake": "/api/v2/lineage/external-lineage",
    "databricks": "",
}
KINDS = ("webhook", *PATHS)
_EXISTS = 409
# The requests to Databricks that a process remembers.
_MOST_SENT = 20_000


class Outcome(msgspec.Struct):
    """The outcome of a batch: its first `settled` events are delivered, except those permanently `refused` (index, reason).

    `failure`: why the rest must be sent again, after at least `retry_after` seconds. `gone`: the receiver never wants events again. `together`: all
    were refused by one answer, which does not say which of them it means.
    """

    settled: int = 0
    refused: list[tuple[int, str]] = []
    failure: str | None = None
    retry_after: float | None = None
    gone: bool = False
    together: bool = False


class Destination(Protocol):
    """The receiver of one listener's events."""

    def send(self, events: Sequence[Logged]) -> Outcome:
        """Deliver; blocks. Never raises."""

    def waiting(self) -> float:
        """The age of the open request in seconds; 0 without one."""

    def abort(self) -> None:
        """Make a running `send` return, if possible; called from another thread. Nothing is sent afterwards."""

    def close(self) -> None: ...


class LoggedEvent(msgspec.Struct, frozen=True):
    """An event as a Python listener gets it: its digest (hex), its event time, its time of receipt, and its bytes as received."""

    digest: str
    event_time: dt.datetime
    received_at: dt.datetime
    body: bytes

    def json(self) -> dict[str, Any]:
        """The decoded event."""
        event: dict[str, Any] = json.loads(repaired(self.body))
        return event


class PythonListener(Protocol):
    """The object of an entry point in the group `headwater.listeners`: such a function, or a class without constructor arguments whose instances are
    such functions.

    Returning means that the batch is delivered. After any exception the batch is sent again later; after a permanent HeadwaterError (InvalidEvent)
    it is sent by halves, to find the event that can never be accepted. The same event may arrive twice. It runs in its own thread,
    one batch at a time.
    """

    def __call__(self, events: Sequence[LoggedEvent], /) -> object: ...


def open_destination(listener: Listener, seconds: float, outbound: Outbound) -> Destination:
    """The destination of a listener. Raises NotInstalled for a Python listener that is not installed, SecretKeyDiffers for a secret that another key
    encrypted."""
    secret = listener.secret and outbound.key.decrypt(listener.secret)
    try:
        previous = listener.previous_secret and outbound.key.decrypt(listener.previous_secret)
    except SecretKeyDiffers:
        previous = None  # a receiver that has only the secret before this one needs the new one
    listener = msgspec.structs.replace(listener, secret=secret, previous_secret=previous)
    if listener.kind.startswith(PYTHON):
        return Python(load_python_listener(listener.kind.removeprefix(PYTHON)))
    networks = None if listener.inside else outbound.networks
    if listener.kind == "webhook":
        return Webhook(listener, seconds, networks)
    if listener.kind == "databricks":
        return Databricks(listener, seconds, networks)
    return OpenLineage(listener, seconds, networks)


def load_python_listener(name: str) -> PythonListener:
    """Load the callable of an entry point. Raises NotInstalled if there is none, or it cannot be loaded."""
    points = entry_points(group=GROUP, name=name)
    if not points:
        installed = ", ".join(sorted(point.name for point in entry_points(group=GROUP))) or "none"
        raise NotInstalled(
            f"no installed package has an entry point {name!r} in {GROUP}; install it, or use one of: {installed}",
            name=name,
        )
    try:
        loaded = next(iter(points)).load()
        listener = loaded() if isinstance(loaded, type) else loaded
    except Exception as error:
        raise NotInstalled(f"the listener {name!r} cannot be loaded: {_describe_error(error)}", name=name) from error
    if not callable(listener):
        raise NotInstalled(f"the listener {name!r} is not callable; name a function or a class", name=name)
    return listener  # type: ignore[no-any-return]


def address(kind: str, url: str) -> str:
    """The full address of an endpoint: without a path, it gets the default path of its kind."""
    path = urlsplit(url).path.rstrip("/")
    return url if path else url.rstrip("/") + PATHS.get(kind, "/")


class _HttpDestination:
    """The connection that both kinds of HTTP destinations have."""

    def __init__(self, listener: Listener, seconds: float, networks: Networks | None) -> None:
        self._url = address(listener.kind, listener.url or "")
        parts = urlsplit(self._url)
        self._path, self._query = parts.path or "/", f"?{parts.query}" if parts.query else ""
        self._poster = Poster(self._url, seconds, networks)

    def waiting(self) -> float:
        return _since(self._poster.since)

    def abort(self) -> None:
        self._poster.abort()

    def close(self) -> None:
        self._poster.close()


class Webhook(_HttpDestination):
    """POSTs `{"listener", "delivery", "events"}`, signed according to the Standard Webhooks specification (1.0.0).

    A delivery of the same events always has the same id, also when another process repeats it.
    """

    def __init__(self, listener: Listener, seconds: float, networks: Networks | None) -> None:
        super().__init__(listener, seconds, networks)
        self._listener = listener

    def send(self, events: Sequence[Logged]) -> Outcome:
        return send_by_halves(events, self._post)

    def _post(self, events: Sequence[Logged]) -> Outcome:
        digest = hashlib.sha256(b"".join([self._listener.id.bytes, *(event.digest for event in events)]))
        delivery = f"msg_{digest.hexdigest()[:40]}"
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
        return outcome_of(reply, len(events), gone=reply.status == 410)

    def _secrets(self, at: int) -> list[bytes]:
        listener = self._listener
        valid = [listener.secret or b""]
        if listener.previous_secret and listener.previous_until and at < listener.previous_until.timestamp():
            valid.append(listener.previous_secret)
        return valid


class OpenLineage(_HttpDestination):
    """Sends each event in the bytes in which it was received: in batches to receivers that support them, else one by one."""

    def __init__(self, listener: Listener, seconds: float, networks: Networks | None) -> None:
        super().__init__(listener, seconds, networks)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if listener.secret:
            self._headers["Authorization"] = f"Bearer {listener.secret.decode()}"
        # The others accept one event per request, Snowflake no other event than the end of a run.
        self._batches = listener.kind == "openlineage"
        self._ends_alone = listener.kind == "snowflake"

    def send(self, events: Sequence[Logged]) -> Outcome:
        # An event that is not valid JSON would be repaired within its batch, and be another event at the receiver.
        if self._batches and len(events) > 1 and all(repaired(event.body) == event.body for event in events):
            outcome = send_by_halves(events, self._batch)
            if self._batches:
                return outcome
        return self._send_singly(events)

    def _batch(self, events: Sequence[Logged]) -> Outcome:
        body = b"[" + b",".join(event.body for event in events) + b"]"
        try:
            reply = self._poster.post(f"{self._path.rstrip('/')}/batch{self._query}", body, self._headers)
        except Unreached as error:
            return Outcome(failure=str(error))
        if reply.status in {404, 405, 501}:
            self._batches = False
            return Outcome(failure=str(reply))
        return batch_outcome(reply, len(events))

    def _send_singly(self, events: Sequence[Logged]) -> Outcome:
        outcome = Outcome()
        for event in events:
            if self._ends_alone and complete_run(event.body) is None:
                outcome.settled += 1
                continue
            try:
                reply = self._poster.post(self._path + self._query, event.body, self._headers)
            except Unreached as error:
                outcome.failure = str(error)
                break
            _add(outcome, outcome_of(reply, 1))
            if outcome.failure:
                break
        return outcome


class Databricks(_HttpDestination):
    """Registers the edges of runs that ended as external lineage of Unity Catalog: `external_lineage.databricks_requests`.

    What it registered is not sent again by this process while it stays the same; what Databricks has already is changed.
    """

    def __init__(self, listener: Listener, seconds: float, networks: Networks | None) -> None:
        super().__init__(listener, seconds, networks)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if listener.secret:
            self._headers["Authorization"] = f"Bearer {listener.secret.decode()}"
        self._sent: dict[bytes, None] = {}

    def send(self, events: Sequence[Logged]) -> Outcome:
        outcome = Outcome()
        for event in events:
            _add(outcome, self._send_one(event))
            if outcome.failure:
                break
        return outcome

    def _send_one(self, event: Logged) -> Outcome:
        ended = complete_run(event.body)
        for request in databricks_requests(ended) if ended else ():
            if request.body in self._sent:
                continue
            try:
                reply = self._exchange(request)
            except Unreached as error:
                return Outcome(failure=str(error))
            outcome = outcome_of(reply, 1)
            if outcome.failure or outcome.refused:
                return outcome
            self._sent[request.body] = None
            if len(self._sent) > _MOST_SENT:
                self._sent.pop(next(iter(self._sent)))
        return Outcome(1)

    def _exchange(self, request: Request) -> Reply:
        base = self._path.rstrip("/")
        reply = self._poster.post(base + request.path, request.body, self._headers)
        if reply.status != _EXISTS:
            return reply
        if request.update is None:
            return Reply(200, b"")
        return self._poster.post(base + request.update, request.body, self._headers, method="PATCH")


class Python:
    """A callable of another package, in the thread that calls `send`."""

    def __init__(self, listener: PythonListener) -> None:
        self._call = listener
        self._began: float | None = None
        self._over = False

    def send(self, events: Sequence[Logged]) -> Outcome:
        return send_by_halves(events, self._give)

    def _give(self, events: Sequence[Logged]) -> Outcome:
        if self._over:
            return Outcome(failure="stopped")
        batch = [LoggedEvent(e.digest.hex(), e.event_time, e.received_at, e.body) for e in events]
        self._began = time.monotonic()
        try:
            self._call(batch)
        except HeadwaterError as error:
            if error.permanent:
                return _refused(len(events), error.message)
            return Outcome(failure=error.message)
        except Exception as error:  # noqa: BLE001 - a listener may raise anything; the error is recorded and the batch is sent again
            return Outcome(failure=_describe_error(error))
        finally:
            self._began = None
        return Outcome(len(events))

    def waiting(self) -> float:
        return _since(self._began)

    def abort(self) -> None:
        self._over = True

    def close(self) -> None: ...


def signature(secret: bytes, delivery: str, at: int, body: bytes) -> str:
    """`v1,` and the base64 of the HMAC-SHA256 of the delivery's id, time and body."""
    signed = hmac.digest(secret, b"%b.%d.%b" % (delivery.encode(), at, body), "sha256")
    return "v1," + base64.b64encode(signed).decode()


def outcome_of(reply: Reply, count: int, *, gone: bool = False) -> Outcome:
    """The outcome for all events of a request, by its answer."""
    if reply.ok:
        return Outcome(count)
    if gone:
        return Outcome(failure=f"the receiver wants no more events: {reply}", gone=True)
    if reply.refuses_events:
        return _refused(count, str(reply))
    return Outcome(failure=str(reply), retry_after=reply.retry_after)


class _Failed(msgspec.Struct):
    index: int
    reason: str = "refused"
    retriable: bool = False


class _BatchAnswer(msgspec.Struct):
    failed_events: list[_Failed] | None = None


def batch_outcome(reply: Reply, count: int) -> Outcome:
    """The outcome of each event by the answer to `POST …/batch`. A 2xx without a readable body has accepted all."""
    if not reply.ok:
        return outcome_of(reply, count)
    try:
        failed = msgspec.json.decode(reply.body, type=_BatchAnswer).failed_events or [] if reply.body.strip() else []
    except (msgspec.DecodeError, UnicodeDecodeError):
        failed = []
    retriable = [event for event in failed if event.retriable and 0 <= event.index < count]
    # To preserve the order, all events after the first retriable one are sent again; the receiver recognises them by their digests.
    settled = min((event.index for event in retriable), default=count)
    refused = {event.index: event.reason for event in failed if not event.retriable and 0 <= event.index < settled}
    failure = next((event.reason for event in retriable if event.index == settled), None)
    return Outcome(settled, sorted(refused.items()), failure)


def send_by_halves(events: Sequence[Logged], send: Callable[[Sequence[Logged]], Outcome]) -> Outcome:
    """Send events; if several are refused together, send each half, so that only the events that the receiver means are refused."""
    outcome = send(events)
    if len(events) == 1 or not outcome.together:
        return outcome
    half = len(events) // 2
    first = send_by_halves(events[:half], send)
    if not first.failure:
        _add(first, send_by_halves(events[half:], send))
    return first


def _refused(count: int, reason: str) -> Outcome:
    return Outcome(count, [(index, reason) for index in range(count)], together=True)


def _add(outcome: Outcome, more: Outcome) -> None:
    """Append the outcome of the following events."""
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


def _describe_error(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:500]


def ping() -> Logged:
    """The RunEvent that a test of a listener sends. It is in no log; its job is `headwater` / `listener.test`."""
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
