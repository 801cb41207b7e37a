"""Turn an expression of a client's plan into the tree that `capture.spark.expressions` reads: names become columns, functions Spark's own kinds.

An expression that is not known is a function of all that is in it. Texts (`expr("a + 1")`) go through the column engine.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from headwater.capture.spark.connect import scope as scopes
from headwater.capture.spark.connect import shapes
from headwater.capture.spark.connect.functions import AGGREGATES, GENERATORS, GROUPED, KINDS
from headwater.capture.spark.connect.scope import Attribute, Bound, attribute, field_of, literal, type_of
from headwater.capture.spark.plan import ATTRIBUTE, Node

Named = tuple[Attribute, Node]
_DEEPEST = 150
# Types that are one, as a cast and a schema write them.
_TYPES = {
    "int": "integer", "bigint": "long", "smallint": "short", "tinyint": "byte", "bool": "boolean", "real": "float", "dec": "decimal",
    "numeric": "decimal", "timestamp_ltz": "timestamp",
}  # fmt: skip


class Scope(msgspec.Struct):
    """The names that an expression may use. `plan_ids`: columns of relations by the client's ids; `subquery`: from the id of one and the columns
    around it to its relation; `outer`: columns of the queries around.

    `text`: from a text to its values and what decides about rows, by the column engine; `warn`: of what is not resolved.
    """

    attributes: list[Attribute]
    plan_ids: dict[int, list[Attribute]]
    subquery: Callable[[int, list[Attribute]], Bound | None]
    text: Callable[[str, list[Attribute]], list[Named]]
    warn: Callable[[str], None]
    variables: dict[str, Node] = {}
    outer: list[Attribute] = []
    depth: int = 0


def values(expression: Any, scope: Scope) -> list[Named]:  # noqa: PLR0911 - one line per kind of item
    """Return the columns of one item of a projection: a star is many, and so may an alias of a generator be."""
    kind = expression.WhichOneof("expr_type")
    if kind == "unresolved_star":
        return [(one, one.node) for one in _starred(expression.unresolved_star, scope)]
    if kind == "unresolved_regex":
        pattern = re.compile(expression.unresolved_regex.col_name.strip("`"), re.IGNORECASE)
        return [(one, one.node) for one in scope.attributes if pattern.fullmatch(one.name)]
    if kind == "expression_string":
        return scope.text(expression.expression_string.expression, scope.attributes)
    if kind == "alias":
        return aliased(expression.alias, scope)
    if _generator(expression):
        return _generated(expression, scope, 0)
    tree = value(expression, scope)
    if tree.kind == ATTRIBUTE:
        same = next((one for one in scope.attributes if one.id == tree.expression_id), None)
        return [(same, tree)] if same is not None else [(attribute(tree.name, type_of(tree)), tree)]
    return [(attribute(_name(expression, tree), type_of(tree)), tree)]


def aliased(found: Any, scope: Scope) -> list[Named]:
    """Return the columns of an expression under the names that it is given; a generator may have several."""
    if len(found.name) > 1 or _generator(found.expr):
        made = _generated(found.expr, scope, len(found.name))
        return [(attribute(str(name)), tree) for name, (_, tree) in zip(found.name, made, strict=False)]
    tree = value(found.expr, scope)
    return [(attribute(str(found.name[0]), type_of(tree)), tree)]


def value(expression: Any, scope: Scope) -> Node:
    """Return the tree of one value."""
    scope.depth += 1
    try:
        if scope.depth > _DEEPEST:
            scope.warn(f"an expression is more than {_DEEPEST} deep, and is not read further")
            return unseen()
        kind = expression.WhichOneof("expr_type")
        handler = _HANDLERS.get(str(kind))
        if handler is None:
            return unseen() if kind is None else _anything(getattr(expression, kind), scope)
        return handler(getattr(expression, str(kind)), scope)
    finally:
        scope.depth -= 1


def unseen() -> Node:
    """Return the tree of a value whose sources are not known."""
    return Node("headwater.Unseen", {}, [])


def sort_order(order: Any, scope: Scope) -> Node:
    return Node("SortOrder", {}, [value(order.child, scope)])


def _all(expressions: Iterable[Any], scope: Scope) -> list[Node]:
    return [value(one, scope) for one in expressions]


def _literal(found: Any, _: Scope) -> Node:
    kind = found.WhichOneof("literal_type")
    return literal(getattr(found, kind) if kind in {"string", "integer", "long", "short", "byte"} else None)


def _attribute(found: Any, scope: Scope) -> Node:
    parts = scopes.split(found.unparsed_identifier)
    if len(parts) >= 1 and parts[0] in scope.variables:
        return scopes.fields_of(scope.variables[parts[0]], parts[1:])
    if found.HasField("plan_id"):
        tree = scopes.find(parts, scope.plan_ids.get(found.plan_id, []))
        if tree is not None and _root(tree) in {one.id for one in (*scope.attributes, *scope.outer)}:
            return tree
    tree = scopes.find(parts, scope.attributes) or scopes.find(parts, scope.outer)
    if tree is None:
        scope.warn(f"the column {found.unparsed_identifier} was not found")
        return unseen()
    return tree


def _root(tree: Node) -> int:
    while tree.children and tree.kind != ATTRIBUTE:
        tree = tree.children[0]
    return tree.expression_id


def _starred(found: Any, scope: Scope) -> list[Attribute]:
    if "plan_id" in found.DESCRIPTOR.fields_by_name and found.HasField("plan_id"):  # PySpark 3.5 has none
        ids = {one.id for one in scope.plan_ids.get(found.plan_id, [])}
        return [one for one in scope.attributes if one.id in ids]
    target = scopes.split(found.unparsed_target)[:-1] if found.unparsed_target else []
    if not target:
        return list(scope.attributes)
    lowered = [part.lower() for part in target]
    named = [one for one in scope.attributes if [part.lower() for part in one.qualifier[-len(lowered) :]] == lowered]
    if not named:
        scope.warn(f"the fields of {'.'.join(target)}.* were not found")
    return named


def _function(found: Any, scope: Scope) -> Node:
    return _called(found.function_name, _all(found.arguments, scope), scope)


def _called(name: str, arguments: list[Node], scope: Scope) -> Node:
    name = name.lower()
    if name == "struct":
        parts = [(_field_name(tree, at), tree) for at, tree in enumerate(arguments, 1)]
        return Node("CreateNamedStruct", {}, [part for name, tree in parts for part in (literal(name), tree)])
    if name == "nullif" and len(arguments) == 2:
        return Node("If", {}, [Node("EqualTo", {}, arguments), literal(None), arguments[0]])
    if name == "nvl2" and len(arguments) == 3:
        return Node("If", {}, arguments)
    if name in WINDOWS and arguments:
        return _time_window(name, arguments)
    if name == "count" and all(tree.kind in {"Literal", "headwater.Star"} for tree in arguments):
        return Node("AggregateExpression", {}, [Node("Count", {}, [])])
    function = Node(KINDS.get(name, name), {}, arguments)
    return Node("AggregateExpression", {}, [function]) if name in AGGREGATES else function


def _time_window(name: str, arguments: list[Node]) -> Node:
    """Return the struct that Spark makes of a time: a window of fixed length begins by a condition on it, one of a session ends by its gap."""
    time = arguments[0]
    if name == "window":
        begin = end = Node("CaseWhen", {}, [time, time, time])
    else:
        begin, end = time, Node("TimeAdd", {}, arguments)
    parts = [literal("start"), begin, literal("end"), end]
    return Node("CreateNamedStruct", {shapes.WINDOW_OF: arguments if name == "session_window" else [time]}, parts)


def _field_name(tree: Node, at: int) -> str:
    return tree.name or f"col{at}" if tree.kind in {ATTRIBUTE, "Alias", "GetStructField"} else f"col{at}"


def _alias(found: Any, scope: Scope) -> Node:
    tree = value(found.expr, scope)
    return scopes.alias(tree, attribute(str(found.name[0]))) if found.name else tree


def _cast(found: Any, scope: Scope) -> Node:
    if found.WhichOneof("cast_to_type") == "type":
        from pyspark.sql.connect import types

        kind: Any = types.proto_schema_to_pyspark_data_type(found.type).jsonValue()
    else:
        written = str(found.type_str).strip().lower()
        kind = _TYPES.get(written, written)
    return Node("Cast", {"dataType": kind}, [value(found.expr, scope)])


def _window(found: Any, scope: Scope) -> Node:
    below = [value(found.window_function, scope), *_all(found.partition_spec, scope)]
    return Node("WindowExpression", {}, [*below, *(sort_order(one, scope) for one in found.order_spec)])


def _extracted(found: Any, scope: Scope) -> Node:
    child, key = value(found.child, scope), value(found.extraction, scope)
    name = key.fields.get("value") if key.kind == "Literal" else None
    if isinstance(name, str):
        return field_of(child, name)
    kind = type_of(child)
    if isinstance(kind, dict) and kind.get("type") == "map":
        return Node("GetMapValue", {"dataType": kind["valueType"]}, [child, key])
    element = kind.get("elementType") if isinstance(kind, dict) else None
    return Node("GetArrayItem", {"dataType": element}, [child, key])


def _updated(found: Any, scope: Scope) -> Node:
    made = value(found.value_expression, scope) if found.HasField("value_expression") else None
    return _with_field(value(found.struct_expression, scope), scopes.split(found.field_name), made)


def _with_field(struct: Node, path: list[str], made: Node | None) -> Node:
    """Return a struct whose field at this path is `made`, or left out."""
    name, *rest = path
    if rest:
        made = _with_field(field_of(struct, name), rest, made)
    fields = {"name": name}
    operation = Node("WithField", fields, [made]) if made is not None else Node("DropField", fields, [])
    return Node("UpdateFields", {}, [struct, operation])


def _lambda(found: Any, scope: Scope) -> Node:
    names = ["".join(one.name_parts) for one in found.arguments]
    made = [Node("NamedLambdaVariable", {"exprId": {"id": attribute(name).id}, "name": name}, []) for name in names]
    inner = msgspec.structs.replace(scope, variables={**scope.variables, **dict(zip(names, made, strict=True))})
    return Node("LambdaFunction", {}, [value(found.function, inner), *made])


def _variable(found: Any, scope: Scope) -> Node:
    return scope.variables.get("".join(found.name_parts)) or unseen()


def _udf(found: Any, scope: Scope) -> Node:
    grouped = found.WhichOneof("function") == "python_udf" and found.python_udf.eval_type in GROUPED
    return Node("PythonUDAF" if grouped else "PythonUDF", {}, _all(found.arguments, scope))


def _text(found: Any, scope: Scope) -> Node:
    made = scope.text(found.expression, scope.attributes)
    return made[0][1] if len(made) == 1 else Node("CreateArray", {}, [tree for _, tree in made])


def _star(found: Any, scope: Scope) -> Node:
    return Node("headwater.Star", {}, [one.node for one in _starred(found, scope)])


def _subquery(found: Any, scope: Scope) -> Node:
    below = scope.subquery(found.plan_id, scope.attributes)
    if below is None:
        scope.warn("a subquery was not found")
        return unseen()
    kind = found.SubqueryType.Name(found.subquery_type)
    plan = {"plan": [below.node]}
    if kind.endswith("_IN"):
        return Node("InSubquery", {}, [*_all(found.in_subquery_values, scope), Node("ListQuery", plan, [])])
    return Node("Exists" if kind.endswith("_EXISTS") else "ScalarSubquery", plan, [])


def _anything(message: Any, scope: Scope) -> Node:
    """Return a function of every expression within a message of a kind that is not known."""
    found: list[Node] = []
    for descriptor, part in message.ListFields():
        if descriptor.message_type is not None and descriptor.message_type.name == "Expression":
            parts = [part] if hasattr(part, "WhichOneof") else list(part)
            found += _all(parts, scope)
    return Node("headwater.Function", {}, found)


def _generator(expression: Any) -> str:
    kind = expression.WhichOneof("expr_type")
    if kind in {"unresolved_function", "call_function"}:
        name = str(getattr(expression, kind).function_name).lower()
        return name if name in GENERATORS else ""
    return ""


def _generated(expression: Any, scope: Scope, wanted: int) -> list[Named]:
    """Return the columns of a generator, which its kind marks: `relations` makes a relation of them. `wanted`: how many names it is given."""
    name = _generator(expression)
    if not name:
        tree = value(expression, scope)
        return [(attribute("col", type_of(tree)), tree) for _ in range(wanted or 1)]
    kind = expression.WhichOneof("expr_type")
    arguments = _all(getattr(expression, kind).arguments, scope)
    of = type_of(arguments[0]) if arguments else None
    element = of.get("elementType") if isinstance(of, dict) else None
    fields = scopes._struct_fields(element)
    if name.startswith("inline"):
        made = [attribute(str(one["name"]), one["type"]) for one in fields]
    elif isinstance(of, dict) and of.get("type") == "map":
        made = [attribute("key", of.get("keyType")), attribute("value", of.get("valueType"))]
    else:
        made = [attribute("col", element)]
    if name.startswith("posexplode"):
        made = [attribute("pos", "integer"), *made]
    if len(made) < wanted:
        made += [attribute("col") for _ in range(wanted - len(made))]
    generator = Node(_GENERATOR.get(name.removesuffix("_outer"), name), {}, arguments)
    together = Node(GENERATED, {"generator": [generator], "generatorOutput": [one.node for one in made]}, [])
    return [(one, together) for one in made]


WINDOWS = frozenset({"window", "session_window"})
_GENERATOR = {"explode": "Explode", "posexplode": "PosExplode", "inline": "Inline"}
GENERATED = "headwater.Generated"


def _name(expression: Any, tree: Node) -> str:
    """Return a name for a value that has none. The server says Spark's own where it matters."""
    kind = expression.WhichOneof("expr_type")
    if tree.kind in {"GetStructField", "GetArrayStructFields", "Alias"}:
        return tree.name
    if kind == "unresolved_function":
        return str(expression.unresolved_function.function_name)
    return str(kind)


_HANDLERS: dict[str, Callable[[Any, Scope], Node]] = {
    "literal": _literal,
    "unresolved_attribute": _attribute,
    "unresolved_function": _function,
    "call_function": _function,
    "expression_string": _text,
    "unresolved_star": _star,
    "alias": _alias,
    "cast": _cast,
    "sort_order": sort_order,
    "lambda_function": _lambda,
    "window": _window,
    "unresolved_extract_value": _extracted,
    "update_fields": _updated,
    "unresolved_named_lambda_variable": _variable,
    "common_inline_user_defined_function": _udf,
    "subquery_expression": _subquery,
}
