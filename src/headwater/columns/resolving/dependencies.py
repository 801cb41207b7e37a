"""The dependencies of a value, as `{leaf: kinds}`, and of the fields inside it. They are shared and never changed once made."""

import re
from collections.abc import Iterable

from headwater.columns import kinds
from headwater.columns.form import ANY, ELEMENT, KEYS, VALUES
from headwater.columns.kinds import AS_IS, BRANCHED, MASKED, STEPS, TRANSFORMED

Dependencies = dict[int, int]
NOTHING: Dependencies = {}
_PLAIN = 1 << MASKED


class StructValue(dict[int, int]):
    """The dependencies of a value, and its fields: those made for it, and those of values that it has too (`like`), each with the use made of them.

    `deciding`: what decides about every field of `like`. `without`: fields of `like` it lacks. `keyed`: its fields are a map's entries.
    `declared`: its fields are known from a type, and each is a part of the one column it is.
    """

    __slots__ = ("deciding", "declared", "fields", "keyed", "like", "without")

    def __init__(
        self,
        value: Dependencies,
        fields: dict[str, Dependencies],
        like: tuple[tuple[Dependencies, int], ...] = (),
        *,
        deciding: Dependencies = NOTHING,
        without: tuple[str, ...] = (),
        keyed: bool = False,
        declared: bool = False,
    ) -> None:
        super().__init__(value)
        self.fields, self.like, self.deciding, self.without = fields, like, deciding, without
        self.keyed, self.declared = keyed, declared

    def listed(self) -> dict[str, Dependencies] | None:
        """All fields in order; None, where others may exist."""
        if not self.like:
            return None if self.keyed or not self.fields else self.fields
        if self.declared:
            return self.fields
        result: dict[str, Dependencies] = {}
        for value, use in self.like:
            listed = value.listed() if isinstance(value, StructValue) else None
            if listed is None:
                return None
            for name, one in listed.items():
                if name not in self.without:
                    passed = passed_on(one, element_use(value, use), self.deciding)
                    result[name] = passed if name not in result else alike([result[name], passed])
        return {**result, **self.fields}


def passed_on(value: Dependencies, use: int, deciding: Dependencies = NOTHING) -> Dependencies:
    """A value as it is after a step that keeps its fields."""
    use = element_use(value, use)
    if not deciding and use == AS_IS:
        return value
    return StructValue(union([used(value, use), deciding]), {}, ((value, use),), deciding=deciding)


def element_use(value: Dependencies, use: int) -> int:
    """The use of a value, of which an element may be meant."""
    if use != ELEMENT:
        return use
    return AS_IS if isinstance(value, StructValue) and not value.declared else TRANSFORMED


def step_into(value: Dependencies, use: int, path: str) -> str:
    """The path into an element: of a map, behind any of its keys."""
    is_entry = use == ELEMENT and isinstance(value, StructValue) and value.keyed
    return f"{ANY}.{path}" if is_entry and path.partition(".")[0] not in {KEYS, VALUES} else path


def alike(values: list[Dependencies]) -> Dependencies:
    """Return a value that may be any of several, and has the fields of all of them."""
    if any(isinstance(one, StructValue) for one in values):
        return StructValue(union(values), {}, tuple((one, AS_IS) for one in values))
    return union(values)


def field_of(value: StructValue, name: str) -> Dependencies | None:
    """A field that is made for the value; the value itself for an element of a list; None if it is not listed."""
    fields = value.fields
    if value.keyed:
        return _entry(fields, name)
    if name[:1] == "#":
        listed = list((value.listed() or {}).values())
        return listed[int(name[1:])] if int(name[1:]) < len(listed) else value
    if name[:1] == "[":
        place = int(name[1:-1]) if name != ANY else -1
        if 0 <= place < len(fields) and _unnamed(fields) and (value.declared or not value.like):
            return list(fields.values())[place]
        return value
    found = fields.get(name)
    if found is None and fields:
        fitting = [one for key, one in fields.items() if key.lower() == name.lower()]
        found = fitting[0] if len(fitting) == 1 else None
    if found is None and (numbered := _HIVE_PLACE.fullmatch(name)) is not None:  # Hive's names of what struct() makes
        listed = list((value.listed() or {}).values())
        found = listed[int(numbered[1]) - 1] if int(numbered[1]) <= len(listed) else None
    return found


def _entry(fields: dict[str, Dependencies], name: str) -> Dependencies | None:
    """The value behind a key of a map, its keys or its values; None of a map without entries. Keys that are columns decide which value it is."""
    if name in fields:
        return fields[name]
    if name == KEYS:
        return NOTHING  # They are literals.
    values = [one for key, one in fields.items() if key != KEYS]
    if not values:
        return None
    found = alike(values) if len(values) > 1 else values[0]
    return passed_on(found, AS_IS, used(fields[KEYS], BRANCHED)) if KEYS in fields else found


def _unnamed(fields: dict[str, Dependencies]) -> bool:
    """Return whether the fields have the names of places: a row's or a tuple's."""
    return all(_PLACE.fullmatch(name) for name in fields)


_HIVE_PLACE = re.compile(r"col([1-9]\d*)")
_PLACE = re.compile(r"(?:_|col|f|field)\d+")


def used(dependencies: Dependencies, use: int) -> Dependencies:
    """After one step (`kinds.Use`)."""
    if use == 0:
        return dependencies
    if use >= kinds.MASKING_USE:
        return {leaf: kinds.step(bits, use) for leaf, bits in dependencies.items()}
    table = STEPS[use]
    return {leaf: table[bits] if bits < _PLAIN else kinds.step(bits, use) for leaf, bits in dependencies.items()}


def add(result: Dependencies, dependencies: Dependencies) -> None:
    """Into `result`, which the caller owns."""
    get = result.get
    for leaf, bits in dependencies.items():
        result[leaf] = get(leaf, 0) | bits


def add_used(result: Dependencies, dependencies: Dependencies, use: int) -> None:
    """Add `used(dependencies, use)` to `result`, which the caller owns, without a dictionary between."""
    if use >= kinds.MASKING_USE:
        add(result, used(dependencies, use))
        return
    get, table = result.get, STEPS[use]
    for leaf, bits in dependencies.items():
        result[leaf] = get(leaf, 0) | (table[bits] if bits < _PLAIN else kinds.step(bits, use))


def union(parts: Iterable[Dependencies]) -> Dependencies:
    result: Dependencies = {}
    for part in parts:
        add(result, part)
    return result
