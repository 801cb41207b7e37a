"""The drawing of a correlation answer: content as its item, many that are alike as one, and text that stays text."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hostile import TEXTS

from headwater.graph import mermaid
from headwater.graph.tracing import Arrow, as_lineage, picture


def node(id_: str, kind: str, depth: int, **more: Any) -> dict[str, Any]:
    empty = dict.fromkeys(
        ("process", "job", "run_id", "version", "state", "event_time", "started_at", "ended_at", "duration_ms", "dataset", "fingerprint", "bytes")
    )  # fmt: skip
    lists: dict[str, Any] = {"overrides": [], "skipped": [], "claimed_by": [], "details": {}}
    return {"id": id_, "kind": kind, "depth": depth, "forced": False, "collided": False, **empty, **lists, **more}


def run(id_: str, depth: int, process: str = "step", **more: Any) -> dict[str, Any]:
    return node(id_, "RUN", depth, **{"process": process, "job": f"job:n:{process}", "state": "COMPLETED"} | more)


def item(id_: str, depth: int, name: str | None = None, **more: Any) -> dict[str, Any]:
    return node(id_, "ITEM", depth, dataset=f"dataset:file:/x/{name or id_}", **more)


def content(id_: str, depth: int, name: str | None = None) -> dict[str, Any]:
    return node(id_, "CONTENT", depth, dataset=f"dataset:file:/x/{name or id_}", fingerprint="xxh3-128:" + "0" * 32)


def answer(roots: list[str], nodes: list[dict[str, Any]], *edges: str, refused: tuple[str, ...] = ()) -> dict[str, Any]:
    """Edges are written `a>b`."""
    told = [(edge, False) for edge in edges] + [(edge, True) for edge in refused]
    edges = [{"parent": e.split(">")[0], "child": e.split(">")[1], "refused": r} for e, r in told]
    hidden = {"count": 0, "reason": None}
    return as_lineage({"roots": roots, "nodes": nodes, "edges": edges, "hidden": hidden, "direction": "both"})


def arrows(drawn: Any) -> set[str]:
    names = {id_: one.label + (f"*{one.count}" if one.count > 1 else "") for id_, one in drawn.nodes.items()}
    return {f"{names[a.parent]}>{names[a.child]}" for a in drawn.arrows}


def test_content_of_one_item_is_drawn_as_the_item() -> None:
    drawn = picture(answer(["i"], [run("w", -1), item("i", 0), content("c", 0, "i"), run("r", 1)], "w>i", "i>c", "c>r"))
    assert set(drawn.nodes) == {"w", "i", "r"}
    assert {(a.parent, a.child) for a in drawn.arrows} == {("w", "i"), ("i", "r")}
    assert drawn.nodes["i"].content is not None
    assert drawn.nodes["i"].content["id"] == "c"


def test_a_root_that_is_drawn_as_its_item_stays_the_root() -> None:
    drawn = picture(answer(["c"], [item("i", 0), content("c", 0)], "i>c"))
    assert drawn.roots == ["i"]


@pytest.mark.parametrize(
    ("nodes", "edges"),
    [
        ([item("i", 0), item("j", 0), content("c", 0)], ["i>c", "j>c"]),
        ([item("i", 0), content("c", 0), content("d", 0)], ["i>c", "i>d"]),
        ([item("i", 0), run("w", -1), content("c", 0)], ["i>c", "w>c"]),
        ([run("w", -1), content("c", 0)], ["w>c"]),
    ],
)
def test_content_that_says_more_is_drawn(nodes: list[dict[str, Any]], edges: list[str]) -> None:
    drawn = picture(answer([nodes[0]["id"]], nodes, *edges))
    assert set(drawn.nodes) == {one["id"] for one in nodes}
    assert len(drawn.arrows) == len(edges)


def split(count: int) -> dict[str, Any]:
    """A run that wrote so many series, each read by a load of its own."""
    made = [run("s", 0, "split")]
    edges = []
    for n in range(1, count + 1):
        made += [item(f"i{n}", 1, f"TS{n}"), run(f"r{n}", 2, "load"), item(f"o{n}", 3, f"table{n}")]
        edges += [f"s>i{n}", f"i{n}>r{n}", f"r{n}>o{n}"]
    return answer(["s"], made, *edges)


def test_many_that_are_alike_are_a_few_and_one_for_the_rest() -> None:
    drawn = picture(split(1000))
    assert [one.label for one in drawn.nodes.values() if one.node["kind"] == "ITEM" and one.node["depth"] == 1] == [
        "TS1", "TS2", "TS3", "TS4", "TS..",
    ]  # fmt: skip
    assert {one.count for one in drawn.nodes.values()} == {1, 996}
    # The loads that are drawn are those of the series that are.
    assert arrows(drawn) == {
        *(f"split>TS{n}" for n in range(1, 5)), *(f"TS{n}>load" for n in range(1, 5)), *(f"load>table{n}" for n in range(1, 5)),
        "split>TS..*996", "TS..*996>load*996", "load*996>table..*996",
    }  # fmt: skip
    assert len(drawn.nodes) == 16
    assert len(drawn.arrows) == 15


def test_five_are_not_folded_to_hide_one() -> None:
    assert len(picture(split(5)).nodes) == 16
    assert len(picture(split(5), fan=5).nodes) == 16
    assert len(picture(split(6)).nodes) == 16
    assert len(picture(split(6), fan=6).nodes) == 19


def test_what_differs_stands_by_itself() -> None:
    told = split(100)
    for one in told["nodes"]:
        if one["id"] == "r57":
            one["state"] = "FAILED"
        if one["id"] == "r58":
            one["forced"] = True
    told["edges"] = [edge for edge in told["edges"] if edge["source"] != "i59"]
    drawn = picture(told)
    assert {"i57", "r57", "i58", "r58", "i59"} <= set(drawn.nodes)
    assert sum(one.count for one in drawn.nodes.values()) == 301


def test_names_of_two_kinds_are_folded_apart_unless_there_are_too_many() -> None:
    words = [f"{a}{b}" for a in "abcdefghijkl" for b in "mnopqrstuvwx"]
    two = [item(f"a{n}", 1, f"A{n}") for n in range(50)] + [item(f"b{n}", 1, f"B{n}") for n in range(50)]
    drawn = picture(answer(["s"], [run("s", 0), *two], *(f"s>{one['id']}" for one in two)))
    assert {one.label for one in drawn.nodes.values() if one.count > 1} == {"A..", "B.."}
    many = [item(f"i{n}", 1, word) for n, word in enumerate(words)]
    drawn = picture(answer(["s"], [run("s", 0), *many], *(f"s>{one['id']}" for one in many)))
    assert [(one.label, one.count) for one in drawn.nodes.values() if one.count > 1] == [("..", 140)]


def test_a_loop_is_drawn_and_not_followed() -> None:
    drawn = picture(answer(["a"], [item("a", 0), run("b", 1)], "a>b", refused=("b>a",)))
    assert drawn.arrows == [Arrow("a", "b"), Arrow("b", "a", True)]


def test_even_a_loop_nobody_refused_ends() -> None:
    assert len(picture(answer(["a"], [item("a", 0), run("b", 1)], "a>b", "b>a")).nodes) == 2


def test_a_chain_of_thousands() -> None:
    nodes = [run(f"r{n}", n, "daily") for n in range(20_000)]
    drawn = picture(answer(["r0"], nodes, *(f"r{n}>r{n + 1}" for n in range(19_999))))
    assert sum(one.count for one in drawn.nodes.values()) == 20_000


@given(st.data())
def test_nothing_is_lost_and_nothing_is_invented(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 25))
    nodes = [
        (run if data.draw(st.booleans()) else item if data.draw(st.booleans()) else content)(
            f"n{n}", n, data.draw(st.sampled_from(["x", "y1", "y2"]))
        )
        for n in range(count)
    ]
    edges = {
        f"n{a}>n{b}"
        for a, b in data.draw(st.sets(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=60))
        if a < b
    }
    told = answer(["n0"], nodes, *edges)
    drawn = picture(told, data.draw(st.integers(1, 3)))
    stands = {member: id_ for id_, one in drawn.nodes.items() for member in (one.members or [id_])}
    stands |= {one.content["id"]: id_ for id_, one in drawn.nodes.items() if one.content}
    missing = {one["id"] for one in nodes} - set(stands)
    # Only content may be drawn into a node that stands for several, and then it is that one's.
    for id_ in missing:
        assert next(one for one in nodes if one["id"] == id_)["kind"] == "CONTENT"
    made = {(a.parent, a.child) for a in drawn.arrows}
    told_pairs = {tuple(edge.split(">")) for edge in edges}
    for parent, child in told_pairs:
        if parent in stands and child in stands and stands[parent] != stands[child]:
            assert (stands[parent], stands[child]) in made
    if not missing:
        drawn_pairs = {(stands[a], stands[b]) for a, b in told_pairs}
        assert made <= drawn_pairs


@pytest.mark.parametrize(
    "text",
    [*TEXTS, "1. first", "- x", "* y", '"] --> x', "`bold`", "end", "<script>", "#quot;", "#39;", "%% x", "a\nb"],
)
def test_a_label_is_a_label(text: str) -> None:
    """One line, inside its quotes: nothing of the name can end the label, open another, or be read as Markdown's list."""
    told = mermaid.flowchart(answer(["r"], [item("i", -1, text.replace("/", "|")), run("r", 0, text)], "i>r"))
    lines = told.splitlines()
    assert lines[0] == "flowchart LR"
    assert re.fullmatch(r'  n1\(\("[^"<>`\\\[\]{}|]*"\)\)', lines[1]), lines[1]
    assert re.fullmatch(r'  n2\["[^"<>`\\\[\]{}|]*"\]', lines[2]), lines[2]
    assert lines[3:] == ["  n1 --> n2", "  classDef root stroke-width:3px", "  class n2 root"]
    inside = lines[2][6:-2]
    # The label is the name, unless that cannot be printed or is too long.
    if text.isprintable() and len(text) <= 60:
        assert re.sub(r"#(\d+);", lambda found: chr(int(found[1])), inside) == (text or "r")
    assert re.fullmatch(r"(?:[^#]|#\d+;)*", inside)
    assert inside.isprintable()
    assert len(re.sub(r"#\d+;", "x", inside)) <= 60 * 10
    assert not re.match(r"\s*(\d+\.|[-+*](\s|$))", inside)


def test_shapes() -> None:
    drawn = mermaid.flowchart(
        answer(
            ["i"],
            [
                item("src", -2, "DSO Timeseries"), run("d", -1, "Download", version="1.4.0"), item("i", 0, "file.csv"),
                run("f", 1, "Load", state="FAILED", forced=True),
            ],
            "src>d", "d>i", "i>f", refused=("f>src",),
        )
    )  # fmt: skip
    assert drawn.splitlines() == [
        "flowchart LR",
        '  n1(("DSO Timeseries"))',
        '  n2["Download 1.4.0"]',
        '  n3(["file.csv"])',
        '  n4["Load forced failed"]',
        "  n1 --> n2",
        "  n2 --> n3",
        "  n3 --> n4",
        "  n4 -.->|refused| n1",
        "  classDef root stroke-width:3px",
        "  class n3 root",
        "  classDef wrong stroke:#c62828,stroke-width:2px",
        "  class n4 wrong",
    ]
    wide = mermaid.flowchart(split(50))
    assert '(["TS.. (46 more)"])' in wide
    assert '["load (46 more)"]' in wide
