"""Differences: nothing differs from itself, and what differs is enough to make one state of the other."""

from hypothesis import given
from hypothesis import strategies as st

from headwater.graph.difference import Column, columns_difference, difference

states = st.dictionaries(st.integers(0, 8), st.integers(0, 2))
schemas = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(["int", "text", None])), max_size=8)


@given(states)
def test_nothing_differs_from_itself(state: dict[int, int]) -> None:
    assert not difference(state, dict(state))


@given(states, states)
def test_a_difference_leads_from_one_state_to_the_other(before: dict[int, int], after: dict[int, int]) -> None:
    found = difference(before, after)
    made = {k: v for k, v in before.items() if k not in found.removed} | found.added
    made |= {k: new for k, (_, new) in found.changed.items()}
    assert made == after
    back = difference(after, before)
    assert (back.added, back.removed) == (found.removed, found.added)
    assert bool(found) == (before != after)


@given(schemas)
def test_no_schema_differs_from_itself(schema: list[Column]) -> None:
    assert not columns_difference(schema, list(schema))


@given(schemas, schemas)
def test_columns_that_come_go_and_change(before: list[Column], after: list[Column]) -> None:
    found = columns_difference(before, after)
    names, later = {n for n, _ in before}, {n for n, _ in after}
    assert {n for n, _ in found.added} == later - names
    assert {n for n, _ in found.removed} == names - later
    assert all(old != new and name in names & later for name, old, new in found.retyped)


def test_examples() -> None:
    found = columns_difference([("a", "int"), ("b", "int"), ("c", "int")], [("b", "text"), ("a", "int"), ("d", None)])
    assert found.added == (("d", None),)
    assert found.removed == (("c", "int"),)
    assert found.retyped == (("b", "int", "text"),)
    assert found.reordered
    assert not columns_difference([("a", "int"), ("b", "int")], [("x", "int"), ("a", "int"), ("b", "int")]).reordered
