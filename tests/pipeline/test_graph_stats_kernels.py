"""Loops, levels, chains and reach of any small graph are what plain loops over its edges say."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.pipeline.graph_stats import condense, reach

EDGES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=40)


def reached(edges: list[tuple[int, int]]) -> dict[int, set[int]]:
    """Return all nodes that each node leads to, itself too."""
    after: dict[int, set[int]] = {node: {node} for edge in edges for node in edge}
    for source, target in edges:
        after[source].add(target)
    for middle, first in itertools.product(after, after):
        if middle in after[first]:
            after[first] |= after[middle]
    return after


def made(edges: list[tuple[int, int]]) -> condense.Condensed:
    ends = np.array(edges, np.int64).reshape(-1, 2)
    return condense.condensed(ends[:, 0], ends[:, 1])


def depth_of(edges: list[tuple[int, int]]) -> dict[int, int]:
    """The longest way to each node, in steps between sets of nodes that lead to each other."""
    after = reached(edges)
    group = {a: min(b for b in after if b in after[a] and a in after[b]) for a in after}
    steps = {(group[a], group[b]) for a, b in edges if group[a] != group[b]}
    depth = dict.fromkeys(group.values(), 0)
    for _ in depth:
        for a, b in steps:
            depth[b] = max(depth[b], depth[a] + 1)
    return {node: depth[group[node]] for node in after}


@given(EDGES)
@settings(max_examples=200, deadline=None)
def test_loops_and_levels(edges: list[tuple[int, int]]) -> None:
    found, after = made(edges), reached(edges)
    nodes = found.ids.tolist()
    assert nodes == sorted(after)
    together = {(a, b) for a in after for b in after if b in after[a] and a in after[b]}
    strong = dict(zip(nodes, found.strong.tolist(), strict=True))
    assert {(a, b) for a in after for b in after if strong[a] == strong[b]} == together
    depths, heights = depth_of(edges), depth_of([(b, a) for a, b in edges])
    assert {node: int(found.depth[strong[node]]) for node in nodes} == depths
    assert {node: int(found.height[strong[node]]) for node in nodes} == heights


@given(EDGES)
@settings(max_examples=100, deadline=None)
def test_what_hangs_together(edges: list[tuple[int, int]]) -> None:
    ends = np.array(edges, np.int64).reshape(-1, 2)
    ids, least = condense.connected(ends[:, 0], ends[:, 1])
    both = reached([*edges, *((b, a) for a, b in edges)])
    assert dict(zip(ids.tolist(), least.tolist(), strict=True)) == {node: min(both[node]) for node in both}


@given(EDGES)
@settings(max_examples=100, deadline=None)
def test_chains(edges: list[tuple[int, int]]) -> None:
    found, after, depths = made(edges), reached(edges), depth_of(edges)
    ways = list(condense.chains(found, 3))
    assert [len(way) for way in ways] == sorted((len(way) for way in ways), reverse=True)
    if max(depths.values(), default=0) > 0:
        assert len(ways[0]) == max(depths.values()) + 1
    for way in ways:
        assert all(b in after[a] and a not in after[b] for a, b in itertools.pairwise(way))


def walk_of(found: condense.Condensed) -> reach.Walk:
    return reach.Walk(found.ids, found.strong, found.depth, found.sources, found.targets)


@given(EDGES, st.sampled_from([1, 50, 64, 1000]), st.sampled_from([8, 1 << 20]))
@settings(max_examples=100, deadline=None)
def test_exact_reach_in_any_number_of_blocks(edges: list[tuple[int, int]], width: int, memory: int) -> None:
    # Far nodes with the same names make more than one block of 64.
    edges = [(a + 100 * copy, b + 100 * copy) for copy in range(9) for a, b in edges]
    found, after = made(edges), reached(edges)
    before = reached([(b, a) for a, b in edges])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reach, "CHUNK_BYTES", memory)
        blocks = [reach.exactly(walk_of(found), block, width) for block in range(-(-found.ids.size // width))]
    up, down = sum(block.up for block in blocks), sum(block.down for block in blocks)
    for node, strong in zip(found.ids.tolist(), found.strong.tolist(), strict=True):
        assert (up[strong], down[strong]) == (len(before[node]), len(after[node]))


@pytest.mark.parametrize("precision", [8, 10])
def test_estimated_reach(precision: int) -> None:
    chance = random.Random(3)
    edges = [(chance.randrange(3000), chance.randrange(3000)) for _ in range(4000)]
    edges = [(min(edge), max(edge)) for edge in edges] + [(5, 4), (2999, 2990)]
    # A node that is read by more others than edges are taken one after the other.
    edges += [(node, 3000) for node in range(200)]
    found = made(edges)
    walk = walk_of(found)
    blocks = [reach.estimated(walk, block, 64, precision) for block in range(2**precision // 64)]
    told = reach.exactly(walk, 0, walk.members.size)
    sides = [
        (sum(b.up for b in blocks), sum(b.up_zeros for b in blocks), told.up),
        (sum(b.down for b in blocks), sum(b.down_zeros for b in blocks), told.down),
    ]
    for totals, zeros, exact in sides:
        guess = np.array([reach.cardinality(t, int(z), precision) for t, z in zip(totals, zeros, strict=True)])
        error = 1.04 / 2 ** (precision / 2)
        large = exact > 50
        assert large.any()
        assert np.sqrt(((guess / exact - 1)[large] ** 2).mean()) < 1.5 * error
        # Two of a few may share a counter.
        assert (np.abs(guess - exact) < 5 * error * exact + 3).all()
        # Sets of one are told right.
        assert np.abs(guess[exact == 1] - 1).max() < 0.01


def test_reach_of_a_hub_in_both_directions() -> None:
    """More edges than are taken one after the other, each of which brings something of its own."""
    edges = [(node, 1000) for node in range(100)] + [(1000, 1001)] + [(1001, node) for node in range(2000, 2070)]
    found = made([*edges, *((node + 5000, node) for node in range(50))])
    for chunk in (1, 1 << 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reach, "CHUNK_BYTES", chunk)
            told = reach.exactly(walk_of(found), 0, 1000)
        at = dict(zip(found.ids.tolist(), found.strong.tolist(), strict=True))
        assert [told.up[at[node]] for node in (0, 99, 1000, 1001, 2000)] == [2, 1, 151, 152, 153]
        assert [told.down[at[node]] for node in (5000, 0, 1000, 1001, 2000)] == [74, 73, 72, 71, 1]


def test_a_long_chain_is_no_deep_recursion() -> None:
    nodes = np.arange(5000)
    found = condense.condensed(nodes[:-1], nodes[1:])
    assert int(found.depth.max()) == 4999
    assert len(next(condense.chains(found, 1))) == 5000
    loop = condense.condensed(nodes, np.roll(nodes, -1))
    assert loop.depth.tolist() == [0]
    assert set(loop.strong.tolist()) == {0}
