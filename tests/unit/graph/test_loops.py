"""Layers of edges, and which edge of a loop is refused."""

import datetime as dt
import itertools
import uuid

from headwater.graph.loops import Edge, decided, layered

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
