"""Split a queue message into events: one event or a JSON array of them, plain or gzip. Pure."""

import re
import zlib

import msgspec

from headwater.errors import InvalidEncoding, InvalidEvent, TooLarge
from headwater.model.event import repaired

# The largest message, packed or unpacked. A larger one is a mistake or a decompression bomb.
MOST_BYTES = 64 * 1024 * 1024

# Even the shortest item of an array takes memory.
MOST_EVENTS = 1_000_000
_CHUNK = 1024 * 1024

_array = msgspec.json.Decoder(list[msgspec.Raw])
# A string matches as a whole, so brackets inside it do not count; an unterminated string matches to the end of the text.
_structure = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{},]', re.DOTALL)


def split(body: bytes, encoding: str | None, most: int = MOST_BYTES) -> tuple[list[bytes], bool]:
    """The events of a message, as bytes, and whether they came as an array. They are not validated here.

    Raises TooLarge (over `most` bytes packed or unpacked, or over a million items), InvalidEncoding (broken gzip, or an unsupported
    encoding) and InvalidEvent (an array that is not JSON). Each means that the whole message can never be accepted.
    """
    unpacked = unpack(body, encoding, most)
    if unpacked.lstrip(b" \t\r\n")[:1] != b"[":
        return [unpacked], False
    if unpacked.count(b",") >= MOST_EVENTS and _count_items(unpacked, MOST_EVENTS) > MOST_EVENTS:
        raise TooLarge(f"the message has over {MOST_EVENTS} events; send smaller batches", limit=MOST_EVENTS)
    try:
        return [bytes(item) for item in _array.decode(repaired(unpacked))], True
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidEvent(f"not a JSON array; send an event or an array of events: {error}", where="$") from error


def unpack(body: bytes, encoding: str | None, most: int = MOST_BYTES) -> bytes:
    """The body without its encoding. Raises TooLarge and InvalidEncoding."""
    if len(body) > most:
        raise TooLarge(f"the message is over {most} bytes; send smaller batches", limit=most)
    kind = (encoding or "").lower()
    if kind in {"", "identity", "utf-8"}:  # some publishers write the character set there
        return body
    if kind != "gzip":
        raise InvalidEncoding(f"content_encoding {kind[:40]!r} is not supported; send gzip or none")
    unpacked = bytearray()
    rest = body
    while True:  # gzip may have several members in sequence
        unpacker = zlib.decompressobj(wbits=31)
        while rest and not unpacker.eof:
            try:
                unpacked += unpacker.decompress(rest, _CHUNK)
            except zlib.error as error:
                raise InvalidEncoding(f"the message is not gzip: {error}") from error
            if len(unpacked) > most:
                raise TooLarge(f"the unpacked message is over {most} bytes; send smaller batches", limit=most)
            rest = unpacker.unconsumed_tail
        if not unpacker.eof:
            raise InvalidEncoding("the gzip message is cut off")
        rest = unpacker.unused_data.lstrip(b"\0")  # gzip(1) accepts padding
        if not rest:
            return bytes(unpacked)


def _count_items(array: bytes, enough: int) -> int:
    """Count the items of a JSON array, and stop above `enough`. For text that is not JSON, any number."""
    depth, items = 0, 1
    for token in _structure.finditer(array):
        mark = token[0]
        if mark == b"," and depth == 1:
            items += 1
            if items > enough:
                break
        elif mark in b"[{":
            depth += 1
        elif mark in b"]}":
            depth -= 1
    return items
