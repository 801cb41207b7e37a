"""Sets of many entities as one: the same as each by itself."""

import random

import numpy as np

from headwater.entities.status.entity_sets import Together, counted
from headwater.entities.time.ordinals import NONE, Ordinals


def drawn(chance: random.Random) -> Ordinals:
    return Ordinals.of([chance.randrange(-20, 20) for _ in range(chance.randrange(12))])


def test_what_is_done_to_all_is_done_to_each() -> None:
    chance = random.Random(5)
    for _ in range(50):
        all_ = Together(["c", "a", "b"])
        some, other = ({name: drawn(chance) for name in "abc"} for _ in range(2))
        assert all_.apart(all_.union(some)) == {name: each for name, each in some.items() if each}
        both = all_.apart(all_.union(some) - all_.union(other))
        assert both == {name: each - other[name] for name, each in some.items() if each - other[name]}
        one = all_.union(some)
        ranks, ordinals = all_.ordinals(one.starts)
        assert (all_.at(ranks, ordinals) == one.starts).all()


def test_nothing() -> None:
    all_ = Together([])
    assert all_.union({}) == NONE
    assert all_.apart(NONE) == {}


def test_counted() -> None:
    chance = random.Random(6)
    for _ in range(50):
        some = drawn(chance)
        until = np.arange(-25, 25)
        assert counted(some, until).tolist() == [sum(n < each for n in some.members()) for each in until]
