"""Stored bytes. Files are not memory-mapped: truncating a mapped file kills the process that reads it."""

from __future__ import annotations

import os
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headwater.client.fingerprint.source import Source
    from headwater.client.fingerprint.streams import Tally

_READ = 1 << 20
LARGE = 32 << 20  # of a local file; from here on it is read by two


def content(source: Source, head: bytes, tally: Tally) -> Iterator[bytes | memoryview]:
    """Yield all bytes of the file; `head` is already read. A piece is valid until the next one is requested."""
    if source.descriptor is not None and (source.size or 0) >= LARGE:
        yield from _by_two(source.descriptor, tally)
        return
    piece = head or source.reader.read(_READ)
    while piece:
        tally.stored += len(piece)
        yield piece
        piece = source.reader.read(_READ)


def _by_two(descriptor: int, tally: Tally) -> Iterator[memoryview]:
    """Read every other piece in this thread and the rest in a second one: copying from the page cache costs more than hashing."""
    wanted: SimpleQueue[tuple[memoryview, int] | None] = SimpleQueue()
    got: SimpleQueue[memoryview | OSError] = SimpleQueue()

    def read() -> None:
        while (asked := wanted.get()) is not None:
            try:
                got.put(_filled(descriptor, *asked))
            except OSError as error:
                got.put(error)

    mine, spare, used = (memoryview(bytearray(_READ)) for _ in range(3))
    helper = Thread(target=read, name="headwater-fingerprint", daemon=True)
    helper.start()
    try:
        wanted.put((spare, _READ))
        while True:
            even = _filled(descriptor, mine, tally.stored)
            tally.stored += len(even)
            yield even
            piece = got.get()
            if isinstance(piece, OSError):
                raise piece
            # A buffer is in use until the next piece; that one goes into the other.
            spare, used = used, spare
            wanted.put((spare, tally.stored + len(piece) + _READ))
            tally.stored += len(piece)
            if not piece:
                return
            yield piece
    finally:
        wanted.put(None)
        helper.join()


def _filled(descriptor: int, buffer: memoryview, offset: int) -> memoryview:
    """Return the buffer filled from this offset; shorter only at the end."""
    length = 0
    while length < len(buffer) and (count := os.preadv(descriptor, [buffer[length:]], offset + length)):
        length += count
    return buffer[:length]
