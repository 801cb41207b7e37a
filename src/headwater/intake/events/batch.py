"""Split a batch into its events, so that each stands alone, whatever is wrong with its neighbours."""

import re

import msgspec

from headwater.errors import InvalidEvent
from headwater.model.event import repaired

_array = msgspec.json.Decoder(list[msgspec.Raw])
# Strings, in which nothing counts, and the characters that separate elements.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|["\[\]{},]', re.DOTALL)
_BLANK = b" \t\r\n"
# Splitting more of them than this is not worth the server's time.
_MOST_TOKENS = 2_000_000


class Damage(msgspec.Struct, frozen=True):
    """The place at which a batch stops to be an array: in the element `index`, which begins at the byte `offset`, because of the byte at `place`."""

    index: int
    offset: int
    place: int
    reason: str

    def explain(self) -> str:
        return f"element {self.index} of the batch, from byte {self.offset:,}, cannot be read: {self.reason} (at byte {self.place:,})"


class Batch(msgspec.Struct, frozen=True):
    """The bytes of each whole element. `damage`: why there is no telling what follows them; None if nothing does."""

    elements: list[bytes]
    damage: Damage | None = None


def split_batch(body: bytes) -> Batch:
    """Split a JSON array. An element may be invalid JSON (NaN, nested too deeply): it is returned as it is.

    Elements before damage (an element that is not closed, a body that was cut) are whole. Where the next element begins after it is not guessed:
    a facet can look like an event. Raises InvalidEvent if the body does not begin as an array.
    """
    readable = repaired(body)
    try:
        return Batch([bytes(item) for item in _array.decode(readable)])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if not body.lstrip(_BLANK).startswith(b"["):
            raise InvalidEvent(f"the batch is not a JSON array; send an array of events: {error}", where="$") from error
    return _split_by_brackets(body)


def _split_by_brackets(body: bytes) -> Batch:
    """The elements between the outermost brackets of a body that begins with one. Offsets are those of the body as received."""
    elements: list[bytes] = []
    closing, begin = bytearray(), 0

    def damaged(place: int, reason: str) -> Batch:
        blank = len(body) - len(body[begin:].lstrip(_BLANK)) if begin < len(body) else len(body)
        return Batch(elements, Damage(len(elements), blank, place, reason))

    for count, token in enumerate(_TOKEN.finditer(body)):
        character, place = token[0], token.start()
        if count > _MOST_TOKENS:
            return damaged(place, "the batch is too large to be searched for what is wrong in it; send smaller batches")
        if character == b'"':
            return damaged(place, "a string is not closed")
        if character in {b"[", b"{"}:
            begin = begin if closing else token.end()
            closing += b"]" if character == b"[" else b"}"
        elif character in {b"]", b"}"}:
            if closing.pop() != character[0]:
                return damaged(place, f"{character.decode()!r} closes what it did not open")
            if not closing:
                last = body[begin:place].strip(_BLANK)
                elements += [last] if last or elements else []
                begin = token.end()
                return (
                    damaged(begin, "it follows the end of the array") if body[begin:].strip(_BLANK) else Batch(elements)
                )
        elif character == b"," and len(closing) == 1:
            elements.append(body[begin:place].strip(_BLANK))
            begin = token.end()
    last = body[begin:].strip(_BLANK)
    if len(closing) == 1 and last.endswith((b"}", b"]", b'"')):
        elements.append(last)
        begin = len(body)
    return damaged(len(body), "the body ends before the array is closed")
