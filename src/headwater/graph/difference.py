"""The differences between two states of something: keyed values, and the columns of a dataset. Pure."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Column = tuple[str, str | None]


class Difference(msgspec.Struct, Generic[K, V], frozen=True):
    """`changed` holds the values before and after, of keys that both states have."""

    added: dict[K, V]
    removed: dict[K, V]
    changed: dict[K, tuple[V, V]]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


def difference(before: Mapping[K, V], after: Mapping[K, V]) -> Difference[K, V]:
    """Keys in the order of their state."""
    return Difference(
        {key: value for key, value in after.items() if key not in before},
        {key: value for key, value in before.items() if key not in after},
        {key: (before[key], value) for key, value in after.items() if key in before and before[key] != value},
    )


class ColumnsDifference(msgspec.Struct, frozen=True):
    """(name, type) of columns that came and went, (name, type before, type after) of those that changed; whether the rest changed places."""

    added: tuple[Column, ...]
    removed: tuple[Column, ...]
    retyped: tuple[tuple[str, str | None, str | None], ...]
    reordered: bool

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.retyped or self.reordered)


def columns_difference(before: Sequence[Column], after: Sequence[Column]) -> ColumnsDifference:
    """A column that appears twice in a schema counts once, as it came first."""
    first, last = _once(before), _once(after)
    found = difference(first, last)
    return ColumnsDifference(
        tuple(found.added.items()),
        tuple(found.removed.items()),
        tuple((name, old, new) for name, (old, new) in found.changed.items()),
        [name for name in first if name in last] != [name for name in last if name in first],
    )


def _once(columns: Sequence[Column]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name, kind in columns:
        found.setdefault(name, kind)
    return found
