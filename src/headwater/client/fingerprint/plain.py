"""Bytes as they are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headwater.client.fingerprint.source import Source
    from headwater.client.fingerprint.streams import Tally

_READ = 1 << 20


def content(source: Source, head: bytes, tally: Tally) -> Iterator[bytes]:
    """All bytes of the file; `head` was read already."""
    piece = head or source.reader.read(_READ)
    while piece:
        tally.stored += len(piece)
        yield piece
        piece = source.reader.read(_READ)
