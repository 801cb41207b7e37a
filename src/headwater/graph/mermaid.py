"""Mermaid: text that is safe in a label, and the flowchart of what was traced.

Names come from events and are untrusted: no name can end its label, or add a node or an arrow to the diagram.
"""

import re
from collections.abc import Mapping
from typing import Any

from headwater.graph.tracing import FAN, PictureNode, picture

_LONGEST = 60
# Mermaid reads labels as Markdown, and refuses to draw lists.
_LIST = re.compile(r"^\s*(?:\d+\.|[-+*](?=\s|$))")
_WRONG = {"FAILED", "ABORTED"}


def mermaid_text(text: str) -> str:
    """The text inside a quoted label: all but letters, digits and harmless signs as entities."""
    return "".join(char if char.isalnum() or char in " _-./:,()" else f"#{ord(char)};" for char in text)


def label(text: str) -> str:
    """A whole label: cut where it is long, unprintable characters shown escaped, never read as a list."""
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - 16]}…{text[-15:]}"
    shown = "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text
    )
    safe = mermaid_text(shown)
    if found := _LIST.match(shown):
        mark = found.end() - 1
        # Before the mark are only blanks and digits, which were not changed.
        safe = mermaid_text(shown[:mark]) + f"#{ord(shown[mark])};" + mermaid_text(shown[mark + 1 :])
    return safe or " "


def trace(answer: Mapping[str, Any], fan: int = FAN) -> str:
    """A flowchart of lineage of runs and versions: sources as circles, other items with round ends, runs as boxes; the roots are drawn thick.

    Where more than `fan` + 1 are alike, the rest are one node with their number. A dotted arrow was refused: it would close a loop.
    """
    drawn = picture(answer, fan)
    names = {id_: f"n{number}" for number, id_ in enumerate(drawn.nodes, 1)}
    written = {arrow.child for arrow in drawn.arrows if not arrow.refused}
    lines = ["flowchart LR"]
    lines += [f"  {names[id_]}{_shape(one, id_ in written)}" for id_, one in drawn.nodes.items()]
    for arrow in sorted(drawn.arrows, key=lambda a: (int(names[a.parent][1:]), int(names[a.child][1:]))):
        stroke = "-.->|refused|" if arrow.refused else "-->"
        lines.append(f"  {names[arrow.parent]} {stroke} {names[arrow.child]}")
    for style, look in (("root", "stroke-width:3px"), ("wrong", "stroke:#c62828,stroke-width:2px")):
        of_it = [names[id_] for id_, one in drawn.nodes.items() if _is(one, style)]
        if of_it:
            lines += [f"  classDef {style} {look}", f"  class {','.join(of_it)} {style}"]
    hidden = answer["hidden"]
    if hidden["nodes"]:
        lines.append(f"  %% {hidden['nodes']} more not shown: {hidden['reason']}")
    return "\n".join(lines) + "\n"


def _is(one: PictureNode, style: str) -> bool:
    return one.root if style == "root" else one.node["state"] in _WRONG or bool(one.node.get("against"))


def _shape(one: PictureNode, written: bool) -> str:
    words = [one.label]
    if one.node["type"] == "RUN":
        words += [word for word in (one.node["version"], "forced" if one.node["forced"] else None) if word]
        if one.node["state"] in _WRONG:
            words.append(str(one.node["state"]).lower())
    text = label(" ".join(words)) + (f" ({one.count} more)" if one.count > 1 else "")
    if one.node["type"] == "RUN":
        return f'["{text}"]'
    return f'(["{text}"])' if written else f'(("{text}"))'
