"""Emit events: `emit` stores an event on disk in microseconds; a sender's thread for each destination delivers it.

It never raises, never blocks and never takes the host down with it (ARCHITECTURE.md, decision 8). Failures are counted in `stats()`
and logged once for each outage. Does not interpret events or promise an order between processes.
"""

import atexit
import logging
import os
import time
from collections.abc import Callable
from typing import Any

import msgspec

from headwater.client import stopping
from headwater.client.address import Destination
from headwater.client.route import Route, Tally

log = logging.getLogger("headwater")

_STOPPED_SECONDS = 1.5


class Stats(msgspec.Struct, frozen=True):
    """The results of this process's events, and the number that it still holds.

    `delivered` includes events of ended processes; `dropped` are lost (not encodable, or beyond the caps of spool and memory);
    `torn` are damaged records on disk; `pending` wait for a server. With several destinations an event counts once for each in all but
    `emitted`; `Emitter.tallies()` separates them.
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
    """Delivers events to a destination and its `others`. Threads may share it; a forked child may go on using it."""

    _pid: int
    _closed: bool
    _routes: tuple[Route, ...]

    def __init__(self, destination: Destination, *, segment_bytes: int = 8 << 20) -> None:
        self.destination = destination
        self._segment_bytes = segment_bytes
        self._encode = msgspec.json.Encoder(enc_hook=str).encode
        self._emitted = self._lost = 0
        self._last_error: str | None = None
        self._said = False
        self._begin()

    def emit(self, event: dict[str, Any]) -> None:
        """Take one event. Never raises, never waits for a server: it costs one write to a local file for each destination."""
        try:
            self._count()
            record = self._encode(event)
        except Exception as error:  # noqa: BLE001 - encoding the host's values must not raise into the host
            self._dropped(error)
            return
        self._take(record)

    def emit_encoded(self, encode: Callable[[], bytes]) -> None:
        """Take one event that `encode` returns as JSON. Newlines between its parts are removed. Never raises, even if `encode` does."""
        try:
            self._count()
            record = encode()
            if b"\n" in record or b"\r" in record:
                record = msgspec.json.format(record, indent=-1)
        except Exception as error:  # noqa: BLE001 - as above
            self._dropped(error)
            return
        self._take(record)

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until all events that this process holds, also those of ended processes, are delivered; False after `timeout`."""
        if self._pid != os.getpid():
            self._after_fork()
        deadline = time.monotonic() + timeout
        delivered = [route.flush(deadline) for route in self._routes]  # every route flushes, even if another one fails
        return all(delivered)

    def close(self, timeout: float | None = None) -> None:
        """Deliver what can be delivered within `timeout` (default: `flush_seconds`), leave the rest in the spool, and stop.

        A server that did not answer before gets one more try, not the whole time, unless `flush_away` is `retry`.
        Called at exit for every emitter; may be called twice.
        """
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        deadline = time.monotonic() + (self.destination.flush_seconds if timeout is None else timeout)
        for route in self._routes:
            route.close(deadline)
        for route in self._routes:
            route.stop()
        _OPEN.discard(self)

    def stats(self) -> Stats:
        """Return the counts so far, over all destinations. Reads the spool's files to count pending events."""
        found = [route.tally() for route in self._routes]
        errors = [tally.last_error for tally in found if tally.last_error]
        return Stats(
            emitted=self._emitted,
            delivered=sum(tally.delivered for tally in found),
            rejected=sum(tally.rejected for tally in found),
            dropped=self._lost + sum(tally.dropped for tally in found),
            torn=sum(tally.torn for tally in found),
            pending=sum(tally.pending for tally in found),
            failed_attempts=sum(tally.failed_attempts for tally in found),
            last_error=errors[0] if errors else self._last_error,
        )

    def tallies(self) -> dict[str, Tally]:
        """Return the counts of each destination, by its address without secrets."""
        return {route.destination.redacted: route.tally() for route in self._routes}

    def _begin(self) -> None:
        """Create the state of one process: again in a forked child, which has no sender's thread and must not share files."""
        self._pid = os.getpid()
        self._closed = False
        _OPEN.add(self)
        stopping.before_death(_deliver_stopped, deliver=True)
        self._routes = tuple(Route(each, self._segment_bytes) for each in self.destination.each)

    def abandon(self) -> None:
        """Release the parent's files in a forked child."""
        for route in self._routes:
            route.abandon()

    def _after_fork(self) -> None:
        self.abandon()
        self._emitted = self._lost = 0
        self._begin()

    def _count(self) -> None:
        if self._pid != os.getpid():
            self._after_fork()
        self._emitted += 1

    def _take(self, record: bytes) -> None:
        for route in self._routes:
            try:
                route.take(record)
            except Exception as error:  # noqa: BLE001 - neither the host nor the other destinations may notice
                route.lose(error)
                self._say(error)

    def _dropped(self, error: Exception) -> None:
        self._lost += 1
        self._last_error = f"{type(error).__name__}: {error}"
        self._say(error)

    def _say(self, error: Exception) -> None:
        if not self._said:
            self._said = True
            log.warning("an event was dropped (further ones are only counted): %s: %s", type(error).__name__, error)


def _forked() -> None:
    """Close the parent's files right after the fork: a daemon closes every descriptor and opens new files, which a later close
    would hit.
    """
    for emitter in _OPEN:
        emitter.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


# A strong reference: an emitter without other references still has events to deliver at exit.
_OPEN: set[Emitter] = set()


def _deliver_stopped(_signal_name: str) -> None:
    """Deliver what can be delivered before a signal ends the process; the rest is on disk."""
    for emitter in list(_OPEN):
        emitter.close(_STOPPED_SECONDS)


@atexit.register
def _close_all() -> None:
    for emitter in list(_OPEN):
        emitter.close()
