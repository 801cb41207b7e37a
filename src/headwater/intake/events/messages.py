"""What is in a message of a queue: one event or a JSON array of them, plain or gzip. Pure."""

import re
import zlib

import msgspec

from headwater.errors import InvalidEncoding, InvalidEvent, TooLarge
from headwater.model.event import repaired

# Bodies that a client may pack. Above it a message is no batch of events but a mistake, or a bomb.
MOST_BYTES = 64 * 1024 * 1024

# Each thing in an array costs its place in memory, however short it is.
MOST_EVENTS = 1_000_000
_CHUNK = 1024 * 1024

_array = msgspec.json.Decoder(list[msgspec.Raw])
# Strings whole, so that what looks like structure in them is none; one that does not end reaches to the end, and is not looked at again.
_structure = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{},]', re.DOTALL)


def split(body: bytes, encoding: str | None, most: int = MOST_BYTES) -> tuple[list[bytes], bool]:
    """The events of a message, as bytes, and whether it was an array of them. Not yet read: each may still be no event.

    Raises TooLarge (packed or unpacked over `most`, or over a million things in the array), InvalidEncoding (broken gzip, or an encoding
    nobody here knows) and InvalidEvent (an array that is no JSON): the message as a whole is permanent-bad then.
    """
    unpacked = unpack(body, encoding, most)
    if unpacked.lstrip(b" \t\r\n")[:1] != b"[":
        return [unpacked], False
    if unpacked.count(b",") >= MOST_EVENTS and _things(unpacked, MOST_EVENTS) > MOST_EVENTS:
        raise TooLarge(f"the message has over {MOST_EVENTS} events; send smaller batches", limit=MOST_EVENTS)
    try:
        return [bytes(item) for item in _array.decode(repaired(unpacked))], True
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidEvent(f"a message is an event or a JSON array of events: {error}", where="$") from error


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
    while True:  # gzip may be of several members, one after the other
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
        rest = unpacker.unused_data.lstrip(b"\0")  # padding, as gzip(1) takes it
        if not rest:
            return bytes(unpacked)


def _things(array: bytes, enough: int) -> int:
    """Things in a JSON array; more than `enough` are not counted. Of what is no JSON, any number."""
    depth, things = 0, 1
    for found in _structure.finditer(array):
        mark = found[0]
        if mark == b"," and depth == 1:
            things += 1
            if things > enough:
                break
        elif mark in b"[{":
            depth += 1
        elif mark in b"]}":
            depth -= 1
    return things
