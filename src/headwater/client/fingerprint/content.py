"""The fingerprint of one file: its kind by the first bytes, its content in pieces, xxh3-128 over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.client.fingerprint import plain, streams, zstd
from headwater.client.fingerprint.hashing import digest
from headwater.client.fingerprint.result import CONTENT, Fingerprint
from headwater.errors import UnreadableContent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headwater.client.fingerprint.source import Source

_HEAD = 512

_MAGIC = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bz2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
)


def kind_of(head: bytes) -> str:
    """Return plain, or how the content is packed, by the first bytes of the file; its name does not count."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            if kind == "bz2" and not (head[3:4] in b"123456789" and head[4:10] in _BZ2_BLOCKS):
                continue
            return kind
    return "zstd" if zstd.begins(head) else "plain"


_BZ2_BLOCKS = (
    bytes.fromhex("314159265359"),
    bytes.fromhex("177245385090"),
)  # a block, or the end of a stream without one


def fingerprint_of(
    source: Source, *, raw: bool = False, progress: Callable[[int], object] | None = None
) -> Fingerprint:
    """Fingerprint an open file. `progress` gets the stored bytes read so far, about twenty times a second."""
    try:
        return _fingerprint_of(source, raw, progress)
    except OSError as error:
        said = error.strerror or f"{type(error).__name__}: {error}"
        raise UnreadableContent(f"{source.name} cannot be read to its end: {said}", path=source.name) from error


def _fingerprint_of(source: Source, raw: bool, progress: Callable[[int], object] | None) -> Fingerprint:
    head = b"" if raw else source.reader.read(_HEAD)
    kind = "raw" if raw else kind_of(head)
    if kind == "zip":
        from headwater.client.fingerprint import archive

        return archive.fingerprint_of(source, progress)
    tally = streams.Tally()
    pieces: Iterator[bytes] | Iterator[bytes | memoryview]
    if kind in {"plain", "raw"}:
        pieces = plain.content(source, head, tally)
    elif kind == "zstd":
        pieces = zstd.content(source, head, tally)
    else:
        pieces = streams.content(source, head, kind, tally)
    # Two threads already read a local file.
    overlap = source.descriptor is None or kind not in {"plain", "raw"}
    text, length = digest(pieces, tally, source.size, progress, overlap=overlap)
    source.unchanged()
    return Fingerprint(CONTENT + text, length, tally.stored, kind, max(tally.members, 1), tally.ignored)
