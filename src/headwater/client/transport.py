"""How a batch of encoded events leaves the process: HTTP, a broker, the console, a file.

A transport tries once and says what became of each event. Refuses to retry, to wait longer than its timeout, and to keep anything:
that is the emitter's and the spool's. HTTP is in `delivery`, AMQP in `amqp`: only the sender's thread pays for their imports.
"""

import sys
from pathlib import Path
from typing import Protocol

import msgspec

from headwater.client.address import Destination


class Unreachable(Exception):
    """Nothing was accepted now; the same events may be accepted later, not before `retry_after` seconds if the server said so."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class Outcome(msgspec.Struct):
    """What became of a batch: positions refused for good with the reason, positions to send again. The rest was delivered.

    `duplicates`: how many of those the server says it had already; 0 where it does not say.
    """

    refused: list[tuple[int, str]] = msgspec.field(default_factory=list)
    again: list[int] = msgspec.field(default_factory=list)
    reason: str = ""
    retry_after: float | None = None
    duplicates: int = 0


class Transport(Protocol):
    """Used by one thread."""

    def send(self, records: list[bytes]) -> Outcome:
        """Deliver a batch. Raises Unreachable when nothing got through."""

    def close(self) -> None:
        """Let go of connections; nothing is sent any more."""


def local(destination: Destination) -> "Console | File | None":
    """The way to what is there at once; None for what is remote, kept or dropped."""
    if destination.transport == "console":
        return Console()
    if destination.transport == "file" and destination.file is not None:
        return File(destination.file)
    return None


class Console:
    """One event a line on stderr, so that a pipeline's stdout stays its own."""

    def send(self, records: list[bytes]) -> Outcome:
        for record in records:
            sys.stderr.write(record.decode() + "\n")
        return Outcome()


class File:
    """One event a line, appended to a file that several processes may share."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def send(self, records: list[bytes]) -> Outcome:
        with self._path.open(
            "ab", buffering=0
        ) as file:  # one write in append mode: lines of several processes do not mix
            file.write(b"".join(record + b"\n" for record in records))
        return Outcome()
