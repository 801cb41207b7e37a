"""SVG: lineage as a drawing that a notebook shows, without a script. Names are untrusted: every text is escaped, and drawn short with its whole name
as the title that a pointer shows.

Colours follow the page that the drawing is in (`currentColor`), so it can be read on a light and on a dark one.
"""

from collections.abc import Mapping
from html import escape
from typing import Any

from headwater.graph.mermaid import WRONG, caption
from headwater.graph.tracing import FAN, Picture, PictureNode, picture

_WIDTH, _HEIGHT, _ACROSS, _DOWN = 190, 34, 60, 14
_LONGEST = 26


def drawing(answer: Mapping[str, Any], fan: int = FAN) -> str:
    """Draw lineage of any zoom from left to right: datasets with round ends, jobs and runs as boxes, the roots thick, declared edges dashed.

    A node's column is the longest way to it, so that every arrow goes right.
    """
    drawn = picture(answer, fan)
    places = _places(drawn)
    width = max((x for x, _ in places.values()), default=0) + _WIDTH + 4
    height = max((y for _, y in places.values()), default=0) + _HEIGHT + 4
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="lineage" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'style="max-width:100%;font:12px system-ui,sans-serif" fill="none" stroke="currentColor">'
    ]
    for arrow in drawn.arrows:
        (x, y), (to_x, to_y) = places[arrow.parent], places[arrow.child]
        begin, end, middle = x + _WIDTH, to_x, (x + _WIDTH + to_x) // 2
        dashed = ' stroke-dasharray="4 3"' if arrow.declared or arrow.refused else ""
        y, to_y = y + _HEIGHT // 2, to_y + _HEIGHT // 2
        lines.append(
            f'<path d="M{begin} {y}C{middle} {y} {middle} {to_y} {end - 5} {to_y}" opacity=".55"{dashed}/>'
            f'<path d="M{end - 6} {to_y - 4}l6 4l-6 4" opacity=".55"/>'
        )
    lines += [_node(one, *places[id_]) for id_, one in drawn.nodes.items()]
    return "".join([*lines, "</svg>"])


def _places(drawn: Picture) -> dict[str, tuple[int, int]]:
    """Return the left upper corner of each node. Nodes are in the order of the flow, so one pass finds the longest ways."""
    column = dict.fromkeys(drawn.nodes, 0)
    above: dict[str, list[str]] = {}
    for arrow in drawn.arrows:
        if not arrow.refused:
            above.setdefault(arrow.child, []).append(arrow.parent)
    for id_ in drawn.nodes:
        column[id_] = max((column[parent] + 1 for parent in above.get(id_, ())), default=0)
    filled: dict[int, int] = {}
    places = {}
    for id_ in drawn.nodes:
        row = filled[column[id_]] = filled.get(column[id_], -1) + 1
        places[id_] = (2 + column[id_] * (_WIDTH + _ACROSS), 2 + row * (_HEIGHT + _DOWN))
    return places


def _node(one: PictureNode, x: int, y: int) -> str:
    words = caption(one) + (f" ({one.count} more)" if one.count > 1 else "")
    shown = words if len(words) <= _LONGEST else f"…{words[1 - _LONGEST :]}"
    radius = 17 if one.node["type"] in {"DATASET", "VERSION", "INSTANCES"} else 3
    wrong = one.state in WRONG or bool(one.node.get("against"))
    stroke = ' stroke="#c62828"' if wrong else ""
    return (
        f"<g><title>{escape(_printable(str(one.node.get('id', words))))}</title>"
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="{radius}" stroke-width="{3 if one.root else 1}"{stroke}/>'
        f'<text x="{x + _WIDTH // 2}" y="{y + 21}" text-anchor="middle" fill="currentColor" stroke="none">{escape(_printable(shown))}</text></g>'
    )


def _printable(text: str) -> str:
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text
    )
