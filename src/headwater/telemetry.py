"""Named log events: each line that the server logs is one of these classes, so it can be found and tested by name.

Figures work the same way: `measure` calls the listeners (the server's metrics), and `span` opens a span when tracing is on. A library or a
command has no listeners, so both cost next to nothing there.

Only `set_up` configures logging; libraries never call it.
"""

import logging
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import msgspec


class LogEvent(msgspec.Struct, frozen=True):
    """Base: the class name is the event's name, the fields are its values."""

    level = logging.INFO

    def __str__(self) -> str:
        values = " ".join(f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__)
        return f"{type(self).__name__} {values}".rstrip()


class ServerReady(LogEvent, frozen=True):
    url: str
    seconds: float


class MigrationApplied(LogEvent, frozen=True):
    name: str


class RebuildStarted(LogEvent, frozen=True):
    """A migration emptied the projections. The server rebuilds them from the log before it answers."""


class EventRefused(LogEvent, frozen=True):
    """The database refused one event of a batch. `digest` is its identity, in hex."""

    level = logging.ERROR
    digest: str
    error: str


class RequestFailed(LogEvent, frozen=True):
    level = logging.ERROR
    path: str
    error: str


class RequestAnswered(LogEvent, frozen=True):
    """The access log: `actor` is the caller's name."""

    level = logging.DEBUG
    method: str
    path: str
    status: int
    seconds: float
    bytes: int
    actor: str


class OpenToNetwork(LogEvent, frozen=True):
    """Every client that reaches the address may read and change everything. The settings ask for this explicitly."""

    level = logging.WARNING
    host: str


class AuditLost(LogEvent, frozen=True):
    """A change was made, but its audit row could not be written: this line replaces the row."""

    level = logging.ERROR
    change: str
    error: str


class RetentionDone(LogEvent, frozen=True):
    """Expired records were deleted."""

    kind: str
    deleted: int


class RetentionFailed(LogEvent, frozen=True):
    """One kind of record could not be deleted; the next round tries again."""

    level = logging.WARNING
    kind: str
    error: str


class ReceiverReady(LogEvent, frozen=True):
    """The receiver began to take messages from the queue."""

    queue: str
    prefetch: int


class BatchGoesOn(LogEvent, frozen=True):
    """Progress of messages with many events: how many were committed, and how many of those became dead letters. Logged every minute."""

    committed: int
    events: int
    dead_lettered: int
    seconds: int


class BrokerAway(LogEvent, frozen=True):
    """RabbitMQ does not answer; the next attempt is in `again` seconds."""

    level = logging.WARNING
    error: str
    again: float


class DatabaseAway(LogEvent, frozen=True):
    """Events taken from the queue wait, unacknowledged, for the database; the next attempt is in `again` seconds."""

    level = logging.WARNING
    error: str
    again: float


class EventDeadLettered(LogEvent, frozen=True):
    """One event became a dead letter. `origin` is its message and its place in it."""

    level = logging.WARNING
    code: str
    reason: str
    origin: str


class ListenersHeldUp(LogEvent, frozen=True):
    """Deliveries are held up. Logged once for each outage."""

    level = logging.WARNING
    error: str


class ReportRefused(LogEvent, frozen=True):
    """The database refused a report about instances of an entity; the reports beside it were recorded."""

    level = logging.WARNING
    entity: str
    error: str


class ConnectionsClosed(LogEvent, frozen=True):
    """Connections without requests were closed, because an address (`whose`), or all, held more than HEADWATER_SERVER__MAX_CONNECTIONS_… allows."""

    level = logging.WARNING
    whose: str
    connections: int


class SecretKeyChanged(LogEvent, frozen=True):
    """The server's key of secrets is another than before: users must sign in again, and secrets of listeners must be set again, unless servers
    over this database differ in HEADWATER_ACCESS__SECRET_KEY."""

    level = logging.WARNING
    former: str
    current: str


class ListenerFailing(LogEvent, frozen=True):
    """A listener does not accept its events, which are sent again until it does. Logged when it begins."""

    level = logging.WARNING
    listener: str
    error: str


class ListenerRecovered(LogEvent, frozen=True):
    """A listener that was failing takes events again."""

    listener: str


class AlertsHeldUp(LogEvent, frozen=True):
    """Nothing is looked for, or no message is sent (`what`), for now. Logged once for each cause; alerts about this time follow later."""

    level = logging.WARNING
    what: str
    error: str


class AlertMessageFailing(LogEvent, frozen=True):
    """A channel, or the mail server, did not take a message, which is sent again unless it was refused for good. Logged once for each message."""

    level = logging.WARNING
    channel: str
    error: str


class ConnectorsHeldUp(LogEvent, frozen=True):
    """No connector is pulled for now. Logged once for each cause."""

    level = logging.WARNING
    error: str


class ConnectorFailing(LogEvent, frozen=True):
    """A pull failed, and is tried again later. Logged when it begins."""

    level = logging.WARNING
    connector: str
    error: str


class StatusFeedHeldUp(LogEvent, frozen=True):
    """The status of instances does not follow the events for now. Logged once for each outage; no event is lost."""

    level = logging.WARNING
    error: str


class StatusUnplaced(LogEvent, frozen=True):
    """A job's runs make an entity, but their events do not name the instances: see docs/explanation/status.md. Logged once."""

    level = logging.WARNING
    job: str
    entity: str
    why: str


class StatusRefused(LogEvent, frozen=True):
    """A run's event reports something impossible about an entity."""

    level = logging.WARNING
    entity: str
    run: str
    error: str


class StatusEventFailed(LogEvent, frozen=True):
    """An event could not be applied to instance status and was skipped. `digest` is its identity, in hex."""

    level = logging.ERROR
    digest: str
    error: str


class TracesOff(LogEvent, frozen=True):
    """Tracing was requested, but its packages are not installed."""

    level = logging.WARNING
    reason: str


class Measured(msgspec.Struct, frozen=True):
    """Base of measurements: figures without a log line."""


class EventsTaken(Measured, frozen=True):
    """Outcome of one request's events; `batch` is their number."""

    batch: int
    accepted: int
    duplicate: int
    refused: int


class Projected(Measured, frozen=True):
    """Duration of the transaction that appended `events` events and updated the projections."""

    events: int
    seconds: float


class LineageAnswered(Measured, frozen=True):
    """A question about lineage that the graph in memory may answer. `by`: `resident`, `loaded` (parts of it came from the database first) or
    `postgresql`; `bytes`: about what the graph takes.
    """

    by: str
    bytes: int


class Delivered(Measured, frozen=True):
    """Outcome of one attempt to deliver to a listener: the events, and whether it failed."""

    listener: str
    delivered: int
    refused: int
    failures: int


class AlertMessage(Measured, frozen=True):
    """Outcome of one attempt to send a message to a channel, or by mail: sent, failed (it is sent again) or refused."""

    channel: str
    outcome: str


class ConnectorPulled(Measured, frozen=True):
    """A pull of a connector ended. `failed`: with an error."""

    connector: str
    rows: int
    failed: bool


class StatusFed(Measured, frozen=True):
    """Outcome of some events: reports `taken`, `duplicate` or `refused`, runs that are `unplaced`, events that `failed`."""

    events: int
    outcomes: dict[str, int]


class AccessRefused(Measured, frozen=True):
    """A request was refused; `code` is the error's."""

    code: str


class Received(Measured, frozen=True):
    """One batch taken from a queue, committed and acknowledged. `lag` is the age of its oldest message in seconds, None if no message has a time."""

    messages: int
    accepted: int
    duplicate: int
    seconds: float
    lag: float | None


class DeadLettered(Measured, frozen=True):
    """Events that became dead letters for one reason."""

    code: str
    events: int


class QueueLengths(Measured, frozen=True):
    """Messages that are ready in the two queues. `idle`: this process holds none either."""

    ready: int
    dead_letters: int
    idle: bool


class LastReconciliation(Measured, frozen=True):
    """The end of the last reconciliation of dead letters: when, and the letters by outcome."""

    at: float
    outcomes: dict[str, int]


_listeners: list[Callable[[Measured], None]] = []
_spans: list[Callable[[str, dict[str, int]], AbstractContextManager[object]]] = []


def measure(figures: Measured) -> None:
    """Call the listeners."""
    for listener in _listeners:
        listener(figures)


def listen(listener: Callable[[Measured], None]) -> Callable[[], None]:
    """Call `listener` for every measurement from now on; call the returned function to stop."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


def span(name: str, **attributes: int) -> AbstractContextManager[object]:
    """Open a span around a block, if tracing is on."""
    return _spans[0](name, attributes) if _spans else nullcontext()


def trace(start: Callable[[str, dict[str, int]], AbstractContextManager[object]]) -> Callable[[], None]:
    """Turn spans on; call the returned function to turn them off."""
    _spans.insert(0, start)
    return lambda: _spans.remove(start)


def say(event: LogEvent, cause: BaseException | None = None) -> None:
    """Log the event at its level, under the logger `headwater`; `cause` adds its traceback."""
    logging.getLogger("headwater").log(event.level, "%s", event, exc_info=cause)


def is_logged(level: int) -> bool:
    """Return whether the logger writes events of this level."""
    return logging.getLogger("headwater").isEnabledFor(level)


def set_up(level: int = logging.INFO) -> None:
    """Send Headwater's log lines to standard error. Called once, by the entry point of a server process."""
    # Libraries' lines below INFO are not logged.
    logging.basicConfig(
        stream=sys.stderr, level=max(level, logging.INFO), format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    logging.getLogger("headwater").setLevel(level)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs the address of each request, which may hold a secret
