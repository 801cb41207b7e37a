"""Count what waits in the spool, without taking it, while processes write and send."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from headwater.client import spool
from headwater.client.address import Destination

REJECTED = "rejected.ndjson"


class Waiting(msgspec.Struct, frozen=True):
    """Undelivered events of one folder. `left`: those that no living process holds. `oldest_seconds`: how long the oldest has waited at most,
    to about a minute; 0.0 if none waits. `holders`: ids of the processes that hold the rest, if the system reports them.
    """

    events: int = 0
    bytes: int = 0
    left: int = 0
    oldest_seconds: float = 0.0
    holders: tuple[int, ...] = ()


def waiting(folder: Path, mark: str | None = None, *, exact: bool = False) -> Waiting:
    """Count undelivered events in the folder's segments, without subfolders; a torn last record does not count.

    `mark`: only those that a process may send to the address with this mark; None: all. `exact`: without those that may go to any address.
    """
    events = size = left = 0
    oldest = 0.0
    holders: set[int] = set()
    pids: dict[int, int] | None = None
    for path, _ in spool.segments(folder):
        if mark is not None and (spool.mark_of(path) != mark if exact else not spool.is_for(path, mark)):
            continue
        try:
            file = path.open("rb", buffering=0)
        except OSError:  # just delivered
            continue
        with file:
            lines, length = _count(file.fileno())
            if not lines:
                continue
            if _is_held(file.fileno()):
                pids = _flocks() if pids is None else pids
                holder = pids.get(os.fstat(file.fileno()).st_ino, 0)
                holders |= {holder} if holder > 0 else set()
            else:
                left += lines
        events += lines
        size += length
        with contextlib.suppress(ValueError):
            oldest = max(oldest, time.time() - int(path.name.partition("-")[0]) / 1e9)
    return Waiting(events, size, left, round(oldest, 3), tuple(sorted(holders)))


def total(destination: Destination) -> Waiting:
    """Add up the events of all folders."""
    each = [waiting(one.spool, one.mark) for one in destination.each if one.remote or one.transport == "spool"]
    return Waiting(
        sum(one.events for one in each),
        sum(one.bytes for one in each),
        sum(one.left for one in each),
        max((one.oldest_seconds for one in each), default=0.0),
        tuple(sorted({pid for one in each for pid in one.holders})),
    )


def elsewhere(destination: Destination) -> list[tuple[str, Path]]:
    """Return the marks of addresses that are not (or no longer) a destination, each with the folder where its events wait."""
    marks = {one.mark for one in destination.each}
    folders = dict.fromkeys(one.spool for one in destination.each)
    found = {(spool.mark_of(path), folder) for folder in folders for path, _ in spool.segments(folder)}
    return sorted((mark, folder) for mark, folder in found if mark and mark not in marks)


def nobodys(destination: Destination) -> list[Path]:
    """Return folders of the spool with events for an address that is not (or no longer) a destination."""
    known = {one.spool for one in destination.each}
    root = destination.spool
    if not root.is_dir():
        return []
    return sorted(path for path in root.iterdir() if path.is_dir() and path not in known and spool.segments(path))


def rejected(folder: Path) -> list[Path]:
    """Return the files of events that a server refused for good: the present one, the previous one, and those being put back."""
    return sorted(path for path in folder.glob(f"{REJECTED}*") if path.stat().st_size)


class Refused(msgspec.Struct):
    """One event that a server refused, with the reason and the time (seconds since 1970)."""

    reason: str
    refused_at: float
    event: msgspec.Raw


def refused(path: Path) -> Iterator[Refused]:
    """Yield the lines of a file of refused events; a torn or hand-edited one is skipped."""
    with path.open("rb") as lines:
        for line in lines:
            try:
                yield msgspec.json.decode(line, type=Refused)
            except ValueError:
                continue


def _count(fd: int) -> tuple[int, int]:
    header = os.pread(fd, spool.HEADER_SIZE, 0)
    at = max(int(header), spool.HEADER_SIZE) if header.strip().isdigit() else spool.HEADER_SIZE
    lines = size = 0
    while data := os.pread(fd, 1 << 20, at):
        lines += data.count(b"\n")
        size += len(data)
        at += len(data)
    return lines, size


def _is_held(fd: int) -> bool:
    import fcntl

    try:
        fcntl.flock(
            fd, fcntl.LOCK_SH | fcntl.LOCK_NB
        )  # released at once: a process that claims at this instant tries again
    except BlockingIOError:
        return True
    fcntl.flock(fd, fcntl.LOCK_UN)
    return False


def _flocks() -> dict[int, int]:
    """Return the process by inode of every flock of this machine. Empty if the system does not report them."""
    found = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text(encoding="ascii", errors="replace").splitlines():
            words = line.split()
            if len(words) > 5 and words[1] == "FLOCK":
                found[int(words[5].rpartition(":")[2])] = int(words[4])
    return found
