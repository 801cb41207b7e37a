"""Collapsing and grouping keep counts; leaving nodes out keeps connections."""

import datetime as dt
from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from headwater.graph.grouping import Flow, ancestors, bridged, collapsed, connected

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
names = st.sampled_from("abcdefg")
flows_of = st.lists(st.tuples(names, names), unique=True, max_size=16).map(lambda pairs: [flow(s, t) for s, t in pairs])


def flow(source: str, target: str, origin: str = "OBSERVED", days: int = 0, count: int = 1, via: int = 0) -> Flow:
    return Flow(source, target, origin, NOW + dt.timedelta(days), NOW + dt.timedelta(10 + days), count, via)


def ends(flows: list[Flow]) -> set[tuple[str, str]]:
    return {(f.source, f.target) for f in flows}


def reach(flows: list[Flow]) -> set[tuple[str, str]]:
    """Every pair that a way connects, slowly."""
    found = ends(flows)
    while True:
        more = {(a, d) for a, b in found for c, d in found if b == c} - found
        if not more:
            return found
        found |= more


@given(flows_of, st.dictionaries(names, st.sampled_from("xyz")))
def test_counts_are_kept(flows: list[Flow], groups: dict[str, str]) -> None:
    found, inside = collapsed(flows, groups)
    assert sum(f.count for f in found) + sum(inside.values()) == len(flows)
    assert len(ends(found)) == len(found)
    again, more = collapsed(found, {})
    assert (again, more) == (found, {})


@given(flows_of)
def test_collapse_of_nothing_is_identity(flows: list[Flow]) -> None:
    found, inside = collapsed(flows, {})
    assert found == sorted(flows, key=lambda f: (f.source, f.target))
    assert inside == {}


def test_several_edges_drawn_as_one() -> None:
    found, inside = collapsed(
        [flow("a", "x", "DECLARED", 1, via=2), flow("b", "x", "OBSERVED", 3), flow("a", "b", count=4), flow("x", "x")],
        {"a": "p", "b": "p"},
    )
    assert found == [
        Flow("p", "x", "OBSERVED", NOW + dt.timedelta(1), NOW + dt.timedelta(13), 2, 0),
        flow("x", "x"),
    ]
    assert inside == {"p": 4}


@given(flows_of, st.sets(names))
def test_leaving_out_never_breaks_a_connection_and_makes_none(flows: list[Flow], kept: set[str]) -> None:
    found, cut = bridged(flows, kept)
    assert not cut
    assert all(f.source in kept and f.target in kept for f in found)
    before = {(a, b) for a, b in reach(flows) if a in kept and b in kept and a != b}
    assert {(a, b) for a, b in reach(found) if a != b} == before
    direct = ends(flows)
    assert all((f.via == 0) == ((f.source, f.target) in direct) for f in found)


@given(flows_of)
def test_leaving_nothing_out_changes_nothing(flows: list[Flow]) -> None:
    assert bridged(flows, "abcdefg")[0] == sorted(flows, key=lambda f: (f.source, f.target))


def test_a_bridge_says_what_it_leads_through() -> None:
    (found,), _ = bridged([flow("a", "b", "DECLARED", 1), flow("b", "c", days=5), flow("c", "d", days=3)], "ad")
    assert found == Flow("a", "d", "DECLARED", NOW + dt.timedelta(5), NOW + dt.timedelta(11), 1, 2)


def test_a_job_that_says_what_feeds_what_is_passed_only_so() -> None:
    flows = [flow("i1", "j"), flow("i2", "j"), flow("j", "o1"), flow("j", "o2")]
    found, _ = bridged(flows, ["i1", "i2", "o1", "o2"], {"j": [("i1", "o1"), ("i2", "o2")]})
    assert ends(found) == {("i1", "o1"), ("i2", "o2")}
    assert len(bridged(flows, ["i1", "i2", "o1", "o2"])[0]) == 4


def test_what_a_job_lets_pass_depends_on_where_one_comes_from() -> None:
    flows = [flow("i", "x"), flow("i", "y"), flow("x", "j"), flow("y", "j"), flow("j", "o1"), flow("j", "o2")]
    found, _ = bridged(flows, ["i", "o1", "o2"], {"j": [("x", "o1"), ("y", "o2")]})
    assert ends(found) == {("i", "o1"), ("i", "o2")}


def test_too_many_is_said() -> None:
    flows = [flow(f"i{n}", "hub") for n in range(30)] + [flow("hub", f"o{n}") for n in range(30)]
    kept = [f.source for f in flows[:30]] + [f.target for f in flows[30:]]
    found, cut = bridged(flows, kept, most=100)
    assert cut
    assert len(found) == 100
    assert bridged(flows, kept, most=900) == (bridged(flows, kept)[0], False)


def test_connected_is_up_or_down_and_never_up_and_down() -> None:
    flows = [flow("a", "b"), flow("b", "c"), flow("a", "sibling")]
    assert connected(flows, ["b"], ["upstream"]) == {"a", "b"}
    assert connected(flows, ["b"], ["upstream", "downstream"]) == {"a", "b", "c"}


@given(st.dictionaries(names, names))
def test_who_stands_for_whom(parents: dict[str, str]) -> None:
    """A job that stands for others stands for itself: one step leads to the end, whatever the circles."""
    for level in ("parent", "root"):
        found = ancestors(parents, level)
        assert all(found.get(top, top) == top for top in found.values())
        assert all(job != top for job, top in found.items())
    tops = ancestors(parents, "root")
    families = defaultdict(set)
    for job, parent in parents.items():
        families[tops.get(job, job)].add(tops.get(parent, parent))
    assert all(family == {top} for top, family in families.items())


def test_levels() -> None:
    parents = {"leaf": "middle", "middle": "top", "other": "top"}
    assert ancestors(parents, "parent") == {"leaf": "middle", "other": "top"}
    assert ancestors(parents, "root") == {"leaf": "top", "middle": "top", "other": "top"}
    assert ancestors({"b": "a", "a": "b", "x": "b"}, "root") == {"b": "a", "x": "a"}
