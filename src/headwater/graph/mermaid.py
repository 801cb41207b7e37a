"""Mermaid: text that is safe in a label, and the flowchart of lineage.

Names come from events and are untrusted: no name can end its label, or add a node or an arrow to the diagram.
"""

import re
from collections.abc import Mapping
from typing import Any

from headwater.graph.tracing import FAN, PictureNode, picture

_LONGEST = 60
# Mermaid reads labels as Markdown, and refuses to draw lists.
_LIST = re.compile(r"^\s*(?:\d+\.|[-+*](?=\s|$))")
WRONG = {"FAILED", "ABORTED"}


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


def flowchart(answer: Mapping[str, Any], fan: int = FAN) -> str:
    """Draw lineage of any zoom: datasets as cylinders, sources of items as circles, other items with round ends, all else as boxes; the roots thick.

    Where more than `fan` + 1 runs or versions are alike, the rest are one node with their number. A dotted arrow is declared only, or was refused, as
    it would close a loop.
    """
    drawn = picture(answer, fan)
    names = {id_: f"n{number}" for number, id_ in enumerate(drawn.nodes, 1)}
    written = {arrow.child for arrow in drawn.arrows if not arrow.refused}
    lines = ["flowchart LR"]
    lines += [f"  {names[id_]}{_shape(one, id_ in written)}" for id_, one in drawn.nodes.items()]
    for arrow in sorted(drawn.arrows, key=lambda a: (int(names[a.parent][1:]), int(names[a.child][1:]))):
        stroke = "-.->" if arrow.refused or arrow.declared else "-->"
        text = "|refused|" if arrow.refused else f'|"{mermaid_text(arrow.text)}"|' if arrow.text else ""
        lines.append(f"  {names[arrow.parent]} {stroke}{text} {names[arrow.child]}")
    for style, look in (("root", "stroke-width:3px"), ("wrong", "stroke:#c62828,stroke-width:2px")):
        of_it = [names[id_] for id_, one in drawn.nodes.items() if _is(one, style)]
        if of_it:
            lines += [f"  classDef {style} {look}", f"  class {','.join(of_it)} {style}"]
    hidden = answer["hidden"]
    if hidden["nodes"]:
        lines.append(f"  %% {hidden['nodes']} more not shown: {hidden['reason']}")
    return "\n".join(lines)


def _is(one: PictureNode, style: str) -> bool:
    return one.root if style == "root" else one.state in WRONG or bool(one.node.get("against"))


def caption(one: PictureNode) -> str:
    """Return the words in a node: its label, of a run also the version of its code and how it ended."""
    words = [one.label]
    if one.node["type"] == "RUN":
        words += [word for word in (one.node["version"], "forced" if one.node["forced"] else None) if word]
        if one.state in WRONG:
            words.append(str(one.state).lower())
    return " ".join(words)


def _shape(one: PictureNode, written: bool) -> str:
    text = label(caption(one)) + (f" ({one.count} more)" if one.count > 1 else "")
    if one.node["type"] == "DATASET":
        return f'[("{text}")]'
    if one.node["type"] in {"VERSION", "INSTANCES"}:
        return f'(["{text}"])' if written else f'(("{text}"))'
    return f'["{text}"]'
