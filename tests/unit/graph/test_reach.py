"""Reach over column edges: the rules of travel of graph/reach.py."""

import uuid

from headwater.graph.reach import ColumnGraph
from headwater.model.lineage import ColumnEdge, Origin

A, B, C, D, JOB, OTHER = (uuid.UUID(int=i) for i in range(1, 7))


def edge(source: uuid.UUID, field: str, target: uuid.UUID, target_field: str, job: uuid.UUID = JOB) -> ColumnEdge:
    return ColumnEdge(job, target, target_field, source, field, Origin.COLUMN_LINEAGE, None)


def test_only_what_feeds_the_column() -> None:
    x, y = edge(A, "x", B, "x"), edge(A, "y", B, "y")
    edges, met = ColumnGraph([x, y], []).upstream((B, "x"))
    assert edges == [x]
    assert met == {(B, "x"), (A, "x")}


def test_what_feeds_the_whole_feeds_every_column() -> None:
    key = edge(A, "k", B, "")
    edges, _ = ColumnGraph([key, edge(B, "x", C, "x")], []).upstream((C, "x"))
    assert key in edges
    down, met = ColumnGraph([key, edge(B, "x", C, "x")], []).downstream((A, "k"))
    assert (C, "x") in met
    assert len(down) == 2


def test_a_whole_dataset_is_fed_by_all_its_columns() -> None:
    edges, _ = ColumnGraph([edge(A, "x", B, "x"), edge(A, "y", B, "y")], []).upstream((B, ""))
    assert len(edges) == 2


def test_a_job_fed_by_columns_feeds_what_it_writes_without_columns() -> None:
    graph = ColumnGraph([edge(A, "x", JOB, "")], [(JOB, B)])
    assert (A, "x") in graph.upstream((B, ""))[1]
    assert (B, "") in graph.downstream((A, "x"))[1]
    assert (B, "") not in graph.downstream((A, "y"))[1]


def test_a_job_fed_by_columns_does_not_feed_an_output_with_columns_of_its_own() -> None:
    graph = ColumnGraph([edge(A, "x", JOB, ""), edge(C, "z", B, "z")], [(JOB, B)])
    assert (A, "x") not in graph.upstream((B, "z"))[1]


def test_cycles_end() -> None:
    edges, _ = ColumnGraph([edge(A, "x", B, "x"), edge(B, "x", A, "x")], []).upstream((A, "x"))
    assert len(edges) == 2
