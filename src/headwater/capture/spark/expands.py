"""Read what makes the columns of an Expand (grouping sets, ROLLUP, CUBE) from its text: Spark leaves it out of the plan's JSON."""

import re
from typing import Any

_ID = re.compile(r"#(\d+)")
_BARE = re.compile(r"^\w+#\d+L?$")
_SEPARATOR = "\x01"


def nodes(jplan: Any) -> list[Any]:
    """Return the Expand nodes of a JVM plan in preorder."""
    found: list[Any] = []
    waiting = [jplan]
    while waiting and len(found) < 50:
        node = waiting.pop()
        if str(node.nodeName()) == "Expand":
            found.append(node)
        children = node.children()
        waiting.extend(children.apply(i) for i in reversed(range(children.size())))
    return found


def sources(expand: Any) -> list[list[tuple[int, bool]]] | None:
    """Return the ExprIds of each output column of an Expand and whether they are bare; None if its text cannot be read."""
    rows = [split_row(line) for line in str(expand.projections().mkString(_SEPARATOR)).split(_SEPARATOR)]
    if not rows or len({len(row) for row in rows}) != 1:
        return None
    return [
        sorted({(int(i), _BARE.match(cell) is not None) for cell in column for i in _ID.findall(cell)})
        for column in zip(*rows, strict=True)
    ]


def split_row(text: str) -> list[str]:
    """Split `List(a#1, f(b#2, 1), null)` into cells. A literal with a lone parenthesis or a comma breaks it; the wrong count shows that."""
    inner = text[text.find("(") + 1 : text.rfind(")")]
    cells, depth, start = [], 0, 0
    for i, char in enumerate(inner):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            cells.append(inner[start:i].strip())
            start = i + 1
    return [*cells, inner[start:].strip()]
