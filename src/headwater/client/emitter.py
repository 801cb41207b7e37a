"""The way out of the process: `emit` keeps the event on disk in microseconds, a sender's thread for each destination delivers it.

It never raises, never blocks and never takes the host down with it (ARCHITECTURE.md, decision 8). What goes wrong is counted in `stats()`
and said in one log line for each outage. Refuses to know what an event means and to promise an order between processes.
"""

import atexit
import logging
import os
import time
from collections.abc import Callable
from typing import Any

import msgspec

from headwater.client.address import Destination
from headwater.client.route import Route, Tally

log = logging.getLogger("headwater")


class Stats(msgspec.Struct, frozen=True):
    """What became of the events of this process, and how many it still holds.

    `delivered` includes events taken over from dead processes; `dropped` is lost for good (not encodable, or the caps of spool and memory);
    `torn` is records found damaged on disk; `pending` waits for a server. With several destinations an event counts once for each in all but
    `emitted`; `Emitter.tallies()` tells them apart.
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
        except Exception as error:  # noqa: BLE001 - the host must not notice, whatever its values do when they are encoded
            self._dropped(error)
            return
        self._take(record)

    def emit_encoded(self, encode: Callable[[], bytes]) -> None:
        """Take one event that `encode` gives as JSON. Newlines between its parts are taken out. Never raises, whatever `encode` does."""
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
        """Wait until everything this process holds, its own and what dead processes left, is delivered; False when `timeout` passed first."""
        if self._pid != os.getpid():
            self._after_fork()
        deadline = time.monotonic() + timeout
        delivered = [route.flush(deadline) for route in self._routes]  # every one is asked, whatever the others say
        return all(delivered)

    def close(self, timeout: float | None = None) -> None:
        """Deliver what can be delivered within `timeout` (default: `flush_seconds`), leave the rest in the spool, and stop.

        A server that did not answer before gets one more try, not the whole time. Called at exit for every emitter; calling twice is fine.
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
        """The counts so far, over all destinations. Reads the spool's files to count what is pending."""
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
        """The counts of each destination, by its address without secrets."""
        return {route.destination.redacted: route.tally() for route in self._routes}

    def _begin(self) -> None:
        """What belongs to one process: made anew in a forked child, which has no sender's thread and must not share files."""
        self._pid = os.getpid()
        self._closed = False
        _OPEN.add(self)
        self._routes = tuple(Route(each, self._segment_bytes) for each in self.destination.each)

    def abandon(self) -> None:
        """In a forked child: let go of the parent's files."""
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
    """The parent's files are closed now and not when the child first speaks: a daemon closes every descriptor and opens files of its own,
    and those would be closed then.
    """
    for emitter in _OPEN:
        emitter.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


# Held here, not weakly: an emitter whose last name is gone still has events to deliver at exit.
_OPEN: set[Emitter] = set()


@atexit.register
def _close_all() -> None:
    for emitter in list(_OPEN):
        emitter.close()
