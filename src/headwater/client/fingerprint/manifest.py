"""Many files as one text: the files that count, and a digest over their names and fingerprints, independent of order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headwater.client.fingerprint.parts import part
from headwater.client.fingerprint.result import CONTENT

if TYPE_CHECKING:
    from collections.abc import Iterable


class Entry(NamedTuple):
    """A file below a folder: its relative name as bytes, with `/` between folders, and its fingerprint's text."""

    name: bytes
    text: str


def left_out(name: bytes) -> bool:
    """Return whether a file (by its relative name) is a trace of writing and not content: marks and checksums of Spark,
    Hadoop and Databricks, uncommitted attempts, files of desktops. No other file is left out, hidden or not."""
    *folders, last = name.split(b"/")
    return any(map(_trace_folder, folders)) or _trace_file(last)


def trace_folder(name: bytes) -> bool:
    """Return whether a folder, by its own name, is a trace of writing: nothing below it counts."""
    return _trace_folder(name)


def _trace_folder(name: bytes) -> bool:
    return name in {b"_temporary", b"__MACOSX"} or name.startswith((b".spark-staging-", b".hive-staging"))


def _trace_file(name: bytes) -> bool:
    return (
        name in {b"_SUCCESS", b".DS_Store"}
        or name.startswith((b"_committed_", b"_started_", b"._"))
        or (name.startswith(b".") and name.endswith(b".crc"))
    )


def digest_of(entries: Iterable[Entry]) -> str:
    """Return the hex of xxh3-128 over a line for each entry, sorted by name as bytes: fingerprint, two spaces, name.

    The line is that of `xxhsum -H2` (32 hex, no prefix) for a file, and has its whole text for an archive of several. In names a
    backslash, a line feed and a carriage return are escaped with a backslash: a name is always one line.
    """
    state = part("xxhash").xxh3_128()
    for name, text in sorted(entries):
        escaped = name.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\r", b"\\r")
        state.update(text.removeprefix(CONTENT).encode() + b"  " + escaped + b"\n")
    digest: str = state.hexdigest()
    return digest
