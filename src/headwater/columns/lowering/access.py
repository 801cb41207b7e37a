"""Fields taken out of values: `a.b`, `a[0].b`, `(…).b`, `a['b']`, JSON paths, and the functions that do the same."""

import re
from typing import Any

from sqlglot import exp

from headwater.columns import form
from headwater.columns.dialect import HIVES
from headwater.columns.kinds import TRANSFORMED
from headwater.columns.lowering.context import Context
from headwater.columns.lowering.functions import XML_METHODS
from headwater.columns.lowering.json_path import plain_path
from headwater.columns.lowering.walk import Stack, below_use, push


def dot(context: Context, node: Any, use: int, stack: Stack, result: form.Expression) -> None:
    """A field of a struct, deep in, or a function qualified by a schema."""
    path: list[str] = []
    base: Any = node
    below = use
    while True:
        base = as_element(context, base)
        if isinstance(base, exp.Dot):
            field = base.args.get("expression")
            if isinstance(field, exp.Identifier):
                path.append(context.key(field))
            elif isinstance(field, exp.Star):
                pass
            elif isinstance(field, exp.Literal):  # ClickHouse: the place in a tuple
                path.append(f"#{int(field.name) - 1}" if field.name.isdigit() else field.name)
            elif path and changes_fields(base):
                result.taken += ((context.value(base), ".".join(reversed(path)), below),)
                return
            else:
                if path:
                    result.taken += ((context.value(field), ".".join(reversed(path)), below),)
                else:
                    push(stack, field, below)
                _called_on(context, base, use, stack, result)
                return
            base = base.this
        elif isinstance(base, exp.Paren):
            base = base.this
        elif isinstance(base, exp.Bracket):
            below = below_use(use, TRANSFORMED)
            for index in reversed(base.expressions):
                path.append(_row_place(base.this, index) or _place(index))
                if path[-1] == form.ANY:
                    push(stack, index, below)
            base = base.this
        elif isinstance(base, exp.StructExtract) and isinstance(base.expression, exp.Literal):
            path.append(_place(base.expression))
            base = base.this
        else:
            break
    path.reverse()
    _take_field(context, base, path, use, below, stack, result)


def _take_field(
    context: Context, base: Any, path: list[str], use: int, below: int, stack: Stack, result: form.Expression
) -> None:
    """Read the field at this path of a column, a parameter or any other value."""
    if isinstance(base, exp.Column) and not isinstance(base.this, exp.Star):
        parts = context.column(base)
        if below == use and not any(one.startswith("[") for one in path):
            result.references.append((parts + tuple(path), use, ""))
        else:
            result.references.append((parts, below, ".".join(path)))
    elif isinstance(base, exp.Placeholder) and isinstance(base.this, str) and path:
        result.references.append((("@:" + base.this.lower(), *path), below, ""))
    elif isinstance(base, exp.Identifier):
        result.references.append(((context.key(base), *path), below, ""))
    elif path:
        result.taken += ((context.value(base), ".".join(path), below),)
    else:
        push(stack, base, below_use(use, TRANSFORMED))


def _called_on(context: Context, node: Any, use: int, stack: Stack, result: form.Expression) -> None:
    """Read the words before a function: of schema.function(…) no column; of value.method(…) an argument."""
    field = node.args.get("expression")
    method = context.rule.parser == "tsql" and str(getattr(field, "name", "")).lower() in XML_METHODS
    parts = context.key_path(node.this) if method else ()
    if parts:
        result.references.append((parts, below_use(use, TRANSFORMED), ""))
    elif context.rule.parser == "duckdb" and isinstance(node.this, (exp.Identifier, exp.Column, exp.Dot)):
        _chained(context, node, use, stack)
    elif changes_fields(node) or not isinstance(node.this, (exp.Identifier, exp.Column, exp.Dot)):
        push(stack, as_value(node.this), below_use(use, TRANSFORMED))


def _chained(context: Context, node: Any, use: int, stack: Stack) -> None:
    """DuckDB: `a.upper()` is `upper(a)`, but `s.f()` may be a function of a schema s."""
    first = node.this if isinstance(node.this, exp.Identifier) else next(node.this.find_all(exp.Identifier))
    if first.name.lower() in _SCHEMAS:
        return
    if str(node.expression.name).upper() not in exp.FUNCTION_BY_NAME:
        context.warn(f"{context.written(node.this)} is taken for a column that {node.expression.name} is called on; it may be a schema")  # fmt: skip
    push(stack, as_value(node.this), below_use(use, TRANSFORMED))


_SCHEMAS = frozenset({"main", "temp", "system", "pg_catalog", "information_schema"})


def as_element(context: Context, node: Any) -> Any:
    """Return `list[0]` and `array[0]` as an element of the column, and `get(items, 0)` as one of `items`.

    The parser reads a list that is made, and a function that it does not know; Spark and Hive make no list so.
    """
    if context.rule.parser not in HIVES:
        return node
    if isinstance(node, exp.Anonymous) and str(node.this).lower() == "get" and len(node.expressions) == 2:
        return exp.Bracket(this=node.expressions[0], expressions=node.expressions[1:])
    if not is_bracketed_list(node):
        return node
    return exp.Bracket(
        this=exp.Column(this=exp.to_identifier(type(node).__name__.lower())), expressions=node.expressions
    )


def is_bracketed_list(node: Any) -> bool:
    """Return whether the parser took `list[…]` or `array[…]` for the making of a list; `array(…)` is one."""
    return type(node) is exp.List or (type(node) is exp.Array and "value_constructor" in node.args)


def interval(context: Context, node: Any, use: int, stack: Stack, _result: form.Expression) -> None:
    """An interval, or in Spark and Hive, where it has no unit, a column of that name: `interval + 1` and `interval[0]`."""
    inner, below = node.this, below_use(use, TRANSFORMED)
    spelled = isinstance(inner, exp.Literal) and _SPELLED.search(inner.name)
    if context.rule.parser not in HIVES or node.args.get("unit") or spelled:
        push(stack, inner, below)
        return
    column = exp.Column(this=exp.to_identifier("interval"))
    made = inner.copy()
    first = made
    while isinstance(first, (exp.Binary, exp.Bracket)):
        first = first.this
    if isinstance(first, exp.Array) and is_bracketed_list(first):
        element = exp.Bracket(this=column, expressions=first.expressions)
        made = element if first is made else made
        first.replace(element)
    else:
        push(stack, column, below)
    if not isinstance(made, exp.Star):
        push(stack, made, below)


_SPELLED = re.compile(r"[A-Za-z]")
"""An interval with its units in its text: `'1 day 2 hours'`."""


def changes_fields(node: Any) -> bool:
    """Return whether the node is Spark's `value.withField('name', x)` or `value.dropFields('name', …)`."""
    return isinstance(node.expression, exp.Anonymous) and str(node.expression.this).lower() in {
        "withfield",
        "dropfields",
    }


def as_value(node: Any) -> Any:
    """Return what stands before a method as the value that it is: the parser leaves names there of what are columns elsewhere."""
    if isinstance(node, exp.Identifier):
        return exp.Column(this=node.copy())
    made = node.copy()
    for one in [*made.find_all(exp.Identifier)]:
        names = isinstance(one.parent, (exp.PropertyEQ, exp.Kwarg)) and one.arg_key == "this"
        if isinstance(one.parent, (exp.Func, exp.Binary, exp.Unary)) and not (names or isinstance(one.parent, exp.Dot)):
            one.replace(exp.Column(this=one.copy()))
    return made


_ROWS = (exp.Struct, exp.Tuple)
_SAME_ROW = (
    exp.Max, exp.Min, exp.ArgMax, exp.ArgMin, exp.AnyValue, exp.First, exp.Last, exp.FirstValue, exp.LastValue, exp.Paren, exp.Window,
)  # fmt: skip


def _row_place(node: Any, index: Any) -> str:
    """The step that `row[n]` is: a field of a row by its place, where the value is one for certain and no list."""
    while isinstance(node, _SAME_ROW):
        node = node.this
    cast = isinstance(node, exp.Cast) and isinstance(node.to, exp.DataType) and node.to.this == exp.DType.STRUCT
    if not (cast or isinstance(node, _ROWS)) or not isinstance(index, exp.Literal) or not index.name.isdigit():
        return ""
    return f"#{int(index.name) - cast}"  # The parser counts from 0, but where it knows the type.


def _place(index: Any) -> str:
    """The step of a path that `[index]` is."""
    if isinstance(index, exp.Literal):
        if index.is_string:
            return str(index.this)
        if index.name.isdigit():
            return f"[{index.name}]"
    return form.ANY


def bracket(context: Context, node: Any, use: int, stack: Stack, result: form.Expression) -> None:
    dot(context, node, below_use(use, TRANSFORMED), stack, result)


def json_path(context: Context, node: Any, use: int, stack: Stack, result: form.Expression) -> None:
    """A value out of JSON: the column is the key, the path is kept beside it when it is a plain one."""
    below = below_use(use, TRANSFORMED)
    base, path = node.this, plain_path(node.args.get("expression"))
    while path and isinstance(base, type(node)):
        deeper = plain_path(base.args.get("expression"))
        path = f"{deeper}.{path}" if deeper else ""
        base = base.this
    if path and _take(context, base, path, below, result):
        return
    for name, child in node.args.items():
        if name != "expression" or not isinstance(child, exp.JSONPath):
            push(stack, child, below)


def field_of(context: Context, node: Any, use: int, stack: Stack, result: form.Expression) -> None:
    """`struct_extract(value, 'field')`, `get(value, 'field')`."""
    field = node.expression
    below = use if isinstance(node, exp.StructExtract) else below_use(use, TRANSFORMED)
    place = _place(field)
    if place == form.ANY:
        push(stack, field, below_use(use, TRANSFORMED))
    elif isinstance(node, exp.StructExtract) and place.startswith("["):  # It counts from 1.
        place = f"[{int(place[1:-1]) - 1}]"
    _take(context, node.this, place, below, result)


def part_of_map(context: Context, node: Any, step: str, use: int, stack: Stack, result: form.Expression) -> None:
    """A map's keys or values (`step`)."""
    if not _take(context, node, step, below_use(use, TRANSFORMED), result):
        push(stack, node, below_use(use, TRANSFORMED))


def _take(context: Context, base: Any, path: str, use: int, result: form.Expression) -> bool:
    while isinstance(base, exp.Paren):
        base = base.this
    if isinstance(base, exp.Column):
        if isinstance(base.this, exp.Star):
            return False
        result.references.append((context.column(base), use, path))
    else:
        result.taken += ((context.value(base), path, use),)
    return True
