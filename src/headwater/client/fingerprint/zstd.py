"""Content of zstd files: frames one after the other, skippable ones left out. Whether the file is whole is told from its own block sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.client.fingerprint.parts import part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headwater.client.fingerprint.source import Source
    from headwater.client.fingerprint.streams import Tally

_READ = 1 << 20
_PIECE = 1 << 20
_FRAME = b"\x28\xb5\x2f\xfd"
_BLOCK_HEADER = 3
_RLE = 1
_RESERVED = 3


def begins(head: bytes) -> bool:
    """Whether it is a frame, or a skippable one before a frame (as parallel compressors write)."""
    if _skippable(head) and len(head) >= 8:
        after = 8 + int.from_bytes(head[4:8], "little")
        return head[after : after + 4] == _FRAME or _skippable(head[after:])
    return head.startswith(_FRAME)


def _skippable(head: bytes) -> bool:
    return len(head) >= 4 and head[1:4] == b"\x2a\x4d\x18" and head[0] & 0xF0 == 0x50


class _Frames:
    """Walks over the headers of frames and blocks of bytes that pass by: is this the end of a frame, and how many were there.

    The library stops without a word where a file is cut off.
    """

    def __init__(self) -> None:
        self.count = 0
        self.offset = 0
        self.began = 0
        self._skip = 0
        self._held = b""
        self._need = 4
        self._next = self._magic
        self._checksum = False

    @property
    def whole(self) -> bool:
        """Whether what passed ends where a frame ends."""
        return not self._skip and not self._held and self._next == self._magic

    def feed(self, data: bytes) -> None:
        """ValueError when this is no zstd."""
        at = 0
        while at < len(data):
            if self._skip:
                step = min(self._skip, len(data) - at)
                self._skip -= step
                at += step
                self.offset += step
                continue
            step = min(self._need - len(self._held), len(data) - at)
            self._held += data[at : at + step]
            at += step
            self.offset += step
            if len(self._held) == self._need:
                held, self._held = self._held, b""
                self._next(held)

    def _then(self, step: object, need: int, skip: int = 0) -> None:
        self._next, self._need, self._skip = step, need, skip  # type: ignore[assignment]

    def _magic(self, held: bytes) -> None:
        self.began = self.offset - 4
        if _skippable(held):
            self._then(self._skipped, 4)
        elif held == _FRAME:
            self._then(self._descriptor, 1)
        else:
            raise ValueError("bytes that are no zstd follow the last frame")

    def _skipped(self, held: bytes) -> None:
        self._then(self._magic, 4, int.from_bytes(held, "little"))

    def _descriptor(self, held: bytes) -> None:
        flags = held[0]
        single = flags >> 5 & 1
        self._checksum = bool(flags >> 2 & 1)
        size = (1 if single else 0, 2, 4, 8)[flags >> 6]
        self._then(self._block, _BLOCK_HEADER, size + (0, 1, 2, 4)[flags & 3] + (0 if single else 1))

    def _block(self, held: bytes) -> None:
        header = int.from_bytes(held, "little")
        last, kind, size = header & 1, header >> 1 & 3, header >> 3
        if kind == _RESERVED:
            raise ValueError("a block of a kind there is not")
        stored = 1 if kind == _RLE else size
        if last:
            self.count += 1
            self._then(self._magic, 4, stored + (4 if self._checksum else 0))
        else:
            self._then(self._block, _BLOCK_HEADER, stored)


class _Passing:
    """The source as the library reads it, with the walker looking on."""

    def __init__(self, source: Source, head: bytes, frames: _Frames) -> None:
        self._source, self._head, self._frames = source, head, frames

    def read(self, size: int = -1) -> bytes:
        data, self._head = self._head or self._source.reader.read(_READ if size < 0 else size), b""
        self._frames.feed(data)
        return data


def content(source: Source, head: bytes, tally: Tally) -> Iterator[bytes]:
    """The decompressed bytes. UnreadableContent where they are damaged, end too early, or are followed by something else."""
    library, frames = part("zstandard"), _Frames()
    passing = _Passing(source, head, frames)
    reader = library.ZstdDecompressor().stream_reader(passing, read_size=_READ, read_across_frames=True)
    try:
        while piece := reader.read(_PIECE):
            tally.stored, tally.members = frames.offset, frames.count
            yield piece
        tally.stored, tally.members = frames.offset, frames.count
    except ValueError as error:
        raise source.damaged(str(error), frames.offset) from None
    except library.ZstdError as error:
        at = f"zstd data ({error}; its last frame began at byte {frames.began:,}) is damaged before or"
        raise source.damaged(at, frames.offset) from None
    if not frames.whole:
        raise source.damaged(f"zstd data that began at byte {frames.began:,} is cut off", frames.offset)
