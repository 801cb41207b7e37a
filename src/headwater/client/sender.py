"""The thread that empties the spool into a server or a broker: batches, backoff, refusals, and the log lines about them.

Own events go first: a new run is visible at once even behind a long backlog. Events of ended processes go when there is nothing else.
Never keeps a host alive (daemon thread). What the server refused for good goes to `rejected.ndjson` with the reason.
"""

import logging
import os
import threading
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from headwater.client.address import Destination
from headwater.client.backlog import REJECTED
from headwater.client.retries import pause
from headwater.client.spool import Full, Spool

if TYPE_CHECKING:
    from headwater.client.transport import Outcome, Transport

log = logging.getLogger("headwater")

_BATCH = 500
_SCAN_SECONDS = 5.0  # seconds between an idle sender's looks for events of ended processes
_FIRST_WAIT, _LONGEST_WAIT, _AWAITED_WAIT = 0.1, 15.0, 0.5
_MEMORY_EVENTS, _MEMORY_BYTES = 1000, 32 << 20  # kept in memory if the disk refuses
_REJECTED_BYTES = 10 << 20

# A child forked while this thread imports would inherit half a module: a fork waits until the import is complete.
_importing = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_importing.acquire, after_in_parent=_importing.release, after_in_child=_importing.release
    )


class Sender:
    """Delivers one spool to one address, in one process; `wake`, `remember` and `wait` may be called from any thread."""

    def __init__(self, spool: Spool, destination: Destination) -> None:
        self._memory: deque[bytes] = deque()  # events the disk refused
        self._memory_bytes = 0
        self._sending = 0  # taken out of memory, and with the server now
        self._counting = threading.Lock()  # an event is in memory or being sent, never in both or in neither
        self.delivered = self.rejected = self.overflowed = self.failed_attempts = 0
        self.last_error: str | None = None
        self.said_outage = False
        self._said_disk = False
        self._spool = spool
        self._destination = destination
        self._transport: Transport | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._wake = threading.Event()  # something to send
        self._nudge = threading.Event()  # a caller waits: cut the backoff short
        self._progress = threading.Condition()
        self._waiting = 0
        self._stopping = False
        self._in_flight = False
        self._attempts = 0
        self._failures = 0  # in a row
        self._not_before = 0.0  # the server's Retry-After

    @property
    def started(self) -> bool:
        return self._thread is not None

    @property
    def failing(self) -> bool:
        return self._failures > 0

    @property
    def held_off(self) -> bool:
        """True if the server has asked for a pause that is not over."""
        return time.monotonic() < self._not_before

    def wake(self) -> None:
        """Wake the thread to send. Costs a microsecond if it is already awake."""
        if self._thread is None:
            self.start()
        if not self._wake.is_set():
            self._wake.set()

    def start(self) -> None:
        with self._starting:
            if self._thread is None and not self._stopping:
                thread = threading.Thread(target=self._run, name="headwater-sender", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:  # no thread can be started, or the interpreter ends
                    self._failed(error)
                    return
                self._thread = thread

    def remember(self, record: bytes, error: Exception) -> None:
        """Keep in memory what the disk refused; beyond the limit drop the oldest."""
        self.last_error = str(error)
        if not self._said_disk:
            self._said_disk = True
            log.warning("the spool %s does not accept events, they are kept in memory: %s", self._spool.folder, error)
        with self._counting:
            self._memory.append(record)
            self._memory_bytes += len(record)
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        """Keep the limit of the memory, with what is being sent. The caller holds the lock."""
        memory = self._memory
        while len(memory) > 1 and (len(memory) + self._sending > _MEMORY_EVENTS or self._memory_bytes > _MEMORY_BYTES):
            self._memory_bytes -= len(memory.popleft())
            self.overflowed += 1

    def count_in_memory(self) -> tuple[int, int]:
        """Return how many events are in memory or on their way from it to the server, and how many were dropped for want of room."""
        with self._counting:
            return len(self._memory) + self._sending, self.overflowed

    def wait(self, deadline: float, *, backlog: bool, patient: bool) -> bool:
        """Wait until everything is delivered (with `backlog`, also events of ended processes). False at the deadline
        or, unless `patient`, as soon as a further attempt fails.
        """
        attempts = self._attempts
        self._waiting += 1
        self._nudge.set()
        self._wake.set()
        try:
            with self._progress:
                while self._pending() or (backlog and self._claimed()):
                    left = deadline - time.monotonic()
                    tried = self._failures and self._attempts > attempts
                    if left <= 0 or (not patient and (tried or self.held_off)):
                        return False
                    self._progress.wait(min(left, 0.05))
                return True
        finally:
            self._waiting -= 1

    def stop(self) -> None:
        """Ask the thread to end, and wait briefly; does not interrupt a request in flight."""
        self._stopping = True
        self._nudge.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(0.2)

    def _pending(self) -> bool:
        return bool(self._memory) or self._in_flight or self._spool.pending()

    def _claimed(self) -> bool:
        if not self._spool.claim():
            return False
        self._wake.set()
        return True

    def _run(self) -> None:
        while not self._stopping:
            worked = True
            try:
                worked = self._step()
                if worked:
                    self._recovered()
            except Exception as error:  # noqa: BLE001 - without its thread the spool would fill in silence
                self._failed(error)
            finally:
                self._in_flight = False
            with self._progress:
                self._progress.notify_all()
            if self._failures and not self._stopping:
                self._back_off()
            elif not worked:
                self._wake.wait(_SCAN_SECONDS)
                self._wake.clear()
        if self._transport is not None:
            self._transport.close()

    def _back_off(self) -> None:
        """Pause, longer each time, with jitter: a thousand processes must not return at once. Never shorter than the server asked for."""
        longest = _AWAITED_WAIT if self._waiting else _LONGEST_WAIT
        self._nudge.wait(pause(self._failures - 1, _FIRST_WAIT, longest))
        self._nudge.clear()
        while not self._stopping and (left := self._not_before - time.monotonic()) > 0:
            self._nudge.wait(
                left + pause(0, left / 4, left / 4)
            )  # a waiting caller does not shorten the server's pause
            self._nudge.clear()

    def _step(self) -> bool:
        """Send one batch; False if there is nothing to send. Raises if the server accepted nothing, or not all of it."""
        if self._memory:
            self._send_memory()
            return True
        batch = self._spool.take(_BATCH, backlog=not self._failures)
        # While the server is unavailable, events of ended processes stay: another process may reach it.
        if batch is None and not self._failures and self._spool.claim():
            batch = self._spool.take(_BATCH, backlog=True)
        if batch is None:
            self._failures = 0
            return False
        outcome = self._send(batch.records) if batch.records else None
        if outcome:
            self._settle(batch.records, outcome, spooled=True)
        self._spool.done(batch)
        _some_again(outcome)
        return True

    def _send_memory(self) -> None:
        self._in_flight = True
        with self._counting:
            records = [self._memory.popleft() for _ in range(min(len(self._memory), _BATCH))]
            self._sending = len(records)
            self._memory_bytes -= sum(map(len, records))
        try:
            outcome = self._send(records)
        except Exception:
            with self._counting:
                self._sending = 0
                self._memory.extendleft(reversed(records))
                self._memory_bytes += sum(map(len, records))
                self._drop_oldest()
            raise
        with self._counting:
            self._sending = 0
        self._settle(records, outcome, spooled=False)
        _some_again(outcome)

    def _send(self, records: list[bytes]) -> "Outcome":
        if self._transport is None:
            with _importing:
                self._transport = _remote(self._destination)
        self._attempts += 1
        return self._transport.send(records)

    def _settle(self, records: list[bytes], outcome: "Outcome", *, spooled: bool) -> None:
        """Store what was not accepted. Raises Unreachable if the disk refuses it: what was `spooled` stays there, and the whole batch is
        sent again. Memory would not survive the process, although the host counts on the event being stored.
        """
        for index in outcome.again:
            try:
                self._spool.put_back(records[index])
            except (OSError, Full) as error:
                if spooled:
                    raise _unkept(error) from error
                self.remember(records[index], error)
        if outcome.refused:
            path = self._spool.folder / REJECTED
            try:
                _write_rejected(path, [(records[index], reason) for index, reason in outcome.refused])
            except OSError as error:
                if spooled:
                    raise _unkept(error) from error
                log.warning("%s cannot be written, %d refused events are lost: %s", path, len(outcome.refused), error)
            self.rejected += len(outcome.refused)
            self.last_error = outcome.refused[0][1]
            log.warning(
                "%d of %d events were refused for good and are in %s: %s",
                len(outcome.refused), len(records), path, self.last_error,
            )  # fmt: skip
        self.delivered += len(records) - len(outcome.again) - len(outcome.refused)

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        self.failed_attempts += 1
        self.last_error = str(error) or type(error).__name__
        pause = getattr(error, "retry_after", None)
        self._not_before = time.monotonic() + pause if pause else 0.0
        if not self.said_outage and not self._stopping:  # after `close` the emitter has logged what is left
            self.said_outage = True
            url, folder = self._destination.redacted, self._spool.folder
            log.warning(
                "lineage events do not reach %s (%s); they are kept in %s and sent later", url, self.last_error, folder
            )

    def _recovered(self) -> None:
        self._failures = 0
        self._not_before = 0.0
        if self.said_outage:
            self.said_outage = False
            log.info("lineage events reach %s again", self._destination.redacted)


def _remote(destination: Destination) -> "Transport":
    """Return the transport to a server or a broker, imported in the sender's thread and not in the host's."""
    if destination.transport == "amqp":
        try:
            from headwater.client.amqp import Amqp
        except ImportError as error:
            raise ConnectionError(f"{error}; install it with: pip install 'headwater[amqp]'") from error
        return Amqp(destination)
    from headwater.client.delivery import Http

    return Http(destination.url, destination.api_key, batches=destination.batches)


def _unkept(error: BaseException) -> Exception:
    from headwater.client.transport import Unreachable

    return Unreachable(f"a batch was only partly accepted, and the spool does not accept the rest: {error}")


def _some_again(outcome: "Outcome | None") -> None:
    """Back off if a batch was only partly accepted."""
    if outcome and outcome.again:
        from headwater.client.transport import Unreachable

        raise Unreachable(outcome.reason, outcome.retry_after)


def _write_rejected(path: Path, refused: list[tuple[bytes, str]]) -> None:
    """Append `{"reason", "refused_at", "event"}` lines, all or none (OSError). A large file is renamed to `.1` and a new one begun."""
    lines = [
        msgspec.json.encode({"reason": reason, "refused_at": time.time(), "event": msgspec.Raw(record)}) + b"\n"
        for record, reason in refused
    ]
    data = b"".join(lines)
    if path.exists() and path.stat().st_size > _REJECTED_BYTES:
        path.replace(path.with_suffix(".ndjson.1"))
    with path.open("ab", buffering=0) as file:
        before = file.tell()
        written = file.write(data)
        if written != len(data):
            if os.fstat(file.fileno()).st_size == before + written:  # no other process has written there since
                file.truncate(before)
            raise OSError(f"only {written} of {len(data)} bytes were written to {path}")
