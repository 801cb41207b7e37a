"""The reading of each class of the parser's tree, and of each of its arguments: grammar.txt, as lowering looks it up.

The level of a statement rests on this table: a class or an argument that it does not list, or marks with `?`, lowers the level where it occurs.
"""

import pkgutil
from typing import Any

from sqlglot import exp

from headwater.columns.kinds import AGGREGATED, AS_IS, MASKING_USE, TRANSFORMED

NOTHING = -1
"""The step of a class in which no column is."""
_STEPS = {
    "value": TRANSFORMED,
    "aggregate": AGGREGATED,
    "masking": TRANSFORMED | MASKING_USE,
    "same": AS_IS,
    "nothing": NOTHING,
    "silent": NOTHING,
}


def table() -> dict[str, list[str]]:
    """Class to its verdict and its arguments, as the file lists them."""
    data = pkgutil.get_data(__package__, "grammar.txt") or b""
    lines = (line.split() for line in data.decode("utf-8").splitlines() if line[:1] not in {"#", ""})
    return {name: rest for name, *rest in lines if name != "reason"}


VERDICTS: dict[type, str] = {}
STEPS: dict[type, int] = {}
"""The use an expression makes of what is below it, for classes in which all arguments share one."""
UNREAD: dict[type, frozenset[str]] = {}
"""Arguments that lower the level when they are given; empty for a listed class that has none."""
for _name, (_verdict, *_arguments) in table().items():
    _class: Any = getattr(exp, _name, None)
    if _class is not None:
        VERDICTS[_class] = _verdict
        if _verdict in _STEPS or _verdict[0] == "-":
            STEPS[_class] = _STEPS.get(_verdict, NOTHING)
        UNREAD[_class] = frozenset(one[1:] for one in _arguments if one[0] == "?")


def irrelevant(node: Any) -> bool:
    """Return whether the table marks everything in `node` as irrelevant to columns."""
    return VERDICTS.get(type(node), "?")[0] == "-"


def unread_arguments(node: Any) -> list[str]:
    """The arguments of `node` that are given and not understood."""
    names = UNREAD.get(type(node))
    if names is None:
        return ["this"]
    args = node.args
    return [] if names.isdisjoint(args) else [name for name in args if name in names and args[name]]
