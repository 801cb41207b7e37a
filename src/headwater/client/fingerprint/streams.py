"""Content of gzip, bz2 and xz files: member by member, as their own programs print it, in pieces of bounded size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from headwater.client.fingerprint.parts import part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headwater.client.fingerprint.source import Source

PIECE = 1 << 20  # largest piece of content
_READ = 1 << 20
_FIRST = 4 << 10  # a member first gets this little: the rest is copied, and files of tiny members have many


class Tally:
    """The progress of a reading, also for the result."""

    __slots__ = ("ignored", "members", "stored")

    def __init__(self) -> None:
        self.stored = self.members = self.ignored = 0


class Format(NamedTuple):
    """The signature and the decompressor of members of one kind."""

    kind: str
    magic: bytes
    decompressor: Callable[[], Any]
    errors: tuple[type[Exception], ...]
    padding: int  # zeros between or after members come in multiples of this; 0: not allowed
    garbage: bool  # True: other bytes after the last member are ignored, as by the kind's own program


def _gzip() -> Format:
    lib = part("isal.igzip_lib")
    return Format(
        "gzip", b"\x1f\x8b", lambda: lib.IgzipDecompressor(flag=lib.DECOMP_GZIP), (lib.error, EOFError), 1, True
    )


def _bz2() -> Format:
    import bz2

    return Format("bz2", b"BZh", bz2.BZ2Decompressor, (OSError, EOFError, ValueError), 0, True)


def _xz() -> Format:
    import lzma

    return Format(
        "xz", b"\xfd7zXZ\x00", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ), (lzma.LZMAError, EOFError), 4, False
    )


FORMATS: dict[str, Callable[[], Format]] = {"gzip": _gzip, "bz2": _bz2, "xz": _xz}


class _Stored:
    """The stored bytes, read in slices, with look-ahead and position."""

    def __init__(self, source: Source, head: bytes) -> None:
        self._source, self._held, self._at = source, memoryview(head), 0
        self.offset = 0

    def look(self, count: int) -> bytes:
        """Return the next bytes without taking them; fewer only at the end."""
        while len(self._held) - self._at < count:
            more = self._source.reader.read(_READ)
            if not more:
                break
            self._held, self._at = memoryview(bytes(self._held[self._at :]) + more), 0
        return bytes(self._held[self._at : self._at + count])

    def take(self, count: int) -> memoryview:
        """Take at most `size` bytes; none at the end."""
        if self._at == len(self._held):
            self._held, self._at = memoryview(self._source.reader.read(_READ)), 0
        taken = self._held[self._at : self._at + count]
        self.skip(len(taken))
        return taken

    def skip(self, count: int) -> None:
        """Skip forward over bytes of `look`, or (negative) back over bytes of the last `take`."""
        self._at += count
        self.offset += count


def content(source: Source, head: bytes, kind: str, tally: Tally) -> Iterator[bytes]:
    """Yield the decompressed bytes. Raises UnreadableContent if they are damaged or end too early."""
    form = FORMATS[kind]()
    stored = _Stored(source, head)
    while True:
        yield from _member(source, stored, form, tally)
        tally.members += 1
        padding = _padding(stored) if form.padding else 0
        tally.stored = stored.offset
        following = stored.look(len(form.magic))
        if form.padding and padding % form.padding and not form.garbage:
            raise source.damaged(
                f"padding of {padding} bytes, which is not a multiple of {form.padding}", stored.offset
            )
        if not following:
            return
        if following != form.magic:
            if not form.garbage:
                raise source.damaged(f"bytes that are not {form.kind} follow the last stream", stored.offset)
            while left := stored.take(_READ):
                tally.ignored += len(left)
            tally.stored = stored.offset
            return


def _member(source: Source, stored: _Stored, form: Format, tally: Tally) -> Iterator[bytes]:
    began, feed, decompressor = stored.offset, _FIRST, form.decompressor()
    while not decompressor.eof:
        given: bytes | memoryview = b""
        if decompressor.needs_input:
            given = stored.take(feed)
            feed = min(feed * 4, _READ)
            if not given:
                raise source.damaged(f"{form.kind} data that began at byte {began:,} is cut off", stored.offset)
        try:
            piece = decompressor.decompress(given, PIECE)
        except form.errors as error:
            at = f"{form.kind} data that began at byte {began:,} is damaged ({error}) before or"
            raise source.damaged(at, stored.offset) from None
        tally.stored = stored.offset
        if piece:
            yield piece
    stored.skip(-len(decompressor.unused_data))


def _padding(stored: _Stored) -> int:
    """Skip zeros and return their number."""
    count = 0
    while seen := stored.look(_FIRST):
        zeros = len(seen) - len(seen.lstrip(b"\0"))
        stored.skip(zeros)
        count += zeros
        if zeros < len(seen):
            break
    return count
