"""Fields of what a source has: of its structs, of the structs in its lists and maps, and of what lies within those, to any depth.

`items[0].maker.name` of a source's column is its field `items.maker.name`: which element it is of changes no name. The value is TRANSFORMATION.
"""

from typing import Any, Protocol

from headwater.capture.spark import dependencies as deps
from headwater.capture.spark.dependencies import Dependencies, Fields, Parts, Source
from headwater.capture.spark.plan import ATTRIBUTE, Node

KEY, VALUE = "\0key", "\0value"
"""The two fields that a map has; no struct's field has these names."""
ELEMENTS = frozenset(
    {
        "GetArrayItem",
        "Get",
        "ArrayFilter",
        "ArraySort",
        "SortArray",
        "ArrayDistinct",
        "ArrayRemove",
        "ArrayExcept",
        "ArrayIntersect",
        "ArrayCompact",
        "ArrayRepeat",
        "ArrayMax",
        "ArrayMin",
        "Flatten",
        "Shuffle",
        "Slice",
        "Reverse",
        "MapFilter",
        "MapSort",
        "Nvl",
    }
)
"""The value has the fields of its argument: an array or a map has those of its structs."""
FILTERED = frozenset({"ArrayFilter", "MapFilter"})
"""A function of its elements decides which of them stay."""
FOUND = frozenset({"GetMapValue", "ElementAt", "TryElementAt"})
"""An element of an array, or what a key finds in a map."""


class Reader(Protocol):
    """The reader of the expression that the value is in."""

    def value(self, node: Node) -> Dependencies: ...


class ChoosingReader(Reader, Protocol):
    """One that reads what chooses elements, too."""

    def choosing(self, node: Node) -> Dependencies: ...


def fields_of(reader: Reader, node: Node, *, deep: bool = False) -> Fields | None:
    """Return the fields of a struct that a source has, of an array's structs, or a map's: it is an unchanged column, or a field of one.

    `deep`: with the fields of its fields.
    """
    if not isinstance(kind := _type(node), dict):
        return None
    depends = reader.value(node)
    return None if any(deps.SAME not in hows for hows in depends.values()) else _typed(kind, depends, deep)


def fields_deep(reader: ChoosingReader, node: Node) -> Fields | None:
    """Return the fields of an unchanged column, or of what lies within one, with those of its fields; None if it is something else."""
    made = fields_of(reader, node, deep=True)
    return made if made is not None else _fields_within(reader, node)


def _fields_within(reader: ChoosingReader, node: Node) -> Fields | None:
    """Return the fields of a struct that lies within a list of a source (`items[0]`, `filter(items, …)[0].maker`); None if it is something else."""
    kind, children = node.kind, node.children
    if kind == "ArraysZip" and children and (names := names_zipped(node)) is not None:
        return {
            name: Parts(deps.strengthened(reader.value(child), deps.TRANSFORMATION), fields_deep(reader, child))
            for name, child in zip(names, children, strict=True)
        }
    if (kind in ELEMENTS or kind in FOUND) and children:
        made = deps.changed_fields(
            fields_deep(reader, children[0]), lambda one: deps.strengthened(one, deps.TRANSFORMATION)
        )
        return chosen(reader, made, node)
    if kind in {"GetStructField", "GetArrayStructFields"}:
        made = _fields_within(reader, children[0])
        found = made.get(str(node.fields.get("name") or field_name(node))) if made is not None else None
        return found.inner if found is not None else None
    return None


def chosen(reader: ChoosingReader, made: Fields | None, node: Node) -> Fields | None:
    """Return the fields of elements that a function chooses from its first argument."""
    found = reader.choosing(node)
    return deps.changed_fields(made, lambda one: deps.merged([one, found])) if found else made


def names_zipped(node: Node) -> list[str] | None:
    """Return the names that `arrays_zip` gives its arguments; None where the plan does not tell them."""
    names = [str(name.fields.get("value")) for name in node.trees("names")]
    return names if len(names) == len(node.children) else None


def _typed(kind: Any, depends: Dependencies, deep: bool = False) -> Fields | None:
    """Return the fields of a source's value of this type, as paths into its columns; None if the type has none."""
    while isinstance(kind, dict) and kind.get("type") == "array":
        kind = kind.get("elementType")
    if not isinstance(kind, dict) or kind.get("type") not in {"struct", "map"}:
        return None

    def within(name: str) -> Dependencies:
        return {Source(source.leaf, f"{source.field}.{name}"): hows for source, hows in depends.items()}

    if kind["type"] == "struct":
        given = {str(field.get("name")): field.get("type") for field in kind.get("fields") or []}
        return {
            name: Parts(below := within(name), _typed(inner, below, deep) if deep else None)
            for name, inner in given.items()
        }
    key, each = within("key"), within("value")
    return {
        KEY: Parts(key, _typed(kind.get("keyType"), key)),
        VALUE: Parts(each, _typed(kind.get("valueType"), each)),
    }


def _type(node: Node) -> Any:
    """Return the data type of a column, or of a field of one; None of anything else."""
    if node.kind != "GetStructField" or not node.children:
        return node.fields.get("dataType") if node.kind == ATTRIBUTE else None
    kind, ordinal = _type(node.children[0]), node.fields.get("ordinal")
    fields = (kind.get("fields") or []) if isinstance(kind, dict) else []
    return fields[ordinal].get("type") if isinstance(ordinal, int) and ordinal < len(fields) else None


def field_name(node: Node) -> str:
    """Return the name of a field from its ordinal, if the struct is a column or a field of one."""
    field = node.fields.get("field")  # of an array's structs
    if isinstance(field, dict) and field.get("name"):
        return str(field["name"])
    child, ordinal = node.children[0], node.fields.get("ordinal")
    kind = _type(child)
    if isinstance(kind, dict) and isinstance(ordinal, int):
        fields = kind.get("fields") or []
        if ordinal < len(fields):
            return str(fields[ordinal].get("name") or "")
    return ""
