"""Arrays for `unnest`, packed whole: one pass over a column instead of the driver's call for each element.

PostgreSQL's binary array: dimensions, whether there are nulls, the element's type, the length, a lower bound, and each element after its
length (-1 for null). https://www.postgresql.org/docs/current/protocol-overview.html; array_recv in the server's source.
"""

import datetime as dt
import struct
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg.abc import Buffer, PyFormat
from psycopg.adapt import Dumper
from psycopg.pq import Format

_HEADER = struct.Struct("!iiIii").pack
_LENGTH = struct.Struct("!i").pack
_EMPTY = struct.Struct("!iiI").pack
_NULL = b"\xff\xff\xff\xff"
_EPOCH = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
_DAY = 86_400_000_000
_TIME = struct.Struct("!iq").pack
_INT2 = struct.Struct("!ih").pack
_INT4 = struct.Struct("!ii").pack
_FLOAT = struct.Struct("!id").pack
_TRUE, _FALSE = b"\0\0\0\1\1", b"\0\0\0\1\0"


def _uuid(value: uuid.UUID) -> bytes:
    return b"\0\0\0\x10" + value.bytes


def _text(value: str) -> bytes:
    raw = value.encode("utf-8", "replace")
    return _LENGTH(len(raw)) + raw


def _bytes(value: bytes) -> bytes:
    return _LENGTH(len(value)) + value


def _time(value: dt.datetime) -> bytes:
    since = value - _EPOCH
    return _TIME(8, since.days * _DAY + since.seconds * 1_000_000 + since.microseconds)


def _bool(value: bool) -> bytes:
    return _TRUE if value else _FALSE


_TYPES: dict[str, tuple[int, int, Callable[[Any], bytes]]] = {
    "uuid": (2950, 2951, _uuid),
    "text": (25, 1009, _text),
    "bytea": (17, 1001, _bytes),
    "timestamptz": (1184, 1185, _time),
    "bool": (16, 1000, _bool),
    "int2": (21, 1005, lambda value: _INT2(2, value)),
    "int4": (23, 1007, lambda value: _INT4(4, value)),
    "int": (23, 1007, lambda value: _INT4(4, value)),
    "int8": (20, 1016, lambda value: _TIME(8, value)),
    "float8": (701, 1022, lambda value: _FLOAT(8, value)),
}


_WIDTHS = {"int2": 2, "int4": 4, "int": 4, "int8": 8}
_MANY = 16
"""From so many whole numbers, or equal values, on, packing them together is quicker than one by one."""


def _numbers(type: str, values: Sequence[Any] | NDArray[np.int64]) -> bytes | None:
    """A column of whole numbers at once; None for what is none, or does not fit: then one by one says what is wrong."""
    found, width = np.asarray(values), _WIDTHS[type]
    most = 2 ** (8 * width - 1)
    if found.dtype.kind != "i" or found.min() < -most or found.max() >= most:
        return None
    made = np.empty(found.size, dtype=[("length", ">i4"), ("value", f">i{width}")])
    made["length"], made["value"] = width, found
    return made.tobytes()


class Packed:
    """One column of one type, ready to be sent."""

    __slots__ = ("array_oid", "body")

    def __init__(self, type: str, values: Sequence[Any] | NDArray[np.int64]) -> None:
        oid, self.array_oid, pack = _TYPES[type]
        if not len(values):
            self.body = _EMPTY(0, 0, oid)
            return
        if type in _WIDTHS and len(values) >= _MANY and (whole := _numbers(type, values)) is not None:
            self.body = _HEADER(1, 0, oid, len(values), 1) + whole
            return
        if (
            len(values) >= _MANY
            and values[0] is values[-1] is not None
            and list(values).count(values[0]) == len(values)
        ):
            self.body = _HEADER(1, 0, oid, len(values), 1) + pack(values[0]) * len(values)
            return
        if type == "uuid" and all(value.__class__ is uuid.UUID for value in values):
            parts = [value.int.to_bytes(16) for value in values]
            self.body = _HEADER(1, 0, oid, len(parts), 1) + b"\0\0\0\x10" + b"\0\0\0\x10".join(parts)
            return
        nulls = 1 if None in values else 0
        parts = (
            [_NULL if value is None else pack(value) for value in values]
            if nulls
            else [pack(value) for value in values]
        )
        self.body = _HEADER(1, nulls, oid, len(parts), 1) + b"".join(parts)


class PackedDumper(Dumper):
    """Sends a `Packed` as it is."""

    format = Format.BINARY

    def dump(self, obj: Packed) -> Buffer | None:
        return obj.body

    def get_key(self, obj: Packed, format: PyFormat) -> Any:
        return obj.array_oid

    def upgrade(self, obj: Packed, format: PyFormat) -> Dumper:
        made = PackedDumper(Packed)
        made.oid = obj.array_oid
        return made
