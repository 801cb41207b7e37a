"""How much waits in the spool: counted without taking anything, while others write and send."""

from pathlib import Path

import msgspec

from headwater.client import spool


class Waiting(msgspec.Struct, frozen=True):
    events: int
    bytes: int


def waiting(folder: Path) -> Waiting:
    """Undelivered events in the segments of the folder; a torn last record does not count."""
    events = size = 0
    for path in sorted(folder.glob(f"*{spool.SUFFIX}")) if folder.is_dir() else []:
        try:
            content = path.read_bytes()
        except FileNotFoundError:  # delivered in this moment
            continue
        try:
            sent = int(content[: spool.HEADER_SIZE])
        except ValueError:
            sent = spool.HEADER_SIZE
        rest = content[max(sent, spool.HEADER_SIZE) :]
        events += rest.count(b"\n")
        size += len(rest)
    return Waiting(events, size)
