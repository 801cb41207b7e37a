"""Spark's windows of time: `window.start` of what GROUP BY makes, and the rows without a time, which are left out."""

from typing import Any

from sqlglot import exp

from headwater.columns.dialect import HIVES
from headwater.columns.lowering.context import Context

NAMES = frozenset({"window", "session_window"})


def spelled_out(context: Context, node: Any) -> Any:
    """Return a SELECT with the window that GROUP BY makes of a time in the place of its name."""
    group = node.args.get("group")
    if group is None or context.rule.parser not in HIVES:
        return node
    grouped = {
        str(one.this).lower(): one
        for one in group.expressions
        if type(one) is exp.Anonymous and str(one.this).lower() in NAMES
    }
    if not grouped:
        return node
    node = node.copy()
    for column in list(node.find_all(exp.Column)):
        _spell(column, grouped)
    return node


def times_of(call: Any) -> list[Any]:
    """Return what decides whether a row is in a window: its time, and the gap that ends a session."""
    return list(call.expressions[: 1 if str(call.this).lower() == "window" else 2])


def _spell(column: Any, grouped: dict[str, Any]) -> None:
    """Put a window in the place of `window`, `window.start` and `window.end`."""
    parts = [part.name for part in column.parts]
    call = grouped.get(parts[0].lower())
    if call is None or not (len(parts) == 1 or (len(parts) == 2 and parts[1].lower() in {"start", "end"})):
        return
    is_output = isinstance(column.parent, exp.Select)
    column.replace(exp.alias_(call.copy(), parts[-1], quoted=True) if is_output else call.copy())
