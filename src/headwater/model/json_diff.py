"""Compare two JSON values and list the differences.

Paths are JSON pointers (RFC 6901). If every item of an array has a distinct name (`name`, `key`, `field` or `id`), items are matched by name, not by
index: inserting a column in front does not change the others. `/fields/carrier/type` is then the type of the column `carrier`.
"""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from headwater.model.ordering import longest_increasing

_NAMES = ("name", "key", "field", "id")
_DEEPEST = 64


class Change(msgspec.Struct, frozen=True):
    """One difference. `before` is None for an added value, `after` for a removed one; for a moved item they are its indexes."""

    path: str
    op: Literal["added", "removed", "changed", "moved"]
    before: Any = None
    after: Any = None


def diff(before: Any, after: Any) -> list[Change]:
    """All differences between two decoded JSON values, in the order of the second. Empty exactly if they are equal."""
    return list(_walk("", before, after, 0))


def _walk(path: str, before: Any, after: Any, depth: int) -> Iterator[Change]:
    # True == 1 and 1 == 1.0 in Python; in JSON only the numbers are equal.
    if type(before) is bool or type(after) is bool or depth > _DEEPEST:
        if before is not after and (type(before) is not type(after) or before != after):
            yield Change(path, "changed", before, after)
    elif isinstance(before, dict) and isinstance(after, dict):
        yield from _members(path, before, after, depth)
    elif isinstance(before, list) and isinstance(after, list):
        old, new = _named(before), _named(after)
        if old is None or new is None or not (old or new):
            yield from _items(path, before, after, depth)
            return
        yield from _members(path, old, new, depth)
        common = [name for name in old if name in new]
        places = {name: place for place, name in enumerate(common)}
        order = [places[name] for name in new if name in places]
        unmoved = set(longest_increasing(order))
        was, is_ = ({name: place for place, name in enumerate(names)} for names in (old, new))
        for place in order:
            if place not in unmoved:
                name = common[place]
                yield Change(f"{path}/{_escaped(name)}", "moved", was[name], is_[name])
    elif before != after:
        yield Change(path, "changed", before, after)


def _members(path: str, before: dict[str, Any], after: dict[str, Any], depth: int) -> Iterator[Change]:
    for key, value in before.items():
        if key not in after:
            yield Change(f"{path}/{_escaped(key)}", "removed", value, None)
    for key, value in after.items():
        if key in before:
            yield from _walk(f"{path}/{_escaped(key)}", before[key], value, depth + 1)
        else:
            yield Change(f"{path}/{_escaped(key)}", "added", None, value)


def _items(path: str, before: list[Any], after: list[Any], depth: int) -> Iterator[Change]:
    for index in range(max(len(before), len(after))):
        place = f"{path}/{index}"
        if index >= len(after):
            yield Change(place, "removed", before[index], None)
        elif index >= len(before):
            yield Change(place, "added", None, after[index])
        else:
            yield from _walk(place, before[index], after[index], depth + 1)


def _named(items: list[Any]) -> dict[str, Any] | None:
    """The items by name; None unless all are objects with distinct names."""
    if not all(isinstance(item, dict) for item in items):
        return None
    for key in _NAMES:
        by_name = {item[key]: item for item in items if isinstance(item.get(key), str)}
        if len(by_name) == len(items):
            return by_name
    return None


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
