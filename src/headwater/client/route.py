"""The route to one destination: its spool and its sender, or a console or file that takes events at once.

Routes are independent: a server that is down does not delay events for the others. Does not encode, or count emitted events.
"""

import logging
import time
from typing import TYPE_CHECKING

import msgspec

from headwater.client.address import Destination
from headwater.client.sender import Sender
from headwater.client.spool import Full, Spool

if TYPE_CHECKING:
    from headwater.client.transport import Console, File

log = logging.getLogger("headwater")

_DEAD_SERVER_GRACE = 0.5  # at exit, for one more try at a server that did not answer before
_BACKLOG_GRACE = 1.0  # at exit, for events that other processes left


class Tally(msgspec.Struct, frozen=True):
    """The results of the events on one route: the fields of `Stats` that a route counts."""

    delivered: int
    rejected: int
    dropped: int
    torn: int
    pending: int
    failed_attempts: int
    last_error: str | None


class Route:
    """A route of one process: a forked child creates its own after `abandon`."""

    def __init__(self, destination: Destination, segment_bytes: int) -> None:
        self.destination = destination
        self.spool = Spool(
            destination.spool,
            segment_bytes=segment_bytes,
            cap_bytes=destination.cap_bytes,
            full=destination.full,
            fsync=destination.fsync,
            mark=destination.mark,
        )
        self._sender = Sender(self.spool, destination)
        self._local = _local(destination)
        self._written = self._lost = 0
        self._left = 0  # undelivered when it was closed
        self._closed = self._stopped = False
        self._last_error: str | None = None

    def take(self, record: bytes) -> None:
        """Store one encoded event, or pass it on if that needs no waiting. Raises what a file or the console raises."""
        kind = self.destination.transport
        if kind == "none":
            return
        if self._local is not None:
            self._local.send([record])
            self._written += 1
            return
        try:
            self.spool.append(record)
        except Full as error:  # counted by the spool
            self._last_error = str(error)
        except (OSError, ImportError) as error:
            self._sender.remember(record, error)
        if self.destination.remote and not self._closed:
            self._sender.wake()

    def lose(self, error: BaseException) -> None:
        """Count an event that this route lost."""
        self._lost += 1
        self._last_error = f"{type(error).__name__}: {error}"

    def flush(self, deadline: float) -> bool:
        """Wait until everything, also from ended processes, is delivered; False at the deadline."""
        if not self.destination.remote:
            return self.destination.transport != "spool" or not self.spool.pending()
        self._sender.start()
        return self._sender.wait(deadline, backlog=True, patient=True)

    def close(self, deadline: float) -> None:
        """Deliver what can be delivered until the deadline; the rest stays in the spool."""
        self._closed = True
        if self.destination.flush_away == "retry":
            self._sender.wait(deadline, backlog=False, patient=True)
        if self._sender.failing:
            deadline = min(deadline, time.monotonic() + _DEAD_SERVER_GRACE)
        if self._sender.started and self._sender.wait(deadline, backlog=False, patient=False):
            self._sender.wait(min(deadline, time.monotonic() + _BACKLOG_GRACE), backlog=True, patient=False)

    def stop(self) -> None:
        """Stop after `close`: end the sender, log what is left, release the files."""
        self._sender.stop()
        self._left = self.spool.count()
        if self._left and not self._sender.said_outage:
            log.warning("%d events are not delivered yet; they stay in %s", self._left, self.spool.folder)
        if lost := self._sender.count_in_memory()[0]:
            self._lost += lost
            log.warning("%d events are lost: neither the disk nor the server accepted them", lost)
        self.spool.close()
        self._stopped = True

    def abandon(self) -> None:
        self.spool.abandon()

    def tally(self) -> Tally:
        """Return the counts so far. Reads the spool's files to count pending events."""
        sender = self._sender
        in_memory, overflowed = sender.count_in_memory()
        return Tally(
            delivered=self._written + sender.delivered,
            rejected=sender.rejected,
            dropped=self._lost + self.spool.dropped + overflowed,
            torn=self.spool.torn,
            pending=self._left if self._stopped else in_memory + self.spool.count(),
            failed_attempts=sender.failed_attempts,
            last_error=sender.last_error or self._last_error,
        )


def _local(destination: Destination) -> "Console | File | None":
    if destination.transport not in {"console", "file"}:
        return None
    from headwater.client.transport import local

    return local(destination)
