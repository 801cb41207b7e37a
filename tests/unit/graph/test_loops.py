"""Layers of edges, and which edge of a loop is refused."""

import datetime as dt
import itertools
import time
import uuid

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from headwater.graph.loops import Edge, components, decided, layered

A, B, C, D = (uuid.UUID(int=number) for number in range(4))


def edge(parent: uuid.UUID, child: uuid.UUID, second: int, *, refused: bool = False) -> Edge:
    return Edge(parent, child, 1, 2, dt.datetime(2026, 1, 1, 0, 0, second, tzinfo=dt.UTC), b"", refused)


def test_what_continues_an_edge_is_in_a_later_layer() -> None:
    assert layered([(B, C), (A, B), (A, C)]) == [[1], [0, 2]]
    assert layered([]) == []


def test_edges_continue_each_other_through_what_is_there() -> None:
    assert layered([(C, D), (A, B)]) == [[0, 1]]
    assert layered([(C, D), (A, B)], [(B, C)]) == [[1], [0]]


def test_a_loop_has_no_layers() -> None:
    assert layered([(A, B), (B, A)]) is None
    assert layered([(A, B), (C, D)], [(B, C), (D, A)]) is None


def test_the_last_edge_of_a_loop_is_refused_in_any_order() -> None:
    edges = [edge(A, B, 1), edge(B, C, 2), edge(C, A, 3), edge(C, D, 0)]
    for some in itertools.permutations(edges):
        assert [pair for pair, refused in decided(some, edges[3]).items() if refused] == [(C, A)]


def test_what_is_before_the_first_that_changed_is_believed() -> None:
    edges = [edge(A, B, 1, refused=True), edge(B, A, 2)]
    assert decided(edges, edges[1]) == {(A, B): True, (B, A): False}
    assert decided(edges, edges[0]) == {(A, B): False, (B, A): True}


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=30, unique=True), st.integers(0, 29))
def test_every_edge_is_decided_as_a_walk_over_those_before_it_says(pairs: list[tuple[int, int]], first: int) -> None:
    nodes = [uuid.UUID(int=number) for number in range(8)]
    edges = [edge(nodes[parent], nodes[child], second) for second, (parent, child) in enumerate(pairs)]
    below: dict[uuid.UUID, set[uuid.UUID]] = {node: {node} for node in nodes}
    walked = {}
    for one in edges:
        walked[one.parent, one.child] = refused = one.parent in below[one.child]
        if not refused:
            for node in nodes:
                if one.parent in below[node]:
                    below[node] |= below[one.child]
    said = [msgspec.structs.replace(one, refused=walked[one.parent, one.child]) for one in edges]
    for since in said[first : first + 1]:
        assert decided(said, since) == walked
    if edges:
        assert decided(edges, edges[0]) == walked


def test_a_content_that_comes_back_again_and_again_is_decided_in_time() -> None:
    # A state that is written as A, B, …, A again, ten thousand times: every round closes a loop.
    states = [uuid.UUID(int=number) for number in range(50)]
    edges = []
    for turn in range(10_000):
        run = uuid.UUID(int=1000 + turn)
        at = dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=turn)
        edges += [
            Edge(states[turn % 50], run, 1, 1, at, b""),
            Edge(run, states[(turn + 1) % 50], 1, 2, at, b""),
        ]
    began = time.process_time()
    refused = [pair for pair, is_refused in decided(edges, edges[0]).items() if is_refused]
    assert [child for _, child in refused] == [states[0]] * 200
    assert time.process_time() - began < 5


def test_nodes_that_lead_to_each_other_are_one_component_after_what_they_lead_to() -> None:
    nodes = [uuid.UUID(int=number) for number in range(7)]
    leads = {0: [1, 4], 1: [2], 2: [1, 3], 3: [], 4: [4], 5: [6], 6: [5, 0]}
    found = components({nodes[one]: [nodes[other] for other in others] for one, others in leads.items()})
    groups = [sorted(nodes.index(one) for one in group) for group in found]
    assert sorted(groups) == [[0], [1, 2], [3], [4], [5, 6]]
    place = {one: number for number, group in enumerate(groups) for one in group}
    assert all(place[other] <= place[one] for one, others in leads.items() for other in others)
