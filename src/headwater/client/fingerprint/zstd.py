"""Content of zstd files: frame by frame, without skippable ones. The block sizes show whether the file is complete."""

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
    """Return whether the bytes begin a frame, or a skippable one before a frame (as parallel compressors write)."""
    if _skippable(head) and len(head) >= 8:
        after = 8 + int.from_bytes(head[4:8], "little")
        return head[after : after + 4] == _FRAME or _skippable(head[after:])
    return head.startswith(_FRAME)


def _skippable(head: bytes) -> bool:
    return len(head) >= 4 and head[1:4] == b"\x2a\x4d\x18" and head[0] & 0xF0 == 0x50


class _Frames:
    """Walks over the headers of frames and blocks in passing bytes, to find the ends of frames and count them.

    The library stops silently if a file is cut off.
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
        """True if the bytes so far end with a frame."""
        return not self._skip and not self._held and self._next == self._magic

    def feed(self, data: bytes) -> None:
        """Feed bytes. Raises ValueError if they are not zstd."""
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
            raise ValueError("bytes that are not zstd follow the last frame")

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
            raise ValueError("a block of an unknown kind")
        stored = 1 if kind == _RLE else size
        if last:
            self.count += 1
            self._then(self._magic, 4, stored + (4 if self._checksum else 0))
        else:
            self._then(self._block, _BLOCK_HEADER, stored)


class _Passing:
    """The source for the library, which also feeds the walker."""

    def __init__(self, source: Source, head: bytes, frames: _Frames) -> None:
        self._source, self._head, self._frames = source, head, frames

    def read(self, size: int = -1) -> bytes:
        data, self._head = self._head or self._source.reader.read(_READ if size < 0 else size), b""
        self._frames.feed(data)
        return data


def content(source: Source, head: bytes, tally: Tally) -> Iterator[bytes]:
    """Yield the decompressed bytes. Raises UnreadableContent if they are damaged, end too early, or are followed by something else."""
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
