"""The content of a zip: that of its only file, or a manifest of the names and contents of several."""

from __future__ import annotations

import struct
import zipfile
from typing import TYPE_CHECKING

from headwater.client.fingerprint.hashing import digest
from headwater.client.fingerprint.manifest import Entry, digest_of, left_out
from headwater.client.fingerprint.parts import part
from headwater.client.fingerprint.result import CONTENT, FOLDER, Fingerprint
from headwater.client.fingerprint.streams import PIECE, Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headwater.client.fingerprint.source import Source

_READ = 1 << 20
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_UTF8 = 0x800
_ENCRYPTED = 0x1


def fingerprint_of(source: Source, progress: Callable[[int], object] | None) -> Fingerprint:
    """Fingerprint one member's content (ignoring folders and a system's traces). For several, or none, the manifest, as for a folder."""
    try:
        packed = zipfile.ZipFile(source.reader)
    except (zipfile.BadZipFile, OSError, ValueError, struct.error) as error:
        size = source.size or 0
        raise source.damaged(f"zip without a readable list of its files ({error})", size) from None
    members = [member for member in packed.infolist() if not member.is_dir() and not left_out(name_of(member))]
    total, entries, done = 0, [], 0
    for member in members:
        tally = Tally()
        before = done

        def say(stored: int, before: int = before) -> None:
            if progress is not None:
                progress(before + stored)

        text, length = digest(_content(source, packed, member, tally), tally, member.file_size, say)
        entries.append(Entry(name_of(member), CONTENT + text))
        total += length
        done += member.compress_size
    source.unchanged()
    stored = source.size if source.size is not None else done
    if len(entries) == 1:
        return Fingerprint(entries[0].text, total, stored, "zip")
    return Fingerprint(FOLDER + digest_of(entries), total, stored, "zip", members=len(entries))


def name_of(member: zipfile.ZipInfo) -> bytes:
    """Return the name's bytes in the archive, in any encoding."""
    return member.orig_filename.encode("utf-8" if member.flag_bits & _UTF8 else "cp437", "surrogateescape")


def _content(source: Source, packed: zipfile.ZipFile, member: zipfile.ZipInfo, tally: Tally) -> Iterator[bytes]:
    said = f"{member.orig_filename!r} in the zip"
    if member.flag_bits & _ENCRYPTED:
        raise source.damaged(f"{said} is encrypted", member.header_offset)
    try:
        if member.compress_type == zipfile.ZIP_DEFLATED:
            yield from _deflated(source, member, tally)
            return
        with packed.open(member) as opened:
            while piece := opened.read(PIECE):
                yield piece
        tally.stored = member.compress_size
    except NotImplementedError as error:
        raise source.damaged(f"{said} cannot be unpacked ({error})", member.header_offset) from None
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, part("isal.igzip_lib").error) as error:
        raise source.damaged(f"{said} is damaged ({error or 'cut off'}); it begins", member.header_offset) from None


def _deflated(source: Source, member: zipfile.ZipInfo, tally: Tally) -> Iterator[bytes]:
    """Unpack the common case with the fast library; check length and CRC-32, as zip requires."""
    library, crc32 = part("isal.igzip_lib"), part("isal.isal_zlib").crc32
    source.reader.seek(member.header_offset)
    header = source.reader.read(_LOCAL_HEADER.size)
    if len(header) < _LOCAL_HEADER.size or not header.startswith(b"PK\x03\x04"):
        raise zipfile.BadZipFile("no header where the list says")
    _, name, extra = _LOCAL_HEADER.unpack(header)
    source.reader.seek(member.header_offset + _LOCAL_HEADER.size + name + extra)
    decompressor, left, check, length = (
        library.IgzipDecompressor(flag=library.DECOMP_DEFLATE),
        member.compress_size,
        0,
        0,
    )
    while not decompressor.eof:
        given = b""
        if decompressor.needs_input:
            given = source.reader.read(min(left, _READ))
            if not given:
                raise EOFError
            left -= len(given)
            tally.stored += len(given)
        piece = decompressor.decompress(given, PIECE)
        check, length = crc32(piece, check), length + len(piece)
        if piece:
            yield piece
    if check != member.CRC or length != member.file_size:
        raise zipfile.BadZipFile("its CRC-32 or length is not what the list says")
