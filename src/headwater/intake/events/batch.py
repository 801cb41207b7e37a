"""Split a batch into its events, so that each stands alone, whatever is wrong with its neighbours."""

import re

import msgspec

from headwater.errors import InvalidEvent
from headwater.model.event import repaired

_array = msgspec.json.Decoder(list[msgspec.Raw])
# Strings, in which nothing counts, and the characters that separate elements.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|["\[\]{},]', re.DOTALL)
_BLANK = b" \t\r\n"
# A batch with more of these is not worth the server's time.
_MOST_TOKENS = 2_000_000


def split_batch(body: bytes) -> list[bytes]:
    """The bytes of each element of a JSON array. An element may be invalid JSON (NaN, nested too deeply): it is returned as it is.

    Raises InvalidEvent if the body is not an array, or its brackets do not match.
    """
    readable = repaired(body)
    try:
        return [bytes(item) for item in _array.decode(readable)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        elements = _split_by_brackets(readable.strip(_BLANK))
        if elements is None:
            raise InvalidEvent(f"the batch is not a JSON array; send an array of events: {error}", where="$") from error
        return elements


def _split_by_brackets(body: bytes) -> list[bytes] | None:
    """The elements between the outermost brackets; None if the brackets do not match."""
    if not (body.startswith(b"[") and body.endswith(b"]")):
        return None
    elements, closing, begin = [], bytearray(), 1
    for count, token in enumerate(_TOKEN.finditer(body)):
        character = token[0]
        if count > _MOST_TOKENS or character == b'"':  # an unclosed string
            return None
        if character == b"[":
            closing += b"]"
        elif character == b"{":
            closing += b"}"
        elif character in {b"]", b"}"}:
            if not closing or closing.pop() != character[0] or (not closing and token.end() != len(body)):
                return None
        elif character == b"," and len(closing) == 1:
            elements.append(body[begin : token.start()].strip(_BLANK))
            begin = token.end()
    last = body[begin:-1].strip(_BLANK)
    return None if closing else [*elements, *([last] if last or elements else [])]
