"""Nodes of a walk that may be drawn as one: those that hang on the same nodes, however many they are."""

import random

from hypothesis import given
from hypothesis import strategies as st

from headwater.graph.bundles import Place, alike

Edge = tuple[str, str]


def bundles(
    hops: dict[str, int], edges: list[Edge], above: int = 2, parents: dict[str, str] | None = None, seed: int = 0
) -> dict[frozenset[str], tuple[object, ...]]:
    """Members → key. Names that begin with `j` are jobs."""
    shuffled = random.Random(seed)
    order = sorted(hops)
    shuffled.shuffle(order)
    places = [
        Place("JOB" if name[0] == "j" else "DATASET", hops[name], name, (parents or {}).get(name)) for name in order
    ]
    ends = [(order.index(source), order.index(target)) for source, target in edges]
    shuffled.shuffle(ends)
    return {frozenset(order[i] for i in one.members): one.key for one in alike(places, ends, above)}


FAN = {"hub": 0} | {f"j{i}": 1 for i in range(4)} | {f"out{i}": 1 for i in range(4)}
FAN_EDGES = [("hub", f"j{i}") for i in range(4)] + [(f"j{i}", f"out{i}") for i in range(4)]
JOBS, OUTS = frozenset(f"j{i}" for i in range(4)), frozenset(f"out{i}" for i in range(4))


def test_readers_of_one_table_and_what_they_write_are_two_bundles() -> None:
    assert set(bundles(FAN, FAN_EDGES)) == {JOBS, OUTS}
    assert bundles(FAN, FAN_EDGES, above=4) == {}


def test_where_ways_meet_again_a_node_stands_alone() -> None:
    found = bundles(FAN | {"all": 1}, [*FAN_EDGES, ("j1", "all"), ("j2", "all")])
    assert set(found) == {JOBS, OUTS}


def test_what_reads_another_table_too_is_not_alike() -> None:
    found = bundles(FAN | {"other": 1}, [*FAN_EDGES, ("j0", "other"), ("other", "j3")])
    assert JOBS in found
    assert set(bundles(FAN | {"hub2": 0}, [*FAN_EDGES, ("hub2", "j3")])) == {JOBS - {"j3"}, OUTS - {"out3"}}


def test_children_of_one_parent_are_a_bundle_of_their_own() -> None:
    parents = {"j0": "jp", "j1": "jp", "j2": "jp"}
    assert frozenset({"j0", "j1", "j2"}) in bundles(FAN, FAN_EDGES, parents=parents)
    # Each with a parent of its own: they are drawn together all the same.
    assert JOBS in bundles(FAN, FAN_EDGES, parents={f"j{i}": f"jp{i}" for i in range(4)})


def test_upstream_too() -> None:
    turned = {name: -hop for name, hop in FAN.items()}
    assert set(bundles(turned, [(target, source) for source, target in FAN_EDGES])) == {JOBS, OUTS}


@given(
    st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=40),
    st.lists(st.integers(-3, 3), min_size=12, max_size=12),
    st.integers(1, 4),
    st.integers(0, 1000),
)
def test_bundles_are_disjoint_large_and_the_same_in_any_order(
    edges: list[tuple[int, int]], hops: list[int], above: int, seed: int
) -> None:
    name = [f"{'j' if i % 2 else 'd'}{i}" for i in range(12)]
    at = {name[i]: hop for i, hop in enumerate(hops)}
    ways = [(name[a], name[b]) for a, b in edges]
    found = bundles(at, ways, above)
    members = [one for some in found for one in some]
    assert len(members) == len(set(members))
    assert all(len(some) > above for some in found)
    assert all(at[one] for one in members)
    assert bundles(at, ways, above, seed=seed) == found
