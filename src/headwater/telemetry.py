"""Named log events: each line Headwater's server logs is one of these, so that it can be found and tested by name.

Figures go the same way: `measure` calls the listeners (the server's metrics), `span` opens a span where traces are on. There are no listeners in
a library or a command, and then both cost next to nothing.

`set_up` is the only logging set-up; libraries never call it.
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
    """A migration emptied the projections; they are made again from the log before the server answers."""


class EventRefused(LogEvent, frozen=True):
    """One event of a batch that the database would not take. `digest` is its identity, in hex."""

    level = logging.ERROR
    digest: str
    error: str


class RequestFailed(LogEvent, frozen=True):
    level = logging.ERROR
    path: str
    error: str


class RequestAnswered(LogEvent, frozen=True):
    """The access log: `actor` is who asked, by name."""

    level = logging.DEBUG
    method: str
    path: str
    status: int
    seconds: float
    bytes: int
    actor: str


class OpenToNetwork(LogEvent, frozen=True):
    """Every client that reaches the address may read and change everything; this was asked for by name."""

    level = logging.WARNING
    host: str


class AuditLost(LogEvent, frozen=True):
    """A change was made and its row could not be written: this line is the row."""

    level = logging.ERROR
    change: str
    error: str


class RetentionDone(LogEvent, frozen=True):
    """What was older than it is kept is gone."""

    kind: str
    deleted: int


class RetentionFailed(LogEvent, frozen=True):
    """One kind of record could not be deleted this time; the next time tries again."""

    level = logging.WARNING
    kind: str
    error: str


class ReceiverReady(LogEvent, frozen=True):
    """Messages of the queue are being taken."""

    queue: str
    prefetch: int


class BatchGoesOn(LogEvent, frozen=True):
    """Messages with many events are being taken: so many of them are committed, some of which became dead letters. Said every minute."""

    committed: int
    events: int
    dead_lettered: int
    seconds: int


class BrokerAway(LogEvent, frozen=True):
    """RabbitMQ is not there; it is asked again in so many seconds."""

    level = logging.WARNING
    error: str
    again: float


class DatabaseAway(LogEvent, frozen=True):
    """Events that were taken from the queue wait for the database, unacknowledged; it is asked again in so many seconds."""

    level = logging.WARNING
    error: str
    again: float


class EventDeadLettered(LogEvent, frozen=True):
    """One event went to the dead letters. `origin` is the message it came in, and its place there."""

    level = logging.WARNING
    code: str
    reason: str
    origin: str


class ListenersHeldUp(LogEvent, frozen=True):
    """Nothing can be delivered just now; said once until it can."""

    level = logging.WARNING
    error: str


class ListenerFailing(LogEvent, frozen=True):
    """A listener does not take what it is sent: it is sent again until it does. Said when it begins."""

    level = logging.WARNING
    listener: str
    error: str


class ListenerRecovered(LogEvent, frozen=True):
    """A listener that was failing takes events again."""

    listener: str


class StatusFeedHeldUp(LogEvent, frozen=True):
    """Events are not told to the status of instances just now; said once until they are. None is lost."""

    level = logging.WARNING
    error: str


class StatusUnplaced(LogEvent, frozen=True):
    """Runs of a job make an entity, and their events do not tell which instances: docs/explanation/status.md says how they would. Said once."""

    level = logging.WARNING
    job: str
    entity: str
    why: str


class StatusRefused(LogEvent, frozen=True):
    """What a run's event says of an entity makes no sense there."""

    level = logging.WARNING
    entity: str
    run: str
    error: str


class StatusEventFailed(LogEvent, frozen=True):
    """An event could not be told to the status of instances, and was passed. `digest` is its identity, in hex."""

    level = logging.ERROR
    digest: str
    error: str


class TracesOff(LogEvent, frozen=True):
    """Traces were asked for and cannot be sent."""

    level = logging.WARNING
    reason: str


class Measured(msgspec.Struct, frozen=True):
    """Base of what is measured: figures without a log line."""


class EventsTaken(Measured, frozen=True):
    """What became of one request's events; `batch` is how many came in it."""

    batch: int
    accepted: int
    duplicate: int
    refused: int


class Projected(Measured, frozen=True):
    """How long one transaction took to append `events` events and make the tables follow."""

    events: int
    seconds: float


class Delivered(Measured, frozen=True):
    """What became of one attempt to deliver to a listener: events, and whether it failed."""

    listener: str
    delivered: int
    refused: int
    failures: int


class StatusFed(Measured, frozen=True):
    """What became of some events: reports `taken`, `duplicate` or `refused`, runs that are `unplaced`, events that `failed`."""

    events: int
    outcomes: dict[str, int]


class AccessRefused(Measured, frozen=True):
    """A request was not let in: `code` is the error's."""

    code: str


class Received(Measured, frozen=True):
    """One batch taken from a queue, committed and acknowledged. `lag` is the age of its oldest message in seconds, None when none says."""

    messages: int
    accepted: int
    duplicate: int
    seconds: float
    lag: float | None


class DeadLettered(Measured, frozen=True):
    """Events that went to the dead letters for one reason."""

    code: str
    events: int


class QueueLengths(Measured, frozen=True):
    """Messages that are ready in the two queues. `idle`: none is in this process's hands either."""

    ready: int
    dead_letters: int
    idle: bool


class LastReconciliation(Measured, frozen=True):
    """How the last reconciliation of dead letters ended: when, and letters by what became of them."""

    at: float
    outcomes: dict[str, int]


_listeners: list[Callable[[Measured], None]] = []
_spans: list[Callable[[str, dict[str, int]], AbstractContextManager[object]]] = []


def measure(figures: Measured) -> None:
    """Call the listeners."""
    for listener in _listeners:
        listener(figures)


def listen(listener: Callable[[Measured], None]) -> Callable[[], None]:
    """Hear every measurement from now on; call what is returned to stop."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


def span(name: str, **attributes: int) -> AbstractContextManager[object]:
    """A span around a block, where traces are on."""
    return _spans[0](name, attributes) if _spans else nullcontext()


def trace(start: Callable[[str, dict[str, int]], AbstractContextManager[object]]) -> Callable[[], None]:
    """Turn spans on; call what is returned to turn them off."""
    _spans.insert(0, start)
    return lambda: _spans.remove(start)


def say(event: LogEvent, cause: BaseException | None = None) -> None:
    """Log the event at its level, under the logger `headwater`; `cause` with its traceback."""
    logging.getLogger("headwater").log(event.level, "%s", event, exc_info=cause)


def is_logged(level: int) -> bool:
    """Whether an event of this level is written anywhere."""
    return logging.getLogger("headwater").isEnabledFor(level)


def set_up(level: int = logging.INFO) -> None:
    """Send Headwater's log lines to standard error. Called once, by the entry point of a server process."""
    # What libraries say below INFO is not ours to show.
    logging.basicConfig(
        stream=sys.stderr, level=max(level, logging.INFO), format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    logging.getLogger("headwater").setLevel(level)
