"""Events on disk until a server has them, which lets capture survive a dead server and a killed process.

A folder of segment files. The process that writes or sends a segment holds it (flock). When it ends, the lock is released, and the next
process to take it owns the segment. A segment has a header line with the offset up to which it was delivered, then one
record per line: crc32 in hex, a space, the event as JSON. A record torn by `kill -9` fails its checksum: it is skipped and counted.

A segment's name ends in the mark of the address that its events are for: only processes that send there take it over. One without a mark (written
before there were marks, or by `HEADWATER_TRANSPORT=spool`) is for the first server that comes.

Policy at the size cap: `drop-oldest` drops the oldest whole segment that no other process holds, `drop-newest` refuses new events; both are
counted and logged. The setting `fsync` decides what a power cut may lose (headwater.client.durability); a killed process loses nothing.
Does not deduplicate (a crash between delivery and note sends twice; intake is idempotent) or interpret events.
"""

import contextlib
import errno
import logging
import os
import threading
import time
from pathlib import Path
from zlib import crc32

from headwater.client.durability import Flusher, keep_name, to_disk

log = logging.getLogger("headwater")

_HEADER = b"%020d\n"
HEADER_SIZE = 21
SUFFIX = ".segment"
_READ = 512 * 1024
_STALE_SECONDS = (
    60.0  # an emptied segment older than this is replaced: a segment's name has the time of its oldest event
)
_FULL_SECONDS = 0.5  # seconds between checks for room, if the spool or the disk is full


class Full(Exception):
    """The spool is at its cap, and its policy refuses new events."""


class Segment:
    """One locked segment file. Not thread-safe by itself: the spool's lock covers it."""

    def __init__(self, path: Path, fd: int, sent: int, size: int) -> None:
        self.path = path
        self.fd = fd
        self.sent = sent  # delivered up to here
        self.size = size  # whole records end here
        self.dropped = False  # closed: the descriptor may belong to another file
        self.reading = False  # outside of the spool's lock: must not be closed meanwhile
        self.born = time.monotonic()

    @property
    def pending(self) -> bool:
        return not self.dropped and self.sent < self.size

    def note(self, sent: int) -> None:
        self.sent = sent
        os.pwrite(self.fd, _HEADER % sent, 0)

    def close(self, *, delete: bool) -> None:
        if delete:
            self.path.unlink(
                missing_ok=True
            )  # before the lock is released, or another process could claim it in between
        self.dropped = True  # a batch in flight then has nothing to note
        os.close(self.fd)

    @classmethod
    def create(cls, folder: Path, mark: str = "") -> "Segment":
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            path = folder / f"{time.time_ns():020d}-{os.getpid()}{'-' if mark else ''}{mark}{SUFFIX}"
            try:
                fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                continue
            try:
                if not _hold(fd):
                    os.close(
                        fd
                    )  # another process took it as an empty leftover before it was locked, and will delete it
                    continue
                if os.pwrite(fd, _HEADER % HEADER_SIZE, 0) != HEADER_SIZE:
                    raise OSError(errno.ENOSPC, "not even the header of a segment fits", str(path))
            except (
                BaseException
            ):  # a full disk accepts a name without content: neither the file nor its descriptor may stay
                path.unlink(missing_ok=True)
                os.close(fd)
                raise
            return cls(path, fd, HEADER_SIZE, HEADER_SIZE)

    @classmethod
    def claim(cls, path: Path) -> "Segment | None":
        """Return the segment of an ended process; None if another process holds it, or it vanished meanwhile."""
        try:
            fd = os.open(path, os.O_RDWR)
        except OSError:
            return None
        if not _hold(fd):
            os.close(fd)
            return None
        size = os.fstat(fd).st_size
        header = os.pread(fd, HEADER_SIZE, 0)
        sent = int(header) if len(header) == HEADER_SIZE and header.strip().isdigit() else HEADER_SIZE
        return cls(path, fd, max(sent, HEADER_SIZE), size)


class Batch:
    """Records from one or several segments; return them to `Spool.done` after handling them."""

    def __init__(self) -> None:
        self.records: list[bytes] = []
        self.parts: list[tuple[Segment, int]] = []  # each segment with the offset where reading ended


class Spool:
    """This process's part of a spool folder. Threads may append; one thread takes and returns batches."""

    def __init__(
        self,
        folder: Path,
        *,
        segment_bytes: int = 8 << 20,
        cap_bytes: int = 256 << 20,
        full: str = "drop-oldest",
        fsync: str = "never",
        mark: str = "",
    ) -> None:
        self.folder = folder
        self.mark = mark
        self.torn = 0
        self.dropped = 0
        self._segment_bytes = min(segment_bytes, max(cap_bytes // 4, 1))
        self._cap_bytes = cap_bytes
        self._drop_newest = full == "drop-newest"
        self._full_until = 0.0
        self._said_full = False
        self._no_segment: tuple[float, str] | None = None  # until when no segment is tried, and why
        self._lock = threading.RLock()  # a signal handler may come here while its thread holds it
        self._writing = False
        self._active: Segment | None = None
        self._full: list[Segment] = []  # written by this process, complete
        self._claimed: list[Segment] = []  # left by ended processes
        self._always = fsync == "always"
        self._flusher = Flusher(self._sync) if fsync == "interval" else None
        self._unsynced: set[Segment] = set()

    def append(self, record: bytes) -> None:
        """Store one event (JSON without newlines). Raises OSError if the disk refuses it (then no part is stored), and Full at the cap
        if the policy drops new events (it is already counted).
        """
        try:
            self.put_back(record)
        except Full:
            with self._lock:
                self.dropped += 1
            raise

    def put_back(self, record: bytes) -> None:
        """Append an event that is still in a batch: if that fails, it is not lost, and not counted as lost."""
        line = b"%08x %b\n" % (crc32(record), record)
        with self._lock:
            if self._writing:
                raise BlockingIOError("a signal handler emitted an event during a write to the spool")
            self._writing = True
            try:
                self._append(line)
            finally:
                self._writing = False

    def _append(self, line: bytes) -> None:
        segment = self._active
        if segment is None or (segment.size + len(line) > self._segment_bytes and segment.size > HEADER_SIZE):
            segment = self._next()
        written = os.pwrite(segment.fd, line, segment.size)
        if written != len(line):
            os.ftruncate(segment.fd, segment.size)
            raise OSError(f"only {written} of {len(line)} bytes were written to {segment.path}")
        segment.size += written
        if self._always:
            to_disk(segment.fd)
        elif self._flusher:
            self._unsynced.add(segment)
            self._flusher.wake()

    def take(self, records: int, *, backlog: bool) -> Batch | None:
        """Take the next undelivered records: own ones first, then (if `backlog`) those of ended processes. None if there are none."""
        with self._lock:
            candidates = [*self._full, *([self._active] if self._active else []), *(self._claimed if backlog else ())]
            waiting = [(segment, segment.sent, segment.size) for segment in candidates if segment.pending]
            for segment, _, _ in waiting:
                segment.reading = True
        batch, room = Batch(), _READ
        try:  # not under the lock: appending must not wait for it
            for segment, sent, size in waiting:
                found, end = self._read(segment, sent, size, records - len(batch.records))
                batch.records += found
                batch.parts.append((segment, end))
                room -= end - sent
                if room <= 0 or len(batch.records) >= records:
                    break
        finally:
            for segment, _, _ in waiting:
                segment.reading = False
        return batch if batch.parts else None

    def done(self, batch: Batch) -> None:
        """Mark the batch as delivered or stored elsewhere: it is not taken again. A finished file is deleted or emptied."""
        with self._lock:
            for segment, end in batch.parts:
                if not segment.dropped:
                    self._advance(segment, end)

    def claim(self, limit: int = 64) -> bool:
        """Take over up to `limit` segments of ended processes. True if there is something of theirs to send."""
        with self._lock:
            ours = {segment.path for segment in (*self._full, *self._claimed)}
            if self._active:
                ours.add(self._active.path)
            found = [path for path, _ in segments(self.folder) if is_for(path, self.mark)]
            if self.mark and self.folder.name.endswith(
                self.mark
            ):  # this address was the first one before, in the folder above
                found += [path for path, _ in segments(self.folder.parent) if mark_of(path) == self.mark]
            for path in found:
                if len(self._claimed) >= limit:
                    break
                if path in ours or (segment := Segment.claim(path)) is None:
                    continue
                if segment.pending:
                    self._claimed.append(segment)
                else:
                    segment.close(delete=True)
            return bool(self._claimed)

    def pending(self, *, backlog: bool = False) -> bool:
        """Return whether an own event (or, with `backlog`, a claimed one) is not delivered yet."""
        with self._lock:
            mine = [*self._full, *([self._active] if self._active else [])]
            return any(segment.pending for segment in (*mine, *(self._claimed if backlog else ())))

    def count(self) -> int:
        """Count the undelivered records that this process holds. Reads the files: for messages and statistics, not for every event."""
        with self._lock:
            held = [*self._full, *self._claimed, *([self._active] if self._active else [])]
            return sum(_lines(segment) for segment in held)

    def close(self) -> None:
        """Release everything: delivered files are deleted, the others stay for the next process."""
        if self._flusher:
            self._flusher.stop()
            self._sync()
        with self._lock:
            for segment in (*self._full, *self._claimed, *([self._active] if self._active else [])):
                if not segment.reading:  # by a sender that did not end in time; the process is ending
                    segment.close(delete=not segment.pending)
            self._active, self._full, self._claimed = None, [], []

    def abandon(self) -> None:
        """Close the parent's files in a forked child without changing them. The parent keeps the locks, since its files are still open."""
        for segment in (*self._full, *self._claimed, *([self._active] if self._active else [])):
            with contextlib.suppress(OSError):
                os.close(segment.fd)
        self._active, self._full, self._claimed = None, [], []  # the numbers may belong to other files from now on

    def _advance(self, segment: Segment, end: int) -> None:
        segment.note(end)
        if segment.sent < segment.size:
            return
        if segment is self._active and time.monotonic() - segment.born < _STALE_SECONDS:
            os.ftruncate(segment.fd, HEADER_SIZE)
            segment.size = HEADER_SIZE
            segment.note(HEADER_SIZE)
            return
        self._unsynced.discard(segment)
        segment.close(delete=True)
        if segment is self._active:
            self._active = None
        else:
            (self._full if segment in self._full else self._claimed).remove(segment)

    def _next(self) -> Segment:
        """Open a new segment for writing, within the cap."""
        if self._no_segment:
            until, why = self._no_segment
            if time.monotonic() < until:  # a scan of the folder is too slow for every event
                raise OSError(why)
            self._no_segment = None
        if self._drop_newest and time.monotonic() < self._full_until:
            raise Full(f"the spool {self.folder} is full")
        if not self._make_room():
            self._full_until = time.monotonic() + _FULL_SECONDS
            if not self._said_full:
                self._said_full = True
                log.warning("the spool %s is full: new events are dropped until something is delivered", self.folder)
            raise Full(f"the spool {self.folder} is full")
        self._said_full = False
        if self._active:
            self._full.append(self._active)
            self._active = None  # after a failure below, the full one must not stay active
        try:
            self._active = Segment.create(self.folder, self.mark)
        except (OSError, ImportError) as error:
            self._no_segment = time.monotonic() + _FULL_SECONDS, str(error)
            raise
        if self._always or self._flusher:
            keep_name(self.folder)
        return self._active

    def _sync(self) -> None:
        """Sync everything appended so far, to survive a power cut."""
        with self._lock:
            waiting, self._unsynced = self._unsynced, set()
            copies = [os.dup(segment.fd) for segment in waiting if not segment.dropped]
        for fd in copies:  # not under the lock: a slow disk must not block appending
            try:
                to_disk(fd)
            finally:
                os.close(fd)

    def _read(self, segment: Segment, sent: int, size: int, records: int) -> tuple[list[bytes], int]:
        """Read at most `limit` whole records, and return where reading ended."""
        data = os.pread(segment.fd, min(size - sent, _READ), sent)
        if b"\n" not in data:  # one record longer than a read, or a torn tail
            data = os.pread(segment.fd, size - sent, sent)
        if not data:  # truncated by another process: the rest is lost
            return [], size
        found: list[bytes] = []
        at = 0
        while at < len(data) and len(found) < records:
            stop = data.find(b"\n", at)
            if stop < 0:
                if sent + len(data) >= size:
                    self.torn += 1
                    at = len(data)
                break
            line = data[at:stop]
            if line[8:9] == b" " and _checksum(line[:8]) == crc32(line[9:]):
                found.append(line[9:])
            else:
                self.torn += 1
            at = stop + 1
        return found, sent + at

    def _make_room(self) -> bool:
        """Return whether one more segment fits, after dropping the oldest if the policy says so. Never drops what another living process holds."""
        sizes = dict(segments(self.folder))
        total = sum(sizes.values())
        if self._drop_newest:
            return total + self._segment_bytes <= self._cap_bytes
        ours = {segment.path: segment for segment in (*self._full, *self._claimed)}
        for path, size in sizes.items():
            if total + self._segment_bytes <= self._cap_bytes:
                break
            if self._active and path == self._active.path:
                continue
            segment = ours.get(path) or Segment.claim(path)
            if segment is None or segment.reading:
                continue  # a living process holds it
            lost = _lines(segment)
            segment.close(delete=True)
            self._unsynced.discard(segment)
            for held in (self._full, self._claimed):
                if segment in held:
                    held.remove(segment)
            total -= size
            self.dropped += lost
            if lost:
                log.warning("the spool %s is full: its oldest %d events were dropped", self.folder, lost)
        return True


def mark_of(path: Path) -> str:
    """Return the mark of the address that a segment is for; empty: for any."""
    parts = path.name.removesuffix(SUFFIX).split("-")
    return parts[2] if len(parts) > 2 else ""


def is_for(path: Path, mark: str) -> bool:
    """Return whether a process that sends to the address with this mark may take the segment over."""
    return mark_of(path) in {"", mark}


def readdress(folder: Path) -> None:
    """Make the segments of ended processes be for whichever server comes first."""
    for path, _ in segments(folder):
        if mark_of(path) and (segment := Segment.claim(path)) is not None:
            path.rename(path.with_name("-".join(path.name.split("-")[:2]) + SUFFIX))
            segment.close(delete=False)


def segments(folder: Path) -> list[tuple[Path, int]]:
    """Return the segments of a folder with their sizes, the oldest first, without those that vanish meanwhile."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(SUFFIX):
                with contextlib.suppress(OSError):
                    if not entry.is_file():  # opening a pipe would block
                        continue
                    found.append((folder / entry.name, entry.stat().st_size))
    return sorted(found)


def _checksum(text: bytes) -> int:
    try:
        return int(text, 16)
    except ValueError:
        return -1


def _lines(segment: Segment) -> int:
    total, at = 0, segment.sent
    while at < segment.size and (data := os.pread(segment.fd, min(1 << 20, segment.size - at), at)):
        total += data.count(b"\n")
        at += len(data)
    return total


def _hold(fd: int) -> bool:
    """Lock an open segment without waiting. False if it is held, or was deleted after it was opened."""
    import fcntl  # missing on Windows, where there is no spool and the emitter keeps events in memory

    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return os.fstat(fd).st_nlink > 0
