"""The fields of a value, as far as the text of its expression tells them: of a struct that is made, and of what passes a struct on.

An array or a map has the fields of its elements. What is not listed here has no fields: one that is taken out of it is all of it.
"""

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from headwater.columns import form
from headwater.columns.dialect import HIVES
from headwater.columns.kinds import AGGREGATED, AS_IS, BRANCHED, SORT, TRANSFORMED, WINDOW
from headwater.columns.lowering import maps
from headwater.columns.lowering.access import as_element, as_value, changes_fields
from headwater.columns.lowering.context import Context
from headwater.columns.lowering.elements import element
from headwater.columns.lowering.expression import lower
from headwater.columns.lowering.functions import CHOOSING_NAMES
from headwater.columns.lowering.lambdas import bound, condition
from headwater.columns.lowering.types import type_fields
from headwater.columns.lowering.walk import below_use

Fields = form.Fields
Maker = Callable[[Context, Any], Fields | None]


def lower_value(context: Context, node: Any) -> form.Expression:
    """An expression with the fields of its value."""
    make = _MAKERS.get(type(node))
    fields = make(context, node) if make is not None else None
    if fields is None:
        return lower(context, node)
    if not fields.given or fields.like or fields.keyed:
        made = lower(context, node)
    else:  # What is in it was read for its fields.
        made = form.Expression()
        for _, one in fields.given:
            made.references += [(parts, below_use(TRANSFORMED, use), path) for parts, use, path in one.references]
            made.subqueries += [(query, below_use(TRANSFORMED, use), how) for query, use, how in one.subqueries]
            made.taken += tuple((value, path, below_use(TRANSFORMED, use)) for value, path, use in one.taken)
    made.fields = fields
    return made


def spread(value: form.Expression) -> form.Expression:
    """Return an element whose fields become columns: they are made by a function."""
    made = element(value, TRANSFORMED)
    made.fields = Fields(like=[(value, TRANSFORMED)])
    return made


_DOCUMENTS = frozenset({exp.DType.JSON, exp.DType.JSONB, exp.DType.VARIANT, exp.DType.OBJECT, exp.DType.SUPER, exp.DType.MAP})  # fmt: skip


# --- what makes a struct


def _struct(context: Context, node: Any) -> Fields | None:
    found: list[tuple[str, form.Expression]] = []
    parser = context.rule.parser
    for place, one in enumerate(node.expressions):
        if isinstance(one, exp.Star) or (isinstance(one, exp.Column) and isinstance(one.this, exp.Star)):
            parts = context.column(one) if isinstance(one, exp.Column) else ("*",)
            found.append(("*", form.Expression([(parts, AS_IS, "")])))
            continue
        if isinstance(one, (exp.PropertyEQ, exp.Kwarg)):
            name, value = _literal(one.this) or context.output_name(one.this), one.expression
        elif isinstance(one, exp.Alias):
            name, value = context.output_name(one), one.this
        else:
            named = context.output_name(one) if isinstance(one, (exp.Column, exp.Dot)) and parser in _BY_COLUMN else ""
            name, value = named or _UNNAMED.get(parser, "_{}").format(place, place + 1), one
        found.append((name, lower_value(context, value)))
    stars = [(one, AS_IS) for name, one in found if name == "*"]
    return Fields([one for one in found if one[0] != "*"], stars)


_BY_COLUMN = frozenset({"bigquery", "spark", "databricks", "spark2"})
_UNNAMED = {
    **dict.fromkeys(HIVES, "col{1}"),
    **dict.fromkeys(("trino", "presto", "athena"), "field{0}"),
    "postgres": "f{1}",
}
"""The names of fields that have none, by place from 0 and from 1."""


def _pairs(context: Context, arguments: list[Any]) -> Fields | None:
    """`f('a', x, 'b', y)`."""
    names = [_literal(one) for one in arguments[::2]]
    if len(arguments) % 2 or not all(names):
        return None
    return Fields([(name, lower_value(context, value)) for name, value in zip(names, arguments[1::2], strict=True)])


def _json_object(context: Context, node: Any) -> Fields | None:
    pairs = [one for one in node.expressions if isinstance(one, exp.JSONKeyValue)]
    names = [_literal(one.this) for one in pairs]
    if len(pairs) != len(node.expressions) or not all(names):
        return None
    return Fields([(name, lower_value(context, one.expression)) for name, one in zip(names, pairs, strict=True)])


def _literal(node: Any) -> str:
    return str(node.this) if isinstance(node, exp.Literal) and node.is_string else ""


# --- what passes fields on


def _like(use: int, *names: str) -> Maker:
    """Values with the fields of each of these arguments."""

    def make(context: Context, node: Any) -> Fields | None:
        found: list[Any] = []
        for name in names:
            child = node.args.get(name)
            found += child if type(child) is list else [child] if child is not None else []
        if not all(map(_may_have_fields, found)):
            return None
        like = [(lower_value(context, one), use) for one in found if type(one) is not exp.Null]
        return Fields(like=like, by_place=_are_structs(found)) if like else None

    return make


def _are_structs(nodes: list[Any]) -> bool:
    return len(nodes) > 1 and all(type(one) in {exp.Struct, exp.Tuple, exp.Null} for one in nodes)


def _may_have_fields(node: Any) -> bool:
    """Return whether an expression's value may have fields, by a look at it."""
    while type(node) in {exp.Subquery, exp.Select, exp.Alias, exp.Paren}:
        if type(node) is exp.Select:
            if node.args.get("kind") or len(node.expressions) != 1:
                return True
            node = node.expressions[0]
        else:
            node = node.this
    return type(node) in _WITH_FIELDS


def _inside(context: Context, node: Any) -> Fields | None:
    return lower_value(context, node.this).fields if _may_have_fields(node.this) else None


def _branches(context: Context, node: Any) -> Fields | None:
    args = node.args
    ifs = args.get("ifs") or ([node] if args.get("true") is not None else [])
    found = [*(one.args.get("true") for one in ifs), args.get("default"), args.get("false")]
    values = [one for one in found if one is not None and type(one) is not exp.Null]
    if not values or not all(map(_may_have_fields, values)):
        return None
    deciding = form.Expression()
    conditions = [*(one.this for one in ifs), *([args["this"]] if args.get("ifs") and args.get("this") else [])]
    for one in conditions:
        _join(deciding, lower(context, one, BRANCHED))
    like = [(lower_value(context, one), TRANSFORMED) for one in values]
    return Fields(like=like, deciding=deciding, by_place=_are_structs(values))


def _join(result: form.Expression, other: form.Expression) -> None:
    result.references += other.references
    result.subqueries += other.subqueries
    result.taken += other.taken


def _window(context: Context, node: Any) -> Fields | None:
    if not _may_have_fields(node.this):
        return None
    value = lower_value(context, node.this)
    if value.fields is None:
        return None
    deciding = form.Expression()
    for one in context.window_parts(node):
        _join(deciding, lower(context, one, WINDOW))
    return Fields(like=[(value, TRANSFORMED)], deciding=deciding)


def _filtered(context: Context, node: Any) -> Fields | None:
    if not _may_have_fields(node.this):
        return None
    value = lower_value(context, node.this)
    if value.fields is None:
        return None
    return Fields(like=[(value, AS_IS)], deciding=lower(context, node.expression, BRANCHED))


def _changed(context: Context, node: Any) -> Fields | None:
    """`value.withField('name', x)`, `value.dropFields('name', …)`."""
    if not changes_fields(node):
        return None
    call = node.expression
    value = (lower_value(context, as_value(node.this)), AS_IS)
    names = [_literal(one) for one in call.expressions]
    if str(call.this).lower() == "dropfields":
        return Fields(like=[value], without=names) if all(names) and "." not in "".join(names) else None
    if len(names) != 2 or not names[0] or "." in names[0]:
        return None
    return Fields([(names[0], lower_value(context, call.expressions[1]))], [value])


def _chosen(context: Context, node: Any) -> Fields | None:
    """`max_by(x, y)`: y decides whose fields these are."""
    args = node.args
    if not _may_have_fields(args["this"]):
        return None
    return Fields(like=[(lower_value(context, args["this"]), AGGREGATED)], deciding=lower(context, args["expression"], SORT))  # fmt: skip


def _extreme(context: Context, node: Any) -> Fields | None:
    """`max(struct(x, y)).y`: structs are ordered by all of their fields."""
    if not _may_have_fields(node.this):
        return None
    return Fields(like=[(lower_value(context, node.this), AGGREGATED)], deciding=lower(context, node.this, SORT))


def _zipped(context: Context, node: Any) -> Fields | None:
    """`arrays_zip(a, b)`: the fields are the arrays' elements, called as the arrays are; in Snowflake `$1`, `$2`."""
    found: list[tuple[str, form.Expression]] = []
    for place, one in enumerate(node.expressions):
        own = context.output_name(one) if isinstance(one, (exp.Column, exp.Dot)) else ""
        name = f"${place + 1}" if context.rule.parser == "snowflake" else own or str(place)
        found.append((name, element(lower_value(context, one), TRANSFORMED)))
    return Fields(found)


def _ordered(context: Context, node: Any) -> Fields | None:
    """`array_agg(x order by y)`: the parser hangs x below the order."""
    if node.this is None or not _may_have_fields(node.this):
        return None
    deciding = form.Expression()
    for one in node.expressions:
        _join(deciding, lower(context, one, SORT))
    return Fields(like=[(lower_value(context, node.this), AS_IS)], deciding=deciding)


def _cast(context: Context, node: Any) -> Fields | None:
    kind = node.args.get("to")
    names = type_fields(context, kind)
    if not names:
        named = kind.args.get("kind") if isinstance(kind, exp.DataType) else None
        if isinstance(named, exp.Identifier):
            made = Fields(like=[(lower_value(context, node.this), TRANSFORMED)])
            made.type_name = context.key(named)
            return made
        kept = isinstance(kind, exp.DataType) and kind.this in _DOCUMENTS
        return _like(TRANSFORMED, "this")(context, node) if kept else None
    if not _may_have_fields(node.this):
        return None
    value = lower_value(context, node.this)
    return Fields(like=[(value, TRANSFORMED)], names=names, by_name=context.rule.parser == "duckdb")


def _subquery(context: Context, node: Any) -> Fields | None:
    inner = node.this if isinstance(node, exp.Subquery) else node
    if isinstance(node, exp.Subquery) and not isinstance(inner, exp.Query):
        return _inside(context, node)
    if not _may_have_fields(node):
        return None
    whole = lower(context, node)
    return Fields(like=[(whole, AS_IS)]) if whole.subqueries else None


def _bracket(context: Context, node: Any) -> Fields | None:
    """An element of an array or map."""
    found = lower(context, node)
    if len(found.references) + len(found.taken) != 1 or found.subqueries:
        return None
    made = form.Expression(
        [(parts, AS_IS, path) for parts, _, path in found.references],
        [],
        tuple((value, path, AS_IS) for value, path, _ in found.taken),
    )
    return Fields(like=[(made, form.ELEMENT)])


def _array(context: Context, node: Any) -> Fields | None:
    if as_element(context, node) is not node:
        return _bracket(context, node)
    if not all(isinstance(one, exp.Query) or _may_have_fields(one) for one in node.expressions):
        return None
    like: list[tuple[form.Expression, int]] = []
    for one in node.expressions:
        value = lower_value(context, one)
        value.subqueries = [(query, use, form.WHOLE) for query, use, _ in value.subqueries]
        like.append((value, AS_IS))
    return Fields(like=like, by_place=_are_structs(node.expressions)) if like else None


def _transform(context: Context, node: Any) -> Fields | None:
    """`transform(array, x -> body)`: elements are what the body makes of one."""
    function = node.args.get("expression")
    if not isinstance(function, exp.Lambda) or len(function.expressions) != 1:
        return None
    body = lower_value(context, function.this)
    if body.fields is None:
        return None
    return Fields(
        like=[(bound(body, context.key(function.expressions[0]), lower_value(context, node.this), form.ANY), AS_IS)]
    )


def _filtered_list(context: Context, node: Any) -> Fields | None:
    """`filter(array, x -> condition)`: elements are those of the array."""
    decided = condition(context, "", node.this, node.expression)
    return Fields(like=[(lower_value(context, node.this), AS_IS)], deciding=decided)


def _insert(context: Context, node: Any) -> Fields | None:
    """Snowflake's `object_insert(object, 'key', value)`."""
    key, value = _literal(node.args.get("key")), node.args.get("value")
    if not key or value is None:
        return None
    return Fields([(key, lower_value(context, value))], [(lower_value(context, node.this), AS_IS)])


def _called(context: Context, node: Any) -> Fields | None:
    """A function that the parser knows by name only."""
    name, arguments = str(node.this).lower().rsplit(".", 1)[-1], node.expressions
    if (of_map := maps.called(context, name, arguments)) is not None:
        return of_map
    if name in _PAIRED:
        return _pairs(context, arguments)
    if name in {"row", "tuple"}:
        return _struct(context, node)
    if name in CHOOSING_NAMES and len(arguments) > 1:
        return _chosen(context, exp.ArgMax(this=arguments[0], expression=arguments[1]))
    if name in _PASSING and arguments:
        return _like(_PASSING[name], "expressions")(context, exp.Tuple(expressions=arguments[:1]))
    if name in _CHANGING and arguments:
        given = [one for one in arguments[1:] if isinstance(one, (exp.PropertyEQ, exp.Kwarg, exp.Alias))]
        if len(given) != len(arguments) - 1:
            return None
        changed = _struct(context, exp.Struct(expressions=given))
        return changed and Fields(changed.given, [(lower_value(context, arguments[0]), AS_IS)])
    if name == "object_delete" and arguments and all(map(_literal, arguments[1:])):
        return Fields(like=[(lower_value(context, arguments[0]), AS_IS)], without=[_literal(one) for one in arguments[1:]])  # fmt: skip
    if name == "object_pick" and arguments and all(map(_literal, arguments[1:])):
        value = lower_value(context, arguments[0])
        picked = [(_literal(one), form.Expression([], [], ((value, _literal(one), AS_IS),))) for one in arguments[1:]]
        return Fields(picked, [(value, AS_IS)])
    return None


_PAIRED = frozenset(
    "named_struct json_build_object jsonb_build_object json_object object_construct object_construct_keep_null".split()
)
_CHANGING = frozenset({"struct_insert", "struct_update"})
_PASSING = {
    name: use
    for use, names in (
        (
            TRANSFORMED,
            "to_json to_jsonb row_to_json to_variant to_object to_array as_object as_array parse_json from_json",
        ),
        (AS_IS, "array_distinct array_sort list_sort list_distinct reverse slice shuffle array_compact"),
        (AGGREGATED, "first last any_value arbitrary array_agg list collect_list collect_set jsonb_agg json_agg"),
        (AGGREGATED, "grouparray"),
        (TRANSFORMED, "first_value last_value"),
        (form.ELEMENT, "explode explode_outer unnest flatten"),
    )
    for name in names.split()
}
"""Functions whose value has the fields of their first argument, and the use they make of it."""
_AGGREGATES = [
    getattr(exp, name)
    for name in "ArrayAgg ArrayUniqueAgg AnyValue First Last JSONArrayAgg".split()
    if hasattr(exp, name)
]
_PLACED = [exp.FirstValue, exp.LastValue, exp.NthValue, exp.Lag, exp.Lead]
_SAME = [exp.ArrayDistinct, exp.ArraySlice, exp.ArrayReverse, exp.Reverse, exp.ArrayCompact]
_WRITTEN = [
    getattr(exp, name) for name in "JSONFormat ParseJSON FromJson JSONCast ToVariant".split() if hasattr(exp, name)
]  # fmt: skip
_ELEMENTS = [exp.Explode, exp.ExplodeOuter, exp.Unnest, exp.ArrayMax, exp.ArrayMin]
_MAKERS: dict[type, Maker] = {
    **dict.fromkeys((exp.Struct, exp.Tuple), _struct),
    **dict.fromkeys((exp.VarMap, exp.Map), maps.made_of_arrays),
    exp.MapFromEntries: maps.made_of_pairs,
    exp.MapKeys: maps.keys_of,
    exp.JSONObject: _json_object,
    **dict.fromkeys((exp.Paren, exp.Alias, exp.Aliases, exp.Limit), _inside),
    exp.Distinct: _like(AS_IS, "expressions"),
    **dict.fromkeys((exp.Case, exp.If, exp.Nvl2), _branches),
    exp.Coalesce: _like(TRANSFORMED, "this", "expressions"),
    exp.Nullif: _like(TRANSFORMED, "this"),
    **dict.fromkeys((exp.ArrayConcat,), _like(AS_IS, "this", "expressions")),
    exp.ArrayAppend: _like(AS_IS, "this", "expression"),
    **dict.fromkeys((exp.Array, exp.List), _array),
    **dict.fromkeys(_AGGREGATES, _like(AGGREGATED, "this")),
    **dict.fromkeys((exp.ArgMax, exp.ArgMin), _chosen),
    **dict.fromkeys((exp.Max, exp.Min), _extreme),
    exp.ArraysZip: _zipped,
    exp.ArrayFilter: _filtered_list,
    exp.Dot: _changed,
    **dict.fromkeys(_PLACED, _like(TRANSFORMED, "this")),
    **dict.fromkeys(_SAME, _like(AS_IS, "this")),
    **dict.fromkeys(_WRITTEN, _like(TRANSFORMED, "this")),
    **dict.fromkeys(_ELEMENTS, _like(form.ELEMENT, "this")),
    **dict.fromkeys((exp.IgnoreNulls, exp.RespectNulls), _inside),
    exp.Window: _window,
    exp.Filter: _filtered,
    exp.Order: _ordered,
    **dict.fromkeys((exp.Cast, exp.TryCast), _cast),
    **dict.fromkeys((exp.Subquery, exp.Select), _subquery),
    exp.Bracket: _bracket,
    exp.Transform: _transform,
    exp.ObjectInsert: _insert,
    exp.Anonymous: _called,
}
_WITH_FIELDS = frozenset({*_MAKERS, exp.Column, exp.Dot, exp.Null, exp.StructExtract, exp.GetExtract, exp.JSONExtract})
"""Expressions whose value may have fields."""
