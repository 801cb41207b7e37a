"""The way out of the process: `emit` keeps the event on disk in microseconds, the sender's thread delivers it.

It never raises, never blocks and never takes the host down with it (ARCHITECTURE.md, decision 8). What goes wrong is counted in `stats()`
and said in one log line for each outage. Refuses to know what an event means and to promise an order between processes.
"""

import atexit
import logging
import os
import time
from typing import TYPE_CHECKING, Any

import msgspec

from headwater.client.config import Destination
from headwater.client.sender import Sender
from headwater.client.spool import Spool

if TYPE_CHECKING:
    from headwater.client.transport import Console, File

log = logging.getLogger("headwater")

_DEAD_SERVER_GRACE = 0.5  # of the exit, for one more try at a server that did not answer before
_BACKLOG_GRACE = 1.0  # of the exit, for events that other processes left


class Stats(msgspec.Struct, frozen=True):
    """What became of the events of this process, and how many it still holds.

    `delivered` includes events taken over from dead processes; `dropped` is lost for good (not encodable, or the caps of spool and memory);
    `torn` is records found damaged on disk; `pending` waits for a server.
    """

    emitted: int
    delivered: int
    rejected: int
    dropped: int
    torn: int
    pending: int
    failed_attempts: int
    last_error: str | None


class Emitter:
    """Delivers events to one destination. Threads may share it; a forked child may go on using it."""

    _pid: int
    _closed: bool
    _left: int  # undelivered when it was closed
    _spool: Spool
    _sender: Sender

    def __init__(self, destination: Destination, *, segment_bytes: int = 8 << 20, cap_bytes: int = 256 << 20) -> None:
        self.destination = destination
        self._limits = (segment_bytes, cap_bytes)
        self._encode = msgspec.json.Encoder(enc_hook=str).encode
        self._emitted = self._lost = self._written = 0
        self._last_error: str | None = None
        self._said = False
        self._local = _local_transport(destination)
        self._begin()

    def emit(self, event: dict[str, Any]) -> None:
        """Take one event. Never raises, never waits for a server: it costs one write to a local file."""
        try:
            self._emit(event)
        except Exception as error:  # noqa: BLE001 - the host must not notice, whatever its values do when they are encoded
            self._lost += 1
            self._last_error = f"{type(error).__name__}: {error}"
            if not self._said:
                self._said = True
                log.warning("an event was dropped (further ones are only counted): %s", self._last_error)

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until everything this process holds, its own and what dead processes left, is delivered; False when `timeout` passed first."""
        if self._pid != os.getpid():
            self._after_fork()
        if self.destination.transport != "http":
            return self.destination.transport != "spool" or not self._spool.pending()
        self._sender.start()
        return self._sender.wait(time.monotonic() + timeout, backlog=True, patient=True)

    def close(self, timeout: float | None = None) -> None:
        """Deliver what can be delivered within `timeout` (default: `flush_seconds`), leave the rest in the spool, and stop.

        A server that did not answer before gets one more try, not the whole time. Called at exit for every emitter; calling twice is fine.
        """
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        deadline = time.monotonic() + (self.destination.flush_seconds if timeout is None else timeout)
        if self._sender.failing:
            deadline = min(deadline, time.monotonic() + _DEAD_SERVER_GRACE)
        if self._sender.started and self._sender.wait(deadline, backlog=False, patient=False):
            self._sender.wait(min(deadline, time.monotonic() + _BACKLOG_GRACE), backlog=True, patient=False)
        self._sender.stop()
        self._left = self._spool.count()
        if self._left and not self._sender.said_outage:
            log.warning("%d events are not delivered yet; they stay in %s", self._left, self._spool.folder)
        if lost := len(self._sender.memory):
            self._lost += lost
            log.warning("%d events are lost: neither the disk nor the server took them", lost)
        self._spool.close()
        _OPEN.discard(self)

    def stats(self) -> Stats:
        """The counts so far. Reads the spool's files to count what is pending."""
        sender = self._sender
        return Stats(
            emitted=self._emitted,
            delivered=self._written + sender.delivered,
            rejected=sender.rejected,
            dropped=self._lost + self._spool.dropped + sender.overflowed,
            torn=self._spool.torn,
            pending=self._left + (0 if self._closed else len(sender.memory) + self._spool.count()),
            failed_attempts=sender.failed_attempts,
            last_error=sender.last_error or self._last_error,
        )

    def _begin(self) -> None:
        """What belongs to one process: made anew in a forked child, which has no sender's thread and must not share files."""
        self._pid = os.getpid()
        self._closed = False
        self._left = 0
        _OPEN.add(self)
        segment_bytes, cap_bytes = self._limits
        self._spool = Spool(self.destination.spool, segment_bytes=segment_bytes, cap_bytes=cap_bytes)
        self._sender = Sender(self._spool, self.destination)

    def _after_fork(self) -> None:
        self._spool.abandon()
        self._emitted = self._lost = self._written = 0
        self._begin()

    def _emit(self, event: dict[str, Any]) -> None:
        if self._pid != os.getpid():
            self._after_fork()
        self._emitted += 1
        if self.destination.transport == "none":
            return
        record = self._encode(event)
        if self._local is not None:
            self._local.send([record])
            self._written += 1
            return
        try:
            self._spool.append(record)
        except (OSError, ImportError) as error:
            self._sender.remember(record, error)
        if self.destination.transport == "http" and not self._closed:
            self._sender.wake()


def _local_transport(destination: Destination) -> "Console | File | None":
    if destination.transport == "console":
        from headwater.client.transport import Console

        return Console()
    if destination.transport == "file" and destination.file is not None:
        from headwater.client.transport import File

        return File(destination.file)
    return None


# Held here, not weakly: an emitter whose last name is gone still has events to deliver at exit.
_OPEN: set[Emitter] = set()


@atexit.register
def _close_all() -> None:
    for emitter in list(_OPEN):
        emitter.close()
