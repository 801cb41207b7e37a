"""What is not needed any more: by hand, and random plans made again after each item until nothing is left."""

import random
from itertools import pairwise

import pytest
from drawn_plans import Asked, asked, instances, sets

from headwater.entities.graph import Dependency, Entity, Graph
from headwater.entities.instances import Instances
from headwater.entities.kinds import Cumulative, Snapshot, TimeSeries
from headwater.entities.ordinals import Ordinals
from headwater.entities.plan import Plan, Producer, plan
from headwater.entities.plan_cutoff import remaining
from headwater.entities.taint import tainted
from headwater.errors import InvalidPlan

DAY = Instances.of({"every": "day", "from": "2024-01-01", "until": "2024-02-01"})
FIRST = DAY.all.first


def chain(*names: str) -> Graph:
    before: dict[str, str] = {after: name for name, after in pairwise(names)}
    return Graph(
        Entity(name, TimeSeries(), DAY, {"completed": (Dependency(before[name]),) if name in before else ()})
        for name in names
    )


def days(start: int, end: int) -> Ordinals:
    return Ordinals.between(FIRST + start, FIRST + end)


def planned(graph: Graph, roots: dict[str, Ordinals]) -> Plan:
    found = {name: hit.instances for name, hit in tainted(graph, roots).hits.items()}
    exist = {name: graph.every(name) for name in graph.entities}
    return plan(graph, found, exist=exist, roots=roots, producers={name: Producer(name) for name in graph.entities})


def test_who_read_nothing_wrong_need_not_run() -> None:
    found = planned(chain("a", "b", "c"), {"a": days(0, 2)})
    rest = remaining(found, {"a": days(0, 1)}, {})
    assert rest.cleared == {"b": days(0, 1), "c": days(0, 1)}
    assert rest.wrong == {"a": days(1, 2), "b": days(1, 2), "c": days(1, 2)}
    assert rest.roots == {"a": days(1, 2)}
    assert rest.dropped == Ordinals.of([0, 2, 4])


def test_who_read_what_changed_is_made_again_and_may_end_it() -> None:
    graph = chain("a", "b", "c")
    found = planned(graph, {"a": days(0, 2)})
    rest = remaining(found, {}, {"a": days(0, 2)})
    assert rest == ({"b": days(0, 2), "c": days(0, 2)}, {"b": days(0, 2)}, {}, Ordinals.of([0, 1]))
    again = plan(graph, rest.wrong, exist=found.exist, roots=rest.roots, producers={n: Producer(n) for n in "abc"})
    assert again.count == 4
    assert remaining(again, {"b": days(0, 2)}, {}) == ({}, {}, {"c": days(0, 2)}, Ordinals.between(0, 4))


def test_a_root_is_never_let_off_and_neither_is_what_is_missing() -> None:
    graph = chain("a", "b")
    both = planned(graph, {"a": days(0, 1), "b": days(0, 1)})
    assert remaining(both, {"a": days(0, 1)}, {}).wrong == {"b": days(0, 1)}
    exist = {"a": DAY.all, "b": DAY.all - days(0, 1)}
    missing = plan(graph, {"a": days(0, 2), "b": days(0, 2)}, exist=exist, roots={"a": days(0, 2)})
    assert remaining(missing, {"a": days(0, 2)}, {}) == (
        {"b": days(0, 1)},
        {"b": days(0, 1)},
        {"b": days(1, 2)},
        # One ticket for both days: not dropped while one is left.
        missing.numbers({"a": days(0, 1)}),
    )


def test_carried_snapshots_are_cleared_from_the_first_that_is_equal_on() -> None:
    graph = Graph([Entity("stock", Snapshot("carry"), DAY)])
    found = planned(graph, {"stock": days(10, 11)})
    assert found.count == 21
    assert remaining(found, {"stock": days(10, 11)}, {}).cleared == {"stock": days(11, 31)}
    rest = remaining(found, {"stock": days(11, 12)}, {"stock": days(10, 11)})
    assert rest.wrong == {}
    rest = remaining(found, {}, {"stock": days(10, 11)})
    assert (rest.wrong, rest.roots) == ({"stock": days(11, 31)}, {"stock": days(11, 12)})


def test_what_was_not_planned_cannot_have_been_done() -> None:
    found = planned(chain("a", "b"), {"a": days(0, 1)})
    with pytest.raises(InvalidPlan, match=r"the plan does not make b"):
        remaining(found, {"b": days(5, 6)}, {})
    with pytest.raises(InvalidPlan, match=r"a .* ended equal and changed"):
        remaining(found, {"a": days(0, 1)}, {"a": days(0, 1)})


def carried_out(drawn: Asked, chance: random.Random) -> tuple[int, int] | None:
    """Plans, does the first item, plans what remains. Every instance is made at most once, after what it reads; one that read something that changed
    is made, and one that read nothing that did is not. How many were made and how many cleared; None where no plan could be.
    """
    try:
        found = drawn.plan()
    except InvalidPlan:
        return None
    start = drawn
    sources = {
        at
        for at in drawn.wrong
        if at not in drawn.exist or at in drawn.roots or not drawn.reads.get(at, set()) & drawn.wrong
    }
    truly: dict[object, bool] = {}
    made: dict[object, bool] = {}
    cleared: set[object] = set()
    while found.count:
        item = found.item(0)
        assert not item.needs
        equal, changed = set(), set()
        for at in instances(dict(item.makes)):
            assert at not in made
            assert at not in cleared
            touched = any(made.get(read) for read in start.reads.get(at, ()))
            if len(instances(dict(item.makes))) == 1 and item.action != "restore":
                assert at in sources or touched, "made though nothing that it read had changed"
            truly[at] = (at in sources or touched) and chance.random() < 0.5
            (changed if truly[at] else equal).add(at)
        made |= {at: truly[at] for at in equal | changed}
        rest = remaining(found, sets(equal), sets(changed))
        new = instances(dict(rest.cleared))
        for at in new:
            assert at not in sources
            assert not any(made.get(read) for read in start.reads.get(at, ())), "cleared though it read what changed"
        cleared |= new
        left = instances(dict(rest.wrong))
        assert not left & (set(made) | cleared)
        assert left | set(made) | cleared == start.wrong
        drawn = drawn._replace(wrong=left, roots=instances(dict(rest.roots)), exist=drawn.exist | set(made))
        needless = {each.number for each in found.items() if not instances(dict(each.makes)) & left}
        assert set(rest.dropped.members().tolist()) == needless
        found = drawn.plan()
    return len(made), len(cleared)


def test_random_plans_made_again_after_each_item() -> None:
    total = [0, 0]
    for seed in range(50):
        chance = random.Random(seed)
        drawn = asked(chance)
        if drawn is None or len(drawn.wrong) > 60 or chained(drawn.graph):
            continue
        counts = carried_out(drawn, chance) or (0, 0)
        total = [total[0] + counts[0], total[1] + counts[1]]
    assert min(total) > 20


def chained(graph: Graph) -> bool:
    """Whether an instance takes more than one item: then it is not made when one is done."""
    return any(
        isinstance(each.kind, Cumulative) and each.kind.mode == "incremental" for each in graph.entities.values()
    )
