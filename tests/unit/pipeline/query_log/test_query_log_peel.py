"""The nodes that may be removed from a graph, and their order: against a plain account of the rule, on graphs drawn at random."""

from hypothesis import given
from hypothesis import strategies as st

from headwater.pipeline.query_log.peel import peeled


def told(
    nodes: str, edges: str, used: str = "", sure: dict[str, float] | None = None
) -> dict[str, tuple[int, bool, float]]:
    """Peel a graph in letters: `a>b` says that a feeds b."""
    place = {name: number for number, name in enumerate(nodes)}
    pairs = [(place[one[0]], place[one[2]]) for one in edges.split()]
    found = peeled(
        [name in used for name in nodes],
        [(sure or {}).get(name, 1.0) for name in nodes],
        [source for source, _ in pairs],
        [target for _, target in pairs],
    )
    return {nodes[one.node]: (one.wave, one.looped, one.confidence) for one in found}


def test_consumers_go_first() -> None:
    assert {name: wave for name, (wave, _, _) in told("abcd", "a>b b>c a>d").items()} == {
        "c": 1,
        "d": 1,
        "b": 2,
        "a": 3,
    }


def test_what_feeds_something_used_stays() -> None:
    assert told("abcd", "a>b b>c b>d", used="c") == {"d": (1, False, 1.0)}


def test_loops_go_together_with_what_lies_between_them() -> None:
    found = told("abcdefg", "g>a a>b b>a b>c c>d d>e e>d e>f")
    assert {name: found[name][:2] for name in found} == {
        "f": (1, False), "a": (2, True), "b": (2, True), "c": (2, True), "d": (2, True), "e": (2, True), "g": (3, False),
    }  # fmt: skip


def test_nothing_is_surer_than_what_goes_before_it() -> None:
    found = told("abc", "a>b b>c", sure={"c": 0.4, "b": 0.9})
    assert {name: sure for name, (_, _, sure) in found.items()} == {"c": 0.4, "b": 0.4, "a": 0.4}


def test_edges_told_twice_and_to_oneself_change_nothing() -> None:
    assert told("ab", "a>b a>b b>b") == told("ab", "a>b")


def test_a_long_chain_is_no_deep_recursion() -> None:
    length = 50_000
    found = peeled([False] * length, [1.0] * length, list(range(length - 1)), list(range(1, length)))
    assert [one.wave for one in sorted(found)] == list(range(length, 0, -1))


@given(
    st.integers(1, 12).flatmap(
        lambda size: st.tuples(
            st.lists(st.booleans(), min_size=size, max_size=size),
            st.sets(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=30),
        )
    )
)
def test_the_order_is_safe(drawn: tuple[list[bool], set[tuple[int, int]]]) -> None:
    used, pairs = drawn
    nodes = range(len(used))
    reach = {(one, other) for one, other in pairs if one != other}
    for middle in nodes:
        reach |= {(a, b) for a in nodes for b in nodes if (a, middle) in reach and (middle, b) in reach}
    found = {one.node: one for one in peeled(used, [1.0] * len(used), [a for a, _ in pairs], [b for _, b in pairs])}
    alive = {node for node in nodes if used[node] or any((node, other) in reach and used[other] for other in nodes)}
    assert set(found) == set(nodes) - alive
    for source, target in pairs:
        if source != target and source in found:
            before, after = found[target], found[source]
            assert before.wave < after.wave or (before.looped and after.looped and before.wave == after.wave)
    for node, one in found.items():
        assert one.looped or (node, node) not in reach
