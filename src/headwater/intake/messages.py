"""What is in a message of a queue: one event or a JSON array of them, plain or gzip. Pure."""

import zlib

import msgspec

from headwater.errors import InvalidEncoding, InvalidEvent, TooLarge
from headwater.model.event import repaired

# Bodies that a client may pack. Above it a message is no batch of events but a mistake, or a bomb.
MOST_BYTES = 64 * 1024 * 1024

_array = msgspec.json.Decoder(list[msgspec.Raw])


def split(body: bytes, encoding: str | None, most: int = MOST_BYTES) -> tuple[list[bytes], bool]:
    """The events of a message, as bytes, and whether it was an array of them. Not yet read: each may still be no event.

    Raises TooLarge (packed or unpacked over `most`), InvalidEncoding (broken gzip, or an encoding nobody here knows) and InvalidEvent
    (an array that is no JSON): the message as a whole is permanent-bad then.
    """
    unpacked = unpack(body, encoding, most)
    if unpacked.lstrip(b" \t\r\n")[:1] != b"[":
        return [unpacked], False
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
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(body, most + 1)
    except zlib.error as error:
        raise InvalidEncoding(f"the message is not gzip: {error}") from error
    if len(unpacked) > most:
        raise TooLarge(f"the unpacked message is over {most} bytes; send smaller batches", limit=most)
    if not unpacker.eof:
        raise InvalidEncoding("the gzip message is cut off")
    return unpacked
