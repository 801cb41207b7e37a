"""Lineage as SVG: every text is escaped, every arrow goes right, and no two nodes overlap."""

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hostile import TEXTS

from headwater.graph import svg

SVG = "{http://www.w3.org/2000/svg}"


def answer(nodes: list[str], edges: list[tuple[int, int]], roots: tuple[int, ...] = (0,)) -> dict[str, Any]:
    ids = [f"dataset:n:{name}:{place}" for place, name in enumerate(nodes)]
    return {
        "roots": [ids[place] for place in roots],
        "root": ids[roots[0]],
        "nodes": [{"id": id_, "type": "DATASET", "label": name, "name": name, "hop": 0} for id_, name in zip(ids, nodes, strict=True)],
        "edges": [{"source": ids[a], "target": ids[b], "claims": [], "parts": [], "refused": False, "relation": "READ"} for a, b in edges],
        "hidden": {"nodes": 0, "reason": None},
        "direction": "both",
        "notes": [],
    }  # fmt: skip


def boxes(drawn: str) -> list[tuple[int, int]]:
    return [(int(one.get("x") or 0), int(one.get("y") or 0)) for one in ET.fromstring(drawn).iter(f"{SVG}rect")]


@pytest.mark.parametrize("text", [*TEXTS, '"><script>alert(1)</script>', "]]>", "&amp;", "\x00\x08\ufffe"])
def test_text_stays_text(text: str) -> None:
    drawn = svg.drawing(answer([text or "x", "b"], [(0, 1)]))
    root = ET.fromstring(drawn)
    assert {one.tag.removeprefix(SVG) for one in root.iter()} <= {"svg", "g", "title", "rect", "text", "path"}
    assert len(boxes(drawn)) == 2


@given(
    st.integers(1, 12).flatmap(
        lambda size: st.tuples(st.just(size), st.sets(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))))
    )
)
def test_every_arrow_goes_right_and_no_two_nodes_overlap(graph: tuple[int, set[tuple[int, int]]]) -> None:
    size, pairs = graph
    edges = sorted((a, b) for a, b in pairs if a < b)
    drawn = svg.drawing(answer([f"t{n}" for n in range(size)], edges), fan=1000)
    places = boxes(drawn)
    assert len(set(places)) == len(places) == size
    for path in re.findall(r'd="M(\d+) \d+C\d+ \d+ \d+ \d+ (\d+) \d+"', drawn):
        assert int(path[0]) < int(path[1])


def test_nothing_is_drawn_of_nothing() -> None:
    empty = answer(["a"], [])
    assert boxes(svg.drawing(empty)) == [(2, 2)]
