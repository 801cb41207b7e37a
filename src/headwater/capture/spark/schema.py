"""Convert Spark data types, as in its JSON, to the fields of an OpenLineage `schema` facet."""

import json
from collections.abc import Iterable
from typing import Any

from headwater.capture.spark.plan import Node

_NESTED_DEEPEST = 8


def fields(attributes: Iterable[Node]) -> list[dict[str, Any]]:
    """Return the schema of a list of attributes."""
    return [_field(item.name, item.fields.get("dataType"), i, 0) for i, item in enumerate(attributes, 1)]


def struct_fields(struct: Any) -> list[dict[str, Any]]:
    """Return the schema of a struct type (`{"type": "struct", "fields": […]}`)."""
    found = struct.get("fields", []) if isinstance(struct, dict) else []
    return [_field(str(item.get("name")), item.get("type"), i, 0) for i, item in enumerate(found, 1)]


def json_fields(jschema: Any) -> list[dict[str, Any]]:
    """Return the schema of a StructType of the JVM."""
    return struct_fields(json.loads(str(jschema.json())))


def _field(name: str, kind: Any, position: int, depth: int) -> dict[str, Any]:
    field: dict[str, Any] = {"name": name, "type": simple(kind), "ordinal_position": position}
    struct = _struct_within(kind)
    if struct and depth < _NESTED_DEEPEST:
        field["fields"] = [
            _field(str(item.get("name")), item.get("type"), i, depth + 1) for i, item in enumerate(struct, 1)
        ]
    return field


def _struct_within(kind: Any) -> list[dict[str, Any]]:
    """Return the fields of a struct, or of an array's structs."""
    while isinstance(kind, dict) and kind.get("type") == "array":
        kind = kind.get("elementType")
    if isinstance(kind, dict) and kind.get("type") == "struct":
        return list(kind.get("fields") or [])
    return []


def simple(kind: Any) -> str:
    """Return a type in one word: `struct` and `array<…>` are named, their fields are nested."""
    if isinstance(kind, str):
        return kind
    if not isinstance(kind, dict):
        return "unknown"
    outer = str(kind.get("type"))
    if outer == "array":
        return f"array<{simple(kind.get('elementType'))}>"
    if outer == "map":
        return f"map<{simple(kind.get('keyType'))},{simple(kind.get('valueType'))}>"
    if outer == "udt":
        return simple(kind.get("sqlType"))
    return outer
