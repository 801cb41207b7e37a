"""ClickHouse's functions that look a value up in a dictionary or a table kept for joins: that object is read, and its attribute is the value."""

from typing import Any

from sqlglot import exp

from headwater.columns import form
from headwater.columns.kinds import AS_IS
from headwater.columns.lowering.context import Context

_VALUES = ("dictget", "joinget")
_OBJECTS = frozenset({"dicthas", "dictgethierarchy", "dictisin", "dictgetchildren", "dictgetdescendants"})


def looked_up(context: Context, name: str, arguments: list[Any]) -> tuple[form.Query, list[Any]] | None:
    """The query that the call stands for, and the arguments that choose its row; None when it looks nothing up."""
    if context.rule.parser != "clickhouse" or not (name.startswith(_VALUES) or name in _OBJECTS) or len(arguments) < 2:
        return None
    table = _object(context, arguments[0])
    if not table:
        context.warn(f"what {name} looks up is known only when it runs")
        return None
    source = [form.Item(form.TableSource(table), table[-1])]
    if name in _OBJECTS:
        return form.Select([form.Projection("", form.Expression())], source), arguments[1:]
    listed = arguments[1].expressions if isinstance(arguments[1], exp.Tuple) else [arguments[1]]
    columns = [one.name for one in listed if isinstance(one, exp.Literal) and one.is_string]
    if len(columns) != len(listed):
        context.warn(f"what {name} looks up is known only when it runs")
    projections = [form.Projection(column, form.Expression([((table[-1], column), AS_IS, "")])) for column in columns]
    return form.Select(projections, source), arguments[2:]


def _object(context: Context, node: Any) -> form.Parts:
    if isinstance(node, exp.Literal) and node.is_string:
        return tuple(node.name.split("."))
    return context.column(node) if isinstance(node, exp.Column) else ()
