"""One shortest way to each end, against the edges it may use."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from headwater.graph.ways import shortest_ways

names = st.sampled_from("abcdef")
edges = st.sets(st.tuples(names, names), max_size=14)


def distance(some: set[tuple[str, str]], start: str, end: str) -> int | None:
    reached, steps = {start}, 0
    while end not in reached:
        further = reached | {target for source, target in some if source in reached}
        if further == reached:
            return None
        reached, steps = further, steps + 1
    return steps


@given(edges, st.sets(names, min_size=1), st.lists(names, unique=True))
def test_each_way_is_a_shortest_one_from_some_start(
    some: set[tuple[str, str]], starts: set[str], ends: list[str]
) -> None:
    ways = shortest_ways(some, starts, ends)
    for end in ends:
        lengths = [length for start in starts if (length := distance(some, start, end)) is not None]
        assert (end in ways) == bool(lengths)
        if end in ways:
            way = ways[end]
            assert way[0] in starts
            assert way[-1] == end
            assert len(way) - 1 == min(lengths)
            assert set(itertools.pairwise(way)) <= some


def test_of_equal_ways_the_one_that_sorts_first() -> None:
    assert shortest_ways([("a", "z"), ("a", "b"), ("z", "e"), ("b", "e")], ["a"], ["e", "q"]) == {"e": ["a", "b", "e"]}
