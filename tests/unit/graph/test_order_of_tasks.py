"""Declared order against the order of data, worked out by hand."""

import pytest

from headwater.graph.task_order import Pair, compare

READS = {"clean": ["raw"], "report": ["clean"], "mail": ["report"]}
WRITES = {"load": ["raw"], "clean": ["clean"], "report": ["report"]}


def order(text: str) -> dict[str, list[str]]:
    """`a>b b>c` as the tasks directly after each."""
    found: dict[str, list[str]] = {}
    for one in text.split():
        first, _, later = one.partition(">")
        found.setdefault(first, []).append(later)
    return found


@pytest.mark.parametrize(
    ("declared", "missing", "backward", "needless"),
    [
        ("load>clean clean>report report>mail", [], [], []),
        # One `>>` is gone: two tasks may run at once.
        ("load>clean report>mail", [Pair("clean", "report", ("clean",))], [], []),
        # A way by other tasks is an order too.
        ("load>clean clean>x x>report report>mail", [], [], []),
        ("load>clean report>clean report>mail", [], [Pair("clean", "report", ("clean",))], [("report", "clean")]),
        ("load>clean clean>report report>mail load>mail", [], [], []),
        ("load>clean clean>report clean>mail", [Pair("report", "mail", ("report",))], [], []),
        ("load>clean clean>report report>mail mail>other", [], [], []),
    ],
)
def test_an_order(declared: str, missing: list[Pair], backward: list[Pair], needless: list[tuple[str, str]]) -> None:
    found = compare(order(declared), READS, WRITES)
    assert (found.missing, found.backward, found.needless) == (missing, backward, needless)


def test_a_dependency_that_no_data_asks_for() -> None:
    found = compare(order("a>b"), {"b": ["y"]}, {"a": ["x"], "b": ["z"]})
    assert (found.missing, found.needless) == ([], [("a", "b")])


def test_two_that_append_to_one_table_need_no_order() -> None:
    assert compare({}, {"a": ["t"], "b": ["t"]}, {"a": ["t"], "b": ["t"]}).missing == []
