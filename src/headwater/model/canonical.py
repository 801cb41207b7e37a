"""The canonical form of JSON (RFC 8785): equal for texts that mean the same, in any order of members, with any spaces, escapes and numbers.

One deviation: an integer keeps all its digits. RFC 8785 rounds it to a double, and two events whose counts differ above 2⁵³ would be one.
"""

import re
from typing import Any

import msgspec

# RFC 8785 sorts members by UTF-16 code units, the encoder by code points. They differ only where a character is outside of the basic plane.
_FOUR_BYTES = re.compile(rb"[\xf0-\xf4]")
_EXACT_BELOW = 2**53


def canonical(text: bytes) -> bytes:
    """Return the canonical form. Raises ValueError for what has none: text that is not JSON, a number beyond a double, nesting too deep."""
    try:
        value = _decoder.decode(text)
        if b"\\ud" in text or b"\\uD" in text or (not text.isascii() and _FOUR_BYTES.search(text)):
            return _as_it_is.encode(_sorted(value))
        return _sorting.encode(value)
    except (msgspec.DecodeError, UnicodeError, RecursionError, OverflowError) as error:
        raise ValueError(f"no canonical form: {error}") from error


def number(text: str) -> msgspec.Raw:
    """A number with a fraction or an exponent as ECMAScript writes it. Raises ValueError if it is beyond a double."""
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:40]} is beyond a double")
    if value.is_integer() and abs(value) < _EXACT_BELOW:
        return msgspec.Raw(b"%d" % int(value))
    # repr() has the shortest digits that read back as the same double, as ECMAScript asks; only their layout differs.
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = fraction if fraction != "0" else ""
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    sign = "-" if value < 0 else ""
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        return msgspec.Raw(f"{sign}{digits.ljust(point, '0')}".encode())
    if 0 < point <= 21:
        return msgspec.Raw(f"{sign}{digits[:point]}.{digits[point:]}".encode())
    if -6 < point <= 0:
        return msgspec.Raw(f"{sign}0.{'0' * -point}{digits}".encode())
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return msgspec.Raw(f"{sign}{digits[0]}{fraction}e{point - 1:+d}".encode())


_decoder = msgspec.json.Decoder(float_hook=number)
_sorting = msgspec.json.Encoder(order="sorted")
_as_it_is = msgspec.json.Encoder()


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value, key=lambda key: key.encode("utf-16-be"))}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value
