"""Steps of the walk down an expression: what is below a node, and how it is used there."""

from collections.abc import Callable, Iterator
from typing import Any

from sqlglot import exp

from headwater.columns import form
from headwater.columns.kinds import MASKING_USE
from headwater.columns.lowering.context import Context

Stack = list[tuple[Any, int]]
Handler = Callable[[Context, Any, int, Stack, form.Expression], None]
Node = exp.Expr
_LOW = MASKING_USE - 1


def below_use(use: int, step: int) -> int:
    """The use of what stands below a step, when the step itself is used so."""
    low = use & _LOW
    return (use & MASKING_USE) | (low if low >= 8 else step if step >= 8 else max(low, step))


def children(node: Any) -> Iterator[Any]:
    for child in node.args.values():
        if type(child) is list:
            yield from (one for one in child if isinstance(one, Node))
        elif isinstance(child, Node):
            yield child


def push(stack: Stack, found: Any, use: int) -> None:
    if type(found) is list:
        stack.extend((one, use) for one in found if isinstance(one, Node))
    elif isinstance(found, Node):
        stack.append((found, use))
