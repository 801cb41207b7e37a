"""Build the trees that `columns.resolve` reads from plans that no JVM has resolved: attributes with ids of our own, and how a name finds one.

Names are matched as Spark does by default: without case, a qualifier by its last parts. Pure.
"""

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from headwater.capture.spark import schema
from headwater.capture.spark.plan import ATTRIBUTE, Node

_ids = itertools.count(1)
_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")
LEAF = "LogicalRelation"


class Attribute(msgspec.Struct):
    """A column of a relation. `kind`: its type as Spark writes it in JSON, None if it is not known."""

    name: str
    kind: Any = None
    qualifier: tuple[str, ...] = ()
    id: int = 0

    @property
    def node(self) -> Node:
        return Node(ATTRIBUTE, {"exprId": {"id": self.id}, "name": self.name, "dataType": self.kind}, [])


class Bound(msgspec.Struct):
    """A relation whose names are resolved: its tree and its columns in order. `plan_ids`: columns of the relations below, by the client's ids."""

    node: Node
    attributes: list[Attribute]
    plan_ids: dict[int, list[Attribute]] = {}


def attribute(name: str, kind: Any = None, qualifier: tuple[str, ...] = ()) -> Attribute:
    """Return a new column."""
    return Attribute(name, kind, qualifier, next(_ids))


def split(identifier: str) -> list[str]:
    """Return the parts of a dotted name; backticks keep a dot."""
    return [
        quoted.replace("``", "`") if quoted or not plain else plain.strip()
        for quoted, plain in _PART.findall(identifier)
    ]


def leaf(attributes: Sequence[Attribute], kind: str = LEAF) -> Bound:
    """Return a relation that nothing feeds but its dataset."""
    return Bound(Node(kind, {"output": [one.node for one in attributes]}, []), list(attributes))


def literal(value: Any) -> Node:
    return Node("Literal", {"value": value}, [])


def alias(expression: Node, made: Attribute) -> Node:
    return Node("Alias", {"exprId": {"id": made.id}, "name": made.name}, [expression])


def project(below: Bound, made: Iterable[tuple[Attribute, Node]]) -> Bound:
    """Return a projection. An attribute whose expression is itself stays itself."""
    found = list(made)
    trees = [
        tree if tree.kind == ATTRIBUTE and tree.expression_id == one.id else alias(tree, one) for one, tree in found
    ]
    node = Node("Project", {"projectList": trees}, [below.node])
    return Bound(node, [one for one, _ in found], below.plan_ids)


def find(parts: Sequence[str], attributes: Sequence[Attribute]) -> Node | None:
    """Return the column that a name means, with fields of structs after it; None if there is none."""
    lowered = [part.lower() for part in parts]
    for at in range(len(parts) - 1, -1, -1):
        for one in attributes:
            if one.name.lower() != lowered[at] or not _qualified(one, lowered[:at]):
                continue
            return fields_of(one.node, parts[at + 1 :])
    return None


def _qualified(one: Attribute, qualifier: list[str]) -> bool:
    return not qualifier or [part.lower() for part in one.qualifier[-len(qualifier) :]] == qualifier


def fields_of(tree: Node, names: Iterable[str]) -> Node:
    """Return fields within fields of a value."""
    for name in names:
        tree = field_of(tree, name)
    return tree


def field_of(tree: Node, name: str) -> Node:
    """Return a field of a struct, or of an array's structs; or a map's value."""
    kind = type_of(tree)
    outer = kind.get("type") if isinstance(kind, dict) else None
    if outer == "map":
        return Node("GetMapValue", {"dataType": kind["valueType"]}, [tree, literal(name)])
    made = "GetArrayStructFields" if outer == "array" else "GetStructField"
    struct = kind.get("elementType") if outer == "array" else kind
    found = next(
        (one for one in _struct_fields(struct) if str(one.get("name")).lower() == name.lower()),
        {"name": name, "type": None},
    )
    inner = found["type"]
    if outer == "array":
        inner = {"type": "array", "elementType": inner}
    return Node(made, {"name": found["name"], "field": {"name": found["name"]}, "dataType": inner}, [tree])


def _struct_fields(kind: Any) -> list[dict[str, Any]]:
    return list(kind.get("fields") or []) if isinstance(kind, dict) and kind.get("type") == "struct" else []


def type_of(tree: Node) -> Any:  # noqa: PLR0911 - one line per kind of expression
    """Return the type of an expression as Spark writes it in JSON, as far as it follows from its parts; else None."""
    known = tree.fields.get("dataType")
    if known is not None:
        return known
    kind, children = tree.kind, tree.children
    if kind in _FIRST and children:
        return type_of(children[0])
    if kind in _ELEMENT and children:
        listed = type_of(children[0])
        return (listed.get("elementType") or listed.get("valueType")) if isinstance(listed, dict) else None
    if kind in _LIST and children:
        return {"type": "array", "elementType": type_of(children[0])}
    if kind == "CreateNamedStruct":
        fields = [
            {"name": name.fields.get("value"), "type": type_of(value)}
            for name, value in zip(children[::2], children[1::2], strict=False)
        ]
        return {"type": "struct", "fields": fields}
    if kind in _MAP and children:
        return _map_type(kind, [type_of(child) for child in children], children)
    if kind == "ArrayTransform" and len(children) == 2:
        return {"type": "array", "elementType": type_of(children[1].children[0])}
    if kind == "UpdateFields" and children:
        return _updated(tree)
    return None


def _map_type(kind: str, types: list[Any], children: list[Node]) -> Any:
    """Return the type of a function that makes a map, or lists a map's parts: `types` of its arguments."""
    first = types[0] if isinstance(types[0], dict) else {}
    key, each = first.get("keyType"), first.get("valueType")
    if kind == "CreateMap":
        key, each = types[0], types[1] if len(types) > 1 else None
    elif kind == "MapFromArrays":
        key, each = (one.get("elementType") if isinstance(one, dict) else None for one in types[:2])
    elif kind == "MapFromEntries":
        key, each = ([one["type"] for one in _struct_fields(first.get("elementType"))] + [None, None])[:2]
    elif kind == "TransformKeys":
        key = type_of(children[1].children[0])
    elif kind in {"TransformValues", "MapZipWith"}:
        each = type_of(children[-1].children[0])
    elif kind == "MapEntries":
        fields = [{"name": "key", "type": key}, {"name": "value", "type": each}]
        return {"type": "array", "elementType": {"type": "struct", "fields": fields}}
    elif kind in {"MapKeys", "MapValues"}:
        return {"type": "array", "elementType": key if kind == "MapKeys" else each}
    return {"type": "map", "keyType": key, "valueType": each}


_MAP = frozenset(
    {"CreateMap", "MapFromArrays", "MapFromEntries", "TransformKeys", "TransformValues", "MapZipWith"}
    | {"MapEntries", "MapKeys", "MapValues"}
)


def _updated(tree: Node) -> Any:
    struct = {str(one["name"]): one["type"] for one in _struct_fields(type_of(tree.children[0]))}
    for operation in tree.children[1:]:
        name = str(operation.fields.get("name"))
        if operation.kind == "DropField":
            struct.pop(name, None)
        else:
            struct[name] = type_of(operation.children[0])
    return {"type": "struct", "fields": [{"name": name, "type": kind} for name, kind in struct.items()]}


_FIRST = frozenset(
    {"Alias", "AggregateExpression", "WindowExpression", "Coalesce", "Concat", "ArrayUnion", "ArrayFilter", "ArraySort", "SortArray", "Slice"}
    | {"MapConcat", "MapFilter", "ArrayDistinct", "ArrayRemove", "ArrayExcept", "ArrayIntersect", "ArrayCompact", "ArrayAppend"}
    | {"ArrayPrepend", "Shuffle"}
    | {"Reverse", "Max", "Min", "First", "Last", "AnyValue", "Mode", "MaxBy", "MinBy", "Lag", "Lead", "NthValue"}
)  # fmt: skip
_ELEMENT = frozenset({"GetArrayItem", "ElementAt", "TryElementAt", "GetMapValue", "ArrayMax", "ArrayMin", "Flatten"})
_LIST = frozenset({"CreateArray", "CollectList", "CollectSet"})


def schema_fields(attributes: Iterable[Attribute]) -> list[dict[str, Any]]:
    """Return the schema of a relation, for an OpenLineage facet."""
    return schema.struct_fields({"fields": [{"name": one.name, "type": one.kind} for one in attributes]})
