"""Decode a facet part by part where it violates its schema: a bad part is left out and named by its place, and its siblings count. Pure.

What is left out is the smallest part that can go: an entry of a list, a member of an object, or an optional field without a default of its own. A
bad required field takes its object with it. A list of which no entry is right is bad itself, for an empty list may be a statement (`inputs: []` of
explicit lineage: nothing is upstream), and takes its object with it unless another list there is right.
A struct names exceptions: `MAY_GO` has lists that an object can do without, `NEVER_GO` optional fields that it cannot.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import UnionType
from typing import Any, Generic, TypeVar, Union, get_args, get_origin

import msgspec

T = TypeVar("T")
_BAD: Any = object()
_EMPTY = (None, msgspec.NODEFAULT)
_collected: ContextVar[list[str] | None] = ContextVar("collected", default=None)


class _BadPart(msgspec.ValidationError):
    """`str()` is the place of the part and the reason."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where or 'the facet'}: {reason}")


class PartDecoder(Generic[T]):
    """Decodes JSON into a struct."""

    def __init__(self, kind: type[T]) -> None:
        self._whole = msgspec.json.Decoder(kind)
        self._kind = kind

    def decode(self, body: bytes) -> T:
        """Return the struct, without its bad parts (`left_out`). Raises DecodeError for what is no JSON, and if no part of it is right."""
        try:
            return self._whole.decode(body)
        except msgspec.ValidationError:
            places: list[str] = []
            value: T = _convert(msgspec.json.decode(body), self._kind, "", places)
            for place in places:
                leave_out(place)
            return value


@contextmanager
def left_out() -> Iterator[list[str]]:
    """Collect the parts that are left out inside of the block, each as its place and the reason."""
    places: list[str] = []
    token = _collected.set(places)
    try:
        yield places
    finally:
        _collected.reset(token)


def leave_out(place: str) -> None:
    """Say that a part was left out, as its place and the reason."""
    places = _collected.get()
    if places is not None and place not in places:
        places.append(place)


def _convert(value: Any, kind: Any, where: str, places: list[str]) -> Any:
    """Return the value as its kind, without its bad parts. Raises ValidationError for one that is bad itself."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        reason = str(error)
    for member in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
        origin, inner = get_origin(member), get_args(member)
        if isinstance(value, dict) and isinstance(member, type) and issubclass(member, msgspec.Struct):
            return _convert_object(value, member, where, places)
        if isinstance(value, list) and origin is list:
            listed = _convert_members([(f"{where}[{n}]", item) for n, item in enumerate(value)], inner[0], places)
            return [item for item in listed if item is not _BAD]
        if isinstance(value, dict) and origin is dict:
            named = [(f"{where}.{key}" if where else key, item) for key, item in value.items()]
            members = _convert_members(named, inner[1], places)
            return {key: item for key, item in zip(value, members, strict=True) if item is not _BAD}
    raise _BadPart(where, reason)


def _convert_members(members: list[tuple[str, Any]], kind: Any, places: list[str]) -> list[Any]:
    """Return each member as its kind, or _BAD. Raises ValidationError if all are bad."""
    found, failures, mine = [], [], list[str]()
    for where, value in members:
        inner: list[str] = []
        try:
            found.append(_convert(value, kind, where, inner))
            mine += inner
        except _BadPart as error:
            failures.append(error)
            mine.append(str(error))
            found.append(_BAD)
    if len(failures) == len(members):
        raise failures[0]
    places += mine
    return found


def _convert_object(value: dict[str, Any], kind: type[msgspec.Struct], where: str, places: list[str]) -> msgspec.Struct:
    """Return the struct of an object, without the fields that may go."""
    given: dict[str, Any] = {}
    failures: list[tuple[_BadPart, bool]] = []
    mine: list[str] = []
    good_parts = good_fields = 0
    for field in msgspec.structs.fields(kind):
        if field.encode_name not in value:
            if field.required:
                raise _BadPart(where, f"Object missing required field `{field.encode_name}`")
            continue
        part = value[field.encode_name]
        is_part = isinstance(part, list | dict) or _holds_parts(field.type)
        try:
            place = f"{where}.{field.encode_name}" if where else field.encode_name
            given[field.name] = _convert(part, field.type, place, mine)
            good_fields += part is not None
            good_parts += is_part and bool(part)
        except _BadPart as error:
            if field.required or field.name in getattr(kind, "NEVER_GO", ()) or field.default not in _EMPTY:
                raise
            mine.append(str(error))
            failures.append((error, is_part and field.name not in getattr(kind, "MAY_GO", ())))
    if failures and (not good_fields or (not good_parts and any(is_needed for _, is_needed in failures))):
        raise failures[0][0]
    try:
        found = kind(**given)
    except ValueError as error:
        raise _BadPart(where, str(error)) from error
    places += mine
    return found


def _holds_parts(kind: Any) -> bool:
    """Return whether values of this kind are lists or objects."""
    members = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return any(
        get_origin(one) in (list, dict) or (isinstance(one, type) and issubclass(one, msgspec.Struct))
        for one in members
    )
