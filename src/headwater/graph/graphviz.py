"""Graphviz: text that is safe in quotes, and lineage as a digraph. Names are untrusted and never cut."""

from collections.abc import Mapping
from typing import Any

from headwater.graph.mermaid import WRONG, caption
from headwater.graph.tracing import FAN, picture


def quoted(text: str) -> str:
    """Return the text in quotes, unprintable characters escaped."""
    shown = "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text
    )
    return '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'


def digraph(answer: Mapping[str, Any], fan: int = FAN) -> str:
    """Draw lineage of any zoom: datasets as cylinders, runs and jobs as boxes, versions as ellipses; what is declared only, or refused, is dotted."""
    drawn = picture(answer, fan)
    lines = ["digraph lineage {", "  rankdir=LR;"]
    shapes = {"DATASET": "cylinder", "VERSION": "ellipse", "INSTANCES": "ellipse"}
    for id_, one in drawn.nodes.items():
        text = caption(one) + (f" ({one.count} more)" if one.count > 1 else "")
        look = " penwidth=3" * one.root + " color=red" * (one.state in WRONG or bool(one.node.get("against")))
        lines.append(f"  {quoted(id_)} [label={quoted(text)} shape={shapes.get(one.node['type'], 'box')}{look}];")
    for arrow in drawn.arrows:
        text = "refused" if arrow.refused else arrow.text
        looks = [f"label={quoted(text)}"] * bool(text) + ["style=dotted"] * (arrow.declared or arrow.refused)
        lines.append(f"  {quoted(arrow.parent)} -> {quoted(arrow.child)} [{' '.join(looks)}];")
    return "\n".join([*lines, "}"])
