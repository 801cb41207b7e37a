"""The fields of a type that a text declares: of a struct, or of the structs in an array."""

from typing import Any

from sqlglot import exp

from headwater.columns.lowering.context import Context


def type_fields(context: Context, node: Any) -> list[Any]:
    """The fields of a type in order, each with its own; none, if it is no struct and no array of them."""
    if not isinstance(node, exp.DataType):
        return []
    kind = node.this
    if kind in _STRUCTS:
        return [
            (context.key(one.this), type_fields(context, one.args.get("kind")))
            if isinstance(one, exp.ColumnDef)
            else ("", type_fields(context, one))
            for one in node.expressions
        ]
    if kind in _LISTS and len(node.expressions) == 1:
        return type_fields(context, node.expressions[0])
    return []


_STRUCTS = frozenset({exp.DType.STRUCT, exp.DType.NESTED, exp.DType.OBJECT})
_LISTS = frozenset({exp.DType.ARRAY, exp.DType.LIST})
