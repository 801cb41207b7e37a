"""Changes of a series' level: planted steps are found where they are, noise and spikes are none."""

import itertools
import math
import random

from hypothesis import given
from hypothesis import strategies as st

from headwater.model.levels import _tail, levels, percentile, rise

CHANCES = st.integers(0, 10_000).map(random.Random)


def noisy(chance: random.Random, middle: float, count: int, sigma: float = 0.1) -> list[float]:
    return [middle * math.exp(chance.gauss(0, sigma)) for _ in range(count)]


def test_noise_rarely_looks_like_a_change() -> None:
    wrong = sum(len(levels(noisy(random.Random(seed), 100, 60, 0.4))) > 1 for seed in range(400))
    assert wrong <= 400 * 0.05


def bounded(chance: random.Random, middle: float, count: int) -> list[float]:
    """Noise that can never look like a level of its own: no two values are a fifth apart."""
    return [middle * chance.uniform(0.93, 1.07) for _ in range(count)]


@given(CHANCES, st.integers(8, 40), st.integers(5, 40), st.floats(2, 20))
def test_a_planted_step_is_found_where_it_is(chance: random.Random, before: int, after: int, factor: float) -> None:
    series = bounded(chance, 100, before) + bounded(chance, 100 * factor, after)
    found = rise(levels(series))
    assert found is not None
    assert found.first == before
    assert 0.7 * factor < found.factor < 1.4 * factor
    assert found.confidence >= 0.95


@given(CHANCES, st.integers(8, 40), st.integers(5, 20))
def test_becoming_faster_is_no_rise(chance: random.Random, before: int, after: int) -> None:
    found = levels(bounded(chance, 100, before) + bounded(chance, 20, after))
    assert (len(found) >= 2, rise(found)) == (True, None)


@given(CHANCES, st.integers(10, 60), st.floats(10, 1000))
def test_one_spike_is_no_level(chance: random.Random, count: int, factor: float) -> None:
    series = [100.0] * count
    series[chance.randrange(count)] *= factor
    assert len(levels(series)) == 1


def test_three_slow_runs_after_twenty_are_enough_and_two_are_not() -> None:
    steady = [100.0 + i % 7 for i in range(20)]
    assert rise(levels([*steady, 200, 210, 205])) is not None
    assert rise(levels([*steady, 200, 210])) is None


def test_what_recovered_is_not_slower_now() -> None:
    assert rise(levels([100.0] * 12 + [300.0] * 12 + [100.0] * 12)) is None
    # A gain that was half lost again is a rise since the loss.
    again = rise(levels([100.0] * 12 + [10.0] * 12 + [30.0] * 12))
    assert again is not None
    assert (again.first, again.before, again.after) == (24, 10, 30)


def test_steps_in_a_row_are_one_rise() -> None:
    found = rise(levels([100.0] * 12 + [200.0] * 12 + [400.0] * 12))
    assert found is not None
    assert (found.first, found.before, found.after, found.factor) == (12, 100, 400, 4)


def test_small_changes_do_not_matter() -> None:
    assert len(levels([100.0] * 30 + [110.0] * 30)) == 1
    assert len(levels([5.0] * 50)) == 1
    assert len(levels([1.0, 900.0])) == 1
    assert levels([]) == []


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=80))
def test_levels_partition_the_series(values: list[float]) -> None:
    found = levels(values)
    assert found[0].first == 0
    assert [level.first + level.count for level in found] == [level.first for level in found[1:]] + [len(values)]
    rise(found)


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 1))
def test_percentiles_are_between_the_ends(values: list[float], share: float) -> None:
    ordered = sorted(values)
    assert ordered[0] - 1e-6 <= percentile(ordered, share) <= ordered[-1] + 1e-6
    assert percentile([1, 2, 3, 4, 5], 0.5) == 3


@given(st.integers(1, 4), st.integers(1, 5))
def test_the_rank_test_counts_orders(few: int, many: int) -> None:
    wrong = [
        sum(other < place for place in places for other in range(few + many) if other not in places)
        for places in itertools.combinations(range(few + many), few)
    ]
    for most in range(few * many + 1):
        assert math.isclose(_tail(few, many, most), sum(w <= most for w in wrong) / len(wrong))
