"""Transports of a batch of encoded events: HTTP, a broker, the console, a file.

A transport tries once and returns the outcome of each event. It never retries, waits longer than its timeout, or stores anything:
the emitter and the spool do. HTTP is in `delivery`, AMQP in `amqp`, which only the sender's thread imports.
"""

import sys
from pathlib import Path
from typing import Protocol

import msgspec

from headwater.client.address import Destination


class Unreachable(Exception):
    """Nothing was accepted now; retry the same events later, after `retry_after` seconds if the server set them."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class Outcome(msgspec.Struct):
    """The outcome of a batch: positions refused for good, with the reason, and positions to send again. The rest was delivered.

    `duplicates`: the number of those that the server already had; 0 if it does not report it. `warnings`: the facets that the server
    stored without understanding them.
    """

    refused: list[tuple[int, str]] = msgspec.field(default_factory=list)
    again: list[int] = msgspec.field(default_factory=list)
    reason: str = ""
    retry_after: float | None = None
    duplicates: int = 0
    warnings: list[str] = msgspec.field(default_factory=list)


class Transport(Protocol):
    """A transport, used by one thread."""

    def send(self, records: list[bytes]) -> Outcome:
        """Deliver a batch. Raises Unreachable if nothing was delivered."""

    def close(self) -> None:
        """Close connections; nothing is sent any more."""


def local(destination: Destination) -> "Console | File | None":
    """Return the transport of a local destination; None for a remote, stored or dropped one."""
    if destination.transport == "console":
        return Console()
    if destination.transport == "file" and destination.file is not None:
        return File(destination.file)
    return None


class Console:
    """Writes one event per line to stderr, and leaves stdout to the pipeline."""

    def send(self, records: list[bytes]) -> Outcome:
        for record in records:
            sys.stderr.write(record.decode() + "\n")
        return Outcome()


class File:
    """Appends one event per line to a file that several processes may share."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def send(self, records: list[bytes]) -> Outcome:
        with self._path.open(
            "ab", buffering=0
        ) as file:  # one write in append mode: lines of several processes do not mix
            file.write(b"".join(record + b"\n" for record in records))
        return Outcome()
