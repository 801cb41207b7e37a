"""Sets of ordinals against Python's sets, and maps of ordinals against loops."""

import random

import numpy as np
import pytest
from tests.scale import full

from headwater.entities.time.ordinals import NONE, Bool, Int, Ordinals
from headwater.entities.time.spans import Spans


def drawn(chance: random.Random) -> tuple[Ordinals, set[int]]:
    runs = [(a, a + chance.randrange(0, 9)) for a in (chance.randrange(-60, 60) for _ in range(chance.randrange(0, 9)))]
    return Ordinals(runs), {n for a, b in runs for n in range(a, b)}


@pytest.mark.parametrize("seed", range(full(300, 80)))
def test_they_are_sets(seed: int) -> None:
    chance = random.Random(seed)
    (a, x), (b, y), (c, z) = (drawn(chance) for _ in range(3))
    for made, meant in (
        (a, x),
        (a | b, x | y),
        (a.union(b, c), x | y | z),
        (a & b, x & y),
        (a - b, x - y),
        (a.shift(7), {n + 7 for n in x}),
        (a.complement(-20, 30), set(range(-20, 30)) - x),
        (a.complement(30, -20), set()),
    ):
        assert set(made.members().tolist()) == meant
        assert made.count == len(meant)
        assert made == Ordinals.of(sorted(meant, reverse=True))
        assert hash(made) == hash(Ordinals.of(list(meant)))
        assert bool(made) == bool(meant)
        assert (made.starts[1:] > made.ends[:-1]).all()
        assert (made.starts < made.ends).all()
        assert [n for start, end in made for n in range(start, end)] == sorted(meant)
        assert made.runs == len(list(made))
        assert made.contains(range(-90, 90)).tolist() == [n in meant for n in range(-90, 90)]
        low = np.array([chance.randrange(-80, 80) for _ in range(9)])
        high = low + np.arange(9) - 1
        meets = [bool(meant & set(range(start, end))) for start, end in zip(low, high, strict=True)]
        assert made.meets(low, high).tolist() == meets
        if meant:
            assert (made.first, made.end) == (min(meant), max(meant) + 1)
    assert (a <= b) == (x <= y)
    assert (3 in a) == (3 in x)


def test_runs_that_touch_are_one() -> None:
    assert list(Ordinals([(5, 7), (1, 5), (9, 9)])) == [(1, 7)]
    assert repr(Ordinals([(1, 5), (7, 8)])) == "{1..4, 7}"
    assert repr(Ordinals([(n, n + 1) for n in range(0, 40, 2)])).endswith("14, and 12 runs more}")


def test_what_cannot_be() -> None:
    with pytest.raises(ValueError, match=r"ends before it starts: 5\.\.3"):
        Ordinals([(5, 3)])
    with pytest.raises(ValueError, match="no first"):
        _ = NONE.first
    with pytest.raises(ValueError, match="no last"):
        _ = NONE.end
    with pytest.raises(ValueError, match="read-only"):
        Ordinals([(1, 2)]).starts[0] = 5
    with pytest.raises(TypeError):
        len(NONE)  # type: ignore[arg-type]
    assert Ordinals.of([1]) != {1}


def test_a_set_costs_its_runs() -> None:
    whole = Ordinals.between(-(10**15), 10**15)
    assert (whole - Ordinals.of([0])).count == 2 * 10**15 - 1
    assert (whole & whole.shift(1)).runs == 1


@pytest.mark.parametrize("seed", range(full(300, 80)))
def test_a_map_and_its_inverse(seed: int) -> None:
    """Any bounds that never go back, with intervals that are empty, far apart, or overlap."""
    chance = random.Random(seed)
    first, size = chance.randrange(-50, 50), chance.randrange(1, 120)
    step, wide = chance.choice([0, 1, 2, 5]), chance.choice([0, 1, 3, 9])
    low = np.cumsum([chance.randrange(0, step + 1) for _ in range(size)]) + chance.randrange(-20, 20)
    high = np.maximum.accumulate(low + [chance.randrange(-1, wide + 1) for _ in range(size)])
    empty = np.array([chance.random() < 0.1 for _ in range(size)])
    asked = 0

    def bounds(k: Int) -> tuple[Int, Int, Bool]:
        nonlocal asked
        asked += k.size
        return low[k - first], high[k - first], empty[k - first]

    tested = Spans(bounds, first, first + size)
    interval = {first + i: set() if empty[i] else set(range(int(low[i]), int(high[i]))) for i in range(size)}
    for _ in range(6):
        some, members = drawn(chance)
        assert tested.of(some) == Ordinals.of(sorted({u for k in members & interval.keys() for u in interval[k]}))
        users = {k for k, us in interval.items() if us & members}
        assert tested.touching(some) == Ordinals.of(sorted(users))
        few, allowed = drawn(chance)
        assert tested.touching(some, few) == Ordinals.of(sorted(users & allowed))
        fresh = Spans(bounds, first, first + size)
        assert fresh.touching(some, few) == Ordinals.of(sorted(users & allowed))
        assert fresh.of(some) == tested.of(some)


def test_bounds_are_computed_only_near_what_is_asked() -> None:
    asked = 0

    def bounds(k: Int) -> tuple[Int, Int, Bool]:
        nonlocal asked
        asked += k.size
        return k - 30, k + 1, np.zeros(k.shape, dtype=np.bool_)

    tested = Spans(bounds, -(10**9), 10**9)
    assert tested.touching(Ordinals.between(500, 510)) == Ordinals.between(500, 540)
    assert asked < 5_000
    before = asked
    for n in range(495, 505):
        assert tested.touching(Ordinals.of([n])) == Ordinals.between(n, n + 31)
        assert tested.of(Ordinals.of([n])) == Ordinals.between(n - 30, n + 1)
    assert asked == before
