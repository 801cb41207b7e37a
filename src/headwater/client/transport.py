"""How a batch of encoded events leaves the process: HTTP, the console, a file.

A transport tries once and says what became of each event. Refuses to retry, to wait longer than its timeout, and to keep anything:
that is the emitter's and the spool's. Wire contract: OpenLineage HTTP API 2.0.2 (`POST /lineage`, `POST /lineage/batch`).
"""

import sys
from pathlib import Path

import msgspec


class Unreachable(Exception):
    """Nothing was accepted now; the same events may be accepted later."""


class Outcome(msgspec.Struct):
    """What became of a batch: positions refused for good with the reason, positions to send again. The rest was delivered."""

    refused: list[tuple[int, str]] = msgspec.field(default_factory=list)
    again: list[int] = msgspec.field(default_factory=list)
    reason: str = ""


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
